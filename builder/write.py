"""Write: families become a Hugging Face dataset repo, a config for each capability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from s2lct.builder.annotations import Annotations
from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.inputs import Inputs
from s2lct.builder.records import Expansion, Family, Seed, Sentence, sentence_id
from s2lct.identity import fingerprint_of, predicting_versions
from s2lct.labels import LABELS
from s2lct.suite.tables import CONTRAST
from s2lct.suite.write import write_suite_files

COUNTED = {"seeds": "seed", "expansions": "expansion", "contrasts": CONTRAST}
"""What ``suite.json`` counts of each capability, and the kind of rows that it is."""
COLUMNS = ("sentences_found", "seeds", "expansions_tried", "expansions", "contrasts")
"""All that it counts, in the order of the closing table."""


def all_counts(
    rows: Mapping[str, Iterable[Mapping[str, Any]]], worked: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """What ``suite.json`` and the closing table count of each capability, in their order.

    Args:
        rows: of each capability.
        worked: of each how many ``sentences_found`` and ``expansions_tried`` there were. A sentence
            that was found gives several seeds where shorter forms of it serve, too.
    """
    counts: dict[str, dict[str, int]] = {}
    for name, group in rows.items():
        both = worked[name], counts_of(group)
        counts[name] = {column: {**both[0], **both[1]}.get(column, 0) for column in COLUMNS}
    return counts


def counts_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many seeds, expansions and contrasts there are among rows of a capability."""
    kinds = Counter(row["kind"] for row in rows)
    return {name: kinds[kind] for name, kind in COUNTED.items()}


def rows(
    families: Iterable[Family], annotations: Annotations | None = None
) -> Iterator[dict[str, Any]]:
    """Each seed and its expansions, each followed by its contrast, as rows.

    Args:
        families: the seeds with what is linked to them.
        annotations: of cases and of sentences in them; None where nobody annotated.
    """
    for family in families:
        seed, contrasts = family.seed, family.contrasts
        of_seed = contrasts.get(seed.id)
        for case in family.cases:
            yield _row(case, seed, annotations)
            if (contrast := contrasts.get(case.id)) is not None:
                own = contrast if isinstance(contrast, Seed) else of_seed
                assert isinstance(own, Seed)
                yield _row(contrast, own, annotations) | {"kind": CONTRAST, "seed_id": case.id}


def _row(case: Seed | Expansion, seed: Seed, annotations: Annotations | None) -> dict[str, Any]:
    """The row of a seed, or of an expansion of it.

    A score has two decimals: what another processor changes in it stands behind them.
    """
    row = _row_of(seed)
    used = [source.text for source in seed.sources]
    if isinstance(case, Expansion):
        extension = case.extension
        used = [
            extension.text if slot == case.slot else text
            for slot, text in zip(seed.slots, used, strict=True)
        ]
        row |= {
            "id": case.id,
            "kind": "expansion",
            "text": case.text,
            "sources": [
                _source(source.sentence, text)
                for source, text in zip(seed.sources, used, strict=True)
            ],
            "masked_text": extension.masked_text,
            "production": to_jsonable_python(extension.production),
            "second_production": to_jsonable_python(extension.second),
            "inserted": to_jsonable_python(case.inserted),
            "score": round(extension.score, 2) if extension.origin == "masked" else None,
            "origin": extension.origin,
        }
    return row | {"annotations": _annotations(annotations, case.id, used)}


def _annotations(
    annotations: Annotations | None, case: str, sentences: Sequence[str]
) -> list[dict[str, Any]]:
    """The annotations of a case, and of the sentences in it."""
    if annotations is None:
        return []
    parts = [("case", case), *(("sentence", sentence_id(text)) for text in sentences)]
    return [
        {"of": part, "annotator": each.annotator, "natural": each.natural}
        for part, id in parts
        for each in annotations.of(id)
    ]


def _source(sentence: Sentence, used: str) -> dict[str, Any]:
    return {
        "corpus": sentence.corpus,
        "id": sentence.id,
        "split": sentence.split,
        "text": sentence.text,
        "label": LABELS.index(sentence.label),
        "score": sentence.score,
        "used": used,
    }


def _row_of(seed: Seed) -> dict[str, Any]:
    """A seed as a row that nobody annotated; what only expansions have is empty."""
    return {
        "id": seed.id,
        "capability": seed.capability,
        "kind": "seed",
        "seed_id": seed.id,
        "text": seed.text,
        "labels": [LABELS.index(label) for label in seed.labels],
        "label": LABELS.index(seed.labels[0]),
        "template": seed.template,
        "sources": [_source(source.sentence, source.text) for source in seed.sources],
        "masked_text": None,
        "production": None,
        "second_production": None,
        "inserted": [],
        "score": None,
        "origin": "",
        "annotations": [],
    }


def write_suite(
    inputs: Inputs,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    counts: Mapping[str, Mapping[str, int]],
    folder: Path,
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


def package_versions() -> dict[str, str]:
    """Versions of the packages that decide what is built, as far as they are installed."""
    return {name: version(name) for name in ("s2lct", "datasets")} | predicting_versions()
