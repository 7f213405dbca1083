"""Windows that several inputs must have records for."""
