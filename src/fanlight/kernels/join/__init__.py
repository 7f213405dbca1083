"""Rows of two sides that belong together, found by key and time."""
