"""Time zones as tables."""
