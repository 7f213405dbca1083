"""Fanlight's files beside Spark's in a checkpoint: the manifest, the lock, the signals."""
