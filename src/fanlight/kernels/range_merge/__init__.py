"""Many ranges of rows merged at once."""
