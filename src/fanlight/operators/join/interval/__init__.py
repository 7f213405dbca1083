"""Joins of rows that are so far apart in time, and no further."""
