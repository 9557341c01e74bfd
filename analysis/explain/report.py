"""What explanations of failures have in common, as a table and a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pydantic import TypeAdapter

from s2lct.analysis.explain.search import Explanation
from s2lct.leaderboard.site.report import capability_words
from s2lct.plain_text import ShortRepr
from s2lct.suite.capability_ids import natural_order
from s2lct.tables import Cell, Table, page_templates

COMMONEST = 5
MOST = 4
"""Failures of a capability that a page shows."""


@dataclass(frozen=True, slots=True, repr=False)
class ExplanationFile(ShortRepr):
    """What ``s2lct explain`` writes."""

    suite: str
    suite_fingerprint: str
    model: str
    model_fingerprint: str
    label_rule: str
    fillings: str
    attribution: str
    threshold: float
    explanations: tuple[Explanation, ...]

    def json(self) -> str:
        """All of it, as JSON."""
        return TypeAdapter(ExplanationFile).dump_json(self, indent=1).decode() + "\n"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What holds the failures of one capability.

    Attributes:
        capability: its id.
        failures: how many were explained.
        kept: words that hold a failure, in the mean.
        words: words of a failing text, in the mean.
        template: failures that rest on a word of the template.
        source_alone: failures that rest on words of the corpus sentence alone: nothing of what
            makes the capability is needed for the wrong prediction.
        unprompted: failures that need no word: the fully masked text is predicted so too.
        commonest: words that hold most failures, as "word 2/3": of three that have it, two.
    """

    capability: str
    failures: int
    kept: float
    words: float
    template: int
    source_alone: int
    unprompted: int
    commonest: str


def aggregate(explanations: Sequence[Explanation]) -> list[Aggregate]:
    """What holds the failures, capability by capability, by number."""
    failing: dict[str, list[Explanation]] = {}
    for explanation in explanations:
        failing.setdefault(explanation.capability, []).append(explanation)
    return [_aggregate(name, failing[name]) for name in sorted(failing, key=natural_order)]


def _aggregate(capability: str, failing: Sequence[Explanation]) -> Aggregate:
    held = Counter(
        word for failure in failing for word in {kept.text.lower() for kept in failure.kept}
    )
    having = Counter(
        word for failure in failing for word in {each.text.lower() for each in failure.words}
    )
    words = sorted(
        (word for word in held if word[0].isalnum()),
        key=lambda word: (-held[word], having[word], word),
    )
    parts = [{word.part for word in failure.kept} for failure in failing]
    return Aggregate(
        capability=capability,
        failures=len(failing),
        kept=fmean(len(failure.kept) for failure in failing),
        words=fmean(len(failure.words) for failure in failing),
        template=sum("template" in of for of in parts),
        source_alone=parts.count({"source"}),
        unprompted=parts.count(set()),
        commonest=", ".join(f"{word} {held[word]}/{having[word]}" for word in words[:COMMONEST]),
    )


def conclusion(file: ExplanationFile) -> str:
    """What holds the failures, in a sentence."""
    found = aggregate(file.explanations)
    failing = file.explanations
    kept = fmean(len(failure.kept) for failure in failing)
    words = fmean(len(failure.words) for failure in failing)
    return (
        f"{file.model} is held to wrong predictions by {kept:.1f} of {words:.0f} words in the "
        f"mean; {sum(of.source_alone for of in found)} of {len(failing)} failures rest on the "
        "corpus sentence alone, not on what makes the capability, and "
        f"{sum(of.unprompted for of in found)} need no word at all."
    )


def aggregate_table(file: ExplanationFile) -> Table:
    """A row a capability: what its failures rest on."""
    found = aggregate(file.explanations)
    heads = ("failures", "words kept", "on the\ntemplate", "on the\nsentence", "on\nnothing")
    words = capability_words(of.capability for of in found)
    rows: list[list[str | Cell]] = [
        [
            Cell(of.capability, words[of.capability].short),
            str(of.failures),
            f"{of.kept:.1f} of {of.words:.0f}",
            *map(str, (of.template, of.source_alone, of.unprompted)),
            of.commonest.replace(", ", "\n"),
        ]
        for of in found
    ]
    title = f"{file.model}: what holds its failures (words: sets with it/failures with it)"
    return Table(("capability", *heads, "words in most sets"), rows, title)


def html_page(file: ExplanationFile) -> str:
    """The explanations as one HTML page that needs no network."""
    shown: dict[str, list[Explanation]] = {}
    for failure in file.explanations:
        shown.setdefault(failure.capability, []).append(failure)
    titles = {name: f"{words.short} {name}" for name, words in capability_words(shown).items()}
    template = page_templates("s2lct.analysis.explain").get_template("explain.html.jinja")
    return template.render(
        file=file,
        conclusion=conclusion(file),
        table=aggregate_table(file),
        shown={titles[name]: found[:MOST] for name, found in shown.items()},
    )
