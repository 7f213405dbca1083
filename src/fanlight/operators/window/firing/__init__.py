"""From panes to rows: evaluate triggers, compute values, write changes."""
