"""Write: families become a Hugging Face dataset repo, a config for each capability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from s2lct.builder.annotations import Annotations
from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.inputs import Inputs
from s2lct.builder.records import Case, Expansion, Family, Seed, Sentence, sentence_id
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.suite.tables import CONTRAST, EMPTY_ROW, Row
from s2lct.suite.write import write_suite_files

COUNTED = {"seeds": "seed", "expansions": "expansion", "contrasts": CONTRAST}
"""Counts of each capability in ``suite.json``, each with the kind of rows it counts."""
COLUMNS = ("sentences_found", "seeds", "expansions_tried", "expansions", "contrasts")
"""All counts in ``suite.json``, in the order of the closing table."""


Rows = dict[str, list[Row]]
"""The rows of a suite, by capability."""
Work = Mapping[str, Mapping[str, int]]
"""The numbers of ``sentences_found`` and ``expansions_tried``, by capability."""


def all_counts(rows: Rows, work: Work) -> dict[str, dict[str, int]]:
    """The counts of each capability for ``suite.json`` and the closing table, in their order."""
    counts = {id: {**work.get(id, {}), **counts_of(group)} for id, group in rows.items()}
    return {id: {name: row.get(name, 0) for name in COLUMNS} for id, row in counts.items()}


def counts_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The numbers of seeds, expansions and contrasts in the rows of a capability."""
    kinds = Counter(row["kind"] for row in rows)
    return {name: kinds[kind] for name, kind in COUNTED.items()}


def rows_of(families: Iterable[Family], annotations: Annotations) -> list[Row]:
    """Each seed and its expansions, each followed by its contrast, as rows.

    Args:
        families: the seeds with their expansions and contrasts.
        annotations: annotations of cases and of their sentences.
    """
    rows: list[Row] = []
    for family in families:
        opposite = family.contrasts.get(family.seed.id)
        for case in family.cases:
            kind = "seed" if case is family.seed else "expansion"
            rows.append(_row(case, family.seed, annotations) | {"kind": kind})
            if (contrast := family.contrasts.get(case.id)) is not None:
                seed = contrast if isinstance(contrast, Seed) else opposite
                assert isinstance(seed, Seed)
                linked = {"kind": CONTRAST, "seed_id": case.id}
                rows.append(_row(contrast, seed, annotations) | linked)
    return rows


def _row(case: Case, seed: Seed, annotations: Annotations) -> Row:
    """The row of a seed, or of an expansion of it.

    Scores are rounded to two decimals, because processors differ in later decimals.
    """
    used = [source.text for source in seed.sources]
    row = EMPTY_ROW | {
        "id": case.id,
        "capability": seed.capability,
        "seed_id": seed.id,
        "text": case.text,
        "labels": [LABELS.index(label) for label in seed.labels],
        "label": LABELS.index(seed.labels[0]),
        "template": seed.template,
    }
    if isinstance(case, Expansion):
        extension = case.extension
        used = [
            extension.text if slot == case.slot else text
            for slot, text in zip(seed.slots, used, strict=True)
        ]
        row |= {
            "masked_text": extension.masked_text,
            "production": to_jsonable_python(extension.production),
            "second_production": to_jsonable_python(extension.second),
            "inserted": to_jsonable_python(case.inserted),
            "score": round(extension.score, 2) if extension.origin == "masked" else None,
            "origin": extension.origin,
        }
    parts = [("case", case.id), *(("sentence", sentence_id(text)) for text in used)]
    return row | {
        "sources": [
            _source(source.sentence, text) for source, text in zip(seed.sources, used, strict=True)
        ],
        "annotations": [
            {"of": part, "annotator": each.annotator, "natural": each.natural}
            for part, id in parts
            for each in annotations.of(id)
        ],
    }


def _source(sentence: Sentence, used: str) -> Row:
    columns = ("corpus", "id", "split", "text", "score")
    copied = {name: getattr(sentence, name) for name in columns}
    return copied | {"label": LABELS.index(sentence.label), "used": used}


def write_suite(
    inputs: Inputs, rows: Rows, counts: Mapping[str, Mapping[str, int]], folder: Path
) -> None:
    """Write a built suite into an empty folder; no time, machine or order of work is recorded."""
    recorded, (corpus, *neutral) = inputs.recorded, map(_described, inputs.corpora)
    described = {
        "name": "s2lct",
        "version": inputs.config.suite_version,
        "build_fingerprint": fingerprint_of(recorded),
        "options": recorded["options"],
        "versions": recorded["versions"],
        "corpus": corpus,
        "neutral": next(iter(neutral), None),
        "models": {name: recorded[name] for name in ("parser", "tagger", "mlm")},
        "capabilities": [c.model_dump(mode="json", exclude_none=True) for c in inputs.capabilities],
        "counts": counts,
    }
    write_suite_files(folder, rows, described)


def _described(corpus: Corpus) -> dict[str, Any]:
    return {
        "name": corpus.name,
        "description": corpus.description,
        "licence": corpus.licence,
        "fingerprint": corpus.fingerprint,
        "sentences": len(corpus.sentences),
        "skipped": dict(corpus.skipped),
    }
