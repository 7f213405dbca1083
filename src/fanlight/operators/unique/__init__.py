"""Deduplication: of the records of one id that lie close together in time, one row leaves."""
