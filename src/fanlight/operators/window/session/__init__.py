"""Session windows: each belongs to one key and lasts until a gap passes without a record."""
