"""Publishing to the Hub, local installation, and the metric module for `evaluate.load`."""
