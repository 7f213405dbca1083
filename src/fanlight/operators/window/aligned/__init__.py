"""Aligned windows: all keys share them, and they are built from slices."""
