"""The arithmetic of sessions: intervals are clustered, chained and cut."""
