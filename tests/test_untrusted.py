"""What strangers wrote: none of it is run, obeyed, followed or repeated where it must not be."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_fixtures import HubClient
from hub_server import MAINTAINER, HubServer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import MAX_MESSAGE_CHARACTERS, ModelError, S2lctError, S2lctWarning, ScoringError
from s2lct.plain_text import as_csv, spreadsheet_cell
from s2lct.suite.cases import load_suite

# Code that came with a model or a data set


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("unheard-of", "build --out OUT --corpus csv:CORPUS --mlm MODEL"),
        ("bert", "score MODEL --suite SUITE --out OUT"),
        ("unheard-of", "explain MODEL --suite SUITE --out OUT"),
        ("bert", "coverage SUITE --model MODEL --reference csv:CORPUS"),
    ],
)
def test_no_code_beside_a_model_is_run_even_by_who_says_yes(
    kind: str, command: str, suite_folder: Path, corpus_path: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    ran = tmp_path / "ran"
    (model / "evil.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    classes = {"AutoConfig": "evil.Config", "AutoModelForMaskedLM": "evil.Model"}
    for name in ("", "ForCausalLM", "ForSequenceClassification"):
        classes[f"AutoModel{name}"] = "evil.Model"
    tokenizer = {"AutoTokenizer": ["evil.Tokenizer", None]}
    described = {"model_type": kind, "architectures": ["Evil"], "auto_map": classes | tokenizer}
    (model / "config.json").write_text(json.dumps(described))
    (model / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "Evil", "auto_map": tokenizer})
    )
    places = {"OUT": tmp_path / "out", "CORPUS": corpus_path, "SUITE": suite_folder, "MODEL": model}
    for name, place in places.items():
        command = command.replace(name, str(place))
    done = CliRunner().invoke(app, command.split(), input="y\n" * 9)
    assert done.exit_code == 1
    assert not ran.exists()
    assert len(re.findall("^Error:", done.output, re.MULTILINE)) == 1


# What is shipped, and what it was when it was tested


@pytest.mark.parametrize("name", ["embedded-2class", "embedded-3class"])
def test_another_sentiment_head_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load_file, save_file

    from s2lct.leaderboard.models import embedded
    from s2lct.leaderboard.models.load import load_model

    path = embedded.head_path(name)
    tensors = load_file(path)
    tensors["layers.4.bias"] += 1
    save_file(tensors, tmp_path / path.name)
    monkeypatch.setattr(embedded, "head_path", lambda name: tmp_path / path.name)
    with pytest.raises(ModelError, match=r"SHA-256 is [0-9a-f]{64}, expected") as told:
        load_model(name)
    assert "install s2lct again" in told.value.hint


# Tokens


@pytest.mark.parametrize(
    "command",
    [
        "leaderboard build s2lct-org/results --out OUT",
        "score s2lct-org/model --suite SUITE",
        "build --corpus hf:s2lct-org/s2lct:train --out OUT",
        "publish dataset SUITE --repo s2lct-org/s2lct",
    ],
)
def test_a_token_that_a_server_echoes_is_not_printed(
    command: str, hub: HubClient, hub_server: HubServer, suite_folder: Path, tmp_path: Path
) -> None:
    hub_server.fail_next(403, times=None, echoes=True)
    for name, place in {"OUT": tmp_path / "out", "SUITE": suite_folder}.items():
        command = command.replace(name, str(place))
    done = hub.try_s2lct(*command.split())
    assert done.returncode == 1
    assert len(re.findall("^Error:", done.stderr, re.MULTILINE)) == 1
    assert MAINTAINER.token not in done.stdout + done.stderr
    assert hub_server.requests, "the server was asked"


# Spreadsheets


CELLS = st.text(st.one_of(st.characters(), st.sampled_from(";\t\n\" =+-@'")), max_size=12)


@given(
    st.one_of(CELLS, st.floats(), st.none(), st.sampled_from(["=1+1", "\t=a", 'a; "=b', ";;@c"]))
)
def test_no_cell_starts_like_a_formula_whatever_ends_a_cell(value: object) -> None:
    cell = spreadsheet_cell(value)
    if not isinstance(value, str):
        assert cell is value
        return
    text = as_csv([["id", value]])
    ((_, read),) = csv.reader(io.StringIO(text, newline=""))
    assert read == cell
    # Other spreadsheets part cells elsewhere, with quotes and without.
    parts = [str(cell)]
    for delimiter in ";\t":
        lines = re.split("[\r\n]", text)
        parts += [part for line in lines for part in line.split(delimiter)]
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        parts += [part for row in rows for part in row]
    for part in parts:
        assert not part.lstrip(' "').startswith(("=", "+", "-", "@"))
    assert str(cell).replace("'", "") == value.replace("'", "")


def _packed(column: pa.Array) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"text": column}), file, compression="zstd")
    return file.getvalue()


def _repeated(times: int) -> pa.Array:
    """One long text many times, which is stored once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), ["x" * (20 << 20)])


BOMBS = {
    "a text many times": lambda: _packed(_repeated(1_000)),
    "in lists": lambda: _packed(
        pa.ListArray.from_arrays(pa.array(range(1_001), pa.int32()), _repeated(1_000))
    ),
    "no values": lambda: _packed(pa.nulls(50_000_000, pa.string())),
    "no values in a list": lambda: _packed(
        pa.ListArray.from_arrays(pa.array([0, 50_000_000], pa.int32()), pa.nulls(50_000_000))
    ),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_small_file_that_unfolds_to_gigabytes_is_not_unfolded(what: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    path.write_bytes(BOMBS[what]())
    assert path.stat().st_size < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ScoringError, match="bomb") as caught:
        load_suite(f"parquet:{path}")
    assert len(str(caught.value)) < 1_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 << 10  # in KiB
    small = tmp_path / "small.parquet"
    pq.write_table(pa.table({"text": ["A film."] * 2, "label": ["positive"] * 2}), small)
    assert len(load_suite(f"parquet:{small}").cases) == 1


def test_no_message_is_as_long_as_a_file_wants(tmp_path: Path) -> None:
    names = ",".join(f"column{number}" for number in range(200_000))
    for kind, content in (
        ("csv", f"{names}\n{names}\n"),
        ("jsonl", json.dumps({"x" * 10_000_000: 1}) + "\n"),
        ("jsonl", json.dumps(dict.fromkeys(names.split(","), 1)) + "\n"),
    ):
        path = tmp_path / f"x.{kind}.gz"
        path.write_bytes(gzip.compress(content.encode()))
        with pytest.raises(ScoringError) as caught:
            load_suite(f"{kind}:{path}")
        assert len(str(caught.value)) < 2 * MAX_MESSAGE_CHARACTERS + 10
    path.write_bytes(gzip.compress(b"x" * (130 << 20)))
    with pytest.raises(ScoringError, match="unpacks to more"):
        load_suite(f"jsonl:{path}")
    assert len(str(S2lctWarning("x" * 10**8))) <= MAX_MESSAGE_CHARACTERS + 1
    assert len(S2lctError("x" * 10**8, "y" * 10**8).problem) <= MAX_MESSAGE_CHARACTERS + 1
