"""What the Hub serves: the metric module that `evaluate.load` reads."""
