"""What the leaderboard says of itself: where results are handed in, and how it is cited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from s2lct.hub_calls import is_hub_id

CITATION = """\
@software{s2lct,
  title   = {s2lct: behavioural tests for sentiment models, one linguistic capability at a time},
  author  = {{The s2lct developers}},
  version = {0.1.0},
  license = {Apache-2.0}
}

@article{s2lct-method,
  title  = {S²LCT: Specification- and Syntax-based Linguistic Capability Testing
            for Sentiment Analysis},
  author = {{The S²LCT authors}},
  note   = {The method; this software is an independent implementation.}
}
"""
"""What CITATION.cff says, as BibTeX."""


@dataclass(frozen=True)
class Destination:
    """Where results are handed in; with names to be filled in where the Hub has no place yet."""

    results: str = "ORG/s2lct-results"
    suite: str = "ORG/s2lct"

    @classmethod
    def of(cls, results: str, suites: Sequence[str]) -> Destination:
        """Where a leaderboard takes results from, if that is a place on the Hub."""
        suite = next(filter(_on_hub, suites), cls.suite)
        return cls(results.partition("@")[0] if _on_hub(results) else cls.results, suite)

    def commands(self) -> str:
        """What to run, a line each."""
        return "\n".join(
            (
                f"s2lct score ORG/MODEL --suite {self.suite} --out results/",
                f"s2lct publish results results/*.json --to {self.results} --create-pr",
            )
        )


ANYWHERE = Destination()


def _on_hub(name: str) -> bool:
    return is_hub_id(name) and not Path(name).exists()
