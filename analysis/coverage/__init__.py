"""How much of a model a suite exercises."""
