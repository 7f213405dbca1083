"""The temporal filter: rows leave as they come, and are taken back when the watermark is too far past them."""
