"""Sliding windows: one for each distinct set of records of a key that lie close together."""
