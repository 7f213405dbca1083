"""Sort: rows leave in the order of their times, as the watermark passes them."""
