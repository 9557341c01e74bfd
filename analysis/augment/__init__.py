"""Changed texts that make coverage grow, as training data."""
