"""The windowed aggregate: one folder or file for each kind of window."""
