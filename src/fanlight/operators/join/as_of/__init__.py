"""Joins of each left row with the nearest right row in time."""
