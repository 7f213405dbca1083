"""Joins of a row with what the window of the other side holds when it comes."""
