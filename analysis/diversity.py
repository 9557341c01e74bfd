"""Measure the diversity of a suite, of CheckList's cases and of the corpus of the suite.

After S²LCT, RQ3: self-BLEU and distinct productions of equally many cases from each source.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.result import Result
from s2lct.builder.capabilities.files import comparable_cases
from s2lct.builder.corpus.clean import split_sentences
from s2lct.builder.corpus.collect import Corpus
from s2lct.builder.models import load_parser, load_tagger, parsed_sentences
from s2lct.identity import rng_for
from s2lct.leaderboard.site.report import capability_words
from s2lct.progress import bar
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case, families_of
from s2lct.suite.other_suites import CheckListCase
from s2lct.tables import Cell, Table

SUITE, CHECKLIST, CORPUS = "suite", "CheckList", "corpus"
ALL_CASES = "all"
BLEU_ORDER = 4
"""The length of BLEU's longest n-grams."""
RANDOM_SAMPLES = 3
"""The number of random samples from CheckList and from the corpus for each group of cases."""
TEXTS_PER_BATCH = 64
COLOURS = {SUITE: "#2f81d6", CHECKLIST: "#d9730d", CORPUS: "#7d8590"}


@dataclass(frozen=True, slots=True)
class DiversityRow:
    """The diversity of a source's cases in a group: all, seeds, expansions or a capability.

    Attributes:
        group: ``all``, ``seeds``, ``expansions`` or a capability.
        source: ``suite``, ``CheckList`` or ``corpus``.
        cases: the number of cases, in each sample.
        self_bleu: the mean BLEU, 0 to 100, of each case against all others (Zhu et al. 2018).
        self_bleu_range: of the suite the 95 % bootstrap interval, of other sources the least and
            greatest figure of the random samples.
        productions: the number of distinct productions above the parts of speech, a mean over
            samples.
    """

    group: str
    source: str
    cases: int
    self_bleu: float
    self_bleu_range: tuple[float, float]
    productions: float


@dataclass(frozen=True, repr=False)
class Diversity(Result):
    """The diversity of each group and source; the group ``all`` and the suite come first."""

    rows: tuple[DiversityRow, ...]

    def table(self) -> Table:
        """A table with a row for each source in each group."""
        words = capability_words(row.group for row in self.rows)
        cells: list[list[str | Cell]] = []
        for row in self.rows:
            is_first = row.source == SUITE  # only the first row of a group shows its name
            low, high = row.self_bleu_range
            cells.append(
                [
                    Cell(row.group * is_first, words[row.group].short * is_first, value=row.group),
                    row.source,
                    Cell(f"{row.cases:,}", value=row.cases),
                    Cell(f"{row.self_bleu:.1f}", value=row.self_bleu),
                    Cell(f"{low:.1f}–{high:.1f}"),
                    Cell(f"{row.productions:,.0f}", value=row.productions),
                ]
            )
        return Table(
            ("group", "source", "cases", "self-BLEU", "range", "productions"),
            cells,
            caption="Self-BLEU: mean BLEU (0 to 100) of a case against all others; lower is more "
            "diverse. Productions: distinct ones above the parts of speech. Range: of the suite a "
            f"95 % bootstrap interval, else of {RANDOM_SAMPLES} random samples of as many cases.",
            name_columns=2,
        )

    def plot(self, path: Path) -> None:
        """Plot self-BLEU and productions of every group into an image file (.svg, .png or .pdf)."""
        import matplotlib
        from matplotlib.figure import Figure

        groups = list(dict.fromkeys(row.group for row in self.rows))
        sources = list(dict.fromkeys(row.source for row in self.rows))
        words = capability_words(groups)
        with matplotlib.rc_context({"svg.hashsalt": "s2lct", "axes.grid": True, "grid.alpha": 0.3}):
            figure = Figure(figsize=(11, 1.4 + 0.35 * len(groups)), layout="constrained")
            bleu_axes, productions_axes = figure.subplots(1, 2, sharey=True)
            for source_index, source in enumerate(sources):
                rows = [row for row in self.rows if row.source == source]
                heights = [
                    groups.index(row.group) + 0.6 * ((source_index + 0.5) / len(sources) - 0.5)
                    for row in rows
                ]
                style = {"color": COLOURS[source], "label": source}
                bleu_axes.plot([row.self_bleu for row in rows], heights, "o", **style)
                lows, highs = zip(*(row.self_bleu_range for row in rows), strict=True)
                bleu_axes.hlines(heights, lows, highs, color=COLOURS[source])
                productions_axes.plot([row.productions for row in rows], heights, "o", **style)
            bleu_axes.set_title("Self-BLEU (lower is more diverse)")
            productions_axes.set_title("Distinct productions")
            group_labels = [f"{words[name].short} {name}".strip() for name in groups]
            bleu_axes.set_yticks(range(len(groups)), group_labels)
            bleu_axes.invert_yaxis()
            for axes in (bleu_axes, productions_axes):
                axes.set_xlim(left=0)
            figure.legend(
                *productions_axes.get_legend_handles_labels(), loc="outside lower center", ncols=3
            )
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def measure_diversity(
    cases: Sequence[Case],
    *,
    checklist: Sequence[CheckListCase] = (),
    corpus: Corpus | None = None,
    random_seed: int = 0,
) -> Diversity:
    """Measure the diversity of a suite, and of random samples of CheckList and of a corpus.

    Samples have as many cases as the suite has in the group, or as many as the source has. A
    capability is compared with the CheckList test that its specification names. If it names none,
    it is compared with all of CheckList's cases.
    """
    groups = _cases_by_group(cases)
    texts_of_others: dict[str, Mapping[str, list[str]]] = {}  # by source and group
    if checklist:
        texts_of_others[CHECKLIST] = {
            group: [case.text for case in comparable_cases([*checklist], group)] for group in groups
        }
    if corpus is not None and corpus.sentences:
        sentences = [sentence.text for sentence in corpus.sentences]
        texts_of_others[CORPUS] = dict.fromkeys(groups, sentences)
    samples: dict[tuple[str, str], list[list[str]]] = {}
    for group, group_cases in groups.items():
        samples[group, SUITE] = [[case.text for case in group_cases]]
        for source, texts_by_group in texts_of_others.items():
            texts = texts_by_group[group]
            size = min(len(group_cases), len(texts))
            samples[group, source] = [
                rng_for(random_seed, "diversity", source, group, str(index)).sample(texts, size)
                for index in range(RANDOM_SAMPLES)
            ]
    productions = productions_of_texts(
        text for group_samples in samples.values() for sample in group_samples for text in sample
    )
    rows: list[DiversityRow] = []
    for (group, source), group_samples in samples.items():
        scores = [self_bleu(sample) for sample in group_samples]
        means = [float(sample_scores.mean()) for sample_scores in scores]
        bounds = min(means), max(means)
        if source == SUITE:
            families = families_of(groups[group]).tolist()
            bounds = mean_and_interval(families, scores[0], random_seed=0)[1]
        production_counts = [
            len(frozenset().union(*(productions[text] for text in sample)))
            for sample in group_samples
        ]
        figures = fmean(means), bounds, fmean(production_counts)
        rows.append(DiversityRow(group, source, len(group_samples[0]), *figures))
    return Diversity(tuple(rows))


def _cases_by_group(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """Cases by group: all; seeds and expansions if there are both; capabilities if several."""
    groups = {ALL_CASES: list(cases)}
    kinds = sorted({case.kind for case in cases}, reverse=True)
    if len(kinds) > 1:
        groups |= {f"{kind}s": [case for case in cases if case.kind == kind] for kind in kinds}
    names = sorted({case.capability for case in cases}, key=natural_order)
    if len(names) > 1:
        groups |= {name: [case for case in cases if case.capability == name] for name in names}
    return groups


def productions_of_texts(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    """The distinct productions above the parts of speech of each text, such as ``NP -> DT NN``."""
    tagger, parser = load_tagger(), load_parser()
    distinct_texts = list(dict.fromkeys(texts))
    advance = bar("tag and parse", len(distinct_texts))
    productions: dict[str, frozenset[str]] = {}
    for start in range(0, len(distinct_texts), TEXTS_PER_BATCH):
        sentences_of_text = {
            text: split_sentences(text) for text in distinct_texts[start:][:TEXTS_PER_BATCH]
        }
        all_sentences = itertools.chain.from_iterable(sentences_of_text.values())
        sentences = list(dict.fromkeys(all_sentences))
        parsed = dict(zip(sentences, parsed_sentences(sentences, tagger, parser), strict=True))
        for text, text_sentences in sentences_of_text.items():
            productions[text] = frozenset(
                f"{node.label} -> {' '.join(node.child_labels)}"
                for sentence in text_sentences
                if (tree := parsed[sentence]) is not None
                for node in tree.tree.nodes()
                if node.children
            )
        advance(len(sentences_of_text))
    return productions


def self_bleu(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """BLEU of each text against all the others, 0 to 100, shape (texts,); 0 of a single text.

    The scores equal those of sacreBLEU for a sentence and its references (13a tokens, exponential
    smoothing, effective order), but are computed for all texts at once. For that, each n-gram's two
    greatest counts in a text are kept: the greatest count among the other texts is the second
    greatest for the text that has the greatest, and the greatest for all others.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.helpers import extract_all_word_ngrams

    scores = np.zeros(len(texts))
    if len(texts) < 2:
        return scores
    bleu = BLEU(effective_order=True)
    ngrams_and_lengths = [
        extract_all_word_ngrams(bleu.tokenizer(text.rstrip()), 1, BLEU_ORDER) for text in texts
    ]
    two_greatest: dict[tuple[str, ...], list[int]] = {}
    for ngrams, _ in ngrams_and_lengths:
        for ngram, count in ngrams.items():
            two_greatest[ngram] = sorted([*two_greatest.get(ngram, (0, 0)), count])[1:]
    length_counts = Counter(length for _, length in ngrams_and_lengths)
    for index, (ngrams, length) in enumerate(ngrams_and_lengths):
        correct, total = [0] * BLEU_ORDER, [0] * BLEU_ORDER
        for ngram, count in ngrams.items():
            second, greatest = two_greatest[ngram]
            total[len(ngram) - 1] += count
            correct[len(ngram) - 1] += min(count, second if count == greatest else greatest)
        other_lengths = (
            length_counts if length_counts[length] > 1 else length_counts.keys() - {length}
        )
        closest_length = min(other_lengths, key=lambda other: (abs(other - length), other))
        scores[index] = bleu.compute_bleu(
            correct,
            total,
            length,
            closest_length,
            smooth_method=bleu.smooth_method,
            effective_order=bleu.effective_order,
        ).score
    return scores
