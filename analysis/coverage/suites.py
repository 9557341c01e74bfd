"""Suites to measure, a built one, CheckList's or sentences of a corpus; and reduced ones."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from s2lct.analysis.coverage.encoder import Text
from s2lct.analysis.coverage.minimize import Reduced
from s2lct.analysis.coverage.pairs import PREFIX, given, holds_pairs, read_pairs, write_pairs
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import AnalysisError, SuiteError
from s2lct.files import check_file_out, check_folder_out, is_here, whole_folder, write_text
from s2lct.identity import content_id, fingerprint_of, shuffle_key
from s2lct.json_lines import as_json_lines
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, SuiteCases, load_cases
from s2lct.suite.checklist import (
    CheckListCase,
    holds_cases,
    read_checklist,
    read_relative_cases,
)
from s2lct.suite.other_suites import CHECKLIST, is_spec
from s2lct.suite.read import read_description, read_suite
from s2lct.suite.tables import COUNTERPART, KINDS, SUITE_FILE
from s2lct.suite.write import files_of_suite, write_suite_files

_PREFIX = f"{CHECKLIST}:"


def is_checklist(name: str) -> bool:
    """Whether a suite's name is that of a file of CheckList's JSON lines."""
    return name.startswith(_PREFIX) or (
        not is_spec(name) and name.endswith((".jsonl", ".jsonl.gz"))
    )


def _checklist_path(name: str) -> Path:
    return Path(name.removeprefix(_PREFIX))


def load_test_suite(name: str, *, relative: bool = False) -> SuiteCases:
    """A suite by name, as `load_cases` takes it, or CheckList's JSON lines without ``checklist:``.

    A case of CheckList's has the name of its test as capability; equal texts of one test are one
    case. With ``relative``, texts of its invariance and directional tests are cases that every
    label passes: they exercise a model as others do. A file of JSON lines may hold pairs of texts
    instead; see `pairs`.

    Raises:
        AnalysisError: the file cannot be read, is of another task, or contradicts itself.
        ScoringError: there is no such suite.
    """
    if not is_checklist(name):
        return load_cases(name)
    path = _checklist_path(name)
    if holds_pairs(path):
        return _suite_of(name, read_pairs(path))
    _check_task(path)
    cases: dict[str, Case] = {}
    for read in _read(path) if relative else read_checklist(path):
        try:
            case = _as_case(read)
        except UnicodeEncodeError as error:
            raise AnalysisError(
                f"{path}: a case of {read.test!r} holds half a character (a lone surrogate)",
                hint="write the file as UTF-8",
            ) from error
        if cases.setdefault(case.id, case).passes != case.passes:
            raise AnalysisError(
                f"{path}: two cases of {read.test!r} have the text {read.text[:60]!r} and other "
                "labels",
                hint="decide which labels pass, and leave out the other case",
            )
    return _suite_of(name, cases.values())


def _read(path: Path) -> Iterator[CheckListCase]:
    """The cases of a file, and each text of its relative ones."""
    relative = read_relative_cases(path)
    if not relative or holds_cases(path):
        yield from read_checklist(path)
    for case in relative:
        for text in case.texts:
            yield CheckListCase(case.test, case.capability, text, LABELS, LABELS)


def _suite_of(name: str, cases: Iterable[Case]) -> SuiteCases:
    """A suite that nobody built."""
    cases = tuple(cases)
    described = [[case.id, given(case), sorted(case.passes)] for case in cases]
    return SuiteCases(name, "", fingerprint_of(described), cases)


def _as_case(case: CheckListCase) -> Case:
    own = content_id("checklist", case.test, case.text)
    passes = frozenset(LABELS.index(label) for label in case.passes)
    return Case(own, case.test, "seed", own, case.text, passes)


def _check_task(path: Path) -> None:
    """Refuse a suite of pairs of texts, or with labels that are no sentiment, by its first case."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            row: Any = json.loads(next((line for line in file if line.strip()), b"{}"))
        if "expectation" in row:
            return
        texts, expected = row["texts"], row["expected"]
        if not isinstance(texts, list) or not isinstance(expected, list):
            return
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return  # the reader tells what is wrong
    if len(texts) != 1 or (expected and not {*map(str, expected)} & {*LABELS}):
        raise AnalysisError(
            f"{path}: a suite of another task: {len(texts)} texts a case, expects {expected!r}",
            hint=f"pass a sentiment suite, of one text a case and labels {', '.join(LABELS)}",
        )


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
        found[called] = load_test_suite(suite, relative=True)
    return found


def drawn(cases: Sequence[Case], most: int | None, seed: int) -> list[Case]:
    """At most so many cases of distinct texts, drawn at random, in their own order."""
    distinct = list({given(case): case for case in cases}.values())
    ranked = sorted(distinct, key=lambda case: _drawn_key(seed, "drawn", given(case)))[:most]
    chosen = {given(case) for case in ranked}
    return [case for case in distinct if given(case) in chosen]


def _drawn_key(seed: int, what: str, text: Text) -> Any:
    return shuffle_key(seed, what, *((text,) if isinstance(text, str) else text))


def reference_and_held_out(spec: str, most: int | None, seed: int) -> tuple[list[Text], SuiteCases]:
    """A corpus's sentences, parted into those that set bounds and those that are tests.

    The train split, or at most so many random sentences of it, sets bounds, and the other splits
    are tests. A corpus without splits is parted at random, one sentence in five a test. All of
    ``pairs:FILE`` (see `pairs`), or so many of them, set bounds, and there is no test.

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


def _write_checklist(path: Path, kept: Iterable[str], out: Path) -> None:
    wanted = set(kept)
    rows: list[dict[str, Any]] = []
    for number, case in enumerate(read_checklist(path)):
        if (own := _as_case(case).id) in wanted:
            wanted.remove(own)
            about: dict[str, Any] = {"test": case.test, "capability": case.capability}
            about |= {"type": "MFT", "case": number, "texts": [case.text]}
            rows.append(about | {"expected": list(case.passes)})
    write_text(out, as_json_lines(rows))


def write_reduced(suite: str, reduced: Reduced, out: Path, about: Mapping[str, Any]) -> None:
    """Write the cases that stay as a suite of the same form: a folder, or CheckList's JSON lines.

    ``about`` is recorded in a folder's ``suite.json`` under ``reduced_from``.

    Raises:
        AnalysisError: ``out`` is in the way, or nothing stays in a folder.
        SuiteError: the suite cannot be read.
    """
    check_out(out, suite)
    if is_checklist(suite) and holds_pairs(_checklist_path(suite)):
        kept = [case for case in read_pairs(_checklist_path(suite)) if case.id in reduced.kept]
        write_text(out, write_pairs(kept))
        return
    if is_checklist(suite):
        _write_checklist(_checklist_path(suite), reduced.kept, out)
        return
    read = read_suite(Path(suite))
    rows_of = {
        name: [row for row in rows if row["id"] in reduced.kept] for name, rows in read.rows.items()
    }
    if not any(rows_of.values()):
        raise AnalysisError(
            f"threshold {reduced.threshold:g}: no case stays", hint="pass a lower --threshold"
        )
    counts: dict[str, dict[str, Any]] = {}
    for name, before in read.described["counts"].items():
        kinds = Counter(row["kind"] for row in rows_of.get(name, ()))
        counts[name] = {**before, **{f"{kind}s": kinds[kind] for kind in (*KINDS, COUNTERPART)}}
    reduced_from = {
        **about,
        "fingerprint": read.described["fingerprint"],
        "threshold": reduced.threshold,
        "seeds_kept_for_expansions": len(reduced.for_expansions),
    }
    described = {**read.described, "counts": counts, "reduced_from": reduced_from}
    with whole_folder(out, ours=files_of_suite(out), last=SUITE_FILE) as work:
        write_suite_files(work, rows_of, described)


def check_out(out: Path, suite: str) -> None:
    """Refuse to write over what is no reduced suite of that suite's form.

    Raises:
        AnalysisError: something else is there.
    """
    if is_checklist(suite):
        check_file_out(out, "--out")
        return
    check_folder_out(out, "--out")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        if "reduced_from" in read_description(out):
            return
    except SuiteError:
        pass
    raise AnalysisError(
        f"--out {out}: something else is there", hint="name a folder that does not exist yet"
    )
