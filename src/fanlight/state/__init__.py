"""State: the protocol of chunk stores, the store in memory, and the codecs of chunks and snapshots."""
