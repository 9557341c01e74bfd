"""What a user gets from small builds, pinned: the rows of suites, and what is made of them.

`golden.json` holds the pins. They were written by ``python tests/test_golden.py``, which builds all
suites and replaces the file; where it changes, the commit says what of the product did. Figures of
neural networks are compared with a tolerance: their last digits are the processor's.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nltk
import pyarrow.parquet as pq
import pytest
from test_build import bytes_of
from typer.testing import CliRunner

from s2lct.builder.config import SHIPPED_ANNOTATIONS, BuildConfig
from s2lct.builder.pipeline import build_suite
from s2lct.cli.main import app

PINS = Path(__file__).with_name("golden.json")
SHARED = Path(__file__).parents[2] / "shared"
PAPER = "--templates paper --seeds 2 --masks 3 --masks-per-sentence 2 --expansions 4"
SOME = "--capability LC2 --capability LC4 --capability LC9"
BUILDS = {
    "default": "--seeds 2",
    "sst": f"--corpus sst:{SHARED / 'data' / 'sst'} --seeds 2",
    "paper": f"{PAPER} {SOME}",
    "sst-paper": f"--corpus sst:{SHARED / 'data' / 'sst'} {PAPER} {SOME}",
    "unread": "--unread --capability LC4 --seeds 3",
    "own-capability": "--capability lc12.yaml --seeds 3",
}
OWN_CAPABILITY = """\
id: LC12
title: Hearsay
expectation: What others say does not count.
forms:
  fluent:
    search:
      P: [$clear_positive]
    templates:
      - text: 'I have not seen it, but {who} says: "{P}"'
        choices:
          who: [a friend, my neighbour]
        passes: [neutral]
"""
REFERENCE = """\
text,label
The film is a charming and lovely portrait of a small town.,positive
This is a dull and ugly film.,negative
The story takes place in the winter of 1962.,neutral
"""
MODELS = ("vader", "embedded-3class")

pytestmark = [pytest.mark.shipped_models]


@contextmanager
def chdir(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


class Golden:
    """The commands of a user, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "lc12.yaml").write_text(OWN_CAPABILITY, encoding="utf-8")
        (folder / "reference.csv").write_text(REFERENCE, encoding="utf-8")
        self.suite = cache(self._suite)
        self.results = cache(self._results)

    def run(self, command: str, *, status: int = 0) -> str:
        """What ``s2lct`` prints."""
        with chdir(self.folder), patch.object(nltk.data, "path", [str(SHARED / "nltk_data")]):
            # Other tests' stubs answer in the name of the embedded models.
            env = {"COLUMNS": "200", "S2LCT_CACHE": str(self.folder / "cache")}
            done = CliRunner().invoke(app, command.split(), env=env)
        assert done.exit_code == status, done.output
        return done.stdout

    def _suite(self, name: str) -> Path:
        self.run(f"build --out {name} {BUILDS[name]}")
        return self.folder / name

    def _results(self) -> str:
        self.suite("default")
        return self.run(f"score {' '.join(MODELS)} --suite default --out results --format json")

    def rows(self, name: str) -> dict[str, Any]:
        """The rows of each capability: a hash of what no processor changes, and the scores."""
        return {
            path.parent.name: {
                "sha256": rows_hash(rows := pq.read_table(path).to_pylist()),
                "scores": [row["score"] for row in rows if row["score"] is not None],
            }
            for path in sorted(self.suite(name).rglob("*.parquet"))
        }

    def figures(self) -> Any:
        """What ``score --format json`` says of the models."""
        scores = json.loads(self.results())
        return {
            one["model"]: {"overall": one["overall"], "capabilities": one["capabilities"]}
            for one in scores["results"]
        }

    def exports(self) -> dict[str, str]:
        """A hash of a suite in each format, without scores; of lm_eval's tasks and their data."""
        self.suite("default")
        for form in ("jsonl", "csv", "checklist"):
            self.run(f"export default --format {form} --out suite.{form}")
        lines = (self.folder / "suite.jsonl").read_text(encoding="utf-8").splitlines()
        with (self.folder / "suite.csv").open(encoding="utf-8", newline="") as file:
            cells = list(csv.DictReader(file))
        found = {
            "jsonl": rows_hash(map(json.loads, lines)),
            "csv": rows_hash(cells),
            "checklist": _sha256((self.folder / "suite.checklist").read_bytes()),
        }
        self.run("export default --format lm-eval --out tasks")
        tasks = self.folder / "tasks"
        files = sorted(path for path in tasks.rglob("*") if path.is_file() and path.suffix != ".py")
        found["lm-eval"] = _sha256(
            b"".join(
                str(path.relative_to(tasks)).encode()
                + path.read_bytes().replace(str(tasks).encode(), b"")
                for path in files
            )
        )
        return found

    def comparison(self) -> Any:
        """What ``compare`` says of the two models."""
        self.results()
        found = self.run("compare results/embedded-3class.json results/vader.json --format json")
        return json.loads(found)["failure_rates"]

    def gate(self) -> Any:
        """The checks of ``gate``."""
        self.results()
        found = self.run(
            "gate results/vader.json --max LC4=20 --max mean=30 "
            "--no-worse-than results/embedded-3class.json --format json",
            status=1,
        )
        checks = json.loads(found)["checks"]
        return {
            f"{check['figure']} {check['asked']}": [check["passed"], check["found"]]
            for check in checks
        }

    def leaderboard(self) -> Any:
        """The models' rows of the leaderboard's CSV, without hashes, dates and revisions."""
        self.results()
        self.run("leaderboard build results --out site")
        with (self.folder / "site" / "leaderboard.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        figures = re.compile(
            r"kind|model|rank_.*|failure.*|best_constant|chance_corrected|pass.*|consistency.*|LC\d+.*|cases"
        )
        return [
            {
                name: float(value) if re.fullmatch(r"-?\d+\.\d+(e-\d+)?", value) else value
                for name, value in row.items()
                if figures.fullmatch(name)
            }
            for row in rows
        ]

    def coverage(self) -> list[float]:
        """The figures of a coverage table."""
        self.suite("default")
        table = self.run(
            "coverage S=default --model embedded-2class --reference csv:reference.csv "
            "--metric boundary,cover"
        )
        return [float(figure) for figure in re.findall(r"\d+\.\d+", table)]

    def explanation(self) -> Any:
        """The words that hold a failure."""
        self.suite("default")
        self.run(
            "explain embedded-3class --suite default --capability LC4 --limit 1 "
            "--out explained.json"
        )
        content = json.loads((self.folder / "explained.json").read_text(encoding="utf-8"))
        return [
            {
                "id": one["id"],
                "kept": [word["text"] for word in one["words"] if word["kept"]],
                "probability": one["probability"],
            }
            for one in content["explanations"]
        ]


def rows_hash(rows: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 of rows without ``score``, whose last digit the processor decides."""
    kept = [{name: value for name, value in row.items() if name != "score"} for row in rows]
    return _sha256(json.dumps(kept, ensure_ascii=False).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _rounded(value: Any) -> Any:
    """Figures as they are pinned: more digits say nothing."""
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


def _differences(value: Any, pinned: Any, tolerance: float, where: str = "") -> list[str]:
    """Where a value is not as it was pinned; floats may differ by the tolerance."""
    if isinstance(value, dict) and isinstance(pinned, dict) and value.keys() == pinned.keys():
        pairs = [(value[name], pinned[name], f"{where}/{name}") for name in pinned]
    elif isinstance(value, list) and isinstance(pinned, list) and len(value) == len(pinned):
        pairs = [(*both, f"{where}/{n}") for n, both in enumerate(zip(value, pinned, strict=True))]
    elif isinstance(value, float) and isinstance(pinned, (int, float)):
        return [] if abs(value - pinned) <= tolerance else [f"{where}: {value}, was {pinned}"]
    else:
        return [] if value == pinned else [f"{where}: {value}, was {pinned}"]
    return [line for both in pairs for line in _differences(*both[:2], tolerance, both[2])]


TOLERANCES = {"rows": 0.02, "coverage": 0.2, "explanation": 0.02}
"""Of figures that a neural network gives, by the first word of a pin; counts are exact."""
MADE: dict[str, Callable[[Golden], Any]] = {
    **{f"rows of {name}": lambda golden, name=name: golden.rows(name) for name in BUILDS},
    "figures": Golden.figures,
    "exports": Golden.exports,
    "comparison": Golden.comparison,
    "gate": Golden.gate,
    "leaderboard": Golden.leaderboard,
    "coverage": Golden.coverage,
    "explanation": Golden.explanation,
}


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Golden:
    return Golden(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize(
    "pin",
    [pytest.param(pin, marks=pytest.mark.shared_data if "sst" in pin else ()) for pin in MADE],
)
def test_stays_as_it_was(pin: str, golden: Golden) -> None:
    if "sst" in pin and not SHARED.is_dir():
        pytest.skip("the Stanford Sentiment Treebank is not here")
    pinned = json.loads(PINS.read_text(encoding="utf-8"))[pin]
    tolerance = TOLERANCES.get(pin.split()[0], 1e-6)
    assert not _differences(_rounded(MADE[pin](golden)), pinned, tolerance)


def test_what_annotations_reach_saves_work_and_changes_nothing(tmp_path: Path) -> None:
    found = {}
    for name, given in (("known", ()), ("unknown", (tmp_path / "copied.parquet",))):
        shutil.copy(SHIPPED_ANNOTATIONS, tmp_path / "copied.parquet")
        config = BuildConfig.checked(
            out=tmp_path / name, annotations=given, capabilities=("LC2",), seeds=5
        )
        found[name] = build_suite(config)["LC2"]["sentences_found"]
    assert found["known"] < found["unknown"]
    assert bytes_of(tmp_path / "known" / "data") == bytes_of(tmp_path / "unknown" / "data")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = Golden(Path(folder))
        pins = {pin: _rounded(make(made)) for pin, make in MADE.items()}
    PINS.write_text(json.dumps(pins, indent=1) + "\n", encoding="utf-8")
