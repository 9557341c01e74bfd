"""What is wrong with a suite, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from s2lct.plain_text import plain

SHOWN = 80


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file of a suite, or with a row of it; rows may come from no file."""

    file: str
    what: str
    row: str = ""

    def __str__(self) -> str:
        where = self.row or self.file
        return f"{where}: {self.what}" if where else self.what


def faults_told(error: ValidationError) -> Iterator[str]:
    """What pydantic refused, a line each, without what it was given."""
    for fault in error.errors(include_url=False, include_input=False):
        where = plain(".".join(map(str, fault["loc"])), SHOWN)
        said = fault["msg"].removeprefix("Value error, ")
        said = said[:1].lower() + said[1:]
        yield f"{where}: {said}" if where else said
