"""What hypothesis draws: specs, pipelines and scripts."""
