"""Which words hold a failure."""
