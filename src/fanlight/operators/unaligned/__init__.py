"""Windows that each key has for itself: panes kept by where they end."""
