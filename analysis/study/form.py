"""Draw cases for human raters: blind forms, and the key that says what each case is.

Lee et al., "Automated Testing Linguistic Capabilities of NLP Models", RQ1 and RQ2: three sets of
50 seeds and 50 of their expansions, rated for sentiment and for relevance to the capability.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from s2lct.analysis.records import Record, fault_of
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.errors import AnalysisError
from s2lct.files import write_text
from s2lct.identity import fingerprint_of, rng_for, shuffle_key
from s2lct.labels import LABELS, Label
from s2lct.leaderboard.scoring.statistics import families_of
from s2lct.pages import page_templates
from s2lct.plain_text import spreadsheet_cell
from s2lct.suite.cases import Case, SuiteCases
from s2lct.suite.read import read_description

KEY_FILE = "key.json"
RATINGS = (1, 2, 3, 4, 5)
SENTIMENT_SCALE = ("very negative", "negative", "neutral or mixed", "positive", "very positive")
RELEVANCE_SCALE = ("not at all", "hardly", "partly", "mostly", "fully")
CSV_COLUMNS = ("id", "capability", "description", "text", "relevance", "sentiment")


class SuiteOfKey(Record):
    """What names the suite that a study was drawn from."""

    name: str
    version: str
    fingerprint: str


class KeyItem(Record):
    """What an item of a form is: the case, its set from 1 on, and the labels that pass.

    The family is its number among the cases drawn, see `statistics.families_of`; keys written by
    older versions lack it.
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
    """What the raters must not see: which case each item is, and what passes.

    The study's id is a hash of the cases drawn; that of an item is such as ``1f0c9a2e-1-007``:
    study, set, place in the form.
    """

    study: str
    suite: SuiteOfKey
    seed: int
    items: dict[str, KeyItem]


@dataclass(frozen=True)
class Study:
    """A drawn study; titles, and descriptions that raters judge relevance by, by capability."""

    key: Key
    titles: Mapping[str, str]
    descriptions: Mapping[str, str]

    def form(self, number: int) -> dict[str, KeyItem]:
        """The items of a set, numbered from 1, in the form's order."""
        return {id: item for id, item in self.key.items.items() if item.set == number}


def draw(
    suite: SuiteCases,
    titles: Mapping[str, str],
    *,
    sets: int = 3,
    seeds: int = 50,
    seed: int = 0,
) -> Study:
    """Draw so many seeds for each set, an expansion of each, and put them in sets.

    The capabilities take turns, so each has the same share until it runs out of seeds that have
    an expansion. No seed is in two sets. The same seed of the draw gives the same study, whatever
    the order of the cases.

    Raises:
        AnalysisError: the suite has too few seeds that have expansions.
    """
    families = _families(suite.cases, seed)
    if len(families) < sets * seeds:
        raise AnalysisError(
            f"suite {suite.name}: {len(families)} of its seeds have expansions, {sets} sets of "
            f"{seeds} need {sets * seeds}",
            hint=f"--sets {sets} --seeds {max(1, len(families) // sets)}, or build a larger suite",
        )
    # Dealt out capability by capability, so each set has its share of each.
    drawn = sorted(families[: sets * seeds], key=lambda pair: pair[0].capability)
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
    return Study(key, titles, descriptions_for_raters(suite.name))


def _families(cases: Sequence[Case], seed: int) -> list[tuple[Case, Case]]:
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


def form_html(study: Study, number: int) -> str:
    """The form of a set (numbered from 1): one page that needs no network and holds no key."""
    items = study.form(number)
    form = {
        "study": study.key.study,
        "set": number,
        "capabilities": {
            name: {
                "title": study.titles.get(name, name),
                "description": study.descriptions.get(name, ""),
            }
            for name in dict.fromkeys(item.capability for item in items.values())
        },
        "items": [
            {"id": id, "capability": item.capability, "text": item.text}
            for id, item in items.items()
        ],
    }
    sets = max(item.set for item in study.key.items.values())
    template = page_templates("s2lct.analysis.study").get_template("study_form.html.jinja")
    return template.render(
        form=form, sets=sets, relevance=RELEVANCE_SCALE, sentiment=SENTIMENT_SCALE
    )


def form_csv(study: Study, number: int) -> str:
    """The same form as a table whose last two columns are to be filled."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\r\n")
    writer.writerow(CSV_COLUMNS)
    for id, item in study.form(number).items():
        title = study.titles.get(item.capability, item.capability)
        cells = (id, title, study.descriptions.get(item.capability, ""), item.text, "", "")
        writer.writerow(map(spreadsheet_cell, cells))
    return table.getvalue()


def write_study(study: Study, folder: Path) -> list[Path]:
    """Write a form for each set, as HTML and as CSV, and last the key; the paths.

    The same study gives the same bytes.

    Raises:
        AnalysisError: the folder holds the key of another study, or is a file.
    """
    path = folder / KEY_FILE
    if path.exists() and read_key(path).study != study.key.study:
        raise AnalysisError(
            f"--out {folder}: holds another study, whose answers need its {KEY_FILE}",
            hint="choose another folder",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise AnalysisError(f"--out {folder}: is no folder", hint="choose another") from None
    contents: dict[str, str] = {}
    for number in sorted({item.set for item in study.key.items.values()}):
        contents[f"set-{number}.html"] = form_html(study, number)
        # The mark makes spreadsheets read UTF-8.
        contents[f"set-{number}.csv"] = "\ufeff" + form_csv(study, number)
    contents[KEY_FILE] = json.dumps(study.key.model_dump(mode="json"), indent=1) + "\n"
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


def suite_titles(suite: str) -> dict[str, str]:
    """The titles of a suite's capabilities: from its folder, else those that are shipped."""
    return _words_of_capabilities(suite, "title")


def descriptions_for_raters(suite: str = "") -> dict[str, str]:
    """What raters judge relevance by, likewise; a capability without such words is left out."""
    return _words_of_capabilities(suite, "raters")


def _words_of_capabilities(suite: str, field: str) -> dict[str, str]:
    words = {one.id: getattr(one, field) for one in load_capabilities()}
    if suite and Path(suite).is_dir():
        words |= {
            one["id"]: str(one[field])
            for one in read_description(Path(suite))["capabilities"]
            if field in one
        }
    return {name: text for name, text in words.items() if text is not None}
