"""Every aggregate, from scratch."""
