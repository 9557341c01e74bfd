"""Models that answer texts with a sentiment."""
