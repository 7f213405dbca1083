"""Joins, read slowly: a file for each kind of match."""
