"""Scripts that compute what the package ships: weights, word table and reference grammar."""
