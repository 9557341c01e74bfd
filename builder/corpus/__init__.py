"""Labelled sentences, from wherever they lie."""
