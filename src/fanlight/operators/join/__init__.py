"""Joins of two inputs: what is kept of each side, which pairs there are, and when rows leave."""
