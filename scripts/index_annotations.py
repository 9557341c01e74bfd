"""Write down what passing texts were made of, so that builds ask models about nothing else.

Usage::

    python scripts/index_annotations.py --sst PATH

Builds of the embedded corpus and of SST are made as if nothing were known, with all seeds that
there are. Beside the shipped annotations stand then, in a file whose first line is their SHA-256,
the ids of every sentence and of every text with masks of which something was made that passes. Run
it again whenever annotations were added; until then builds are as before, but slower.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from s2lct.builder import fluent_form, pipeline
from s2lct.builder.annotations import Annotations, write_reached
from s2lct.builder.config import SHIPPED_ANNOTATIONS, BuildConfig
from s2lct.builder.records import MASK, Extension, Source, sentence_id

SEEDS = 1_000
DRAWS = (0, 2027)
"""Seeds of the random draws with which annotations were gathered."""


@dataclass(frozen=True)
class Recording(fluent_form.FluentForm):
    """Makes families as ever, and takes down what passes of what was made of what."""

    reached: set[str] = field(default_factory=set)

    def _shorten(self, sources: Mapping[str, Source]) -> None:
        super()._shorten(sources)
        self.reached.update(sentence_id(text) for text in sources if self.shorter[text])

    def _proposed(self, sources: Sequence[Source]) -> list[list[Extension]]:
        proposed = super()._proposed(sources)
        for source, extensions in zip(sources, proposed, strict=True):
            for each in extensions:
                if self._may_be_tried(each, source.sentence.label):
                    self.reached.update((sentence_id(source.text), sentence_id(_masked(each))))
        return proposed


def _masked(extension: Extension) -> str:
    text, last = "", 0
    for word in extension.inserted:
        text, last = text + extension.text[last : word.start] + MASK, word.end
    return text + extension.text[last:]


def main() -> None:
    """Make the builds and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sst", type=Path, required=True)
    (annotated,) = SHIPPED_ANNOTATIONS.glob("*.jsonl")
    annotations = Annotations.read([annotated])
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
    write_reached(annotated, reached)


if __name__ == "__main__":
    main()
