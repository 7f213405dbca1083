"""What the engine costs, measured side by side on one core. `python -m benchmarks` runs everything."""
