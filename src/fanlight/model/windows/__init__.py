"""Every kind of window, declared."""
