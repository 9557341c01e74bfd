"""Suites to measure: a built one, CheckList's, pairs of texts, or sentences of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.analysis.coverage.encoder import Text
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import AnalysisError, ScoringError
from s2lct.files import is_here
from s2lct.identity import content_id, fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, SuiteCases, load_cases
from s2lct.suite.checklist import read_cases
from s2lct.suite.other_suites import CHECKLIST, is_spec, rows_of_file

PREFIX = "pairs:"
"""Before a file of pairs that stands where a corpus may stand."""
_CHECKLIST = f"{CHECKLIST}:"
_PAIRS_HINT = "pass JSON lines with text and text_pair, and expected where needed"


@dataclass(frozen=True, slots=True)
class PairCase(Case):
    """A case of two texts, as tests of paraphrase and inference have them.

    ``expected`` names the model's classes that pass; none where nothing is expected.
    """

    text_pair: str = ""
    expected: tuple[str, ...] = ()


def given(case: Case) -> Text:
    """What a model is given of a case: its text, or its pair of them."""
    return (case.text, case.text_pair) if isinstance(case, PairCase) else case.text


def holds_pairs(path: Path) -> bool:
    """Whether the first row of a file of JSON lines is a pair."""
    try:
        return "text_pair" in next((row for _, row in rows_of_file(path, "jsonl")), ())
    except ScoringError:
        return False  # whoever reads it tells what is wrong


def read_pairs(path: Path) -> list[PairCase]:
    """Read JSON lines of pairs; equal pairs of one test are one case.

    A line has ``text`` and ``text_pair``, and may have ``test`` and ``expected`` (names of the
    classes that pass).

    Raises:
        AnalysisError: the file holds none, or a line is none; it names the line.
        ScoringError: the file cannot be read.
    """
    cases: dict[str, PairCase] = {}
    for where, row in rows_of_file(path, "jsonl"):
        first, second = row.get("text", ""), row.get("text_pair", "")
        test, expected = row.get("test", "pairs"), row.get("expected", [])
        named = [first, second, test, *(expected if isinstance(expected, list) else [None])]
        if not all(isinstance(one, str) and one.strip() for one in named):
            raise AnalysisError(f"{where}: is no pair", hint=_PAIRS_HINT)
        id = content_id("pair", test, first, second)
        cases[id] = PairCase(
            id, test, "seed", id, first, frozenset(), text_pair=second, expected=tuple(expected)
        )
    if not cases:
        raise AnalysisError(f"{path}: holds no pair", hint=_PAIRS_HINT)
    return list(cases.values())


def load_test_suite(name: str) -> SuiteCases:
    """A suite by name, as `load_cases` takes it, or CheckList's JSON lines without ``checklist:``.

    A case of CheckList's has the name of its test as capability; equal texts of one test are one
    case. Texts of its invariance and directional tests are cases that every label passes: they
    exercise a model as others do. A file of JSON lines may hold pairs of texts instead.

    Raises:
        AnalysisError: the file cannot be read, is of another task, or contradicts itself.
        ScoringError: there is no such suite.
    """
    lines = not is_spec(name) and name.endswith((".jsonl", ".jsonl.gz"))
    if not lines and not name.startswith(_CHECKLIST):
        return load_cases(name)
    path = Path(name.removeprefix(_CHECKLIST))
    if holds_pairs(path):
        return _suite_of(name, read_pairs(path))
    cases: dict[str, Case] = {}
    for read in read_cases(path):
        for text in read.texts:
            id = content_id("checklist", read.test, text)
            passes = frozenset(map(LABELS.index, read.passes or LABELS))
            case = Case(id, read.test, "seed", id, text, passes)
            if cases.setdefault(id, case).passes != passes:
                raise AnalysisError(
                    f"{path}: two cases of {read.test!r} have the text {text[:60]!r} and other "
                    "labels",
                    hint="decide which labels pass, and leave out the other case",
                )
    return _suite_of(name, cases.values())


def _suite_of(name: str, cases: Iterable[Case]) -> SuiteCases:
    """A suite that nobody built."""
    cases = tuple(cases)
    described = [[case.id, given(case), sorted(case.passes)] for case in cases]
    return SuiteCases(name, "", fingerprint_of(described), cases)


def named_suites(names: Sequence[str]) -> dict[str, SuiteCases]:
    """Suites by what they are called in tables, named as for `load_test_suite`, or ``NAME=SUITE``.

    Without a name, they are called as the last part of a path.

    Raises:
        AnalysisError: two of one name, or one that cannot be read.
        ScoringError: there is no such suite.
    """
    found: dict[str, SuiteCases] = {}
    for name in names:
        called, equals, suite = name.partition("=")
        if not equals or is_here(Path(name)) or is_spec(name):
            file = name.partition(":")[2].partition("?")[0] if is_spec(name) else name
            called, suite = Path(file).name.removesuffix(".gz").removesuffix(".jsonl"), name
        if called in found or not called:
            raise AnalysisError(
                f"suite {name}: another one is called {called!r} too", hint="name it: NAME=SUITE"
            )
        found[called] = load_test_suite(suite)
    return found


def drawn(cases: Sequence[Case], most: int | None, seed: int) -> list[Case]:
    """At most so many cases of distinct texts, drawn at random, in their own order."""
    distinct = list({given(case): case for case in cases}.values())
    ranked = sorted(distinct, key=lambda case: _key(seed, "drawn", given(case)))[:most]
    chosen = {given(case) for case in ranked}
    return [case for case in distinct if given(case) in chosen]


def _key(seed: int, what: str, text: Text) -> Any:
    return shuffle_key(seed, what, *((text,) if isinstance(text, str) else text))


def reference_and_held_out(spec: str, most: int | None, seed: int) -> tuple[list[Text], SuiteCases]:
    """A corpus's sentences, parted into those that set bounds and those that are tests.

    The train split, or at most so many random sentences of it, sets bounds, and the other splits
    are tests. A corpus without splits is parted at random, one sentence in five a test. All of
    ``pairs:FILE`` (see `read_pairs`), or so many of them, set bounds, and there is no test.

    Raises:
        CorpusError: the corpus cannot be read.
        AnalysisError: it holds a single sentence.
    """
    if spec.startswith(PREFIX):
        pairs = drawn(read_pairs(Path(spec.removeprefix(PREFIX))), most, seed)
        return [given(case) for case in pairs], _suite_of(f"no pairs beside {spec}", ())
    # Coverage asks what a text does to neurons, and of no label.
    corpus = read_corpus(spec, labelled=False)
    if len({sentence.text for sentence in corpus.sentences}) < 2:
        raise AnalysisError(
            f"reference corpus {spec}: one sentence, so no neuron has a range",
            hint="pass the corpus that the model was trained on, or another large one",
        )
    if any(sentence.split for sentence in corpus.sentences):
        reference = [s for s in corpus.sentences if s.split == "train"]
        held_out = [s for s in corpus.sentences if s.split != "train"]
    else:
        mixed = sorted(corpus.sentences, key=lambda s: (shuffle_key(seed, "held out", s.id), s.id))
        tests = max(1, len(mixed) // 5)
        reference, held_out = mixed[tests:], mixed[:tests]
    if not reference:
        reference, held_out = held_out, reference
    if most is not None and len(reference) > most:
        reference = sorted(reference, key=lambda s: shuffle_key(seed, "reference", s.id))[:most]
    cases = (
        Case(s.id, "random sentences", "seed", s.id, s.text, frozenset({LABELS.index(s.label)}))
        for s in held_out
    )
    suite = _suite_of(f"random sentences of {corpus.name}", cases)
    return [sentence.text for sentence in reference], suite
