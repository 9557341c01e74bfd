"""Measure a suite's coverage of a model."""
