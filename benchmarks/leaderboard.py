"""How long the leaderboard takes to build and to open, on made-up results.

    python benchmarks/leaderboard.py --models 1000

It writes real result files of made-up models on a made-up suite as large as the SST suite, then
times, round by round and for a tenth of the models too: reading the files, building the page, and
opening it in headless Chromium until its table and plot stand there.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from pathlib import Path

import numpy as np
from rounds import Figure, faster, print_figures, quiet_machine, seconds

from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.models.record import ModelRecord
from s2lct.leaderboard.results.standings import collect
from s2lct.leaderboard.results.write_results import write_result
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.leaderboard.site.site import PAGE, build_site
from s2lct.suite.cases import Case, SuiteCases

CAPABILITIES = tuple(f"LC{number}" for number in range(1, 12))
SEEDS, EXPANSIONS = 39, 3
CHROMIUM = "/usr/bin/chromium"
MODELS, ROUNDS = 1_000, 3
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
    """Wall time from asking for the page to its table and plot being painted."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        tab = browser.new_page()

        def opened() -> None:
            tab.goto(page.as_uri())
            tab.wait_for_selector("tbody tr")
            tab.wait_for_selector("figure svg")
            tab.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

        taken = seconds(opened)
        browser.close()
    return taken


def measured(models: int) -> list[Figure]:
    """Seconds to build and to open the page, and both for so many models over a tenth of them."""
    suite, few = made_up_suite(), max(1, models // 10)
    building: dict[int, list[float]] = {few: [], models: []}
    opening: dict[int, list[float]] = {few: [], models: []}
    with tempfile.TemporaryDirectory() as place:
        for count in building:
            (Path(place) / f"results-{count}").mkdir()
            for number in range(count):
                write_made_up(suite, number, Path(place) / f"results-{count}")
        for turn in range(ROUNDS):
            for count in building:
                results, out = Path(place) / f"results-{count}", Path(place) / f"{turn}-{count}"
                started = time.perf_counter()
                build_site(collect(results, [suite]), out)
                building[count].append(time.perf_counter() - started)
                if Path(CHROMIUM).exists():
                    opening[count].append(opening_seconds(out / PAGE))
    of = f"{models:,} models × {len(CAPABILITIES)} capabilities"
    figures = [
        Figure(f"the page of {of} is built in", tuple(building[models]), "s"),
        faster(f"{few:,} models over {models:,}, building", building[models], building[few]),
    ]
    if opening[models]:
        figures.append(Figure(f"the page of {of} opens in", tuple(opening[models]), "s"))
    return figures


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--models", type=int, default=MODELS)
    with quiet_machine():
        figures = measured(arguments.parse_args().models)
    print_figures("leaderboard", figures)


if __name__ == "__main__":
    main()
