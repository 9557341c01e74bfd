"""How fast the builder is, side by side in one run on the same sentences and models.

    python benchmarks/build.py                 # all three parts
    python benchmarks/build.py --part fill     # only one

fill   masked sentences a second of our fill stage, over the bare encoder in single precision on
       the same sentences, batches of a sensible size
build  our whole build over a straightforward one, a sentence at a time, models loaded once too
scale  wall time and peak memory at 500, 1,000, 2,000 and 4,000 source sentences, and the time
       that the full SST suite is projected to take
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from timing import in_rounds, seconds

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.config import BuildConfig
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.tree import read_tree
from s2lct.builder.models import load_masked_language_model, load_parser, load_tagger
from s2lct.builder.models.masked_lm import MASK, TransformersMaskedLM
from s2lct.builder.pipeline import build_suite
from s2lct.builder.stages import mask, parse, search, select, transform
from s2lct.builder.stages.fill import fill
from s2lct.builder.stages.search import TaggedSentence
from s2lct.builder.stages.validate import fitting_words, validate
from s2lct.suite.records import (
    FilledSentence,
    MaskedSentence,
    ParsedSeed,
    Sentence,
    Suggestion,
    Token,
)

CONSOLE = Console()
SST_SENTENCES = 11_855
BARE_BATCH = 32
SCALES = (500, 1_000, 2_000, 4_000)


def sample_sentences(count: int) -> list[Sentence]:
    """Every label's sentences of the embedded corpus, in equal spread."""
    sentences = read_corpus("embedded").sentences
    step = len(sentences) / count
    return [sentences[int(number * step)] for number in range(count)]


def write_corpus(path: Path, sentences: Sequence[Sentence]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows((sentence.text, sentence.label) for sentence in sentences)


def drawn_masked_sentences(count: int) -> list[MaskedSentence]:
    from s2lct.builder.config import form_defaults
    from s2lct.suite.records import Region, Seed

    seeds = [
        Seed(s.id, "LC2", s.text, (s.label,), s.label, "", (s,), (Region("S", 0, len(s.text), 0),))
        for s in sample_sentences(count)
    ]
    return mask.mask(
        parse.parse(seeds, load_tagger(), load_parser()),
        ReferenceGrammar.load(),
        masked_per_seed=10,
        masks_per_sentence=1,
        order="probability",
        tags=form_defaults("fluent")["mask_tags"],
        seed=0,
    )


def part_fill(rounds: int) -> None:
    """Our fill stage against the same encoder alone, in single precision, padded batches."""
    model = load_masked_language_model()
    assert isinstance(model, TransformersMaskedLM)
    masked = drawn_masked_sentences(200)
    texts = list({one.sentence for one in masked})
    assert next(model.model.parameters()).dtype == torch.float32
    tokenizer = model.tokenizer
    pieces = tokenizer([text.replace(MASK, tokenizer.mask_token) for text in texts])["input_ids"]
    pieces.sort(key=len)
    batches = [
        tokenizer.pad({"input_ids": pieces[start : start + BARE_BATCH]}, return_tensors="pt")
        for start in range(0, len(pieces), BARE_BATCH)
    ]

    def bare() -> None:
        with torch.inference_mode():
            for batch in batches:
                model.model.base_model(**batch)

    times = in_rounds({"ours": lambda: fill(masked, model, suggestions=30), "bare": bare}, rounds)
    ours, theirs = times["ours"], times["bare"]
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    table = Table(title=f"fill: {len(texts)} distinct masked sentences, {rounds} rounds")
    for column in ("", "masked sentences / s"):
        table.add_column(column, justify="right")
    table.add_row("our fill stage", f"{len(texts) / statistics.median(ours):.0f}")
    table.add_row(
        f"bare encoder, single precision, batches of {BARE_BATCH}",
        f"{len(texts) / statistics.median(theirs):.0f}",
    )
    table.add_row("ratio (bar: at least 0.8)", f"{ratio:.2f}", style="bold")
    CONSOLE.print(table)


class SentenceAtATime:
    """The same steps without batches, buckets, tables or shared work."""

    def __init__(self, config: BuildConfig, capabilities: Sequence[Capability]) -> None:
        self.config = config
        self.capabilities = capabilities
        self.tagger, self.parser = load_tagger(), load_parser()
        self.lexicon, self.grammar = Lexicon.load(), ReferenceGrammar.load()
        model = load_masked_language_model()
        assert isinstance(model, TransformersMaskedLM)
        self.model, self.tokenizer, self.words = model.model, model.tokenizer, model.words
        self.fitting_by_tag: dict[str, frozenset[str]] = {}

    def run(self, sentences: Sequence[Sentence]) -> int:
        """Build; the number of expansions."""
        return sum(self.capability(capability, sentences) for capability in self.capabilities)

    def capability(self, capability: Capability, sentences: Sequence[Sentence]) -> int:
        form = capability.form("fluent")
        found: dict[str, list[Sentence]] = {}
        for slot, rules in form.search.items():
            matches: list[tuple[TaggedSentence, search.SearchRule]] = []
            for sentence in sentences:
                (tokens,) = self.tagger.tag([sentence.text])
                matches += search.find([TaggedSentence(sentence, tokens)], rules, self.lexicon)
            of_text = {tagged.sentence.text: (tagged.tokens, rule) for tagged, rule in matches}
            ordered = search.in_drawing_order([t.sentence for t, _ in matches], self.config.seed)
            found[slot] = [one for one in ordered if self.tree_fits(*of_text[one.text])][
                : self.config.pairings
            ]
        seeds = transform.transform(
            found, capability, form, seeds=self.config.seeds, seed=self.config.seed
        )
        expansions = 0
        for seed in seeds:
            (parsed,) = parse.parse([seed], self.tagger, self.parser)
            passed = []
            for masked in mask.mask(
                [parsed],
                self.grammar,
                masked_per_seed=self.config.masks,
                masks_per_sentence=self.config.masks_per_sentence,
                order=self.config.mask_order,
                tags=self.config.mask_tags,
                seed=self.config.seed,
            ):
                for suggestion in self.suggestions(masked):
                    passed += self.validated(masked, suggestion, parsed, capability)
            kept = 0
            for expansion in sorted(passed, key=lambda one: (-one.score, one.text)):
                if kept == self.config.expansions:
                    break
                (readings,) = select.confirmed_readings(
                    [expansion], {seed.id: parsed}, self.tagger, self.parser
                )
                kept += bool(readings)
            expansions += kept
        return expansions

    def fitting(self, tag: str) -> frozenset[str]:
        """The words that the tables allow, as in the build: both ask for the same suggestions."""
        if tag not in self.fitting_by_tag:
            self.fitting_by_tag[tag] = fitting_words(self.words, tag, self.lexicon)
        return self.fitting_by_tag[tag]

    def tree_fits(self, tokens: Sequence[Token], rule: search.SearchRule) -> bool:
        if not rule.needs_tree:
            return True
        (tree,) = self.parser.parse([tokens])
        return tree is not None and search.meets_tree(read_tree(tree), tokens, rule)

    def suggestions(self, masked: MaskedSentence) -> list[Suggestion]:
        """Fill masks from left to right, one forward pass with all logits for each text."""
        beams: list[tuple[tuple[str, ...], float]] = [((), 0.0)]
        for number in range(len(masked.masks)):
            grown: list[tuple[tuple[str, ...], float]] = []
            for words, total in beams:
                text = masked.sentence
                for word in words:
                    text = text.replace(MASK, word, 1)
                text = text.replace(MASK, self.tokenizer.mask_token)
                encoded = self.tokenizer(text, return_tensors="pt")
                with torch.inference_mode():
                    logits = self.model(**encoded).logits[0]
                place = (encoded["input_ids"][0] == self.tokenizer.mask_token_id).nonzero()[0, 0]
                scores = torch.log_softmax(logits[place], dim=-1)
                taken = 0
                for token in scores.argsort(descending=True).tolist():
                    word = self.tokenizer.convert_ids_to_tokens(token)
                    if word in self.fitting(masked.masks[number].tag):
                        grown.append(((*words, word), total + float(scores[token])))
                        taken += 1
                    if taken == self.config.suggestions:
                        break
            grown.sort(key=lambda beam: -beam[1])
            last = number == len(masked.masks) - 1
            beams = grown[: self.config.suggestions if last else 3]
        return [Suggestion(words, total / len(words)) for words, total in beams]

    def validated(
        self,
        masked: MaskedSentence,
        suggestion: Suggestion,
        parsed: ParsedSeed,
        capability: Capability,
    ) -> list[select.Expansion]:
        """Tag the filled sentence by itself, then ask the tables; what is left is checked whole."""
        text = masked.text
        for word in suggestion.words:
            text = text.replace(MASK, word, 1)
        (tokens,) = self.tagger.tag([text])
        tags = {(token.start, token.tag): token for token in tokens}
        moved = 0
        for one, word in zip(masked.masks, suggestion.words, strict=True):
            token = tags.get((one.start + moved, one.tag))
            moved += len(word) - len(MASK)
            if token is None or not self.lexicon.is_neutral_insertion(word, one.tag, token.lemma):
                return []
        expansions, _ = validate(
            [FilledSentence(masked, (suggestion,))],
            {parsed.seed.id: parsed},
            {capability.id: capability.form("fluent")},
            self.tagger,
            self.lexicon,
            least_score=self.config.least_score,
        )
        return expansions


def part_build(count: int) -> None:
    """Our build against `SentenceAtATime`."""
    sentences = sample_sentences(count)
    names = ("LC2", "LC3", "LC8")
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.csv"
        write_corpus(corpus, sentences)
        config = BuildConfig.checked(
            out=Path(folder) / "suite",
            corpus=f"csv:{corpus}",
            capabilities=names,
            seeds=20,
        )
        naive = SentenceAtATime(config, load_capabilities(names))
        made: dict[str, int] = {}

        def ours() -> None:
            made["ours"] = sum(c.expansions for c in build_suite(config).values())

        def theirs() -> None:
            read = read_corpus(config.corpus).sentences
            made["theirs"] = naive.run(read)

        our_time, their_time = seconds(ours), seconds(theirs)
    table = Table(title=f"build: {count} sentences, {', '.join(names)}, 20 seeds each")
    for column in ("", "seconds", "expansions"):
        table.add_column(column, justify="right")
    table.add_row("ours, models loaded within", f"{our_time:.1f}", str(made["ours"]))
    table.add_row(
        "a sentence at a time, models loaded before", f"{their_time:.1f}", str(made["theirs"])
    )
    table.add_row("ratio (bar: at least 8)", f"{their_time / our_time:.1f}", "", style="bold")
    CONSOLE.print(table)


def part_scale() -> None:
    """Whole builds in processes of their own, seeds in proportion to sentences."""
    rows: list[tuple[int, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for count in SCALES:
            corpus = Path(folder) / f"{count}.csv"
            write_corpus(corpus, sample_sentences(count))
            command = [sys.executable, "-m", "s2lct.cli.main", "build"]
            command += ["--corpus", f"csv:{corpus}", "--out", str(Path(folder) / str(count))]
            command += ["--seeds", str(count // 80), "--pairings", str(count // 13)]
            started = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            elapsed = time.perf_counter() - started
            if status:
                raise SystemExit(f"the build of {count} sentences failed")
            rows.append((count, elapsed, usage.ru_maxrss / 1024))
    table = Table(title="scale: seeds in proportion to sentences")
    for column in ("sentences", "seconds", "seconds / sentence", "peak memory, MiB"):
        table.add_column(column, justify="right")
    for count, elapsed, memory in rows:
        table.add_row(f"{count:,}", f"{elapsed:.1f}", f"{elapsed / count:.3f}", f"{memory:.0f}")
    CONSOLE.print(table)
    (small, small_time, small_memory), (large, large_time, large_memory) = rows[0], rows[-1]
    slope = (large_time - small_time) / (large - small)
    CONSOLE.print(
        f"time grew {large_time / small_time:.1f}-fold for {large / small:.0f}-fold sentences "
        f"(bar: at most {large / small:.0f}), memory by {large_memory / small_memory - 1:+.0%} "
        f"(bar: within 20 %); SST's {SST_SENTENCES:,} sentences at the same seeds per sentence: "
        f"{(small_time + slope * (SST_SENTENCES - small)) / 60:.1f} min"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--part", choices=["fill", "build", "scale"], help="only this part")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the fill part")
    parser.add_argument("--sentences", type=int, default=400, help="sentences of the build part")
    arguments = parser.parse_args()
    if arguments.part in (None, "fill"):
        part_fill(arguments.rounds)
    if arguments.part in (None, "build"):
        part_build(arguments.sentences)
    if arguments.part in (None, "scale"):
        part_scale()


if __name__ == "__main__":
    main()
