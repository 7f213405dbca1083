"""WHEN: the logic of one shard."""
