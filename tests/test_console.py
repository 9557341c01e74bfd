"""What reaches the terminal: text of unknown origin shows, and does nothing."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from s2lct.cli.console import PlainConsole
from s2lct.files import whole_file, write_text
from s2lct.plain_text import plain

CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"


def shown(thing: object) -> str:
    file = io.StringIO()
    PlainConsole(file=file, force_terminal=True, width=300).print(thing)
    return file.getvalue()


@pytest.mark.parametrize("hostile", [CLIPBOARD, "\x1b[2J", "\x9b2J", "a\u202eb", "\rhidden"])
def test_no_escape_of_a_text_reaches_the_terminal(hostile: str) -> None:
    table = Table(hostile, title=hostile)
    table.add_row(hostile)
    for thing in (hostile, table):
        assert not set(shown(thing)) & set("\x07\x9b\r\u202e")
        assert "\x1b]" not in shown(thing)
        assert "\x1b[2J" not in shown(thing)


@given(st.text())
def test_what_looks_like_markup_is_shown_as_it_is(text: str) -> None:
    # MarkupError and lost brackets were what strangers' names did to a console.
    assert shown(f"x[/nothing][bold]{plain(text)}").startswith("x[/nothing][bold]")


@given(st.text())
def test_plain_text_is_one_printable_line(text: str) -> None:
    assert plain(text).isprintable()
    assert len(plain(text)) == len(text)


def test_a_file_follows_no_link_and_leaves_nothing_behind(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    # The name that a writer used to take, laid as a link by somebody else.
    (tmp_path / "report.json.partial").symlink_to(victim)
    write_text(tmp_path / "report.json", "new")
    assert victim.read_text() == "mine"
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "other"):
        raise ZeroDivisionError
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "report.json",
        "report.json.partial",
        "victim",
    ]
