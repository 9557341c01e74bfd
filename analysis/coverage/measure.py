"""The texts of suites and of reference corpora, and how much of a model each suite covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.coverage.criteria import Criterion
from s2lct.analysis.coverage.encoder import EncoderModel, Text
from s2lct.analysis.result import Result
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import AnalysisError
from s2lct.files import path_exists
from s2lct.identity import shuffle_key
from s2lct.suite.cases import load_suite
from s2lct.suite.other_suites import CHECKLIST, is_table_name, read_cases
from s2lct.table_files import read_rows
from s2lct.tables import Cell, Table

PAIRS = "pairs:"
"""Prefix of a file of pairs that is named in place of a corpus."""
_NotBlank = Annotated[str, Field(pattern=r"\S")]


class Pair(BaseModel):
    """Two texts that a test gives a model, and the names of the classes that pass."""

    model_config = ConfigDict(frozen=True)

    test: _NotBlank = "pairs"
    text: _NotBlank
    text_pair: _NotBlank
    expected: tuple[_NotBlank, ...] = ()

    @property
    def texts(self) -> tuple[str, str]:
        """Both texts."""
        return self.text, self.text_pair


def read_pairs(path: Path) -> list[Pair]:
    """Read JSON lines of pairs, each pair of a test once; none if the first line holds no pair.

    Raises:
        AnalysisError: a later line is no pair; it names the line.
        ScoringError: the file cannot be read.
    """
    pairs: dict[tuple[str, tuple[str, str]], Pair] = {}
    rows = read_rows(path, "jsonl")
    if not any("text_pair" in row for _, row in rows[:1]):
        return []
    for where, row in rows:
        try:
            pair = Pair.model_validate(row)
        except ValidationError as error:
            hint = "pass JSON lines with text and text_pair, and expected where needed"
            raise AnalysisError(f"{where}: is no pair", hint=hint) from error
        pairs[pair.test, pair.texts] = pair
    return list(pairs.values())


def texts_of_suite(suite: str) -> list[Text]:
    """The texts of a suite as `load_suite` takes it, or of a file of JSON lines.

    Such a file holds CheckList's cases, those of invariance and directional tests too, or pairs.

    Raises:
        AnalysisError: a pair is none.
        ScoringError: there is no such suite, or it is damaged.
    """
    path = Path(suite.removeprefix(f"{CHECKLIST}:"))
    if str(path) == suite and (is_table_name(suite) or not suite.endswith((".jsonl", ".jsonl.gz"))):
        return [case.text for case in load_suite(suite).cases]
    pairs = [pair.texts for pair in read_pairs(path)]
    return [*pairs] or [text for case in read_cases(path) for text in case.texts]


def texts_by_suite(suites: Sequence[str]) -> dict[str, list[Text]]:
    """Texts of suites by name: ``NAME=SUITE``, or SUITE, which is called by its path's last part.

    Raises:
        AnalysisError: two have one name, or one cannot be read.
        ScoringError: there is no such suite.
    """
    texts: dict[str, list[Text]] = {}
    for argument in suites:
        name, equals, suite = argument.partition("=")
        if not equals or path_exists(Path(argument)) or is_table_name(argument):
            file = argument.partition(":")[2] if is_table_name(argument) else argument
            name, suite = Path(file).name.removesuffix(".gz").removesuffix(".jsonl"), argument
        if name in texts or not name:
            raise AnalysisError(
                f"suite {argument}: another one is called {name!r} too", hint="name it: NAME=SUITE"
            )
        texts[name] = texts_of_suite(suite)
    return texts


def text_key(seed: int, purpose: str, text: Text) -> bytes:
    """A key that sorts texts in a random order; each purpose has its own."""
    return shuffle_key(seed, purpose, *((text,) if isinstance(text, str) else text))


def random_texts(texts: Iterable[Text], most: int | None, seed: int) -> list[Text]:
    """At most so many distinct texts, drawn at random, in the order given."""
    distinct = list(dict.fromkeys(texts))
    drawn = set(sorted(distinct, key=lambda text: text_key(seed, "drawn", text))[:most])
    return [text for text in distinct if text in drawn]


class Reference(NamedTuple):
    """The texts that set neurons' ranges, and held-out texts of the same corpus, by name."""

    texts: list[Text]
    held_out: dict[str, list[Text]]


def read_reference(corpus: str, most: int | None, seed: int) -> Reference:
    """A corpus's training sentences, or so many at random, and the sentences that it holds out.

    See `parts_of_corpus`. Of ``pairs:FILE`` (see `read_pairs`) nothing is held out.

    Raises:
        CorpusError: the corpus cannot be read.
        AnalysisError: it holds a single sentence.
    """
    if corpus.startswith(PAIRS):
        pairs = read_pairs(Path(corpus.removeprefix(PAIRS)))
        return Reference(random_texts([pair.texts for pair in pairs], most, seed), {})
    source = read_corpus(corpus, labelled=False)
    parts = parts_of_corpus(source, seed)
    held_out: list[Text] = [sentence.text for sentence in (*parts.dev, *parts.test)]
    return Reference(
        random_texts([sentence.text for sentence in parts.train], most, seed),
        {f"random sentences of {source.name}": held_out},
    )


@dataclass(frozen=True, slots=True)
class SuiteCoverage:
    """How many texts a suite has, and what they cover, by the name of the figure."""

    suite: str
    texts: int
    figures: dict[str, float]


@dataclass(frozen=True, repr=False)
class CoverageResult(Result):
    """What suites cover of a model: each alone and, if there are several, all together."""

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
    """A share in percent: two decimals, or two digits where two decimals would say nothing."""
    return Cell(f"{100 * share:.2g}" if 0 < share < 0.001 else f"{100 * share:.2f}", value=share)


def covered(
    criteria: Mapping[str, Criterion], encoder: EncoderModel, texts: Sequence[Text], title: str = ""
) -> dict[str, Criterion]:
    """Copies of criteria that cover texts, too, in one pass; a title shows a progress bar."""
    states = {name: criterion.copy() for name, criterion in criteria.items()}
    for activations in encoder.activations(texts, title):
        for state in states.values():
            state.add(state.flags_of(activations))
    return states


def measure_coverage(
    suites: Mapping[str, Sequence[Text]], encoder: EncoderModel, criteria: Mapping[str, Criterion]
) -> CoverageResult:
    """Measure what suites cover, alone and together; each name has the suite's texts."""
    union = {name: criterion.copy() for name, criterion in criteria.items()}
    rows: list[SuiteCoverage] = []
    for suite, texts in suites.items():
        states = covered(criteria, encoder, texts, suite)
        rows.append(SuiteCoverage(suite, len(texts), _figures(states)))
        for name, state in states.items():
            union[name].merge(state)
    if len(rows) > 1:
        name, texts_of_all = " + ".join(suites), sum(row.texts for row in rows)
        rows.append(SuiteCoverage(name, texts_of_all, _figures(union)))
    return CoverageResult(encoder.name, tuple(rows))


def _figures(criteria: Mapping[str, Criterion]) -> dict[str, float]:
    return {
        figure: value
        for criterion in criteria.values()
        for figure, value in criterion.figures.items()
    }
