"""Suites to measure: a built suite, CheckList's released one, or sentences of a corpus."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import AnalysisError
from s2lct.files import is_here, write_bytes
from s2lct.identity import content_id, fingerprint_of, shuffle_key
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, SuiteCases, load_cases
from s2lct.suite.checklist import CheckListCase, read_checklist
from s2lct.suite.records import Sentence

CHECKLIST_SUFFIXES = (".jsonl", ".jsonl.gz")
TRAIN = "train"
_HELD_OUT_SHARE = 5


def is_checklist(name: str) -> bool:
    """Whether a suite's name is that of a file of CheckList's JSON lines."""
    return name.endswith(CHECKLIST_SUFFIXES)


def load_test_suite(name: str) -> SuiteCases:
    """A suite by name: a folder or Hub id of a built suite, or CheckList's JSON lines.

    A case of CheckList's has the name of its test as capability; equal texts of one test are one
    case.

    Raises:
        AnalysisError: the file cannot be read, is of another task, or contradicts itself.
        ScoringError: there is no such suite.
    """
    if not is_checklist(name):
        return load_cases(name)
    path = Path(name)
    _check_task(path)
    cases: dict[str, Case] = {}
    for read in read_checklist(path):
        try:
            case = _as_case(read)
        except UnicodeEncodeError as error:
            raise AnalysisError(
                f"{path}: a case of {read.test!r} holds half a character (a lone surrogate)",
                mend="write the file as UTF-8",
            ) from error
        if cases.setdefault(case.id, case).passes != case.passes:
            raise AnalysisError(
                f"{path}: two cases of {read.test!r} have the text {read.text[:60]!r} and other "
                "labels",
                mend="decide which labels pass, and leave out the other case",
            )
    kept = tuple(cases.values())
    return SuiteCases(name, "", _fingerprint_of(kept), kept)


def _fingerprint_of(cases: Sequence[Case]) -> str:
    """What identifies a suite that nobody built: its ids, texts and labels."""
    return fingerprint_of([[case.id, case.text, sorted(case.passes)] for case in cases])


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
        if not equals or is_here(Path(name)):
            called, suite = Path(name).name.removesuffix(".gz").removesuffix(".jsonl"), name
        if called in found or not called:
            raise AnalysisError(
                f"suite {name}: another one is called {called!r} too", mend="name it: NAME=SUITE"
            )
        found[called] = load_test_suite(suite)
    return found


def _as_case(case: CheckListCase) -> Case:
    own = content_id("checklist", case.test, case.text)
    passes = frozenset(LABELS.index(label) for label in case.passes)
    return Case(own, case.test, "seed", own, case.text, passes)


def _check_task(path: Path) -> None:
    """Refuse a suite of pairs of texts, or with labels that are no sentiment, by its first case."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            row: Any = json.loads(next((line for line in file if line.strip()), b"{}"))
    except (OSError, EOFError, ValueError):
        return  # the reader tells what is wrong
    if not isinstance(row, dict) or not {"texts", "expected"} <= row.keys():
        return
    texts, expected = row["texts"], row["expected"]
    if not isinstance(texts, list) or not isinstance(expected, list):
        return
    if len(texts) != 1 or (expected and not {*map(str, expected)} & {*LABELS}):
        raise AnalysisError(
            f"{path}: a suite of another task: {len(texts)} texts a case, expects {expected!r}",
            mend=f"pass a sentiment suite, of one text a case and labels {', '.join(LABELS)}",
        )


def write_reduced_checklist(path: Path, kept: Iterable[str], out: Path) -> None:
    """Write those of CheckList's cases whose ids are ``kept``, in their order, as JSON lines."""
    wanted = set(kept)
    lines: dict[str, str] = {}
    for number, case in enumerate(read_checklist(path)):
        if (own := _as_case(case).id) in wanted and own not in lines:
            row = {
                "test": case.test,
                "capability": case.capability,
                "type": "MFT",
                "case": number,
                "texts": [case.text],
                "expected": list(case.passes),
            }
            lines[own] = json.dumps(row, ensure_ascii=False) + "\n"
    out.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(out, "".join(lines.values()).encode())


def drawn(cases: Sequence[Case], most: int | None, seed: int) -> list[Case]:
    """At most so many cases of distinct texts, drawn at random, in their own order."""
    distinct = list({case.text: case for case in cases}.values())
    if most is None or len(distinct) <= most:
        return distinct
    ranked = sorted(
        range(len(distinct)), key=lambda n: (shuffle_key(seed, "drawn", distinct[n].text), n)
    )
    return [distinct[n] for n in sorted(ranked[:most])]


def reference_and_held_out(spec: str, most: int | None, seed: int) -> tuple[list[str], SuiteCases]:
    """A corpus's sentences, parted into those that set bounds and those that are tests.

    The train split, or at most so many random sentences of it, sets bounds, and the other splits
    are tests. A corpus without splits is parted at random, one sentence in five a test.

    Raises:
        CorpusError: the corpus cannot be read.
        AnalysisError: it holds a single sentence.
    """
    # Coverage asks what a text does to neurons, and of no label.
    corpus = read_corpus(spec, labelled=False)
    if len({sentence.text for sentence in corpus.sentences}) < 2:
        raise AnalysisError(
            f"reference corpus {spec}: one sentence, so no neuron has a range",
            mend="pass the corpus that the model was trained on, or another large one",
        )
    reference, held_out = _parted(corpus, seed)
    if not reference:
        reference, held_out = held_out, reference
    if most is not None and len(reference) > most:
        reference = sorted(reference, key=lambda s: shuffle_key(seed, "reference", s.id))[:most]
    cases = tuple(
        Case(s.id, "random sentences", "seed", s.id, s.text, frozenset({LABELS.index(s.label)}))
        for s in held_out
    )
    return (
        [sentence.text for sentence in reference],
        SuiteCases(f"random sentences of {corpus.name}", "", _fingerprint_of(cases), cases),
    )


def _parted(corpus: Corpus, seed: int) -> tuple[list[Sentence], list[Sentence]]:
    if any(sentence.split for sentence in corpus.sentences):
        return (
            [s for s in corpus.sentences if s.split == TRAIN],
            [s for s in corpus.sentences if s.split != TRAIN],
        )
    mixed = sorted(corpus.sentences, key=lambda s: (shuffle_key(seed, "held out", s.id), s.id))
    tests = max(1, len(mixed) // _HELD_OUT_SHARE)
    return mixed[tests:], mixed[:tests]
