"""Draw cases for annotators: blind forms, and the key that says what each case is.

Lee et al., "Automated Testing Linguistic Capabilities of NLP Models", RQ1 and RQ2: three sets of
50 seeds and 50 of their expansions, annotated for sentiment and relevance to the capability.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from s2lct.analysis.records import Record, fault_of
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.errors import AnalysisError
from s2lct.files import check_folder_out, write_text
from s2lct.identity import fingerprint_of, rng_for, shuffle_key
from s2lct.labels import LABELS, Label
from s2lct.suite.annotation import Form, Item, Question
from s2lct.suite.cases import Case, SuiteCases, families_of
from s2lct.suite.read import read_description

KEY_FILE = "key.json"
RATINGS = (1, 2, 3, 4, 5)
_SENTIMENTS = ("very negative", "negative", "neutral or mixed", "positive", "very positive")
_RELEVANCES = ("not at all", "hardly", "partly", "mostly", "fully")
SENTIMENT = Question(
    "sentiment",
    "What does the author feel, all in all?",
    "What the author of the whole text thinks in the end, not what others in it think.",
    dict(zip(map(str, RATINGS), _SENTIMENTS, strict=True)),
)
RELEVANCE = Question(
    "relevance",
    "How well does the text show this?",
    "Whether the text is what the description below it says. A clumsy text can be fully relevant.",
    dict(zip(map(str, RATINGS), _RELEVANCES, strict=True)),
    about_item=True,
)
QUESTIONS = (SENTIMENT, RELEVANCE)


class SuiteOfKey(Record):
    """What names the suite that a study was drawn from."""

    name: str
    version: str
    fingerprint: str


class KeyItem(Record):
    """What an item of a form is: the case, its set from 1 on, and the labels that pass.

    The family is its number among the cases drawn, see `families_of`; keys written by older
    versions lack it.
    """

    set: int
    case: str
    kind: Literal["seed", "expansion"]
    seed_id: str
    capability: str
    text: str
    passes: tuple[Label, ...]
    family: int | None = None

    @property
    def cluster(self) -> int | str:
        """What a bootstrap draws with it: its family, or as far as that is known its seed."""
        return self.seed_id if self.family is None else self.family


class Key(Record):
    """What annotators must not see: which case each item is, and what passes.

    The study's id is a hash of the cases drawn; that of an item is such as ``1f0c9a2e-1-007``:
    study, set, place in the form.
    """

    study: str
    suite: SuiteOfKey
    seed: int
    items: dict[str, KeyItem]


@dataclass(frozen=True)
class Study:
    """A drawn study; titles, and descriptions that relevance is judged by, by capability."""

    key: Key
    titles: Mapping[str, str]
    descriptions: Mapping[str, str]

    def forms(self) -> dict[str, Form]:
        """The form of each set, by the name of its files."""
        sets: dict[int, list[Item]] = {}
        for id, item in self.key.items.items():
            title = self.titles.get(item.capability, item.capability)
            about = self.descriptions.get(item.capability, "")
            sets.setdefault(item.set, []).append(Item(id, item.text, title, about))
        return {
            f"set-{number}": Form(
                f"study-{self.key.study}-set-{number}",
                f"S²LCT reading study, set {number} of {len(sets)}",
                (
                    f"You will read {len(items)} short texts, many about films. For each, say what "
                    "its author feels, and how well it shows the capability named below it. There "
                    "is no right answer: say what you read. Some texts resemble others; judge "
                    "each by itself.",
                ),
                items,
                QUESTIONS,
            )
            for number, items in sorted(sets.items())
        }


def draw(suite: SuiteCases, *, sets: int = 3, seeds: int = 50, seed: int = 0) -> Study:
    """Draw so many seeds for each set, an expansion of each, and put them in sets.

    The capabilities take turns, so each has the same share until it runs out of seeds that have
    an expansion. No seed is in two sets. The same seed of the draw gives the same study, whatever
    the order of the cases.

    Raises:
        AnalysisError: the suite has too few seeds that have expansions.
    """
    pairs = _pairs(suite.cases, seed)
    if len(pairs) < sets * seeds:
        raise AnalysisError(
            f"suite {suite.name}: {len(pairs)} of its seeds have expansions, {sets} sets of "
            f"{seeds} need {sets * seeds}",
            hint=f"--sets {sets} --seeds {max(1, len(pairs) // sets)}, or build a larger suite",
        )
    # Dealt out capability by capability, so each set has its share of each.
    drawn = sorted(pairs[: sets * seeds], key=lambda pair: pair[0].capability)
    ordered = [_form_order(drawn[number::sets], seed, number) for number in range(sets)]
    study = fingerprint_of([[case.id for case in cases] for cases in ordered])[:8]
    families = iter(families_of([case for cases in ordered for case in cases]).tolist())
    items = {
        f"{study}-{number}-{place:03}": KeyItem(
            set=number,
            case=case.id,
            kind="seed" if case.kind == "seed" else "expansion",
            seed_id=case.seed_id,
            capability=case.capability,
            text=case.text,
            passes=tuple(LABELS[label] for label in sorted(case.passes)),
            family=next(families),
        )
        for number, cases in enumerate(ordered, 1)
        for place, case in enumerate(cases, 1)
    }
    named = SuiteOfKey(name=suite.name, version=suite.version, fingerprint=suite.fingerprint)
    key = Key(study=study, suite=named, seed=seed, items=items)
    return Study(key, capability_texts(suite.name, "title"), capability_texts(suite.name, "raters"))


def _pairs(cases: Sequence[Case], seed: int) -> list[tuple[Case, Case]]:
    """Seeds, each with one of its expansions, in drawing order, capabilities taking turns."""

    def drawing(case: Case) -> bytes:
        return shuffle_key(seed, "study", case.id)

    expansions: dict[str, Case] = {}
    for case in sorted(cases, key=drawing, reverse=True):
        if case.kind == "expansion":
            expansions[case.seed_id] = case
    queues: dict[str, list[tuple[Case, Case]]] = {}
    for case in sorted(cases, key=drawing):
        if case.kind == "seed" and case.id in expansions:
            queues.setdefault(case.capability, []).append((case, expansions[case.id]))
    order = sorted(queues, key=lambda name: shuffle_key(seed, "study", name))
    turns = itertools.zip_longest(*(queues[name] for name in order))
    return [pair for turn in turns for pair in turn if pair is not None]


def _form_order(pairs: Sequence[tuple[Case, Case]], seed: int, number: int) -> list[Case]:
    """A set's cases, shuffled so that a seed and its expansion stand far apart.

    One of each pair, whichever chance says, is in the first half of the form. Both halves are
    two shuffled blocks of the same pairs: between a seed and its expansion stand at least half
    as many cases as there are pairs.
    """
    rng = rng_for(seed, "study", "form", str(number))
    shuffled = list(pairs)
    rng.shuffle(shuffled)
    turned = [pair if rng.random() < 0.5 else pair[::-1] for pair in shuffled]
    middle = (len(turned) + 1) // 2
    cases: list[Case] = []
    for half in (0, 1):
        for block in (turned[:middle], turned[middle:]):
            chosen = [pair[half] for pair in block]
            rng.shuffle(chosen)
            cases += chosen
    return cases


def write_study(study: Study, folder: Path) -> list[Path]:
    """Write a form for each set, as a page and as a table, and last the key; the paths.

    Raises:
        AnalysisError: the folder holds the key of another study.
        OutputError: it is a file.
    """
    check_folder_out(folder, "--out")
    path = folder / KEY_FILE
    if path.exists() and read_key(path).study != study.key.study:
        raise AnalysisError(
            f"--out {folder}: holds another study, whose answers need its {KEY_FILE}",
            hint="choose another folder",
        )
    contents: dict[str, str] = {}
    for name, form in study.forms().items():
        contents |= {f"{name}.html": form.html(), f"{name}.csv": form.csv()}
    contents[KEY_FILE] = study.key.model_dump_json(indent=1) + "\n"
    for name, content in contents.items():
        write_text(folder / name, content)
    return [folder / name for name in contents]


def read_key(path: Path) -> Key:
    """Read the key that `write_study` wrote.

    Raises:
        AnalysisError: there is none, or it is broken.
    """
    hint = f"name the {KEY_FILE} that `s2lct study export` wrote"
    try:
        return Key.model_validate_json(path.read_bytes())
    except OSError as error:
        raise AnalysisError(f"--key {path}: {error.strerror}", hint=hint) from error
    except ValidationError as error:
        raise AnalysisError(f"--key {path}: {fault_of(error)}", hint=hint) from error


def capability_texts(suite: str, field: Literal["title", "raters"]) -> dict[str, str]:
    """What is told of capabilities: by a suite's folder, else by those that are shipped.

    ``raters`` is what relevance is judged by; a capability without it is left out.
    """
    words = {one.id: getattr(one, field) for one in load_capabilities()}
    if suite and Path(suite).is_dir():
        words |= {
            one["id"]: str(one[field])
            for one in read_description(Path(suite))["capabilities"]
            if field in one
        }
    return {name: text for name, text in words.items() if text is not None}
