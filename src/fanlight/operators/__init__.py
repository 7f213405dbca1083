"""WHEN: operators, the logic that runs on one shard."""
