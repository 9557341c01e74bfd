"""Re-check the invariants of a written suite, from its files alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from s2lct.builder.capabilities.schema import Capability, Form, Template
from s2lct.builder.language.lexicon import is_polarity_shifter
from s2lct.builder.write import counts_of
from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.suite.read import WrittenSuite, examine, faults_in
from s2lct.suite.tables import CONTRAST, KINDS, ORIGINS, SUITE_FILE, without

Row = Mapping[str, Any]
_WORD = re.compile(r"[\w']+")
_MAX_FAULTS_PER_ROW = 5
_MAX_CHARACTERS_SHOWN = 200


def verify_suite(folder: Path) -> list[str]:
    """Every broken invariant of a suite, each named with its file, row and rule.

    What the reader of suites takes (hashes, ids, links, places of inserted words) is looked into
    further; otherwise there is what it refuses.

    Raises:
        SuiteError: the folder holds no suite, or its ``suite.json`` describes none.
    """
    suite, faults = examine(folder)
    if faults:
        return faults
    for data in suite.described["capabilities"]:
        try:
            form = Capability.model_validate(data).form(suite.described["options"]["templates"])
        except ValidationError as error:
            why = plain("; ".join(faults_in(error)), _MAX_CHARACTERS_SHOWN)
            faults.append(f"{SUITE_FILE}: {data['id']} is no specification: {why}")
        else:
            faults += _config_faults(suite.rows.get(data["id"], ()), form, suite.described)
    return [*faults, *_count_faults(suite)]


def _count_faults(suite: WrittenSuite) -> Iterator[str]:
    described = suite.described
    for name, rows in suite.rows.items():
        for column, number in counts_of(rows).items():
            counted = described["counts"][name].get(column, 0)
            if counted != number:
                yield f"{name}: {number} {column}, {SUITE_FILE} counts {counted}"


def _config_faults(rows: Sequence[Row], form: Form, described: Mapping[str, Any]) -> Iterator[str]:
    """Faults of the rows of one config."""
    cases = {row["id"]: row for row in rows if row["kind"] in KINDS}
    contrasts = {row["seed_id"]: row for row in rows if row["kind"] == CONTRAST}
    is_fluent = described["options"]["templates"] == "fluent"
    texts: dict[str, str] = {}
    for row in rows:
        where = f"{row['capability']} {row['kind']} {row['id']}"
        if row["text"] in texts:
            yield f"{where}: its text is also that of {texts[row['text']]}"
        texts[row["text"]] = where
        faults = [*_label_faults(row, form)]
        base = case = cases[row["seed_id"]]
        if row["kind"] == CONTRAST:
            faults += _contrast_faults(row, case, form)
            base = contrasts.get(case["seed_id"], case) if row["inserted"] else case
        if row["kind"] == "expansion" or base is not case:
            faults += _expansion_faults(row, base, form, is_fluent=is_fluent)
        else:
            faults += _seed_faults(row, form, is_fluent=is_fluent)
        yield from (f"{where}: {fault}" for fault in faults[:_MAX_FAULTS_PER_ROW])


def _seed_faults(row: Row, form: Form, *, is_fluent: bool) -> Iterator[str]:
    """Faults of a seed, or of a contrast in which nothing is inserted."""
    if row["masked_text"] is not None or row["inserted"] or row["production"] or row["origin"]:
        yield f"a {row['kind']} has no inserted words"
    parts = all(is_part(each["used"], each["text"]) for each in row["sources"])
    if is_fluent and not parts and not _is_reworded(row, form):
        yield "a sentence of it is not the corpus's, whole or without a part"


def _is_reworded(row: Row, form: Form) -> bool:
    """Whether a row's sentence may have a word that is not the corpus's."""
    contrasts = [template.contrast for template in form.templates if template.contrast]
    return row["kind"] == CONTRAST and any(contrast.reword for contrast in contrasts)


def _contrast_faults(row: Row, case: Row, form: Form) -> Iterator[str]:
    if not set(row["labels"]).isdisjoint(case["labels"]):
        yield "its labels are not opposite to its case's"
    if any(template.slots_of_contrast for template in form.templates):
        return
    is_reworded = _is_reworded(row, form)
    if not is_reworded and row["sources"] != case["sources"]:
        yield "its sources are not its case's"
    words, words_of_case = (
        [(w["word"], w["tag"]) for w in each["inserted"]] for each in (row, case)
    )
    if words != words_of_case:
        yield "its inserted words are not its case's"


def _expansion_faults(row: Row, seed: Row, form: Form, *, is_fluent: bool) -> Iterator[str]:
    for column in ("labels", "label", "template"):
        if row[column] != seed[column]:
            yield f"its {column} are not its seed's"
    sources, others = ([s | {"used": ""} for s in each["sources"]] for each in (row, seed))
    if sources != others:
        yield "its sources are not its seed's"
        return
    pairs = list(zip(row["sources"], seed["sources"], strict=True))
    extended = [source for source, other in pairs if source["used"] != other["used"]]
    if len(extended) != is_fluent:
        yield "not one of its sentences is extended, and it alone"
    if row["origin"] not in ORIGINS:
        yield f"its origin is {row['origin']!r}"
    parts = all(is_part(each["used"], each["text"]) for each in extended)
    if row["origin"] == "attested" and not parts and not _is_reworded(row, form):
        yield "its sentence is not as its author wrote it"
    places = [(word["start"], word["end"]) for word in row["inserted"]]
    if without(row["text"], places) != seed["text"]:
        yield f"without its inserted words it is not the {seed['kind']}"
    words = [word for part in row["inserted"] for word in part["word"].replace(",", " ").split()]
    if is_fluent and any(map(is_polarity_shifter, words)):
        yield "an inserted word shifts polarity"
    tags = [word["tag"] for word in row["inserted"]]
    first = 1 if row["second_production"] is not None else len(tags)
    licensed = is_licensed(row["production"], tags[:first])
    if not licensed or (tags[first:] and not is_licensed(row["second_production"], tags[first:])):
        yield "its production does not license the inserted words"


def is_licensed(production: Mapping[str, Any], tags: Sequence[str]) -> bool:
    """Whether the reference has the seed's symbols in order, and what was inserted besides.

    A phrase may bring its commas; where it is adjoined to one, the seed's side is that alone.
    """
    seed, reference = list(production["seed_rhs"]), list(production["reference_rhs"])
    symbols = iter(reference)
    if not all(symbol in symbols for symbol in seed) and seed != [production["lhs"]]:
        return False
    added = Counter(reference) - Counter(seed)
    del added[","]
    return not Counter(tags) - added and len(reference) > len(seed)


def is_part(used: str, text: str) -> bool:
    """Whether it is a sentence, or one out of which whole words were taken, capitals aside."""
    whole = iter(_WORD.findall(text.lower()))
    return used != "" and all(word in whole for word in _WORD.findall(used.lower()))


def _label_faults(row: Row, form: Form) -> Iterator[str]:
    """Whether the labels are those of a template of the capability with as many slots."""
    templates: Sequence[Template] = form.templates
    if row["kind"] == CONTRAST:
        templates = [t.as_contrast for t in form.templates if t.as_contrast is not None]
    sources = [LABELS[source["label"]] for source in row["sources"]]
    allowed = [
        template.passing_labels(dict(zip(template.slots, sources, strict=True)))
        for template in templates
        if len(template.slots) == len(sources)
    ]
    if _is_reworded(row, form):
        allowed = [(label,) for labels in allowed for label in labels]
    if tuple(LABELS[label] for label in row["labels"]) not in allowed:
        yield "its labels are not those of its capability"
