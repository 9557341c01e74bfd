"""What is done with models and results: a function a command; light to import."""
