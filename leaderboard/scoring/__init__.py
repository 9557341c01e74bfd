"""From a model and a suite to failure rates."""
