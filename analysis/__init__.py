"""Look inside models: coverage, explanations, retraining, human agreement and diversity."""
