"""The operators of n-way joins."""
