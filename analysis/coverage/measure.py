"""Read the texts of suites and reference corpora, and measure each suite's coverage of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.analysis.corpus_parts import split_corpus
from s2lct.analysis.coverage.criteria import Criterion
from s2lct.analysis.coverage.encoder import EncoderModel, ModelInput
from s2lct.analysis.result import Result
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import AnalysisError
from s2lct.files import path_exists
from s2lct.identity import shuffle_key
from s2lct.suite.cases import load_suite
from s2lct.suite.other_suites import CHECKLIST, is_table_name, read_cases
from s2lct.table_files import read_rows
from s2lct.tables import Cell, Table

PAIRS_PREFIX = "pairs:"
"""Marks a file of pairs of texts where a corpus is expected, as in ``pairs:qqp.jsonl``."""
_NotBlank = Annotated[str, Field(pattern=r"\S")]


class Pair(BaseModel):
    """A case of two texts: its test's name and the names of the classes that pass."""

    model_config = ConfigDict(frozen=True)

    test: _NotBlank = "pairs"
    text: _NotBlank
    text_pair: _NotBlank
    expected: tuple[_NotBlank, ...] = ()

    @property
    def texts(self) -> tuple[str, str]:
        """Both texts, as a model takes them."""
        return self.text, self.text_pair


def read_pairs(path: Path) -> list[Pair]:
    """Read a file of JSON lines of pairs; an empty list if the first line holds no pair.

    A pair that occurs again in the same test replaces the earlier one.

    Raises:
        AnalysisError: a later line holds no pair; the message names the line.
        ScoringError: the file cannot be read.
    """
    pairs: dict[tuple[str, tuple[str, str]], Pair] = {}
    rows = read_rows(path, "jsonl")
    if not any("text_pair" in row for _, row in rows[:1]):
        return []
    for location, row in rows:
        try:
            pair = Pair.model_validate(row)
        except ValidationError as error:
            hint = "pass JSON lines with text and text_pair, and expected where needed"
            raise AnalysisError(f"{location}: is no pair", hint=hint) from error
        pairs[pair.test, pair.texts] = pair
    return list(pairs.values())


def texts_of_suite(suite: str) -> list[ModelInput]:
    """The texts of a suite that `load_suite` reads, or of a file of JSON lines.

    Such a file holds pairs, or CheckList's cases, invariance and directional tests included.

    Raises:
        AnalysisError: a line of a file of pairs holds no pair.
        ScoringError: there is no such suite, or it is damaged.
    """
    path = Path(suite.removeprefix(f"{CHECKLIST}:"))
    if str(path) == suite and (is_table_name(suite) or not suite.endswith((".jsonl", ".jsonl.gz"))):
        return [case.text for case in load_suite(suite).cases]
    pairs = [pair.texts for pair in read_pairs(path)]
    return [*pairs] or [text for case in read_cases(path) for text in case.texts]


def texts_by_suite(suites: Sequence[str]) -> dict[str, list[ModelInput]]:
    """The texts of suites given as ``NAME=SUITE`` or as ``SUITE``, by the suite's name.

    Without a NAME, a suite is called after the last part of its path.

    Raises:
        AnalysisError: two suites have the same name, or a suite cannot be read.
        ScoringError: there is no such suite.
    """
    texts: dict[str, list[ModelInput]] = {}
    for argument in suites:
        name, equals, suite = argument.partition("=")
        if not equals or path_exists(Path(argument)) or is_table_name(argument):
            path = argument.partition(":")[2] if is_table_name(argument) else argument
            name, suite = Path(path).name.removesuffix(".gz").removesuffix(".jsonl"), argument
        if name in texts or not name:
            raise AnalysisError(
                f"suite {argument}: another one is called {name!r} too", hint="name it: NAME=SUITE"
            )
        texts[name] = texts_of_suite(suite)
    return texts


def text_key(random_seed: int, purpose: str, text: ModelInput) -> bytes:
    """A sort key that puts texts in a random order; each purpose has its own order."""
    return shuffle_key(random_seed, purpose, *((text,) if isinstance(text, str) else text))


def random_texts(
    texts: Iterable[ModelInput], limit: int | None, random_seed: int
) -> list[ModelInput]:
    """At most ``limit`` distinct texts, drawn at random, in their original order."""
    distinct = list(dict.fromkeys(texts))
    drawn_texts = set(
        sorted(distinct, key=lambda text: text_key(random_seed, "drawn", text))[:limit]
    )
    return [text for text in distinct if text in drawn_texts]


class Reference(NamedTuple):
    """A reference corpus: texts that set neurons' ranges, and lists of held-out texts by name."""

    texts: list[ModelInput]
    held_out: dict[str, list[ModelInput]]


def read_reference(corpus: str, limit: int | None, random_seed: int) -> Reference:
    """Read a corpus: its training sentences, at most ``limit`` at random, and its held-out ones.

    `split_corpus` splits the corpus. A file of pairs, ``pairs:FILE``, is read by `read_pairs`;
    nothing of it is held out.

    Raises:
        CorpusError: the corpus cannot be read.
        AnalysisError: the corpus holds a single sentence.
    """
    if corpus.startswith(PAIRS_PREFIX):
        pairs = read_pairs(Path(corpus.removeprefix(PAIRS_PREFIX)))
        return Reference(random_texts([pair.texts for pair in pairs], limit, random_seed), {})
    source = read_corpus(corpus, labelled=False)
    parts = split_corpus(source, random_seed)
    held_out: list[ModelInput] = [sentence.text for sentence in (*parts.dev, *parts.test)]
    return Reference(
        random_texts([sentence.text for sentence in parts.train], limit, random_seed),
        {f"random sentences of {source.name}": held_out},
    )


@dataclass(frozen=True, slots=True)
class SuiteCoverage:
    """The number of a suite's texts, and their coverage, in [0, 1], by the figure's name."""

    suite: str
    texts: int
    figures: dict[str, float]


@dataclass(frozen=True, repr=False)
class CoverageResult(Result):
    """Coverage of a model by each suite and, if there are several, by all of them together."""

    model: str
    suites: tuple[SuiteCoverage, ...]

    def table(self) -> Table:
        """A row for each suite, in percent."""
        rows: list[list[str | Cell]] = [
            [row.suite, f"{row.texts:,}", *(_percent(figure) for figure in row.figures.values())]
            for row in self.suites
        ]
        title = f"Coverage of {self.model}, % (COVER and MNCOVER: of all neurons of 128 places)"
        return Table(("", "cases", *self.suites[0].figures), rows, title)


def _percent(share: float) -> Cell:
    """A share in percent: two decimals, or below 0.1 % two significant digits."""
    return Cell(f"{100 * share:.2g}" if 0 < share < 0.001 else f"{100 * share:.2f}", value=share)


def cover_texts(
    criteria: Mapping[str, Criterion],
    encoder: EncoderModel,
    texts: Sequence[ModelInput],
    title: str = "",
) -> dict[str, Criterion]:
    """Copy criteria and add the flags that texts set; a title shows a progress bar."""
    copies = {name: criterion.copy() for name, criterion in criteria.items()}
    for activations in encoder.activations(texts, title):
        for criterion in copies.values():
            criterion.add(criterion.flags_of(activations))
    return copies


def measure_coverage(
    suites: Mapping[str, Sequence[ModelInput]],
    encoder: EncoderModel,
    criteria: Mapping[str, Criterion],
) -> CoverageResult:
    """Measure the coverage of each suite, given as texts by name, and of all together."""
    union = {name: criterion.copy() for name, criterion in criteria.items()}
    rows: list[SuiteCoverage] = []
    for suite, texts in suites.items():
        covered = cover_texts(criteria, encoder, texts, suite)
        rows.append(SuiteCoverage(suite, len(texts), _figures(covered)))
        for name, criterion in covered.items():
            union[name].merge(criterion)
    if len(rows) > 1:
        name, n_texts = " + ".join(suites), sum(row.texts for row in rows)
        rows.append(SuiteCoverage(name, n_texts, _figures(union)))
    return CoverageResult(encoder.name, tuple(rows))


def _figures(criteria: Mapping[str, Criterion]) -> dict[str, float]:
    return {
        figure: value
        for criterion in criteria.values()
        for figure, value in criterion.figures.items()
    }
