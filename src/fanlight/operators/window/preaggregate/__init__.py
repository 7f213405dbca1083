"""Pre-aggregation of windows: records become partials before they travel to their shard."""
