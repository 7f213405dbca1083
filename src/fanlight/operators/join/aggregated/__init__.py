"""Joins that aggregate the matches of each left row."""
