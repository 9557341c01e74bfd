"""What the rows of a suite must be to be read, whoever wrote them: one by one, and together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from s2lct.identity import content_id, fingerprint_of
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import is_capability_id
from s2lct.suite.faults import SHOWN, Fault, faults_told
from s2lct.suite.rows import CaseRow, WrittenRow
from s2lct.suite.tables import COUNTERPART

_MOST_FAULTS_OF_A_ROW = 3


class Rows:
    """Rows of one suite, checked one after the other and then together.

    Args:
        written: refuse rows that lack a column or whose id is not the hash of what they are, as
            `write` makes them. That hash binds capability and kind to the fingerprint, which
            covers ids, texts and labels.

    Attributes:
        faults: what was found.
        rows: the sound ones.
    """

    def __init__(self, *, written: bool) -> None:
        self.faults: list[Fault] = []
        self.rows: list[CaseRow] = []
        self._written = written
        self._files: list[str] = []
        self._id_of: dict[str, str] = {}  # of every row that has one, sound or not

    def add(self, rows: Sequence[Any], file: str = "", capability: str | None = None) -> list[int]:
        """Check rows by themselves; gives the places of the sound ones.

        Args:
            rows: anything.
            file: where they stand.
            capability: the one that all of them must be of; None for any.
        """
        sound: list[int] = []
        kind = WrittenRow if self._written else CaseRow
        for number, row in enumerate(rows):
            if not isinstance(row, Mapping):
                self.faults.append(Fault(file, "holds no columns", f"row {number}"))
                continue
            given: dict[Any, Any] = dict(row)
            checked: CaseRow | None = None
            try:
                checked = kind.model_validate(given)
                where, faults = _where(checked), list(self._faults_of(checked, capability))
            except ValidationError as error:
                where, faults = _told(given, number), list(faults_told(error))
            self.faults += [Fault(file, one, where) for one in faults[:_MOST_FAULTS_OF_A_ROW]]
            if isinstance(name := given.get("id"), str):
                self._id_of.setdefault(name, where)
            if checked is not None and not faults:
                sound.append(number)
                self._files.append(file)
                self.rows.append(checked)
        return sound

    def _faults_of(self, row: CaseRow, capability: str | None) -> Iterator[str]:
        if row.id in self._id_of:
            yield f"its id is also that of {self._id_of[row.id]}"
        if not row.text.strip():
            yield "its text is empty"
        if capability is not None and row.capability != capability:
            yield f"its capability is {plain(row.capability, SHOWN)}, its config {capability}"
        if not is_capability_id(row.capability):
            yield f"its capability is called {row.capability}, a name that is taken"
        if len(set(row.labels)) < len(row.labels):
            yield f"its labels are {row.labels}"
        if row.label is not None and row.label not in row.labels:
            yield "its label is not among those that pass"
        if row.kind == "seed" and row.seed_id != row.id:
            yield "a seed's seed_id is its own id"
        if self._written and row.id != content_id(row.kind, row.capability, row.text):
            yield "its id is not the hash of its capability and text"
        if self._written and row.kind == "expansion" and row.production is None:
            yield "it has no production"
        if self._written and row.kind == "expansion" and not row.inserted:
            yield "it has no inserted word"
        for word in row.inserted or ():
            start, end = word.start, word.end
            if start is None or end is None:
                continue
            if not 0 <= start < end or row.text[start:end] != word.word:
                yield "an inserted word is not at its offsets"

    def together(self) -> list[CaseRow]:
        """The sound rows; what shows only between rows is added to the faults."""
        of_id = {row.id: row for row in self.rows}
        for row, file in zip(self.rows, self._files, strict=True):
            if row.kind != "seed":
                faults = self._family_faults(row, of_id.get(row.seed_id))
                self.faults += [Fault(file, one, _where(row)) for one in faults]
        return self.rows

    def _family_faults(self, row: CaseRow, seed: CaseRow | None) -> Iterator[str]:
        if seed is None:
            if row.seed_id not in self._id_of:  # what is told of a broken seed is enough
                yield f"its seed {plain(row.seed_id, SHOWN)} is not in the suite"
            return
        if seed.kind != "seed":
            yield f"its seed {plain(row.seed_id, SHOWN)} is of kind {seed.kind}"
        if seed.capability != row.capability:
            yield f"its seed is of another capability, {plain(seed.capability, SHOWN)}"
        if row.kind == COUNTERPART:
            return
        words = [(word.start or 0, word.end or 0) for word in row.inserted or ()]
        if self._written and without(row.text, words) != seed.text:
            yield "without its inserted words it is not its seed"


def _where(row: CaseRow) -> str:
    return f"{plain(row.capability, SHOWN)} {row.kind} {plain(row.id, SHOWN)}"


def _told(row: Mapping[Any, Any], number: int) -> str:
    """A row whose columns may be anything, in words."""
    names = [row.get(column) for column in ("capability", "kind", "id")]
    if all(isinstance(name, str) and name for name in names):
        return plain(" ".join(map(str, names)), SHOWN)
    return f"row {number}"


def without(text: str, inserted: Sequence[tuple[int, int]]) -> str:
    """A text without its inserted words, from start to end, and the space that came with each.

    What begins with a comma came without one.
    """
    for start, end in sorted(inserted, reverse=True):
        if text[start : start + 1] == ",":
            pass
        elif text[end : end + 1] == " ":
            end += 1
        elif text[start - 1 : start] == " ":
            start -= 1
        text = text[:start] + text[end:]
    return text


def rows_fingerprint(rows: Sequence[CaseRow] | Sequence[Mapping[str, Any]]) -> str:
    """What identifies a suite: a hash over ids, texts and labels of its rows, in its order."""
    plain_rows = [row if isinstance(row, Mapping) else row.__dict__ for row in rows]
    return fingerprint_of([[row["id"], row["text"], row["labels"]] for row in plain_rows])
