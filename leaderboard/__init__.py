"""Score sentiment models on a suite, compare them, and publish what came out."""
