"""Show explanations of a model's failures: a table by capability, and a page of marked words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean

from s2lct.analysis.explain.search import Explanation
from s2lct.analysis.result import Result
from s2lct.leaderboard.site.report import capability_words
from s2lct.suite.capability_ids import natural_order
from s2lct.tables import Cell, Table, page_templates

FREQUENT_WORDS_SHOWN = 5
FAILURES_PER_CAPABILITY_SHOWN = 4


@dataclass(frozen=True, repr=False)
class Explanations(Result):
    """The content of the file that ``s2lct explain`` writes: explanations and their settings."""

    suite: str
    suite_fingerprint: str
    model: str
    model_fingerprint: str
    label_rule: str
    fillings: str
    attribution: str
    threshold: float
    explanations: tuple[Explanation, ...]

    def by_capability(self) -> dict[str, list[Explanation]]:
        """The explanations of each capability, by its id, in the natural order of ids."""
        names = sorted({failure.capability for failure in self.explanations}, key=natural_order)
        return {
            name: [failure for failure in self.explanations if failure.capability == name]
            for name in names
        }

    def table(self) -> Table:
        """A row for each capability: the number of words that hold a failure, and their origins."""
        by_capability = self.by_capability()
        words = capability_words(by_capability)
        rows: list[list[str | Cell]] = []
        for name, failures in by_capability.items():
            origins_of_failures = [{word.part for word in failure.kept} for failure in failures]
            mean_kept = fmean(len(failure.kept) for failure in failures)
            counts = (
                len(failures),
                f"{mean_kept:.1f} of {fmean(len(failure.words) for failure in failures):.0f}",
                sum("template" in origins for origins in origins_of_failures),
                origins_of_failures.count({"source"}),
                origins_of_failures.count(set()),
            )
            frequent = "\n".join(frequent_words(failures))
            rows.append([Cell(name, words[name].short), *map(str, counts), frequent])
        return Table(
            (
                *("capability", "failures", "words kept", "on the\ntemplate", "on the\nsentence"),
                *("on\nnothing", "words in most sets"),
            ),
            rows,
            f"{self.model}: what holds its failures",
            "On the template: at least one word of it is in the set. On the sentence: all words "
            "are the corpus sentence's, none the capability's. On nothing: the fully masked text "
            "gets the same label. Words: sets with it/failures with it.",
        )

    def html(self) -> str:
        """An HTML page of failures with the words that hold them marked; it needs no network."""
        failures_by_capability = self.by_capability()
        titles = capability_words(failures_by_capability)
        template = page_templates("s2lct.analysis.explain").get_template("explain.html.jinja")
        return template.render(
            file=self,
            shown={
                f"{titles[name].short} {name}": failures[:FAILURES_PER_CAPABILITY_SHOWN]
                for name, failures in failures_by_capability.items()
            },
        )


def frequent_words(failures: list[Explanation]) -> list[str]:
    """The words in most sets; ``word 2/3`` is in the sets of two of the three failures with it."""
    set_counts = Counter(
        word for failure in failures for word in {word.text.lower() for word in failure.kept}
    )
    text_counts = Counter(
        word for failure in failures for word in {word.text.lower() for word in failure.words}
    )
    words = sorted(
        (word for word in set_counts if word[0].isalnum()),
        key=lambda word: (-set_counts[word], text_counts[word], word),
    )
    return [
        f"{word} {set_counts[word]}/{text_counts[word]}" for word in words[:FREQUENT_WORDS_SHOWN]
    ]
