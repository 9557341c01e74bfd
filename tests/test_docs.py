"""The links of README.md and docs/: each leads to a file, and to a heading where it names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("cards/*.md")])
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(
    r"\]\(([^()\s]+)\)|^\[[^\]]+\]:\s+(\S+)|<(?:a|img)[^>]+(?:href|src)=\"([^\"]+)\"",
    re.MULTILINE,
)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: dict[str, int] = {}
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+\s+(.+?)\s*#*$", text, re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        count = found[anchor] = found.get(anchor, -1) + 1
        if count:
            found.setdefault(f"{anchor}-{count}", 0)
    return set(found)


def dead_links(page: Path) -> list[str]:
    dead: list[str] = []
    for parts in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        link = "".join(parts)
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A heading: `x` & more\n## Twice\n## Twice\n[1](#a-heading-x--more) [2](#twice-1)\n"
        "[3](#no) [4](other.md) ![5](no.png) [6](https://example.org/#no) [7](page.md#twice)\n"
        '<img src="gone.png">\n[ref]: page.md#never\n```\n[not](a-link)\n# none\n```\n'
    )
    assert dead_links(page) == ["#no", "other.md", "no.png", "gone.png", "page.md#never"]
