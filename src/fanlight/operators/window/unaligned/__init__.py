"""Unaligned windows: each key has its own, and panes are stored by their ends."""
