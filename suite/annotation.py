"""Annotation: forms to answer questions about texts on, and the answers."""

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

TABLE_MARK = "i"
"""Before an id in a table: spreadsheets take hexadecimal ids for numbers."""
_LONGEST_SHOWN = 40
TRAPS = 0.05
"""Share of a sheet that is broken sentences: an annotator who passes them is not reading."""
LEAST_TRAPS = 2
"""In a sheet, however short it is."""
_OPENING = frozenset({"a", "an", "the", "this", "of", "to", "in", "with", "for", "and", "but"})


@dataclass(frozen=True, slots=True)
class Question:
    """What annotators answer about a text.

    Attributes:
        name: the column of its answers.
        wording: the question itself.
        explanation: how to answer, in a sentence or two.
        answers: what may be written into the column, and what each stands for.
        about_item: whether the title and the description of an item stand beside it.
    """

    name: str
    wording: str
    explanation: str
    answers: Mapping[str, str]
    about_item: bool = False

    @property
    def keys(self) -> dict[str, str]:
        """The key that gives each answer: its own digit where all are digits, else its number."""
        if all(value in string.digits for value in self.answers):
            return {value: value for value in self.answers}
        return {value: str(number) for number, value in enumerate(self.answers, 1)}

    def answer(self, given: str) -> str | None:
        """The answer that was given, by its value or by what it stands for; None for none.

        Raises:
            ValueError: that is no answer.
        """
        text = given.strip().casefold().removesuffix(".0").removesuffix(",0")
        for value, word in self.answers.items():
            if text in (value.casefold(), word.casefold()):
                return value
        if text:
            raise ValueError(
                f"{self.name} {plain(text, _LONGEST_SHOWN)!r} is none of {', '.join(self.answers)}"
            )
        return None


@dataclass(frozen=True, slots=True)
class Item:
    """A text that questions are about, what it is to show, and the id of a sentence in it."""

    id: str
    text: str
    title: str = ""
    description: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """Texts and questions for an annotator.

    Attributes:
        name: of the file that is handed in, and of what a browser keeps.
        heading: the page's.
        introduction: paragraphs before the questions; one whose lines begin with ``- `` is a list.
        items: in the order in which they are read.
        questions: about each of them.
    """

    name: str
    heading: str
    introduction: Sequence[str]
    items: Sequence[Item]
    questions: Sequence[Question]

    def html(self) -> str:
        """One page to be filled in, which needs no network."""
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
        """The same as a table to be filled in, with a mark that has spreadsheets read UTF-8."""
        titled = any(item.title or item.description for item in self.items)
        about = ("title", "description", "text") if titled else ("text",)
        rows = [["id", *about, *(question.name for question in self.questions)]]
        for item in self.items:
            texts = [getattr(item, name) for name in about]
            rows.append([TABLE_MARK + item.id, *texts, *("" for _ in self.questions)])
        return "\ufeff" + as_csv(rows, end="\r\n")


@dataclass(frozen=True, slots=True)
class Annotation:
    """What an annotator answered about an item: values by question, without those left out."""

    annotator: str
    item: str
    answers: Mapping[str, str]


def read_annotations(
    paths: Sequence[Path],
    questions: Sequence[Question],
    ids: Collection[str],
    annotator: str | None = None,
) -> list[Annotation]:
    """Read filled-in forms: JSON lines where a file's name ends in .jsonl, CSV in any other.

    Args:
        paths: of the files, in any order.
        questions: that were put.
        ids: of all items that were handed out.
        annotator: whose answers these are; empty if each row has to say so in its column
            ``annotator``. None: whose rows say nothing is called as the file is.

    Returns:
        An annotation for each annotator and item.

    Raises:
        ScoringError: a file cannot be read.
        AnnotationError: a file names another item or another annotator, holds something that is
            no answer, or an annotator answered about an item twice and differently.
    """
    found: dict[tuple[str, str], tuple[Annotation, str]] = {}
    for path in paths:
        for where, cells in read_rows(path, table_kind(path) or "csv"):
            row = {name.lower(): _as_written(cell) for name, cell in cells.items()}
            id = row.get("id", "").strip().removeprefix(TABLE_MARK)
            if not any(row.values()):
                continue
            if id not in ids:
                raise AnnotationError(
                    f"{where}: {plain(id, _LONGEST_SHOWN)!r} is the id of no text on these forms",
                    hint="name the forms that were filled in, and leave the ids as they are",
                )
            try:
                given = {each.name: each.answer(row.get(each.name) or "") for each in questions}
            except ValueError as error:
                raise AnnotationError(f"{where}: {error}", hint="give one of these") from error
            name = _annotator_of(row, annotator, where) or path.stem
            answers = {name: value for name, value in given.items() if value is not None}
            new = Annotation(name, id, answers)
            known, first = found.setdefault((name, id), (new, where))
            if known != new:
                raise AnnotationError(
                    f"{first} and {where}: {plain(name, _LONGEST_SHOWN)!r} answered about {id} "
                    "twice, and differently",
                    hint="keep one of the two, or give two annotators different names",
                )
    return [annotation for annotation, _ in found.values()]


def _as_written(cell: object) -> str:
    """A value of JSON as a table would have it."""
    return "" if cell is None else str(int(cell)) if isinstance(cell, bool) else str(cell)


def _annotator_of(row: Mapping[str, str], stated: str | None, where: str) -> str:
    """Who answered; empty if nobody says so and nobody has to."""
    written = (row.get("annotator") or row.get("reader") or "").strip()
    if stated == "" and not written:
        raise AnnotationError(
            f"{where}: names no annotator", hint="give --annotator, who gave the --answers"
        )
    if stated and written and written.casefold() != stated.casefold():
        raise AnnotationError(
            f"{where}: is an answer of {plain(written, _LONGEST_SHOWN)}, not of {stated}",
            hint="leave --annotator out, so that answers are of whom their rows name, or give the "
            "name that stands there",
        )
    return stated or written


def trap_of(id: str) -> str:
    """The id of the trap that is made of something."""
    return content_id("trap", id)


def in_reading_order(items: Iterable[Item], seed: int) -> list[Item]:
    """In a random order, so that forms of one sentence stand apart."""
    return sorted(items, key=lambda item: shuffle_key(seed, "read", item.id))


def with_traps(items: Sequence[Item], seed: int) -> list[Item]:
    """The items in a random order, among traps: sentences with three words in the wrong order."""
    rng = rng_for(seed, "traps", *(item.id for item in items))
    long = [item for item in items if _places(item.text.split())]
    wanted = min(len(long), max(LEAST_TRAPS, round(TRAPS * len(items))))
    traps = [_broken(item, rng) for item in rng.sample(long, wanted)]
    mixed = [*items, *traps]
    rng.shuffle(mixed)
    return mixed


def _broken(item: Item, rng: random.Random) -> Item:
    words = item.text.split()
    at = rng.choice(_places(words))
    words[at : at + 3] = reversed(words[at : at + 3])
    return replace(item, id=trap_of(item.id), text=" ".join(words))


def _places(words: Sequence[str]) -> list[int]:
    """Where three words can be turned round; if possible, from one that opens a phrase."""
    places = [n for n in range(1, len(words) - 3) if words[n].lower() != words[n + 2].lower()]
    return [n for n in places if words[n].lower() in _OPENING] or places
