"""Whether people agree with a suite."""
