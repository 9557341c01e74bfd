"""Tables of any length as corpora: folders of files, compressed ones, their first rows, streams."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hub_fixtures import HubClient
from hub_server import HubServer
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from s2lct.builder.corpus.lines import lines_of
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import CorpusError
from s2lct.labels import LABELS

Rows = Sequence[dict[str, Any]]
KINDS = ("csv", "jsonl", "parquet", "csv.gz", "jsonl.gz")


def made_up(number: int) -> Rows:
    return [
        {"text": f"Film {row}, of the sea.", "label": LABELS[row % 3], "score": row / number}
        for row in range(number)
    ]


def written(path: Path, rows: Rows) -> Path:
    """A table of rows, of the kind that the file's name says."""
    if path.name.endswith(".parquet"):
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
        return path
    if ".csv" in path.name:
        lines = ["text,label,score", *('"{text}",{label},{score}'.format(**row) for row in rows)]
    else:
        lines = list(map(json.dumps, rows))
    content = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return path


def error_of(spec: str, **options: Any) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        read_corpus(spec, **options)
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_read_as_one_file_would_be(tmp_path: Path, kind: str) -> None:
    rows = made_up(30)
    whole = read_corpus(f"{kind.partition('.')[0]}:{written(tmp_path / f'all.{kind}', rows)}")
    folder = tmp_path / "shards"
    folder.mkdir()
    for name, part in (("b", rows[10:12]), ("a", rows[:10]), ("c", rows[12:])):
        written(folder / f"{name}.{kind}", part)
    (folder / "_SUCCESS").touch()
    (folder / f".c.{kind}").write_text("half written")
    corpus = read_corpus(f"{kind.partition('.')[0]}:{folder}")
    assert corpus.name == f"{kind.partition('.')[0]}:shards"
    assert corpus.fingerprint == whole.fingerprint
    assert [one.id for one in corpus.sentences] == [str(row) for row in range(1, 31)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_a_folder_is_named_with_its_file(tmp_path: Path, kind: str) -> None:
    rows = made_up(5)
    written(tmp_path / f"0.{kind}", rows)
    wrong = written(tmp_path / f"1.{kind}", [*rows[:2], {**rows[0], "label": "odd"}])
    place = {"csv": "row 4", "jsonl": "line 3", "parquet": "row 3"}[kind.partition(".")[0]]
    problem = error_of(f"{kind.partition('.')[0]}:{tmp_path}").problem
    assert problem.startswith(f"{wrong}, {place}: the label 'odd'")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_what_gzip_cannot_unpack_is_told(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / f"x.{kind}.gz", made_up(500))
    whole = path.read_bytes()
    for content in (whole[:-100], b"text,label\n", whole[:200] + bytes(50) + whole[250:]):
        path.write_bytes(content)
        assert error_of(f"{kind}:{path}").problem.startswith(f"{path} cannot be unpacked: ")
    path.write_bytes(gzip.compress(b'{"text": "\xff"}\n' if kind == "jsonl" else b"text\n\xff\n"))
    assert "is not UTF-8" in error_of(f"{kind}:{path}").problem


# Of bytes that end lines, hold more than one byte of a letter, or are no UTF-8.
pieces = st.lists(
    st.sampled_from([b"a", "é".encode(), b"\xc3", b"\n", b"\r\n", b"\r", b",", b'"', b" ", b"\0"]),
    max_size=12,
)


@settings(deadline=None)
@given(pieces, st.integers(8_180, 8_195), st.booleans(), st.sampled_from(["\n", ""]))
def test_read_in_blocks_a_file_has_the_lines_and_faults_that_it_has_as_a_whole(
    tmp_path_factory: pytest.TempPathFactory,
    content: list[bytes],
    before: int,
    with_mark: bool,
    ended_by: Any,
) -> None:
    path = tmp_path_factory.mktemp("lines") / "x.csv"
    raw = (b"\xef\xbb\xbf" if with_mark else b"") + b"x" * before + b"\n" + b"".join(content)
    path.write_bytes(raw)
    lines = lines_of(path, ended_by=ended_by, mend_empty="")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        with pytest.raises(CorpusError, match=f"line {line} is not UTF-8 .{error.reason}"):
            list(lines)
    else:
        assert list(lines) == list(io.StringIO(text.removeprefix("\ufeff"), newline=ended_by))


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s2lct.builder.corpus.lines.MAX_BYTES", 1 << 20)
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "Bees.", "label": "pos"}\n' + b" " * (1 << 21)))
    assert "line 2 is larger than 1 MB" in error_of(f"jsonl:{path}").problem


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_no_more_rows_are_read_than_asked_for(tmp_path: Path, kind: str) -> None:
    rows = made_up(20)
    path = written(tmp_path / f"x.{kind}", [*rows[:12], {**rows[12], "label": "odd"}, *rows[13:]])
    first = read_corpus(f"{kind}:{path}", rows=12)
    assert [one.text for one in first.sentences] == [row["text"] for row in rows[:12]]
    assert "'odd'" in error_of(f"{kind}:{path}", rows=13).problem
    assert "--rows" in error_of("embedded", rows=13).problem
    assert "--stream" in error_of(f"{kind}:{path}", stream=True).problem


# The Hub

READ = """
import json, sys
from s2lct.builder.corpus.lines import lines_of
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import CorpusError
spec, options = sys.argv[1], json.loads(sys.argv[2])
try:
    corpus = read_corpus(spec, **options)
except CorpusError as error:
    print(json.dumps({"error": str(error)}))
else:
    texts = [one.text for one in corpus.sentences]
    print(json.dumps({"texts": texts, "fingerprint": corpus.fingerprint}))
"""
CORPUS = "s2lct-org/reviews"
CARD = """---
license: cc-by-4.0
configs:
- config_name: default
  data_files:
  - split: train
    path: data/*.jsonl
---
"""


@pytest.fixture
def reviews(hub: HubClient, hub_server: HubServer, tmp_path: Path) -> HubClient:
    """Reviews at the Hub, in two files."""
    rows = made_up(40)
    files = {"README.md": CARD.encode()}
    for number, part in enumerate((rows[:25], rows[25:])):
        files[f"data/{number}.jsonl"] = written(tmp_path / f"{number}.jsonl", part).read_bytes()
    hub.python(
        "import sys, json; from huggingface_hub import HfApi; api = HfApi();"
        f"api.create_repo({CORPUS!r}, repo_type='dataset');"
        "[api.upload_file(path_or_fileobj=bytes.fromhex(content), path_in_repo=path,"
        f" repo_id={CORPUS!r}, repo_type='dataset')"
        " for path, content in json.loads(sys.argv[1]).items()]",
        json.dumps({path: content.hex() for path, content in files.items()}),
    )
    return hub


def read_there(client: HubClient, spec: str, **options: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(
        client.python(READ, spec, json.dumps(options)).splitlines()[-1]
    )
    return told


def test_a_streamed_data_set_is_the_same(reviews: HubClient, hub_server: HubServer) -> None:
    spec = f"hf:{CORPUS}:train"
    streamed = read_there(reviews, spec, stream=True)
    assert streamed == read_there(reviews, spec)
    assert streamed["texts"] == [row["text"] for row in made_up(40)]
    sampled = read_there(reviews, spec, sample=9, seed=3)
    assert sampled == read_there(reviews, f"{spec}[:40]", sample=9, seed=3)
    assert len(sampled["texts"]) == 9
    assert set(sampled["texts"]) < set(streamed["texts"])


def test_of_a_stream_only_what_is_read_is_fetched(
    reviews: HubClient, hub_server: HubServer
) -> None:
    first = read_there(reviews, f"hf:{CORPUS}:train", stream=True, rows=20)
    assert first["texts"] == [row["text"] for row in made_up(20)]
    fetched = hub_server.asked(f"/datasets/{CORPUS}/resolve/", "GET")
    assert any("0.jsonl" in one.path for one in fetched)
    assert not any("1.jsonl" in one.path for one in fetched)


def test_a_slice_is_not_streamed(reviews: HubClient) -> None:
    told = read_there(reviews, f"hf:{CORPUS}:train[:10]", stream=True)["error"]
    assert "--stream" in told
    assert "train[:10]" in told
    assert "--rows" in told


def test_a_stream_that_breaks_off_is_told(reviews: HubClient, hub_server: HubServer) -> None:
    hub_server.fail_next(403, times=None, echoes=True, path="1.jsonl")
    told = read_there(reviews, f"hf:{CORPUS}:train", stream=True)["error"]
    assert f"hf:{CORPUS}" in told
    assert reviews.token not in told
