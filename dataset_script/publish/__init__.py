"""Suites, results and model results, published on the Hub."""
