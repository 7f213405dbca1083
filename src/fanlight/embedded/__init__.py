"""The embedded engine, which runs in this process, and the standalone operator."""
