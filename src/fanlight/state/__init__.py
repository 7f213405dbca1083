"""Where chunks are kept: the store protocol, its stores, the chunk codec."""
