"""Builds and figures are the same on processors with other instructions, and on any threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_golden import MODELS, OWN_CAPABILITY, rows_hash

pytestmark = [pytest.mark.shipped_models]
OLD = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
NPY_OF_OLD = {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512_SKX"}
PROCESSORS = {
    "this one, one thread": ("1", {}),
    "without AVX, one thread": ("1", OLD | NPY_OF_OLD),
    "AVX2, two threads": ("2", AVX2),
}


def built_and_scored(folder: Path) -> dict[str, Any]:
    """The rows of three small suites, and figures on the first as they are shown."""
    import pyarrow.parquet as pq

    from s2lct import build, load_suite, score

    own = folder / "lc12.yaml"
    own.write_text(OWN_CAPABILITY, encoding="utf-8")
    build(out=folder / "default", seeds="2")
    build(out=folder / "unread", seeds="3", unread=True, capability=["LC4"])
    build(out=folder / "own", seeds="3", capability=[str(own)])
    rows = {
        str(path.relative_to(folder)): rows_hash(pq.read_table(path).to_pylist())
        for path in sorted(folder.rglob("*.parquet"))
    }
    suite = load_suite(folder / "default")
    figures = {
        name: {key: round(value, 3) for key, value in score(name, suite).flat().items()}
        for name in MODELS
    }
    return {"rows": rows, "figures": figures}


def on_processor(folder: Path, threads: str, settings: dict[str, str]) -> Any:
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, __file__, str(folder), threads],
        env=os.environ | settings | {"S2LCT_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_processor_gives_the_same_rows_and_figures(tmp_path: Path) -> None:
    expected = on_processor(tmp_path / "here", "2", {})
    for name, (threads, settings) in PROCESSORS.items():
        assert on_processor(tmp_path / name, threads, settings) == expected, name


if __name__ == "__main__":
    import torch

    torch.set_num_threads(int(sys.argv[2]))
    print(json.dumps(built_and_scored(Path(sys.argv[1]))))
