"""Sheets that annotators fill in, and their answers.

An annotator sees only texts, not their origin nor the annotations of others.
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
from s2lct.suite.annotation import Form, Item, Question, read_annotations, shuffled, with_traps

ITEMS_PER_SHEET = 200
SENTIMENTS: dict[str, Answer] = {
    "neg": "negative",
    "neu": "neutral",
    "pos": "positive",
    "mix": "mixed",
}
QUESTIONS = (
    Question("label", "What does the author feel?", "mix where readers would split.", SENTIMENTS),
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
    """An item that enters a suite if annotators accept it, with its correct labels."""

    item: Item
    labels: Collection[Label]


def items_to_annotate(
    candidates: Iterable[Candidate], annotations: Annotations, annotator: str = ""
) -> list[Item]:
    """Items whose state is open, without those that ``annotator``, if given, has annotated."""
    return [
        candidate.item
        for candidate in candidates
        if annotations.state(candidate.item.id, candidate.labels) == "open"
        and annotator not in {earlier.annotator for earlier in annotations.of(candidate.item.id)}
    ]


def protocol() -> str:
    """The instructions to annotators."""
    return (Path(__file__).parent / "protocol.md").read_text(encoding="utf-8")


def write_sheets(items: Sequence[Item], folder: Path, *, seed: int) -> list[Path]:
    """Write each sheet as JSON lines, an HTML page and a CSV table; return the JSON-lines files.

    The name of their subfolder contains a hash of the items, so earlier sheets are never changed.
    """
    ordered = shuffled(items, seed)
    subfolder = folder / f"cases-{fingerprint_of([item.id for item in ordered])[:8]}"
    starts = range(0, len(ordered), ITEMS_PER_SHEET)
    sheet_names = [f"sheet-{number:03}" for number in range(1, len(starts) + 1)]
    instructions = protocol()
    if not subfolder.is_dir():
        with atomic_folder(subfolder) as partial_folder:
            for name, start in zip(sheet_names, starts, strict=True):
                sheet = with_traps(ordered[start : start + ITEMS_PER_SHEET], seed)
                titles = f"{subfolder.name}-{name}", f"Cases: {name}"
                form = Form(*titles, instructions.split("\n\n"), sheet, QUESTIONS)
                write_text(partial_folder / f"{name}.jsonl", as_json_lines(map(asdict, sheet)))
                write_text(partial_folder / f"{name}.html", form.html())
                write_text(partial_folder / f"{name}.csv", form.csv())
            write_text(partial_folder / "README.md", f"# What to do\n\n{instructions}")
    return [subfolder / f"{name}.jsonl" for name in sheet_names]


def read_sheets(folder: Path) -> dict[str, Item]:
    """The items of all sheets in a folder, including those of earlier rounds, by id."""
    sheets = sorted(folder.glob("*/sheet-*.jsonl"))
    lines = [line for path in sheets for line in path.read_text(encoding="utf-8").splitlines()]
    return {item.id: item for item in (Item(**json.loads(line)) for line in lines)}


def import_answers(
    path: Path, items: Mapping[str, Item], annotator: str, annotation_file: AnnotationFile
) -> int:
    """Append the answers in a file to the annotations; return the number of new annotations.

    Nothing is appended if an answer is invalid or about an unknown item, or if too many traps were
    called natural.

    Args:
        path: the file of answers.
        items: the items of the sheets, by id.
        annotator: the name of the annotator; empty if each row names one.
        annotation_file: the annotations to append to.

    Raises:
        AnnotationError: the answers are refused; see also `read_annotations`.
    """
    annotations: dict[tuple[str, str], Annotation] = {}
    names = [annotation.annotator for annotation in annotation_file.all]
    spelling_of_name = {name.casefold(): name for name in names}
    for row in read_annotations([path], QUESTIONS, items, annotator):
        if not row.answers:
            continue
        if missing := [q.name for q in QUESTIONS if q.name not in row.answers]:
            raise AnnotationError(
                f"{path}: {row.item} has no {' and no '.join(missing)}", hint="answer them too"
            )
        annotator_name = spelling_of_name.setdefault(row.annotator.casefold(), row.annotator)
        annotations[annotator_name, row.item] = Annotation(
            id=row.item,
            annotator=annotator_name,
            label=SENTIMENTS[row.answers["label"]],
            natural=int(row.answers["natural"]),
            relevant=row.answers["relevant"] == "1",
            sentence=items[row.item].sentence or None,
        )
    if not annotations:
        raise AnnotationError(
            f"--answers {path}: holds no answer", hint="fill in a sheet that `s2lct curate` wrote"
        )
    earlier = {(a.annotator, a.id): a for a in annotation_file.all}
    new_annotations = [a for key, a in annotations.items() if earlier.get(key) != a]
    all_annotations = Annotations([*annotation_file.all, *new_annotations])
    for annotator_name in {annotator_name for annotator_name, _ in annotations}:
        all_annotations.check_care(annotator_name)
    annotation_file.append(new_annotations)
    return len(new_annotations)
