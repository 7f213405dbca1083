"""Over: every row comes back with new columns, each computed over a frame of rows of its key."""
