"""WHAT: frozen values that validate themselves; the standard library only."""
