"""Errors a user can mend: each names what is wrong and what to do."""

from __future__ import annotations


class BuilderError(Exception):
    """Something the user can mend.

    Attributes:
        problem: what is wrong, naming the file, row or option.
        mend: what to do about it.
    """

    def __init__(self, problem: str, *, mend: str) -> None:
        self.problem = problem
        self.mend = mend
        super().__init__(f"{problem}\n  → {mend}")


class CorpusError(BuilderError):
    """A corpus cannot be read, or holds nothing usable."""


class CapabilityError(BuilderError):
    """A capability's specification is wrong, or its name is unknown."""


class ModelError(BuilderError):
    """A parser, tagger or masked language model cannot be loaded."""


class LexiconError(BuilderError):
    """A SentiWordNet file or word table cannot be read."""


class GrammarError(BuilderError):
    """Reference trees cannot be read."""


class BuildError(BuilderError):
    """A build cannot start, go on or finish."""


class SuiteError(BuilderError):
    """A folder is not a suite, or its files do not fit together."""
