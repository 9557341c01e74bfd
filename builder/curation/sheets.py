"""Sheets that annotators fill in, and their answers.

An annotator sees the text, never how it was made nor what others found.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from s2lct.builder.annotations import Annotation, AnnotationFile, Annotations, Answer
from s2lct.errors import AnnotationError
from s2lct.files import as_json_lines, atomic_folder, write_text
from s2lct.identity import fingerprint_of
from s2lct.labels import Label
from s2lct.suite.annotation import (
    Form,
    Item,
    Question,
    read_annotations,
    shuffled,
    with_traps,
)

ITEMS_PER_SHEET = 200
ANSWERS: dict[str, Answer] = {
    "neg": "negative",
    "neu": "neutral",
    "pos": "positive",
    "mix": "mixed",
}
QUESTIONS = (
    Question("label", "What does the author feel?", "mix where readers would split.", ANSWERS),
    Question(
        "natural",
        "Would you publish it as it stands?",
        "2 only where a fluent writer could have written every word.",
        {"0": "something is wrong", "1": "an editor would change a word", "2": "yes"},
    ),
    Question(
        "relevant",
        "Does it show what the description says?",
        "",
        {"1": "yes", "0": "no"},
        shows_description=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may get into a suite if annotators accept it: an item, and the labels that are right."""

    item: Item
    labels: Collection[Label]


def undecided(
    candidates: Iterable[Candidate], annotations: Annotations, annotator: str = ""
) -> list[Item]:
    """What another annotator, or a certain one, has still to read."""
    return [
        each.item
        for each in candidates
        if annotations.state(each.item.id, each.labels) == "open"
        and annotator not in {annotation.annotator for annotation in annotations.of(each.item.id)}
    ]


def protocol() -> str:
    """The instructions to annotators."""
    return (Path(__file__).parent / "protocol.md").read_text(encoding="utf-8")


def write_sheets(items: Sequence[Item], folder: Path, *, seed: int) -> list[Path]:
    """Write sheets: items as JSON lines, which are returned, a page and a table to be filled in.

    They get a folder of their own, which is named by what is in it: sheets that were handed out
    before stay as they are.
    """
    ordered = shuffled(items, seed)
    subfolder = folder / f"cases-{fingerprint_of([item.id for item in ordered])[:8]}"
    starts = range(0, len(ordered), ITEMS_PER_SHEET)
    names = [f"sheet-{number:03}" for number in range(1, len(starts) + 1)]
    instructions = protocol()
    if not subfolder.is_dir():
        with atomic_folder(subfolder) as written:
            for name, start in zip(names, starts, strict=True):
                sheet = with_traps(ordered[start : start + ITEMS_PER_SHEET], seed)
                titles = f"{subfolder.name}-{name}", f"Cases: {name}"
                form = Form(*titles, instructions.split("\n\n"), sheet, QUESTIONS)
                write_text(written / f"{name}.jsonl", as_json_lines(map(asdict, sheet)))
                write_text(written / f"{name}.html", form.html())
                write_text(written / f"{name}.csv", form.csv())
            write_text(written / "README.md", f"# What to do\n\n{instructions}")
    return [subfolder / f"{name}.jsonl" for name in names]


def read_sheets(folder: Path) -> dict[str, Item]:
    """What was handed out by the sheets in a folder, those of earlier rounds too, by id."""
    sheets = sorted(folder.glob("*/sheet-*.jsonl"))
    lines = [line for path in sheets for line in path.read_text(encoding="utf-8").splitlines()]
    return {item.id: item for item in (Item(**json.loads(line)) for line in lines)}


def take_answers(
    path: Path, handed_out: Mapping[str, Item], annotator: str, file: AnnotationFile
) -> int:
    """Append answers to a file of annotations; how many are new.

    Nothing is appended if an answer is to none of the items or cannot be understood, or if broken
    sentences were called natural.

    Args:
        path: of the answers.
        handed_out: what the sheets asked, by id.
        annotator: whose answers these are; empty if each row says so.
        file: is appended to.

    Raises:
        AnnotationError: see above, and `read_annotations`.
    """
    annotations: dict[tuple[str, str], Annotation] = {}
    spelled = {each.annotator.casefold(): each.annotator for each in file.all}
    for each in read_annotations([path], QUESTIONS, handed_out, annotator):
        if not each.answers:
            continue
        if missing := [q.name for q in QUESTIONS if q.name not in each.answers]:
            raise AnnotationError(
                f"{path}: {each.item} has no {' and no '.join(missing)}", hint="answer them too"
            )
        name = spelled.setdefault(each.annotator.casefold(), each.annotator)
        annotations[name, each.item] = Annotation(
            id=each.item,
            annotator=name,
            label=ANSWERS[each.answers["label"]],
            natural=int(each.answers["natural"]),
            relevant=each.answers["relevant"] == "1",
            sentence=handed_out[each.item].sentence or None,
        )
    if not annotations:
        raise AnnotationError(
            f"--answers {path}: holds no answer", hint="fill in a sheet that `s2lct curate` wrote"
        )
    earlier = {(each.annotator, each.id): each for each in file.all}
    new = [each for key, each in annotations.items() if earlier.get(key) != each]
    together = Annotations([*file.all, *new])
    for name in {name for name, _ in annotations}:
        together.check_care(name)
    file.append(new)
    return len(new)
