"""Sheets: what annotators have still to read of a corpus in three rounds, and their answers.

First the sentences, whole and shortened; then the cases made of sentences that passed; then the
sentences of these cases with something inserted. An annotator sees the text, never how it was made
nor what others said of it.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Literal, get_args

from s2lct.builder.curation.verdicts import Answer, Verdict, VerdictFile, Verdicts, trap_of
from s2lct.errors import AnnotationError, BuildError
from s2lct.files import as_json_lines, read_json_lines, whole_folder, write_text
from s2lct.identity import fingerprint_of, rng_for, shuffle_key
from s2lct.labels import Label
from s2lct.suite.annotation import Form, Item, Question, read_annotations

Round = Literal["sentences", "cases", "extensions"]
ROUNDS: tuple[Round, ...] = get_args(Round)
TRAPS = 0.05
"""Share of a sheet that is broken sentences: an annotator who passes them is not reading."""
LEAST_TRAPS = 2
"""In a sheet, however short it is."""
ITEMS_A_SHEET = 200
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
        about_item=True,
    ),
)
_OPENING = frozenset({"a", "an", "the", "this", "of", "to", "in", "with", "for", "and", "but"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may get into a suite if annotators pass it, and the labels that are right."""

    item: Item
    labels: Collection[Label]


def unread(candidates: Iterable[Candidate], verdicts: Verdicts, reader: str = "") -> list[Item]:
    """What another annotator, or a certain one, has still to read.

    What one refused is not read again: it cannot pass any more.
    """
    return [
        one.item
        for one in candidates
        if verdicts.state(one.item.id, one.labels) == "open"
        and (not reader or all(v.reader != reader for v in verdicts.of(one.item.id)))
    ]


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


def protocol(*, cases: bool) -> str:
    """The instructions to annotators."""
    name = "protocol_cases.md" if cases else "protocol_sentences.md"
    return resources.files("s2lct.builder.curation").joinpath(name).read_text(encoding="utf-8")


def write_sheets(
    items: Sequence[Item], folder: Path, *, round: Round, seed: int, size: int = ITEMS_A_SHEET
) -> list[Path]:
    """Write sheets of items: the items as JSON lines, a page and a table to be filled in.

    They get a folder of their own, which is named by what is in it: sheets that were handed out
    before stay as they are.

    Args:
        items: what is to be read.
        folder: where the folder of the sheets is made.
        round: of what.
        seed: of the random order.
        size: items of a sheet, traps apart.

    Returns:
        The sheets, JSON lines.
    """
    ordered = in_reading_order(items, seed)
    made = folder / f"{round}-{fingerprint_of([item.id for item in ordered])[:8]}"
    starts = range(0, len(ordered), size)
    names = [f"sheet-{number:03}" for number in range(1, len(starts) + 1)]
    instructions = protocol(cases=round == "cases")
    if not made.is_dir():
        with whole_folder(made) as place:
            for name, start in zip(names, starts, strict=True):
                sheet = with_traps(ordered[start : start + size], seed)
                form = Form(
                    f"{made.name}-{name}",
                    f"{round.capitalize()}: {name}",
                    instructions.split("\n\n"),
                    sheet,
                    _questions(sheet),
                )
                write_text(place / f"{name}.jsonl", as_json_lines(map(asdict, sheet)))
                write_text(place / f"{name}.html", form.html())
                write_text(place / f"{name}.csv", form.csv())
            write_text(place / "README.md", f"# What to do\n\n{instructions}")
    return [made / f"{name}.jsonl" for name in names]


def _questions(items: Iterable[Item]) -> tuple[Question, ...]:
    return QUESTIONS if any(item.description for item in items) else QUESTIONS[:2]


def read_sheets(folder: Path) -> dict[Path, list[Item]]:
    """The sheets that were written to a folder, those of earlier rounds too.

    Raises:
        BuildError: one cannot be read.
    """
    found: dict[Path, list[Item]] = {}
    for path in sorted(folder.glob("*/sheet-*.jsonl")):

        def refused(number: int, error: BaseException, path: Path = path) -> BuildError:
            return BuildError(
                f"{path}, line {number}: {error}", hint="remove the sheet, and write it again"
            )

        try:
            with path.open(encoding="utf-8") as file:
                found[path] = [Item(**row) for _, row in read_json_lines(file, refused)]
        except (OSError, TypeError, UnicodeDecodeError) as error:
            raise refused(0, error) from error
    return found


@dataclass(frozen=True)
class Answered:
    """What came of a file of answers.

    Attributes:
        verdicts: how many were new.
        unanswered: how many items were left out, of the sheets that the file answers.
    """

    verdicts: int
    unanswered: int


def take_answers(
    path: Path, sheets: Mapping[Path, Sequence[Item]], reader: str, file: VerdictFile
) -> Answered:
    """Append an annotator's answers to the verdicts.

    Args:
        path: the answers, as a sheet's page saves them, its table filled in, or JSON lines.
        sheets: what was handed out.
        reader: who answered.
        file: of verdicts.

    Raises:
        S2lctError: an answer is to none of the sheets' items or cannot be understood, or broken
            sentences were called natural. Then nothing is appended.
    """
    is_case = {item.id: bool(item.description) for some in sheets.values() for item in some}
    found: dict[str, Verdict] = {}
    for one in read_annotations([path], QUESTIONS, is_case):
        if not one.answers:
            continue
        needed = QUESTIONS if is_case[one.item] else QUESTIONS[:2]
        if missing := [each.name for each in needed if each.name not in one.answers]:
            raise AnnotationError(
                f"{path}: {one.item} has no {' and no '.join(missing)}",
                hint="answer them too",
            )
        found[one.item] = Verdict(
            id=one.item,
            reader=reader,
            label=ANSWERS[one.answers["label"]],
            natural=int(one.answers["natural"]),
            relevant=one.answers["relevant"] == "1" if is_case[one.item] else None,
        )
    if not found:
        raise AnnotationError(
            f"--answers {path}: holds no answer", hint="fill in a sheet that `s2lct curate` wrote"
        )
    known = {verdict.id: verdict for verdict in file.all if verdict.reader == reader}
    new = [verdict for id, verdict in found.items() if known.get(id) != verdict]
    Verdicts([*file.all, *new]).check_care(reader)
    file.append(new)
    handed_out = {
        item.id
        for some in sheets.values()
        if any(item.id in found for item in some)
        for item in some
    }
    return Answered(len(new), len(handed_out - found.keys()))


def numbered(items: Sequence[Item]) -> Iterator[str]:
    """Each item as a line of a prompt."""
    for number, item in enumerate(items, start=1):
        about = f" [{item.description}]" if item.description else ""
        yield f"{number}{about} {' '.join(item.text.split())}"
