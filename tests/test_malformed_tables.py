"""Tables of any content: one line says what is wrong, or what is read is what is there."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damage import damaged_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import CorpusError, ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.results.predictions_file import outcomes_of_predictions
from s2lct.suite.cases import SuiteCases, load_suite

KINDS = ("csv", "jsonl", "parquet")
TEXTS = [f"It has {number} wheels." for number in range(6)]
WORDS = {"negative": "negative", "POS": "positive", "3 stars": "neutral", "very_bad": "negative"}


def refusal_of(read: Callable[[], object]) -> str:
    """What is wrong, in one line; empty where nothing is."""
    try:
        read()
    except (CorpusError, ScoringError) as error:
        assert error.hint and len(error.problem) < 1_500
        assert "\n" not in error.problem and "Traceback" not in error.problem
        return error.problem
    return ""


def write_table(path: Path, rows: list[dict[str, Any]], draw: random.Random | None = None) -> None:
    """Rows as a file of the kind that its name says; some of its bytes are changed by ``draw``."""
    if path.suffix == ".csv":
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
        content = file.getvalue().encode("utf-8", "surrogatepass")
    elif path.suffix == ".jsonl":
        content = "\n".join(map(json.dumps, rows)).encode()
    else:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        content = sink.getvalue().to_pybytes()
    path.write_bytes(content if draw is None else damaged_bytes(content, draw))


CELLS = st.one_of(
    st.sampled_from([*WORDS, *LABELS, *TEXTS, "0", "1", "2", "1.0", "5", "", " ", "a\ud800"]),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    st.lists(st.sampled_from([*WORDS, 0, 1, None]), max_size=3),
    st.dictionaries(st.sampled_from(["label", "score", ""]), st.none() | st.text(max_size=3)),
)
COLUMNS = st.sampled_from(
    ["id", "text", "label", "labels", "gold", "prediction", "pred", "probabilities", "stars", "x"]
)
ROWS = st.lists(st.dictionaries(COLUMNS, CELLS, min_size=1), min_size=1, max_size=6)
FUZZED = settings(
    derandomize=True, database=None, max_examples=150, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> SuiteCases:
    path = tmp_path_factory.mktemp("asked") / "asked.csv"
    rows = [{"id": str(n), "text": text, "label": "neutral"} for n, text in enumerate(TEXTS[:2])]
    write_table(path, rows)
    return load_suite(f"csv:{path}")


@pytest.mark.parametrize("kind", KINDS)
@FUZZED
@given(rows=ROWS, seed=st.none() | st.integers(0, 1 << 30))
def test_whatever_a_table_holds_is_read_or_refused_in_a_line(
    tmp_path_factory: pytest.TempPathFactory,
    asked: SuiteCases,
    kind: str,
    rows: list[dict[str, Any]],
    seed: int | None,
) -> None:
    path = tmp_path_factory.getbasetemp() / f"mine.{kind}"
    try:
        write_table(path, rows, None if seed is None else random.Random(seed))
    except (pa.ArrowException, UnicodeError, OverflowError):
        return  # no such file can be written
    for labelled in (True, False):
        refusal_of(lambda labelled=labelled: read_corpus(f"{kind}:{path}", labelled=labelled))
    refusal_of(lambda: load_suite(f"{kind}:{path}"))
    refusal_of(lambda: outcomes_of_predictions(path, asked, "team/model"))


@pytest.mark.parametrize("kind", KINDS)
@FUZZED
@given(
    cells=st.lists(
        st.sampled_from([*WORDS, "0", "1", "2", "4", "mixed"]), min_size=2, max_size=len(TEXTS)
    ),
    typed=st.booleans(),
)
def test_what_is_read_is_what_is_written(
    tmp_path_factory: pytest.TempPathFactory, kind: str, cells: list[str], typed: bool
) -> None:
    """No label is guessed: words mean what they say, numbers 0, 1 and 2 together, or nothing."""
    path = tmp_path_factory.getbasetemp() / f"mine.{kind}"
    expected: list[str] | None = None
    if all(cell in WORDS for cell in cells):
        expected = [WORDS[cell] for cell in cells]
    elif {*cells} == {"0", "1", "2"}:
        expected = [LABELS[int(cell)] for cell in cells]
    written: list[Any] = [int(c) if typed and c.isdecimal() else c for c in cells]
    rows = [{"text": text, "label": cell} for text, cell in zip(TEXTS, written, strict=False)]
    try:
        write_table(path, rows)
    except pa.ArrowException:
        return  # a column of Parquet has one type
    if expected is None:
        refused = refusal_of(lambda: read_corpus(f"{kind}:{path}"))
        assert "nothing says what" in refused
        assert "nothing says what" in refusal_of(lambda: load_suite(f"{kind}:{path}"))
        return
    sentences = read_corpus(f"{kind}:{path}").sentences
    assert [(s.text, s.label) for s in sentences] == [*zip(TEXTS, expected, strict=False)]
    cases = {case.text: case.passes for case in load_suite(f"{kind}:{path}").cases}
    assert cases == {
        text: {LABELS.index(label)} for text, label in zip(TEXTS, expected, strict=False)
    }


LOVELY = '{"text": "The screen is lovely.", "label": "pos"}'
GOOD = '{"text": "It sings.", "label": "positive"}\n'


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.jsonl", GOOD + "[" * 500_000, "line 2"),
        ("x.jsonl", GOOD + '{"text": ' * 200_000 + "1" + "}" * 200_000, "line 2"),
        ("x.jsonl", GOOD + '{"text": "half \\ud800", "label": "pos"}', "line 2"),
        ("x.jsonl", GOOD + '{"text": "a", "label": "pos", "label": "neg"}', "line 2"),
        ("x.jsonl", GOOD + '{"text": "a", "label": ["pos"]}', "line 2"),
        ("x.jsonl", GOOD + '{"text": "a", "label": 1}', "line 2: nothing says what '1'"),
        ("x.jsonl", GOOD + '{"text": ["a"], "label": "pos"}', "line 2"),
        ("x.jsonl", GOOD + '"text"', "line 2"),
        ("x.csv", 'text,label\nIt "sings",pos\n"It drags"x,neg\n', ""),
        ("x.csv", 'text,label\n"It sings,pos\n', "unexpected end"),
        ("x.csv", "text,label,label\nIt sings.,pos,neg\n", "twice"),
        ("x.csv", "text,label\nIt sings.\n", "row 2"),
        ("x.csv", "text,label\n", "no"),
        ("x.csv", b"text,label\nIt sings.,pos\n\xff\xfe", "utf-8"),
        ("x.parquet", b"PAR1PAR1", ""),
        ("x.csv.gz", b"\x1f\x8b\x08\x00 broken", ""),
        ("x.csv.gz", gzip.compress(b"text,label\nIt sings.,pos\n", mtime=0)[:-9], ""),
    ],
)  # fmt: skip
def test_malformed_tables_are_refused_in_one_line(
    tmp_path: Path, name: str, content: str | bytes, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    kind = name.split(".")[1]
    for read in (read_corpus, load_suite):
        refused = refusal_of(lambda read=read: read(f"{kind}:{path}"))
        if read is load_suite and '["pos"]' in str(content):
            continue  # a suite's labels may be several
        assert name in refused and expected in refused, refused


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.tsv", "\ufefftext\tlabel\nIt, sings; now.\tpos\n".encode()),
        ("x.csv", 'text,label\n"It, sings; now.",pos\n'.encode("utf-16")),
        ("x.json", b'[{"text": "It, sings; now.",\n"label": "pos"}]'),
        (
            "x.csv",
            b"text;label\nIt, sings; now.;pos\n".replace(b"It, sings; now.", b'"It, sings; now."'),
        ),
    ],
)
def test_tables_are_read_as_spreadsheets_and_data_frames_write_them(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    kind = "jsonl" if name == "x.json" else "csv"
    (sentence,) = read_corpus(f"{kind}:{path}").sentences
    (case,) = load_suite(f"{kind}:{path}").cases
    assert (
        (sentence.text, sentence.label)
        == (case.text, "positive")
        == ("It, sings; now.", "positive")
    )


def test_a_parquet_file_of_two_equal_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    columns = [pa.array(["It sings."]), pa.array(["pos"]), pa.array(["neg"])]
    pq.write_table(pa.table(columns, names=["text", "label", "label"]), path)
    assert "twice" in refusal_of(lambda: read_corpus(f"parquet:{path}"))


@pytest.mark.parametrize(
    "location", ["~nouser/x.csv", "~nouser", "/dev/zero", "/dev/null", "/", "/nowhere/x.csv"]
)
def test_places_that_hold_no_table_are_one_error(location: str) -> None:
    for kind in KINDS:
        assert location in refusal_of(lambda kind=kind: read_corpus(f"{kind}:{location}"))
        assert location in refusal_of(lambda kind=kind: load_suite(f"{kind}:{location}"))
    assert location in refusal_of(lambda: read_corpus(f"sst:{location}"))


@pytest.mark.parametrize(
    "sign", ["a", "'", '"', "(", "$", "&", "☆", "*", "a.b@", "<br>", "http://"]
)
def test_a_text_without_a_space_costs_no_time(tmp_path: Path, sign: str) -> None:
    path = tmp_path / "x.jsonl"
    texts = [(sign * 40_000)[:size] for size in (9_999, 10_000, 39_999)]
    lines = [{"text": text, "label": "pos"} for text in texts]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n" + LOVELY)
    start = time.process_time()
    for cleaned in (True, False):
        corpus = read_corpus(f"jsonl:{path}", cleaned=cleaned)
        assert [sentence.text for sentence in corpus.sentences] == ["The screen is lovely."]
        assert sum(corpus.skipped.values()) == 3
    assert time.process_time() - start < 20  # spaCy alone took minutes


def test_marks_that_nobody_sees_are_left_out_and_those_of_models_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    texts = [
        "The\u200b sc\u00adreen \u202eis\u202c good\ufeff.",
        "A \U0001f468\u200d\U0001f469 film.",
    ]
    marks = ["{mask}", "[MASK]", "<mask>", "{P}", "[SEP]", "</s>", "<|endoftext|>", "}"]
    texts += [f"The {mark} is good." for mark in marks]
    path.write_text("\n".join(json.dumps({"text": text, "label": "pos"}) for text in texts))
    corpus = read_corpus(f"jsonl:{path}")
    kept = [sentence.text for sentence in corpus.sentences]
    assert kept == ["The screen is good.", "A \U0001f468\u200d\U0001f469 film."]
    assert corpus.skipped == {"braces or tokens of a language model": len(marks)}
