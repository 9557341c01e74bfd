"""What a model answers, and which label that is."""
