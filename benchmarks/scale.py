"""Building past one process: engines beside each other, growth with the corpus, and projections.

``python benchmarks/scale.py`` runs all parts; ``--part engines``, ``growth`` or ``projection`` one.
Each build is a process of its own on made-up reviews (`made_up_reviews`), with every part of the
package as it is used. What a part prints is measured, unless it says projected.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from made_up_reviews import write_made_up
from rich.console import Console
from rich.table import Table

CONSOLE = Console()
CAPABILITIES = ("LC2", "LC4", "LC9")
PARTS = ("engines", "growth", "projection")
GROWTH = (1_000, 10_000, 30_000, 100_000)
FLAT_FROM = 10_000
MILLIONS = (1, 10, 100)
WORKERS = (1, 4, 16, 64)
MEBI = 1 << 20


class Measured:
    """An engine that notes how long its workers take, as seen from here."""

    def __init__(self, engine: Any, opened: float, told: dict[str, Any]) -> None:
        self._engine, self._opened, self._told = engine, opened, told

    def map(self, ask: Callable[..., Any], given: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        seconds: Counter[str] = self._told["asked"]
        last = time.perf_counter()
        for number, made in self._engine.map(ask, given):
            now = time.perf_counter()
            self._told.setdefault("first answer", now - self._opened)
            seconds[ask.__name__] += now - last
            yield number, made
            last = time.perf_counter()


def peak_of(process: int) -> int:
    """Bytes of the largest resident set that a process has had."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def workers_here() -> Iterator[int]:
    """Process numbers of Ray's workers on this machine."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and b"S2lctWorker" in (entry / "cmdline").read_bytes():
                yield int(entry.name)
        except OSError:
            continue


@contextmanager
def watched_workers(told: dict[str, Any]) -> Iterator[None]:
    """Note the largest resident set of any worker."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            for process in workers_here():
                try:
                    told["worker"] = max(told["worker"], peak_of(process))
                except OSError:
                    continue

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def child(options: dict[str, Any]) -> None:
    """Build, and print what was measured as one line of JSON."""
    from s2lct.builder import pipeline
    from s2lct.builder.config import BuildConfig

    told: dict[str, Any] = {"asked": Counter(), "worker": 0}
    plain = pipeline.CachedModels

    def measured(loaded: Any, engine: Any, cache: Any) -> Any:
        told["opened"] = time.perf_counter()
        told["before"] = told["opened"] - started
        return plain(loaded, Measured(engine, told["opened"], told), cache)

    pipeline.CachedModels = measured  # type: ignore[misc, assignment]
    started = time.perf_counter()
    with watched_workers(told):
        counts = pipeline.build_suite(BuildConfig.checked(**options))
    told["engine"] = time.perf_counter() - told.pop("opened")
    told["seconds"] = time.perf_counter() - started
    told["driver"] = peak_of(os.getpid())
    told["seeds"] = sum(one["seeds"] for one in counts.values())
    told["expansions"] = sum(one["expansions"] for one in counts.values())
    print(json.dumps(told))


def built(corpus: Path, out: Path, *, threads: int, **options: Any) -> dict[str, Any]:
    """What a build in a process of its own measured, with a hash of the suite's bytes."""
    options = {
        "corpus": f"jsonl:{corpus}",
        "out": str(out),
        "capabilities": CAPABILITIES,
        "unread": True,
        **options,
    }
    # Two libraries with threads of their own must not spin against each other.
    env = os.environ | {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
    command = [sys.executable, __file__, "--child", json.dumps(options)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    digest = hashlib.sha256()
    for path in sorted(filter(Path.is_file, out.rglob("*"))):
        digest.update(str(path.relative_to(out)).encode() + path.read_bytes())
    return told | {"bytes": digest.hexdigest()}


WAYS: dict[str, tuple[int, dict[str, Any]]] = {
    "one process, two threads": (2, {}),
    "Ray, two workers": (2, {"engine": "ray"}),
}


def part_engines(folder: Path, count: int, rounds: int) -> None:
    """The same build by each engine, round by round."""
    corpus = folder / "reviews.jsonl"
    write_made_up(corpus, count)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in WAYS}
    for number in range(rounds):
        for name in list(WAYS)[:: -1 if number % 2 else 1]:
            threads, options = WAYS[name]
            out = folder / f"{number}-{name.replace(' ', '-')}"
            found[name].append(built(corpus, out, threads=threads, seeds="all", **options))
    hashes = {one["bytes"] for some in found.values() for one in some}
    if len(hashes) > 1:
        sys.exit(f"the engines' suites differ: {hashes}")
    base = min(one["engine"] for one in found["one process, two threads"])
    loading = min(one["first answer"] for one in found["one process, two threads"])
    table = Table(title=f"{count:,} reviews, {', '.join(CAPABILITIES)}, --seeds all --unread")
    for column in ("", "whole, s", "to first answer, s", "work, s", "speed", "with start"):
        table.add_column(column, justify="left" if not column else "right")
    for name, some in found.items():
        best = min(some, key=lambda one: one["engine"])
        start = best["first answer"]
        table.add_row(
            name,
            f"{best['seconds']:.1f}",
            f"{start:.1f}",
            f"{best['engine'] - start:.1f}",
            f"{(base - loading) / (best['engine'] - start):.2f}",
            f"{base / best['engine']:.2f}",
        )
    CONSOLE.print(table)
    one = found["one process, two threads"][0]
    CONSOLE.print(
        f"The same bytes in all: {one['seeds']} seeds, {one['expansions']} expansions. Bars: two "
        "workers at least 0.9 of one process; Ray's start at most 10 s."
    )


def part_growth(folder: Path, counts: Iterable[int], seeds: int) -> None:
    """One process and Ray with two workers, on more and more sentences."""
    table = Table(title=f"growing corpus, {', '.join(CAPABILITIES)}, --seeds {seeds} --unread")
    for column in ("sentences", "engine", "seconds", "µs a sentence", "driver, MiB", "worker, MiB"):
        table.add_column(column, justify="right")
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for count in counts:
        corpus = folder / f"reviews-{count}.jsonl"
        write_made_up(corpus, count)
        for name in ("one process, two threads", "Ray, two workers"):
            threads, options = WAYS[name]
            out = folder / f"{count}-{name.replace(' ', '-')}"
            one = found[name, count] = built(corpus, out, threads=threads, seeds=seeds, **options)
            table.add_row(
                f"{count:,}",
                name,
                f"{one['seconds']:.1f}",
                f"{1e6 * one['seconds'] / count:,.0f}",
                f"{one['driver'] / MEBI:,.0f}",
                f"{one['worker'] / MEBI:,.0f}" if one["worker"] else "",
            )
        if found["one process, two threads", count]["bytes"] != one["bytes"]:
            sys.exit(f"the suites of {count} sentences differ")
    CONSOLE.print(table)
    for name in ("one process, two threads", "Ray, two workers"):
        some = [one for (way, count), one in found.items() if way == name and count >= FLAT_FROM]
        for of in ("driver", "worker"):
            peaks = [one[of] for one in some if one[of]]
            if len(peaks) > 1:
                CONSOLE.print(
                    f"{name}: peak of the {of} from {FLAT_FROM:,} sentences on, largest over "
                    f"smallest: {max(peaks) / min(peaks):.2f} (bar: 1.2)"
                )


def part_projection(folder: Path, count: int) -> None:
    """What larger corpora would take, from the parts of one build."""
    corpus = folder / "reviews-projected.jsonl"
    write_made_up(corpus, count)
    one = built(corpus, folder / "projected", threads=1, seeds="all")
    asked = sum(one["asked"].values())
    loading = one["first answer"]
    here = one["seconds"] - asked
    CONSOLE.print(
        f"Measured on {count:,} reviews, --seeds all --unread, one thread: "
        + ", ".join(f"{name} {1e3 * s / count:.2f} ms" for name, s in one["asked"].items())
        + f" a sentence by workers; {1e3 * here / count:.2f} ms by the driver; "
        f"{one['seeds']:,} seeds, {one['expansions']:,} expansions."
    )
    table = Table(title="projected hours: driver + work shared evenly, no faults, no queues")
    for column in ("sentences", *(f"{number} workers" for number in WORKERS), "driver alone"):
        table.add_column(column, justify="right")
    for millions in MILLIONS:
        sentences = millions * 1_000_000
        hours = [
            (loading + sentences * (here + asked / number) / count) / 3600 for number in WORKERS
        ]
        table.add_row(
            f"{millions} million",
            *(f"{one:,.1f}" for one in hours),
            f"{sentences * here / count / 3600:,.1f}",
        )
    CONSOLE.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--sentences", type=int, default=600, help="of parts engines, projection")
    parser.add_argument("--growth", type=int, nargs="+", default=GROWTH)
    parser.add_argument("--seeds", type=int, default=50, help="a capability, of part growth")
    parser.add_argument("--rounds", type=int, default=2, help="of part engines")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(json.loads(arguments.child))
        return
    parts = arguments.part or PARTS
    with tempfile.TemporaryDirectory() as folder:
        if "engines" in parts:
            part_engines(Path(folder), arguments.sentences, arguments.rounds)
        if "growth" in parts:
            part_growth(Path(folder), arguments.growth, arguments.seeds)
        if "projection" in parts:
            part_projection(Path(folder), arguments.sentences)


if __name__ == "__main__":
    main()
