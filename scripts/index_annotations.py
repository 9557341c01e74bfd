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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from s2lct.builder import fluent_form, pipeline
from s2lct.builder.annotations import (
    BEST,
    LEAST_ANNOTATORS,
    Annotation,
    Annotations,
    read_file,
    write_reached,
)
from s2lct.builder.config import (
    REFUSED_ANNOTATIONS,
    SHIPPED_ANNOTATIONS,
    BuildConfig,
)
from s2lct.builder.records import (
    MASK,
    Expansion,
    Extension,
    Family,
    Seed,
    Source,
    sentence_id,
    served_id,
)
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


@dataclass(frozen=True)
class Recording(fluent_form.FluentForm):
    """Makes families as ever, and takes down what passes of what was made of what."""

    reached: set[str] = field(default_factory=set)

    def compose_all(self) -> dict[str, list[Seed]]:
        """The seeds of all capabilities; what they are made of is taken down."""
        seeds = super().compose_all()
        for capability, of_key in self.composed.items():
            for key in (key for key, made in of_key.items() if made):
                for _, sentence, form in key:
                    self.reached.add(sentence_id(sentence))
                    self.reached.update(served_id(capability, text) for text in (sentence, form))
        return seeds

    def choose(
        self, seeds: Mapping[str, Sequence[Seed]], expansions: Sequence[Expansion]
    ) -> dict[str, list[Family]]:
        """The families; what the expansions that pass are made of is taken down."""
        of_id = {seed.id: seed for group in seeds.values() for seed in group}
        passed = self.may_be_published({each.id: of_id[each.seed_id].labels for each in expansions})
        for seed in (of_id[each.seed_id] for each in expansions if each.id in passed):
            texts = (source.text for source in seed.sources)
            self.reached.update(served_id(seed.capability, text, grown=True) for text in texts)
        return super().choose(seeds, expansions)

    def _proposed(self, sources: Sequence[Source]) -> list[list[Extension]]:
        proposed = super()._proposed(sources)
        for source, extensions in zip(sources, proposed, strict=True):
            for each in extensions:
                if self._may_be_tried(each, source.sentence.label):
                    phrases = [w.word for w in each.inserted if each.origin == "phrase"]
                    self.reached.update(map(sentence_id, (source.text, _masked(each), *phrases)))
        return proposed


def _masked(extension: Extension) -> str:
    text, last = "", 0
    for word in extension.inserted:
        text, last = text + extension.text[last : word.start] + MASK, word.end
    return text + extension.text[last:]


def part_annotations() -> None:
    """Put each annotation into the file where it belongs."""
    read = {
        (each.id, each.annotator): each
        for path in (REFUSED_ANNOTATIONS, SHIPPED_ANNOTATIONS)
        for each in read_file(path)
    }
    natural = Counter(each.id for each in read.values() if each.natural == BEST)
    parts: dict[Path, list[Annotation]] = {SHIPPED_ANNOTATIONS: [], REFUSED_ANNOTATIONS: []}
    for _, each in sorted(read.items()):
        is_natural = natural[each.id] >= LEAST_ANNOTATORS
        parts[SHIPPED_ANNOTATIONS if is_natural else REFUSED_ANNOTATIONS].append(each)
    for path, some in parts.items():
        rows = [each.model_dump(exclude_defaults=True) for each in some]
        packed = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows, COLUMNS), packed, compression="zstd")
        write_bytes(path, packed.getvalue().to_pybytes())


def main() -> None:
    """Part the annotations, make the builds and write what was reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sst", type=Path, required=True)
    part_annotations()
    annotations = Annotations.read([SHIPPED_ANNOTATIONS])
    annotations.reached = None
    reached: set[str] = set()
    for corpus in ("embedded", f"sst:{parser.parse_args().sst}"):
        for seed in DRAWS:
            config = BuildConfig.checked(out="none", corpus=corpus, seeds=SEEDS, seed=seed)
            inputs = pipeline.read_inputs(config)
            with pipeline.kept_models(inputs) as models:
                form = Recording(inputs, inputs.capabilities, models, annotations, reached=reached)
                pipeline.fluent_families(form)
            print(f"{corpus}, seed {seed}: {len(reached):,} sentences and texts with masks")
    write_reached(SHIPPED_ANNOTATIONS, reached)


if __name__ == "__main__":
    main()
