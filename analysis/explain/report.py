"""What ``s2lct explain`` writes, and what explanations have in common: words and template parts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, TypeVar

from markupsafe import Markup
from pydantic import Field, ValidationError

from s2lct.analysis.explain.words import Kind
from s2lct.analysis.records import Record, fault_of
from s2lct.errors import AnalysisError
from s2lct.files import write_text
from s2lct.leaderboard.site.capability_words import capability_words
from s2lct.pages import page_templates
from s2lct.suite.capability_ids import natural_order
from s2lct.tables import Table

TOP = 12
PAIRS = 4
KIND_NAMES: dict[Kind, str] = {
    "template": "template",
    "source": "corpus sentence",
    "inserted": "inserted word",
}
Key = TypeVar("Key", bound=Hashable)


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


@dataclass(frozen=True, slots=True)
class Share:
    """In how many failures, whose text has it, a word or a part helps to hold the prediction.

    The kind is the part it belongs to; a word's is the one it has most often.
    """

    name: str
    kind: Kind
    held: int
    cases: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What holds the failures of one capability, beside how many passing cases were explained.

    Means are of the words that hold a failure, and of a failing text's. ``unprompted`` are said of
    the fully masked text too, ``source_alone`` rest on words of the corpus sentences alone: nothing
    of what makes the capability is needed for the wrong answer. Shares come most first.
    """

    capability: str
    failures: int
    seeds: int  # of the failures; the others are expansions
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
        seeds=sum(one.kind == "seed" for one in failing),
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


def capability_titles(explanations: Sequence[Explanation]) -> dict[str, str]:
    """Names of capabilities with their ids, of those of somebody's own the id alone."""
    words = capability_words({one.capability for one in explanations})
    return {name: f"{of.short} ({name})" if of.short else name for name, of in words.items()}


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
    return (
        page_templates("s2lct.analysis.explain")
        .get_template(template)
        .render(
            file=file,
            conclusion=conclusion(file),
            titles=capability_titles(file.explanations),
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
