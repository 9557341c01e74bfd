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
"""A prefix of ids in tables, because spreadsheets read some hexadecimal ids as numbers."""
_MAX_CHARACTERS = 40
TRAP_SHARE = 0.05
"""The share of traps in a form: sentences with words in the wrong order, which show whether an
annotator reads carefully."""
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
        answers: the meaning of each value that the column may hold.
        shows_description: whether the question is shown with title and description of the item.
    """

    name: str
    wording: str
    explanation: str
    answers: Mapping[str, str]
    shows_description: bool = False

    @property
    def keyboard_keys(self) -> dict[str, str]:
        """The keyboard key of each answer: the answer if all are digits, else its number from 1."""
        if all(value in string.digits for value in self.answers):
            return {value: value for value in self.answers}
        return {value: str(number) for number, value in enumerate(self.answers, 1)}

    def parse_answer(self, cell: str) -> str | None:
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
                f"{self.name} {plain(text, _MAX_CHARACTERS)!r} is none of {', '.join(self.answers)}"
            )
        return None


@dataclass(frozen=True, slots=True)
class Item:
    """A text to annotate, with the title and description of its capability.

    Attributes:
        sentence: the id of the corpus sentence that the text was made from.
    """

    id: str
    text: str
    title: str = ""
    description: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """A form for an annotator.

    Attributes:
        name: the name of the file with the answers.
        heading: the heading of the page.
        introduction: paragraphs; a paragraph whose lines begin with ``- `` is a list.
        items: the texts, in their order.
        questions: the questions about each text.
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
                    "answers": {key: value for value, key in question.keyboard_keys.items()},
                }
                for question in self.questions
            ],
            "items": [asdict(item) for item in self.items],
        }
        template = page_templates("s2lct.suite").get_template("annotation_form.html.jinja")
        return template.render(form=self, data=data)

    def csv(self) -> str:
        """The form as a CSV file, with a byte order mark so that spreadsheets read UTF-8."""
        has_titles = any(item.title or item.description for item in self.items)
        text_columns = ("title", "description", "text") if has_titles else ("text",)
        rows = [["id", *text_columns, *(question.name for question in self.questions)]]
        for item in self.items:
            texts = [getattr(item, column) for column in text_columns]
            rows.append([ID_PREFIX + item.id, *texts, *("" for _ in self.questions)])
        return "\ufeff" + as_csv(rows, end="\r\n")


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotator's answers about an item, by the name of the question, without empty answers."""

    annotator: str
    item: str
    answers: Mapping[str, str]


def read_annotations(
    paths: Sequence[Path],
    questions: Sequence[Question],
    ids: Collection[str],
    annotator: str | None = None,
) -> list[Annotation]:
    """Read filled-in forms: tables in the format of their file names, by default CSV.

    Args:
        paths: the files.
        questions: the questions of the forms.
        ids: the ids of all items on the forms.
        annotator: the name of the annotator; empty if each row must name its annotator; None to use
            the file's name for rows that name none.

    Returns:
        An annotation for each annotator and item.

    Raises:
        ScoringError: a file cannot be read.
        AnnotationError: a row names an unknown item or another annotator, holds an invalid answer,
            or contradicts another row of its annotator.
    """
    first_rows: dict[tuple[str, str], tuple[Annotation, str]] = {}
    for path in paths:
        for location, cells in read_rows(path, table_kind(path) or "csv"):
            row = {name.lower(): _as_written(cell) for name, cell in cells.items()}
            id = row.get("id", "").strip().removeprefix(ID_PREFIX)
            if not any(row.values()):
                continue
            if id not in ids:
                raise AnnotationError(
                    f"{location}: {plain(id, _MAX_CHARACTERS)!r} is the id of no text on these "
                    "forms",
                    hint="name the forms that were filled in, and leave the ids as they are",
                )
            try:
                parsed_cells = {q.name: q.parse_answer(row.get(q.name) or "") for q in questions}
            except ValueError as error:
                raise AnnotationError(f"{location}: {error}", hint="give one of these") from error
            name = _annotator_of(row, annotator, location) or path.stem
            answers = {key: value for key, value in parsed_cells.items() if value is not None}
            annotation = Annotation(name, id, answers)
            earlier, earlier_location = first_rows.setdefault((name, id), (annotation, location))
            if earlier != annotation:
                raise AnnotationError(
                    f"{earlier_location} and {location}: {plain(name, _MAX_CHARACTERS)!r} answered "
                    f"about {id} twice, and differently",
                    hint="keep one of the two, or give two annotators different names",
                )
    return [annotation for annotation, _ in first_rows.values()]


def _as_written(cell: object) -> str:
    """The text of a JSON value in a CSV file."""
    return "" if cell is None else str(int(cell)) if isinstance(cell, bool) else str(cell)


def _annotator_of(row: Mapping[str, str], expected: str | None, location: str) -> str:
    """The annotator of a row; empty if neither the row nor the caller names one."""
    name = (row.get("annotator") or row.get("reader") or "").strip()
    if expected == "" and not name:
        raise AnnotationError(
            f"{location}: names no annotator", hint="give --annotator, who gave the --answers"
        )
    if expected and name and name.casefold() != expected.casefold():
        raise AnnotationError(
            f"{location}: is an answer of {plain(name, _MAX_CHARACTERS)}, not of {expected}",
            hint="leave --annotator out, so that answers are of whom their rows name, or give the "
            "name that stands there",
        )
    return expected or name


def trap_id_of(id: str) -> str:
    """The id of the trap that is made from the item with an id."""
    return content_id("trap", id)


def shuffled(items: Iterable[Item], random_seed: int) -> list[Item]:
    """Items in a random order, so that variants of a sentence are rarely neighbours."""
    return sorted(items, key=lambda item: shuffle_key(random_seed, "read", item.id))


def with_traps(items: Sequence[Item], random_seed: int) -> list[Item]:
    """Items and traps in a random order; a trap is an item with three of its words reversed."""
    rng = rng_for(random_seed, "traps", *(item.id for item in items))
    candidates = [item for item in items if _trap_starts(item.text.split())]
    count = min(len(candidates), max(MIN_TRAPS, round(TRAP_SHARE * len(items))))
    traps = [_trap_from(item, rng) for item in rng.sample(candidates, count)]
    mixed = [*items, *traps]
    rng.shuffle(mixed)
    return mixed


def _trap_from(item: Item, rng: random.Random) -> Item:
    words = item.text.split()
    start = rng.choice(_trap_starts(words))
    words[start : start + 3] = reversed(words[start : start + 3])
    return replace(item, id=trap_id_of(item.id), text=" ".join(words))


def _trap_starts(words: Sequence[str]) -> list[int]:
    """Indices of words from which three can be reversed, preferably of words that open a phrase."""
    starts = [n for n in range(1, len(words) - 3) if words[n].lower() != words[n + 2].lower()]
    return [n for n in starts if words[n].lower() in _PHRASE_OPENERS] or starts
