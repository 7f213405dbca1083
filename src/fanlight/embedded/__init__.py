"""The engine in this process, and the standalone operator."""
