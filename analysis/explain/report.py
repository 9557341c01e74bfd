"""What ``s2lct explain`` writes, and what explanations have in common: words and template parts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

from markupsafe import Markup
from pydantic import Field, ValidationError

from s2lct.analysis.explain.words import Kind
from s2lct.analysis.records import Record, fault_of
from s2lct.errors import AnalysisError
from s2lct.files import write_text
from s2lct.leaderboard.site.capability_words import capability_words
from s2lct.suite.capability_ids import natural_order
from s2lct.tables import Table, page_templates

TOP = 12
PAIRS = 4
KIND_NAMES: dict[Kind, str] = {
    "template": "template",
    "source": "corpus sentence",
    "inserted": "inserted word",
}


class ExplainedWord(Record):
    """A word of an explained text, its part (see `fillers.Part`) and what it contributes.

    Kept words belong to the set that holds the prediction, whose estimated P is ``without`` if the
    word is left out.
    """

    text: str
    start: int
    end: int
    part: Kind
    part_name: str
    contribution: float
    kept: bool
    without: float | None = None


class Explanation(Record):
    """What holds a prediction: a case, what the model says of it, and the words it rests on.

    Its P(f(T(x)) = f(x)), with a 95 % interval (Clopper and Pearson), is of samples that the search
    did not see; that of the fully masked text is as the search estimated it.
    """

    id: str
    capability: str
    kind: Literal["seed", "expansion"]
    seed_id: str
    text: str
    template: str
    said: str
    passes: tuple[str, ...]
    failed: bool
    words: tuple[ExplainedWord, ...]
    probability: float = Field(ge=0, le=1)
    ci: tuple[float, float]
    nothing_shown: float = Field(ge=0, le=1)
    samples: int = Field(ge=1)

    @property
    def kept(self) -> tuple[ExplainedWord, ...]:
        """The words that hold the prediction."""
        return tuple(word for word in self.words if word.kept)


class Options(Record):
    """How explanations are made.

    ``threshold`` is P_thresh, the share of fillings of which the model must say the same;
    ``samples`` are those a reported P rests on.
    """

    threshold: float = Field(default=0.9, gt=0, le=1)
    samples: int = Field(default=100, ge=1)
    seed: int = 0


class ExplanationFile(Record):
    """What ``s2lct explain`` writes."""

    format: Literal[1] = 1
    suite: str
    suite_fingerprint: str
    model: str
    model_fingerprint: str
    label_rule: str
    fillings: str
    attribution: str
    options: Options
    explanations: tuple[Explanation, ...]


def write_explanations(file: ExplanationFile, path: Path) -> None:
    """Write explanations as JSON, whole or not at all."""
    text = json.dumps(file.model_dump(mode="json"), indent=1, ensure_ascii=False)
    write_text(path, text + "\n")


def read_explanations(path: Path, suite_fingerprint: str = "") -> ExplanationFile:
    """Read what ``s2lct explain`` wrote, of a suite if one is named by its fingerprint.

    Raises:
        AnalysisError: it cannot be read, is something else, or is about another suite.
    """
    hint = "make one with `s2lct explain MODEL --suite DIR --out explain.json`"
    try:
        file = ExplanationFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read ({error.strerror})", hint=hint) from error
    except ValidationError as error:
        raise AnalysisError(
            f"{path}: holds no explanations ({fault_of(error)})", hint=hint
        ) from error
    if suite_fingerprint and file.suite_fingerprint != suite_fingerprint:
        raise AnalysisError(
            f"{path}: explains cases of another suite ({file.suite_fingerprint[:12] or '?'}, the "
            f"results are of {suite_fingerprint[:12]})",
            hint="explain and score on one version of the suite",
        )
    return file


class Share(NamedTuple):
    """In how many failures, whose text has it, a word or a part helps to hold the prediction."""

    name: str
    kind: Kind
    held: int
    cases: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What holds the failures of one capability.

    Means are of the words that hold a failure, and of a failing text's. ``unprompted`` are said of
    the fully masked text too, ``source_alone`` rest on words of the corpus sentences alone: nothing
    of what makes the capability is needed for the wrong answer. Shares come most first, but those
    of `KIND_NAMES` in its order.
    """

    capability: str
    failures: int
    kept: float
    words_in_all: float
    unprompted: int
    source_alone: int
    kinds: tuple[Share, ...]
    words: tuple[Share, ...]
    parts: tuple[Share, ...]


def aggregate(explanations: Sequence[Explanation]) -> list[Aggregate]:
    """What holds the failures, capability by capability, by number."""
    failing: dict[str, list[Explanation]] = {}
    for one in explanations:
        if one.failed:
            failing.setdefault(one.capability, []).append(one)
    return [_aggregate(name, failing[name]) for name in sorted(failing, key=natural_order)]


def _aggregate(capability: str, failing: Sequence[Explanation]) -> Aggregate:
    kinds = {share.name: share for share in _shares(failing, lambda word: KIND_NAMES[word.part])}
    words = _shares(failing, lambda word: word.text.lower())
    return Aggregate(
        capability=capability,
        failures=len(failing),
        kept=fmean(len(one.kept) for one in failing),
        words_in_all=fmean(len(one.words) for one in failing),
        unprompted=sum(not one.kept for one in failing),
        # An empty set rests on nothing, which `unprompted` counts.
        source_alone=sum({word.part for word in one.kept} == {"source"} for one in failing),
        kinds=tuple(kinds.get(name, Share(name, kind, 0, 0)) for kind, name in KIND_NAMES.items()),
        words=tuple(one for one in words if one.held and one.name[0].isalnum())[:TOP],
        parts=_shares(failing, _part_name),
    )


def _shares(
    failing: Sequence[Explanation], name_of: Callable[[ExplainedWord], str]
) -> tuple[Share, ...]:
    """Failures whose set, and whose text, has a word of each name."""
    held, cases, kinds = Counter[str](), Counter[str](), dict[str, Kind]()
    for one in failing:
        held.update({name_of(word) for word in one.kept})
        cases.update({name_of(word) for word in one.words})
        kinds.update((name_of(word), word.part) for word in (*one.words, *one.kept))
    names = sorted(cases, key=lambda name: (-held[name], cases[name], name))
    return tuple(Share(name, kinds[name], held[name], cases[name]) for name in names)


def _part_name(word: ExplainedWord) -> str:
    if word.part == "inserted":
        return "inserted words"
    if word.part == "source" and word.part_name != "sentence":
        return f"sentence {word.part_name}"
    return word.part_name


def conclusion(file: ExplanationFile) -> str:
    """What holds the failures, in a sentence."""
    found = aggregate(file.explanations)
    failures = sum(one.failures for one in found)
    if not failures:
        return f"{file.model} fails none of the cases that were explained."
    alone = sum(one.source_alone for one in found)
    unprompted = sum(one.unprompted for one in found)
    kept = sum(one.kept * one.failures for one in found) / failures
    words = sum(one.words_in_all * one.failures for one in found) / failures
    return (
        f"{file.model} is held to wrong answers by {kept:.1f} of {words:.0f} words in the mean; "
        f"{alone} of {failures} failures rest on the corpus sentence alone, not on what makes the "
        f"capability, and {unprompted} need no word at all."
    )


def aggregate_table(file: ExplanationFile) -> Table:
    """A row a capability: what its failures rest on."""
    columns = ("", "failures", "words\nkept", "template", "sentence\nalone", "masked\ntoo")
    rows = [
        [
            one.capability,
            str(one.failures),
            f"{one.kept:.1f} of {one.words_in_all:.0f}",
            f"{one.kinds[0].held} of {one.kinds[0].cases}",
            str(one.source_alone),
            str(one.unprompted),
            "\n".join(f"{word.name} {word.held}/{word.cases}" for word in one.words[:5]),
        ]
        for one in aggregate(file.explanations)
    ]
    title = f"{file.model}: what holds its failures (words: sets with it/failures with it)"
    return Table((*columns, "words in most sets"), rows, title)


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


def _rendered(template: str, file: ExplanationFile) -> str:
    words = capability_words({one.capability for one in file.explanations})
    return (
        page_templates("s2lct.analysis.explain")
        .get_template(template)
        .render(
            file=file,
            conclusion=conclusion(file),
            titles={name: f"{of.short} {name}".strip() for name, of in words.items()},
            aggregates=sorted(aggregate(file.explanations), key=lambda one: -one.failures),
            shown=lambda name: shown_cases(file.explanations, name),
        )
    )


def html_section(file: ExplanationFile) -> Markup:
    """The explanations as a section of a page."""
    return Markup(_rendered("explain_section.html.jinja", file))


def html_page(file: ExplanationFile) -> str:
    """The explanations as one HTML page that needs no network."""
    return _rendered("explain_page.html.jinja", file)
