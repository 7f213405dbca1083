"""Joins of two streams: which rows match, which leave, and the declaration of both."""
