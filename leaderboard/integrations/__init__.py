"""The suite in training scripts and in `evaluate`."""
