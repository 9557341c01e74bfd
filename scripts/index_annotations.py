"""Part the shipped annotations, and write down what passing texts were made of.

Builds read the annotations of texts that two annotators found natural; those of all others stand
in a second file, which saves a build from reading them and an annotator from being asked again.

Usage::

    python scripts/index_annotations.py --sst PATH

Builds of the embedded corpus and of SST are made as if nothing were known, with all seeds that
there are. Beside the annotations stand then, in a file whose first line is their SHA-256, the ids
of every sentence and of every text with masks of which something was made that passes, of every
phrase in that, and of every sentence in the seeds, and in the expansions, of a capability, as its
author wrote it and as it stands there: nothing else is tried, and models are asked about nothing
else. Run it again whenever annotations were
added; until then builds are slower and know less well of which seeds there are expansions.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from s2lct.builder.annotations import (
    BEST_GRADE,
    MIN_ANNOTATORS,
    Annotation,
    Annotations,
    read_file,
    write_index,
)
from s2lct.builder.config import (
    REFUSED_ANNOTATIONS,
    SHIPPED_ANNOTATIONS,
    BuildConfig,
)
from s2lct.builder.inputs import Inputs, read_inputs
from s2lct.builder.kept_models import CachedModels
from s2lct.builder.pipeline import (
    draw_seeds,
    extend_batches,
    kept_models,
    slots_with_candidates,
    streams_of,
)
from s2lct.builder.records import (
    MASK,
    Extension,
    expansion_source_id,
    seed_source_id,
    sentence_id,
)
from s2lct.builder.rules import BuildRules, rules_with_annotators
from s2lct.builder.stages.expand import expand
from s2lct.builder.stages.extend import extend, sources_of
from s2lct.builder.stages.keep import keep_expansions
from s2lct.files import write_bytes

COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("annotator", pa.dictionary(pa.int8(), pa.string())),
        ("label", pa.dictionary(pa.int8(), pa.string())),
        ("natural", pa.int8()),
        ("relevant", pa.bool_()),
        ("sentence", pa.string()),
    ]
)
SEEDS = 1_000
DRAWS = (0, 2027)
"""Seeds of the random draws with which annotations were gathered."""


def reached(inputs: Inputs, models: CachedModels, rules: BuildRules) -> set[str]:
    """The ids of all from which a build makes something that annotators accepted."""
    ids: set[str] = set()
    slots = slots_with_candidates(inputs.sentences, inputs.capabilities, rules)
    seeds = draw_seeds(slots, inputs.capabilities, models, rules)
    for capability in inputs.capabilities:
        streams = streams_of(capability, slots, rules)
        accepted = (wordings[0] for stream in streams for wordings in stream)
        for source in (source for seed in accepted for source in seed.sources):
            ids.add(sentence_id(source.sentence.text))
            texts = source.sentence.text, source.text
            ids.update(seed_source_id(capability.id, text) for text in texts)
    sources = sources_of(seeds)
    for source, extensions in zip(sources, extend(sources, models, rules), strict=True):
        for each in (each for each in extensions if each.second is None):
            phrases = [word.word for word in each.inserted if each.origin == "phrase"]
            ids.update(map(sentence_id, (source.text, _masked(each), *phrases)))
    extended = extend_batches(sources, models, rules)
    usable = {sources[number].text: extensions for number, (_, extensions) in extended}
    forms = {capability.id: capability.form("fluent") for capability in inputs.capabilities}
    expansions = keep_expansions(expand(seeds, usable, forms, rules), seeds, rules.annotations)
    of_id = {seed.id: seed for group in seeds.values() for seed in group}
    for seed in (of_id[expansion.seed_id] for expansion in expansions):
        ids.update(expansion_source_id(seed.capability, source.text) for source in seed.sources)
    return ids


def _masked(extension: Extension) -> str:
    text, last = "", 0
    for word in extension.inserted:
        text, last = text + extension.text[last : word.start] + MASK, word.end
    return text + extension.text[last:]


def divide_annotations() -> None:
    """Put each annotation into the file where it belongs."""
    read = {
        (annotation.id, annotation.annotator): annotation
        for path in (REFUSED_ANNOTATIONS, SHIPPED_ANNOTATIONS)
        for annotation in read_file(path)
    }
    natural = Counter(
        annotation.id for annotation in read.values() if annotation.natural == BEST_GRADE
    )
    parts: dict[Path, list[Annotation]] = {SHIPPED_ANNOTATIONS: [], REFUSED_ANNOTATIONS: []}
    for _, annotation in sorted(read.items()):
        is_natural = natural[annotation.id] >= MIN_ANNOTATORS
        parts[SHIPPED_ANNOTATIONS if is_natural else REFUSED_ANNOTATIONS].append(annotation)
    for path, rows_of_file in parts.items():
        rows = [annotation.model_dump(exclude_defaults=True) for annotation in rows_of_file]
        packed = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows, COLUMNS), packed, compression="zstd")
        write_bytes(path, packed.getvalue().to_pybytes())


def main() -> None:
    """Part the annotations, make the builds and write what was reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sst", type=Path, required=True)
    divide_annotations()
    annotations = Annotations.read([SHIPPED_ANNOTATIONS])
    annotations.index = None
    ids: set[str] = set()
    for corpus in ("embedded", f"sst:{parser.parse_args().sst}"):
        for seed in DRAWS:
            config = BuildConfig.checked(out="none", corpus=corpus, seeds=SEEDS, seed=seed)
            inputs = read_inputs(config)
            rules = rules_with_annotators(config, inputs.domain, inputs.sentences, annotations)
            with kept_models(inputs) as models:
                ids |= reached(inputs, models, rules)
            print(f"{corpus}, seed {seed}: {len(ids):,} sentences and texts with masks")
    write_index(SHIPPED_ANNOTATIONS, ids)


if __name__ == "__main__":
    main()
