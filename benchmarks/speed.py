"""Everything that docs/speed.md says, measured and written there.

    python benchmarks/speed.py --sst PATH      # some 40 minutes on 2 cores
    python benchmarks/speed.py                 # without what needs SST

Commands are run as a user runs them, each in a process of its own with an empty cache, unless it
says warm; times are wall times from start to exit. The other figures are those of
`benchmarks/build.py`, `score.py`, `leaderboard.py` and `coverage.py`, which can be run by
themselves. Nothing is written where other processes keep the machine busy.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import build
import coverage
import leaderboard
import score
import torch
from rounds import CONSOLE, Figure, print_figures, quiet_machine

PAGE = Path(__file__).parents[1] / "docs" / "speed.md"
ROUNDS = 3
MOST_MEMORY = 1_500
BUILD = ("build", "--out", "{out}")


@dataclass(frozen=True)
class Command:
    """A command line, and the most seconds asked of it."""

    arguments: tuple[str, ...]
    most: float
    warm: bool = False
    needs_sst: bool = False

    def named(self, sst: Path | str) -> str:
        """As it is typed."""
        return shlex.join(("s2lct", *_filled(self.arguments, sst, "dist/suite")))


COMMANDS = (
    Command(BUILD, 60),
    Command(BUILD, 8, warm=True),
    Command((*BUILD, "--capability", "LC4"), 20),
    Command((*BUILD, "--corpus", "sst:{sst}", "--seeds", "100"), 110, needs_sst=True),
    Command((*BUILD, "--corpus", "sst:{sst}", "--seeds", "5"), 20, needs_sst=True),
    Command(("-h",), 0.5),
)


def _filled(arguments: Iterable[str], sst: Path | str, out: Path | str) -> tuple[str, ...]:
    return tuple(given.format(sst=sst, out=out) for given in arguments)


def run(command: Command, sst: Path | str, cache: Path) -> tuple[float, float]:
    """Wall time in seconds and peak memory in MiB of one run."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "s2lct"]
        line += _filled(command.arguments, sst, Path(folder) / "suite")
        started = time.perf_counter()
        env = os.environ | {"S2LCT_CACHE": str(cache)}
        # What is installed is compiled; a shell may forbid that to a checkout's modules.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, env=env)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - started
    if status:
        sys.exit(f"{command.named(sst)} failed")
    return elapsed, usage.ru_maxrss / 1024


def time_commands(sst: Path | None, rounds: int) -> list[Figure]:
    """Every command, each once a round, and the largest peak of memory."""
    commands = [command for command in COMMANDS if sst or not command.needs_sst]
    times: dict[Command, list[float]] = {command: [] for command in commands}
    peaks: list[float] = []
    for number in range(rounds):
        highest = 0.0
        with tempfile.TemporaryDirectory() as kept:
            for place, command in enumerate(commands):
                CONSOLE.print(f"round {number + 1} of {rounds}: {command.named(sst or 'SST')}")
                # The default build's own cache serves the warm one after it.
                cache = Path(kept) / ("default" if command.arguments == BUILD else str(place))
                elapsed, peak = run(command, sst or "", cache)
                times[command].append(elapsed)
                highest = max(highest, peak)
        peaks.append(highest)
    figures = [
        Figure(
            f"`{command.named('SST')}`" + ", the cache warm" * command.warm,
            tuple(taken),
            "s",
            command.most,
        )
        for command, taken in times.items()
    ]
    return [*figures, Figure("peak memory of the largest", tuple(peaks), "MiB", MOST_MEMORY)]


def rows(figures: Sequence[Figure]) -> list[str]:
    """Rows of a Markdown table."""
    return [f"| {one.what} | {one} | {one.spread:.0%} | {one.asked} |" for one in figures]


def processor() -> str:
    """What the machine's processor is called, as far as it says."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text("utf-8") if cpuinfo.exists() else ""
    names = re.findall(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return names[0] if names else platform.processor() or "an unknown processor"


def page(sections: dict[str, Sequence[Figure]]) -> str:
    """The whole page."""
    cores, torch_version = os.cpu_count(), torch.__version__.split("+")[0]
    lines = [
        "# How fast it is",
        "",
        "<!-- Written by benchmarks/speed.py; do not edit. -->",
        "",
        f"Measured on {datetime.date.today():%Y-%m-%d}, {cores} cores of {processor()}, Python "
        f"{platform.python_version()}, torch {torch_version}, nothing else running, by",
        "",
        "    python benchmarks/speed.py --sst PATH",
        "",
        "Each figure is the median of its rounds. Beside it stands the spread: how far "
        "the middle half of the rounds lie apart,",
        "or of three rounds all. A ratio compares two things measured in turn within each round.",
        "",
        "The default corpus and SST ship with an index of their annotated sentences, so "
        "a build skips the others. A corpus of your own has",
        "none, and takes longer for as many seeds.",
    ]
    for title, figures in sections.items():
        lines += ["", f"## {title}", "", "| | median | spread | target |", "|---|--:|--:|---|"]
        lines += rows(figures)
    return "\n".join([*lines, "", ""]).rstrip("\n") + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    arguments.add_argument("--sst", type=Path, help="SST's folder, as for s2lct build")
    arguments.add_argument("--rounds", type=int, default=ROUNDS, help="of each command")
    arguments.add_argument("--only-commands", action="store_true", help="print; write nothing")
    options = arguments.parse_args()
    sections: dict[str, Sequence[Figure]] = {}
    with quiet_machine():
        sections["Commands"] = time_commands(options.sst, options.rounds)
        print_figures("Commands", sections["Commands"])
        if options.only_commands:
            return
        sections["A build's stages beside the bare models"] = [
            part(build.ROUNDS) for part in build.PARTS.values()
        ]
        with tempfile.TemporaryDirectory() as folder:
            suite = Path(folder) / "suite"
            run(Command(("build", "--out", str(suite)), 0), "", Path(folder) / "cache")
            sections["Scoring"] = score.measured(suite, rounds=score.ROUNDS)
        sections["Leaderboard"] = leaderboard.measured(leaderboard.MODELS)
        corpus = f"sst:{options.sst}" if options.sst else "embedded"
        sections["Coverage"] = coverage.measured(corpus, coverage.ROUNDS)
    for title, figures in sections.items():
        print_figures(title, figures)
    unfinished = PAGE.with_suffix(".md.partial")
    unfinished.write_text(page(sections), encoding="utf-8")
    unfinished.replace(PAGE)
    CONSOLE.print(f"written: {PAGE}")


if __name__ == "__main__":
    main()
