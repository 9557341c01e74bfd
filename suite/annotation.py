"""Forms with questions about texts, for people to fill in, and their answers."""

from __future__ import annotations

import random
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from s2lct.errors import AnnotationError
from s2lct.identity import content_id, rng_for, shuffle_key
from s2lct.plain_text import as_csv, plain
from s2lct.table_files import read_rows, table_kind
from s2lct.tables import page_templates

ID_PREFIX = "i"
"""Before ids in a table, as spreadsheets take some hexadecimal ids for numbers."""
_MAX_SHOWN = 40
TRAP_SHARE = 0.05
"""The share of traps in a form: sentences with words in the wrong order, which show whether an
annotator reads."""
MIN_TRAPS = 2
_PHRASE_OPENERS = frozenset(
    {"a", "an", "the", "this", "of", "to", "in", "with", "for", "and", "but"}
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a text.

    Attributes:
        name: the column of its answers.
        wording: the question itself.
        explanation: how to answer, in a sentence or two.
        answers: the values that may be written into the column, and the meaning of each.
        about_item: whether title and description of the item are shown beside the question.
    """

    name: str
    wording: str
    explanation: str
    answers: Mapping[str, str]
    about_item: bool = False

    @property
    def keys(self) -> dict[str, str]:
        """The keyboard key of each answer: the answer itself if all are digits, else its number."""
        if all(value in string.digits for value in self.answers):
            return {value: value for value in self.answers}
        return {value: str(number) for number, value in enumerate(self.answers, 1)}

    def answer(self, cell: str) -> str | None:
        """The answer in a cell, written as its value or its meaning; None for an empty cell.

        Raises:
            ValueError: the cell holds no answer.
        """
        text = cell.strip().casefold().removesuffix(".0").removesuffix(",0")
        for value, word in self.answers.items():
            if text in (value.casefold(), word.casefold()):
                return value
        if text:
            raise ValueError(
                f"{self.name} {plain(text, _MAX_SHOWN)!r} is none of {', '.join(self.answers)}"
            )
        return None


@dataclass(frozen=True, slots=True)
class Item:
    """A text to annotate, title and description of what it shows, and the id of its sentence."""

    id: str
    text: str
    title: str = ""
    description: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """A form for an annotator.

    Attributes:
        name: of the file with the answers.
        heading: of the page.
        introduction: paragraphs; one whose lines begin with ``- `` is a list.
        items: the texts, in their order.
        questions: asked about each text.
    """

    name: str
    heading: str
    introduction: Sequence[str]
    items: Sequence[Item]
    questions: Sequence[Question]

    def html(self) -> str:
        """The form as one HTML page that needs no network."""
        data = {
            "name": self.name,
            "questions": [
                {
                    "name": question.name,
                    "answers": {key: value for value, key in question.keys.items()},
                }
                for question in self.questions
            ],
            "items": [asdict(item) for item in self.items],
        }
        template = page_templates("s2lct.suite").get_template("annotation_form.html.jinja")
        return template.render(form=self, data=data)

    def csv(self) -> str:
        """The form as a CSV file, with a byte order mark so that spreadsheets read UTF-8."""
        titled = any(item.title or item.description for item in self.items)
        about = ("title", "description", "text") if titled else ("text",)
        rows = [["id", *about, *(question.name for question in self.questions)]]
        for item in self.items:
            texts = [getattr(item, name) for name in about]
            rows.append([ID_PREFIX + item.id, *texts, *("" for _ in self.questions)])
        return "\ufeff" + as_csv(rows, end="\r\n")


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotator's answers about an item, by question, without those left out."""

    annotator: str
    item: str
    answers: Mapping[str, str]


def read_annotations(
    paths: Sequence[Path],
    questions: Sequence[Question],
    ids: Collection[str],
    annotator: str | None = None,
) -> list[Annotation]:
    """Read filled-in forms: tables of a kind that their names say, else CSV.

    Args:
        paths: the files.
        questions: that the forms asked.
        ids: of all items on the forms.
        annotator: who answered; empty if each row must name its annotator; None to use the file's
            name for rows that name none.

    Returns:
        An annotation for each annotator and item.

    Raises:
        ScoringError: a file cannot be read.
        AnnotationError: a row names an unknown item or another annotator, holds an invalid answer,
            or contradicts another row of its annotator.
    """
    first_rows: dict[tuple[str, str], tuple[Annotation, str]] = {}
    for path in paths:
        for place, cells in read_rows(path, table_kind(path) or "csv"):
            row = {name.lower(): _as_written(cell) for name, cell in cells.items()}
            id = row.get("id", "").strip().removeprefix(ID_PREFIX)
            if not any(row.values()):
                continue
            if id not in ids:
                raise AnnotationError(
                    f"{place}: {plain(id, _MAX_SHOWN)!r} is the id of no text on these forms",
                    hint="name the forms that were filled in, and leave the ids as they are",
                )
            try:
                cells_read = {q.name: q.answer(row.get(q.name) or "") for q in questions}
            except ValueError as error:
                raise AnnotationError(f"{place}: {error}", hint="give one of these") from error
            name = _annotator_of(row, annotator, place) or path.stem
            answers = {key: value for key, value in cells_read.items() if value is not None}
            annotation = Annotation(name, id, answers)
            first, first_place = first_rows.setdefault((name, id), (annotation, place))
            if first != annotation:
                raise AnnotationError(
                    f"{first_place} and {place}: {plain(name, _MAX_SHOWN)!r} answered about {id} "
                    "twice, and differently",
                    hint="keep one of the two, or give two annotators different names",
                )
    return [annotation for annotation, _ in first_rows.values()]


def _as_written(cell: object) -> str:
    """A JSON value as a CSV file would hold it."""
    return "" if cell is None else str(int(cell)) if isinstance(cell, bool) else str(cell)


def _annotator_of(row: Mapping[str, str], stated: str | None, place: str) -> str:
    """The annotator of a row; empty if neither the row nor the caller names one."""
    written = (row.get("annotator") or row.get("reader") or "").strip()
    if stated == "" and not written:
        raise AnnotationError(
            f"{place}: names no annotator", hint="give --annotator, who gave the --answers"
        )
    if stated and written and written.casefold() != stated.casefold():
        raise AnnotationError(
            f"{place}: is an answer of {plain(written, _MAX_SHOWN)}, not of {stated}",
            hint="leave --annotator out, so that answers are of whom their rows name, or give the "
            "name that stands there",
        )
    return stated or written


def trap_of(id: str) -> str:
    """The id of the trap that is made of an item."""
    return content_id("trap", id)


def in_reading_order(items: Iterable[Item], seed: int) -> list[Item]:
    """Items in a random order, so that variants of a sentence are not neighbours."""
    return sorted(items, key=lambda item: shuffle_key(seed, "read", item.id))


def with_traps(items: Sequence[Item], seed: int) -> list[Item]:
    """Items and traps in a random order; a trap has three words of an item in reversed order."""
    rng = rng_for(seed, "traps", *(item.id for item in items))
    breakable = [item for item in items if _trap_places(item.text.split())]
    count = min(len(breakable), max(MIN_TRAPS, round(TRAP_SHARE * len(items))))
    traps = [_trap_from(item, rng) for item in rng.sample(breakable, count)]
    mixed = [*items, *traps]
    rng.shuffle(mixed)
    return mixed


def _trap_from(item: Item, rng: random.Random) -> Item:
    words = item.text.split()
    start = rng.choice(_trap_places(words))
    words[start : start + 3] = reversed(words[start : start + 3])
    return replace(item, id=trap_of(item.id), text=" ".join(words))


def _trap_places(words: Sequence[str]) -> list[int]:
    """Where three words can be reversed, preferably from a word that opens a phrase."""
    places = [n for n in range(1, len(words) - 3) if words[n].lower() != words[n + 2].lower()]
    return [n for n in places if words[n].lower() in _PHRASE_OPENERS] or places
