"""README.md and docs/: links lead somewhere, commands and options exist, extras are named."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_readme import README, parse

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page for folder in ("", "docs", "cards", "papers") for page in (ROOT / folder).glob("*.md")
)
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


# What a command or option needs besides s2lct, by the extra that brings it.
EXTRAS = {
    "analysis": r"^s2lct (explain|retrain|diversity|study import)|^python papers/s2lct_[der]",
    "baselines": r"^s2lct score\b.* afinn\b",
    "endpoints": r" --base-url ",
    "inspect": r"^inspect eval ",
    "lm-eval": r"^lm_eval ",
    "ray": r" --engine ray\b",
}


def commands_on(page: Path) -> Iterator[str]:
    """The commands in blocks and in the text of a page, a line each."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:bash|sh)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    inline = re.findall(r"`([^`\n]+)`", FENCED.sub("", text))
    for line in (*lines, *inline):
        for part in re.split(r" && | \| (?:xargs .*?(?=s2lct ))?", line.strip().removeprefix("$ ")):
            if re.match(r"(s2lct|inspect eval|lm_eval|python papers/\S+) ", part):
                yield part


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_and_option_on_a_page_exists(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return  # tells of what there was
    commands = list(commands_on(page))
    assert page != ROOT / "README.md" or len(commands) > 20
    for line in commands:
        try:
            first, *words = shlex.split(line, comments=True)
        except ValueError:  # cut within quotes
            continue
        if first == "s2lct":
            parse(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_names_the_extras_that_its_commands_need(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for extra, needs in EXTRAS.items():
        if page.parent.name in ("docs", "papers") or page.name == "README.md":
            needing = [line for line in commands_on(page) if re.search(needs, line)]
            named = re.search(rf"\[(?:[\w,-]+,)?{extra}[,\]]|extra `{extra}`", text)
            assert not needing or named, f"{needing[0]} needs the extra {extra}"


MAX_LINES = {"README.md": 180, "suite-format.md": 200}
MAX_PAGE_LINES, MAX_SENTENCE_WORDS = 120, 30
USER_PAGES = [README, *sorted(set(ROOT.glob("docs/*.md")) - {ROOT / "docs" / "architecture.md"})]


def sentences_in(text: str) -> list[str]:
    """The sentences of a page, without code blocks, tables, headings and links' addresses.

    A paragraph or an item of a list ends a sentence; inline code and a link count as the words
    that a reader sees.
    """
    text = re.sub(r"<!--.*?-->", "", FENCED.sub("\n\n", text), flags=re.DOTALL)
    text = re.sub(r"^(?:\||#| {4}).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "\n\n", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]+`", "CODE", text).replace("*", "")
    paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text)]
    return [
        sentence
        for paragraph in paragraphs
        for sentence in re.split(r"(?<=[.!?])(?<! al\.)[\"'”)]*\s+", paragraph)
        if sentence
    ]


@pytest.mark.parametrize("page", USER_PAGES, ids=lambda page: page.name)
def test_a_page_is_short_and_so_are_its_sentences(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES.get(page.name, MAX_PAGE_LINES)
    long = [line for line in sentences_in(text) if len(line.split()) > MAX_SENTENCE_WORDS]
    assert long == []


def test_sentences_are_counted_as_a_reader_reads_them() -> None:
    text = "# Not this\nOne `a b c` [two three](a.md#b c) four. five.\n\n| a table. |\n- An item\n"
    assert sentences_in(text) == ["One CODE two three four.", "five.", "An item"]
