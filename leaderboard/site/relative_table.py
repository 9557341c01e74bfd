"""CheckList's invariance and directional tests in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from s2lct.leaderboard.scoring.relative import RelativeScore, RelativeScores

RELATIVE_WORDS = (
    "Failure rates in % of the cases that can be judged, with 95 % interval. INV: the answer must "
    "stay that of the original; DIR: a probability must not move the wrong way; both with the "
    "tolerance that the test states. These figures are in no result file"
)


def relative_table(models: Sequence[RelativeScores]) -> Group:
    """A row a test: its type and cases, and for each model its failure rate and what it skips."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1)
    )
    table.add_column("", overflow="fold", vertical="bottom", min_width=20)
    table.add_column("", vertical="bottom")
    table.add_column(Text("cases"), justify="right", vertical="bottom")
    for one in models:
        table.add_column(Text(f"{one.model}\n%"), justify="right", vertical="bottom")
        table.add_column(Text("skipped"), justify="right", vertical="bottom")
    tests = {score.test.name: score.test for one in models for score in one.scores}
    for name, test in tests.items():
        cells: list[str] = []
        for one in models:
            score = next((of for of in one.scores if of.test.name == name), None)
            cells += _cells(score)
        table.add_row(*map(Text, (name, test.type, f"{len(test.cases):,}", *cells)))
    return Group(Text(), table, Text(f"\n{RELATIVE_WORDS}.", style="dim"))


def _cells(score: RelativeScore | None) -> tuple[str, str]:
    if score is None:
        return "–", "–"
    if (rate := score.rate) is None:
        return "–", f"{score.skipped:,}"
    share, low, high = (f"{100 * value:.1f}" for value in (rate.failure_rate, *rate.ci))
    return f"{share} [{low}, {high}]", f"{score.skipped:,}"
