"""Times, lengths of time, and how a watermark follows them."""
