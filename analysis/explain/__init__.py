"""Find and show the words that hold a model's failures."""
