"""Columns in, columns out: no state, no clock."""
