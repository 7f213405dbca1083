"""Frames over rows of keys: where they start and end, and which row of them a function takes."""
