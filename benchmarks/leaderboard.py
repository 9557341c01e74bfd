"""How long the leaderboard takes to build and to open, on made-up results.

    python benchmarks/leaderboard.py --models 1000

It writes real result files of made-up models on a made-up suite as large as the SST suite, then
times, in one run and for a tenth of the models too: reading the files, building the page and its
data, and opening the page in headless Chromium until its table and plot stand there.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.models.record import ModelRecord
from s2lct.leaderboard.results.standings import collect
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.leaderboard.site.site import PAGE, build_site
from s2lct.suite.cases import Case, SuiteCases

CAPABILITIES = tuple(f"LC{number}" for number in range(1, 12))
SEEDS, EXPANSIONS = 39, 3
CHROMIUM = "/usr/bin/chromium"
OPENINGS = 5
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WORDS = [
    "film",
    "story",
    "actors",
    "plot",
    "music",
    "camera",
    "scene",
    "script",
    "cast",
    "ending",
    "joke",
    "village",
    "teacher",
]


def made_up_suite() -> SuiteCases:
    rng = np.random.default_rng(0)
    cases: list[Case] = []
    for capability in CAPABILITIES:
        for number in range(SEEDS):
            seed_id = hashlib.sha256(f"{capability} {number}".encode()).hexdigest()[:16]
            text = " ".join(rng.choice(WORDS, size=16)) + f" {capability} {number}."
            passes = frozenset({int(rng.integers(3))})
            cases.append(Case(seed_id, capability, "seed", seed_id, text, passes))
            for word in ("also", "indeed", "really")[:EXPANSIONS]:
                case_id = hashlib.sha256(f"{seed_id} {word}".encode()).hexdigest()[:16]
                cases.append(
                    Case(
                        case_id,
                        capability,
                        "expansion",
                        seed_id,
                        f"{word} {text}",
                        passes,
                        (word,),
                        "S -> ADVP NP VP",
                    )
                )
    fingerprint = fingerprint_of([[case.id, case.text, sorted(case.passes)] for case in cases])
    return SuiteCases("made up", "1.0.0", fingerprint, tuple(cases))


def write_made_up(suite: SuiteCases, number: int, folder: Path) -> None:
    rng = np.random.default_rng(number)
    right = np.array([min(case.passes) for case in suite.cases])
    wrong = rng.random(len(right)) < rng.beta(4, 6)
    labels = np.where(wrong, (right + rng.integers(1, 3, len(right))) % len(LABELS), right)
    model = ModelRecord(
        name=f"organisation-{number % 97}/model-{number}",
        revision=f"{number:040x}",
        weights_sha256=f"{number:064x}",
        label_rule="made up",
        parameters=int(10 ** rng.uniform(6, 10)),
        licence=str(rng.choice(["apache-2.0", "mit", "cc-by-4.0", "llama3"])),
    )
    outcomes = Outcomes(model, suite, labels)
    write_result(outcomes, folder)


def opening_seconds(page: Path) -> float:
    """Median wall time from asking for the page to its table and plot being painted."""
    from playwright.sync_api import sync_playwright

    taken: list[float] = []
    with sync_playwright() as playwright:
        for _ in range(OPENINGS):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            tab = browser.new_page()
            started = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_selector("tbody tr")
            tab.wait_for_selector("figure svg")
            tab.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
            taken.append(time.perf_counter() - started)
            browser.close()
    return statistics.median(taken)


def measured(suite: SuiteCases, results: Path, out: Path) -> dict[str, float]:
    """Seconds of each step, and the page's size in MB."""
    started = time.perf_counter()
    collection = collect(results, [suite])
    read = time.perf_counter()
    build_site(collection, out)
    built = time.perf_counter()
    page = out / PAGE
    return {
        "read the result files, s": read - started,
        "build the page and its data, s": built - read,
        "open the page, s": opening_seconds(page) if Path(CHROMIUM).exists() else float("nan"),
        "page, MB": page.stat().st_size / 1e6,
    }


def main() -> None:
    """Measure both sizes and print times and ratios."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--models", type=int, default=1_000)
    options = arguments.parse_args()
    console, suite = Console(), made_up_suite()
    few = max(1, options.models // 10)
    figures: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        for models in (few, options.models):
            folder = Path(place) / f"results-{models}"
            folder.mkdir()
            for number in range(models):
                write_made_up(suite, number, folder)
            figures[models] = measured(suite, folder, Path(place) / f"out-{models}")
    table = Table(title=f"{len(suite.cases):,} cases, {len(CAPABILITIES)} capabilities")
    for column in ("", f"{few} models", f"{options.models} models", "ratio"):
        table.add_column(column, justify="left" if not column else "right")
    for name, one in figures[few].items():
        other = figures[options.models][name]
        table.add_row(name, f"{one:.2f}", f"{other:.2f}", f"{other / one:.1f}")
    console.print(table)


if __name__ == "__main__":
    main()
