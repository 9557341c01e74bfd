"""What the explanations of many cases have in common: words and template parts, by capability."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape
from rich.table import Table

from s2lct.analysis.explain.records import Explanation, ExplanationFile
from s2lct.analysis.explain.words import Kind
from s2lct.analysis.tables import NARROW, figures_table
from s2lct.files import write_text
from s2lct.pages import page_templates
from s2lct.suite.capability_ids import natural_order

TOP = 12
PAIRS = 4
KIND_NAMES: dict[Kind, str] = {
    "template": "template",
    "source": "corpus sentence",
    "inserted": "inserted word",
}


@dataclass(frozen=True, slots=True)
class Share:
    """In how many failures something helps to hold the prediction.

    Attributes:
        name: a word, or a template part.
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
    """What holds the failures of one capability.

    Attributes:
        capability: ``LC1`` …
        failures: how many failing cases were explained.
        families: of how many seed families.
        passing: how many passing cases were explained beside them.
        kept: mean number of words that hold a failure.
        words_in_all: mean number of words of a failing text.
        unprompted: failures that are said of the fully masked text too.
        kinds: for template, source and inserted words, failures that rest on at least one.
        source_alone: failures that rest on words of the corpus sentences alone: nothing of what
            makes the capability is needed for the wrong answer.
        words: the words that hold most failures, most first.
        parts: the template's parts and the slots, likewise.
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
    """What holds the failures, capability by capability, by number.

    Punctuation is no word here; it stays in the sets.
    """
    groups: dict[str, list[Explanation]] = defaultdict(list)
    for one in explanations:
        groups[one.capability].append(one)

    return [_aggregate(name, groups[name]) for name in sorted(groups, key=natural_order)]


def _aggregate(capability: str, explanations: Sequence[Explanation]) -> Aggregate:
    failing = [one for one in explanations if one.failed]
    # An empty set rests on nothing, which `unprompted` counts.
    sets = [one for one in failing if one.kept]
    return Aggregate(
        capability=capability,
        failures=len(failing),
        families=len({one.seed_id for one in failing}),
        passing=len(explanations) - len(failing),
        kept=_mean([len(one.kept) for one in failing]),
        words_in_all=_mean([len(one.words) for one in failing]),
        unprompted=sum(not one.kept for one in failing),
        kinds=tuple(
            Share(
                KIND_NAMES[kind],
                kind,
                sum(any(word.part == kind for word in one.kept) for one in failing),
                sum(any(word.part == kind for word in one.words) for one in failing),
            )
            for kind in KIND_NAMES
        ),
        source_alone=sum(all(word.part == "source" for word in one.kept) for one in sets),
        words=_word_shares(failing),
        parts=_part_shares(failing),
    )


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0


def _word_shares(failing: Sequence[Explanation]) -> tuple[Share, ...]:
    held, cases = Counter[str](), Counter[str]()
    kinds: dict[str, Counter[Kind]] = defaultdict(Counter)
    for one in failing:
        cases.update({word.text.lower() for word in one.words})
        held.update({word.text.lower() for word in one.kept if word.text[:1].isalnum()})
        for word in one.kept:
            kinds[word.text.lower()][word.part] += 1
    ranked = sorted(held, key=lambda word: (-held[word], cases[word], word))
    return tuple(
        Share(word, kinds[word].most_common(1)[0][0], held[word], cases[word])
        for word in ranked[:TOP]
    )


def _part_shares(failing: Sequence[Explanation]) -> tuple[Share, ...]:
    held, cases = Counter[tuple[Kind, str]](), Counter[tuple[Kind, str]]()
    for one in failing:
        cases.update({(word.part, word.part_name) for word in one.words})
        held.update({(word.part, word.part_name) for word in one.kept})
    ranked = sorted(cases, key=lambda part: (-held[part], cases[part], part))
    return tuple(
        Share(_part_name(kind, name), kind, held[kind, name], cases[kind, name])
        for kind, name in ranked
    )


def _part_name(kind: Kind, name: str) -> str:
    if kind == "inserted":
        return "inserted words"
    if kind == "source":
        return "sentence" if name == "sentence" else f"sentence {name}"
    return name


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
        of_kind = {share.kind: share for share in one.kinds}
        table.add_row(
            one.capability,
            str(one.failures),
            f"{one.kept:.1f} of {one.words_in_all:.0f}",
            f"{of_kind['template'].held} of {of_kind['template'].cases}",
            str(one.source_alone),
            str(one.unprompted),
            ", ".join(f"{word.name} {word.held}/{word.cases}" for word in one.words[:5]),
        )
    return table


@dataclass(frozen=True, slots=True)
class _Shown:
    explanation: Explanation
    seed: Explanation | None


def shown_cases(explanations: Sequence[Explanation], capability: str) -> list[_Shown]:
    """Failing cases beside their passing seeds where those were explained; of a family one."""
    of_id = {one.id: one for one in explanations}
    chosen: dict[str, _Shown] = {}
    for one in explanations:
        if one.failed and one.capability == capability:
            seed = of_id.get(one.seed_id)
            beside = seed if seed is not None and seed.id != one.id and not seed.failed else None
            chosen.setdefault(one.seed_id, _Shown(one, beside))
    return sorted(chosen.values(), key=lambda shown: shown.seed is None)[:PAIRS]


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
    return Markup(
        page_templates("s2lct.analysis.explain")
        .get_template("explain_section.html.jinja")
        .render(
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


def write_html(file: ExplanationFile, path: Path) -> None:
    """Write the page, whole or not at all."""
    write_text(path, html_page(file))
