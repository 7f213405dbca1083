"""The time axis is cut into slices, and windows are merged from slices."""
