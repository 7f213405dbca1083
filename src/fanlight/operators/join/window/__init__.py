"""Joins of rows that are in the same window."""
