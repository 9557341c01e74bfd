r"""Take the pictures of the report and the leaderboard that README shows.

Usage::

    s2lct build --out dist/s2lct
    s2lct score vader textblob afinn embedded-2class embedded-3class \
        --suite dist/s2lct --out results/
    python scripts/take_pictures.py --results results --out docs

The report is of three of the models, the leaderboard of all. Both are seen in headless Chromium.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from s2lct.leaderboard.results.read_results import read_scored
from s2lct.leaderboard.results.standings import collect
from s2lct.leaderboard.site.report import html_report
from s2lct.leaderboard.site.site import PAGE, build_site

REPORTED = ("embedded-3class", "vader", "textblob")
REPORT_SIZE, BOARD_SIZE = (1200, 1100), (1400, 800)
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def take(page: Path, picture: Path, size: tuple[int, int]) -> None:
    """Take a picture of the top of a page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        tab = browser.new_page(viewport={"width": size[0], "height": size[1]})
        tab.goto(page.as_uri())
        tab.wait_for_selector("table")
        tab.wait_for_timeout(500)
        tab.screenshot(path=picture)
        browser.close()


def main() -> None:
    """Write the pages and take their pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.html"
        scored = [read_scored(arguments.results / f"{name}.json") for name in REPORTED]
        report.write_text(html_report(scored), encoding="utf-8")
        build_site(collect(arguments.results), Path(place) / "site")
        take(report, arguments.out / "report.png", REPORT_SIZE)
        take(Path(place) / "site" / PAGE, arguments.out / "leaderboard.png", BOARD_SIZE)


if __name__ == "__main__":
    main()
