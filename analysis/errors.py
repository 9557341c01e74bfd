"""What a user can mend in an analysis."""

from __future__ import annotations

from s2lct.builder.errors import BuilderError


class AnalysisError(BuilderError):
    """A model, suite or corpus cannot be analysed as asked."""
