"""Weights and figures of the embedded sentiment models."""
