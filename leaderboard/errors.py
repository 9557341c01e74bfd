"""Errors a user of the metric can mend."""

from __future__ import annotations

from s2lct.builder.errors import BuilderError


class ScoringError(BuilderError):
    """A model, a suite, predictions or a result file cannot be used as they are."""
