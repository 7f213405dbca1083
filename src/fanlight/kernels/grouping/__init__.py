"""Grouping of rows: keys as codes, pairs of codes, equal rows, tables of columns."""
