"""What the explanations of many cases have in common: words and template parts, by capability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from markupsafe import Markup, escape
from rich.table import Table

from s2lct.analysis.explain.records import ExplainedWord, Explanation, ExplanationFile
from s2lct.analysis.explain.words import Kind
from s2lct.analysis.tables import NARROW, figures_table
from s2lct.pages import page_templates
from s2lct.suite.capability_ids import natural_order

TOP = 12
PAIRS = 4
KIND_NAMES: dict[Kind, str] = {
    "template": "template",
    "source": "corpus sentence",
    "inserted": "inserted word",
}
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Share:
    """In how many failures a word or a template part helps to hold the prediction.

    Attributes:
        kind: the part it belongs to; a word's is the one it has most often.
        held: failures whose set has it.
        cases: failures whose text has it.
    """

    name: str
    kind: Kind
    held: int
    cases: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What holds the failures of one capability; punctuation is no word here, but stays in sets.

    Attributes:
        failures, families: explained failing cases, and of how many seed families they are.
        passing: how many passing cases were explained beside them.
        kept, words_in_all: mean number of words that hold a failure, and that a failing text has.
        unprompted: failures that are said of the fully masked text too.
        kinds: for template, source and inserted words, failures that rest on at least one.
        source_alone: failures that rest on words of the corpus sentences alone: nothing of what
            makes the capability is needed for the wrong answer.
        words, parts: the words, and the template's parts and slots, that hold most failures, most
            first.
    """

    capability: str
    failures: int
    families: int
    passing: int
    kept: float
    words_in_all: float
    unprompted: int
    kinds: tuple[Share, ...]
    source_alone: int
    words: tuple[Share, ...]
    parts: tuple[Share, ...]


def aggregate(explanations: Sequence[Explanation]) -> list[Aggregate]:
    """What holds the failures, capability by capability, by number."""
    names = sorted({one.capability for one in explanations}, key=natural_order)
    return [
        _aggregate(name, [one for one in explanations if one.capability == name]) for name in names
    ]


def _aggregate(capability: str, explanations: Sequence[Explanation]) -> Aggregate:
    failing = [one for one in explanations if one.failed]

    def counted(key: Callable[[ExplainedWord], Key]) -> tuple[Counter[Key], Counter[Key]]:
        """Failures whose set, and whose text, has a word of each key."""
        held, cases = Counter[Key](), Counter[Key]()
        for one in failing:
            held.update({key(word) for word in one.kept})
            cases.update({key(word) for word in one.words})
        return held, cases

    of_kind, with_kind = counted(lambda word: word.part)
    of_word, with_word = counted(lambda word: word.text.lower())
    of_part, with_part = counted(lambda word: (word.part, word.part_name))
    kinds = Counter((word.text.lower(), word.part) for one in failing for word in one.kept)
    words = sorted(
        (word for word in of_word if word[:1].isalnum()),
        key=lambda word: (-of_word[word], with_word[word], word),
    )
    return Aggregate(
        capability=capability,
        failures=len(failing),
        families=len({one.seed_id for one in failing}),
        passing=len(explanations) - len(failing),
        kept=fmean([len(one.kept) for one in failing] or [0]),
        words_in_all=fmean([len(one.words) for one in failing] or [0]),
        unprompted=sum(not one.kept for one in failing),
        kinds=tuple(
            Share(name, kind, of_kind[kind], with_kind[kind]) for kind, name in KIND_NAMES.items()
        ),
        # An empty set rests on nothing, which `unprompted` counts.
        source_alone=sum({word.part for word in one.kept} == {"source"} for one in failing),
        words=tuple(
            Share(
                word,
                next(kind for (name, kind), _ in kinds.most_common() if name == word),
                of_word[word],
                with_word[word],
            )
            for word in words[:TOP]
        ),
        parts=tuple(
            Share(_part_name(*part), part[0], of_part[part], with_part[part])
            for part in sorted(with_part, key=lambda part: (-of_part[part], with_part[part], part))
        ),
    )


def _part_name(kind: Kind, name: str) -> str:
    if kind == "inserted":
        return "inserted words"
    return f"sentence {name}" if kind == "source" and name != "sentence" else name


def aggregate_table(file: ExplanationFile) -> Table:
    """A row a capability: what its failures rest on."""
    table = figures_table(
        ("failures", "words\nkept", "template", "sentence\nalone", "masked\ntoo"),
        title=f"{file.model}: what holds its failures (words: sets with it/failures with it)",
        padding=(0, 1, 0, 0),
        **NARROW,
    )
    table.add_column("words in most sets")
    for column in table.columns:
        column.overflow = "fold"
    for one in aggregate(file.explanations):
        table.add_row(
            one.capability,
            str(one.failures),
            f"{one.kept:.1f} of {one.words_in_all:.0f}",
            f"{one.kinds[0].held} of {one.kinds[0].cases}",
            str(one.source_alone),
            str(one.unprompted),
            ", ".join(f"{word.name} {word.held}/{word.cases}" for word in one.words[:5]),
        )
    return table


def shown_cases(
    explanations: Sequence[Explanation], capability: str
) -> list[tuple[Explanation | None, Explanation]]:
    """Failing cases behind their passing seeds where those were explained; of a family one."""
    seeds = {one.id: one for one in explanations if one.kind == "seed" and not one.failed}
    chosen: dict[str, Explanation] = {}
    for one in explanations:
        if one.failed and one.capability == capability:
            chosen.setdefault(one.seed_id, one)
    shown = [(seeds.get(seed), one) for seed, one in chosen.items()]
    return sorted(shown, key=lambda pair: pair[0] is None)[:PAIRS]


def marked(explanation: Explanation) -> Markup:
    """A text, escaped, with the words that hold the prediction marked by their part."""
    html, end = Markup(""), 0
    for word in explanation.kept:
        html += escape(explanation.text[end : word.start])
        without = "" if word.without is None else f"P without it: {word.without:.2f}"
        html += Markup('<mark class="{}" title="{}">{}</mark>').format(
            word.part, without, explanation.text[word.start : word.end]
        )
        end = word.end
    return html + escape(explanation.text[end:])


def html_section(file: ExplanationFile) -> Markup:
    """The explanations as a section of a page."""
    template = page_templates("s2lct.analysis.explain").get_template("explain_section.html.jinja")
    return Markup(
        template.render(
            file=file,
            aggregates=aggregate(file.explanations),
            shown=lambda name: shown_cases(file.explanations, name),
            marked=marked,
        )
    )


def html_page(file: ExplanationFile) -> str:
    """The explanations as one HTML page that needs no network."""
    template = page_templates("s2lct.analysis.explain").get_template("explain_page.html.jinja")
    return template.render(file=file, section=html_section(file))
