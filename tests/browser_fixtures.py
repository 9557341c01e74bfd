"""Debian's Chromium, and visits to pages: nothing is fetched from elsewhere or complained of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
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


@dataclass
class Visit:
    """A tab, and what went wrong or out in it."""

    tab: Any
    allowed: str
    said: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tab.on("console", self._hear)
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", self._see)

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.said.append(message.text)

    def _see(self, request: Any) -> None:
        if not request.url.startswith((self.allowed, "data:", "blob:")):
            self.left.append(request.url)

    def column(self, number: int) -> list[str]:
        rows = self.tab.locator("tbody tr")
        return [row.locator("td").nth(number).inner_text() for row in rows.all()]

    def names(self) -> list[str]:
        return [name.inner_text() for name in self.tab.locator("tbody tr .first a:not(.hub)").all()]

    def headings(self) -> list[str]:
        """Of the columns, as they are read: "negated negative LC4"."""
        return [" ".join(one.split()) for one in self.tab.locator("thead th").all_inner_texts()]

    def place(self, heading: str) -> int:
        (found,) = [n for n, one in enumerate(self.headings()) if heading in one.split(" ")]
        return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip(f"no Chromium at {CHROMIUM}")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens addresses; in the end nothing was complained of, fetched from elsewhere, or run."""
    open_ones: list[Visit] = []

    def open_page(address: str, allowed: str = "", **options: Any) -> Visit:
        context = browser.new_context(accept_downloads=True, **options)
        context.set_default_timeout(5_000)
        one = Visit(context.new_page(), allowed or address.partition("#")[0])
        open_ones.append(one)
        one.tab.goto(address)
        return one

    yield open_page
    for one in open_ones:
        assert one.said == []
        assert one.left == []
        assert one.tab.evaluate("window.pwned") is None
        one.tab.context.close()
