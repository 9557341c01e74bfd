"""How diverse a suite's cases are, beside CheckList's cases and the corpus it was built from.

After S²LCT, RQ3: self-BLEU and distinct productions of equally many cases from each source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.result import Result
from s2lct.builder.capabilities.files import cases_beside
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
RANDOM_SAMPLES = 3
"""Samples from CheckList and from the corpus, each as large as the suite's group."""
TEXTS_PER_BATCH = 64
COLOURS = {SUITE: "#2f81d6", CHECKLIST: "#d9730d", CORPUS: "#7d8590"}


@dataclass(frozen=True, slots=True)
class DiversityRow:
    """The diversity of a source's cases in a group: all, seeds, expansions or a capability.

    ``self_bleu`` is the mean BLEU of each case against all others (Zhu et al. 2018), with the
    suite's 95 % bootstrap interval, or the least and greatest of the random samples.
    ``productions`` are distinct ones above the parts of speech, in the mean of the samples.
    """

    group: str
    source: str
    cases: int
    self_bleu: float
    self_bleu_range: tuple[float, float]
    productions: float


@dataclass(frozen=True, repr=False)
class Diversity(Result):
    """A row for each group and source; the group ``all`` and the suite come first."""

    rows: tuple[DiversityRow, ...]

    def table(self) -> Table:
        """Every group, with a row for each source."""
        words = capability_words(row.group for row in self.rows)
        cells: list[list[str | Cell]] = []
        for row in self.rows:
            is_first = row.source == SUITE  # of its group, whose name stands there alone
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
        """Draw self-BLEU and productions of every group into a picture (.svg, .png or .pdf)."""
        import matplotlib
        from matplotlib.figure import Figure

        groups = list(dict.fromkeys(row.group for row in self.rows))
        sources = list(dict.fromkeys(row.source for row in self.rows))
        words = capability_words(groups)
        with matplotlib.rc_context({"svg.hashsalt": "s2lct", "axes.grid": True, "grid.alpha": 0.3}):
            figure = Figure(figsize=(11, 1.4 + 0.35 * len(groups)), layout="constrained")
            bleu, productions = figure.subplots(1, 2, sharey=True)
            for place, source in enumerate(sources):
                rows = [row for row in self.rows if row.source == source]
                heights = [
                    groups.index(row.group) + 0.6 * ((place + 0.5) / len(sources) - 0.5)
                    for row in rows
                ]
                drawn = {"color": COLOURS[source], "label": source}
                bleu.plot([row.self_bleu for row in rows], heights, "o", **drawn)
                lows, highs = zip(*(row.self_bleu_range for row in rows), strict=True)
                bleu.hlines(heights, lows, highs, color=COLOURS[source])
                productions.plot([row.productions for row in rows], heights, "o", **drawn)
            bleu.set_title("Self-BLEU (lower is more diverse)")
            productions.set_title("Distinct productions")
            names = [f"{words[name].short} {name}".strip() for name in groups]
            bleu.set_yticks(range(len(groups)), names)
            bleu.invert_yaxis()
            for axes in (bleu, productions):
                axes.set_xlim(left=0)
            figure.legend(
                *productions.get_legend_handles_labels(), loc="outside lower center", ncols=3
            )
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def measure_diversity(
    cases: Sequence[Case],
    *,
    checklist: Sequence[CheckListCase] = (),
    corpus: Corpus | None = None,
    seed: int = 0,
) -> Diversity:
    """Measure a suite's cases, and as many random ones of CheckList and of a corpus.

    A capability is compared with the CheckList test that its specification names, or with all of
    CheckList's cases where it names none.
    """
    groups = _cases_by_group(cases)
    others: dict[str, Mapping[str, list[str]]] = {}
    if checklist:
        others[CHECKLIST] = {
            group: [case.text for case in cases_beside([*checklist], group)] for group in groups
        }
    if corpus is not None and corpus.sentences:
        sentences = [sentence.text for sentence in corpus.sentences]
        others[CORPUS] = dict.fromkeys(groups, sentences)
    samples: dict[tuple[str, str], list[list[str]]] = {}
    for group, members in groups.items():
        samples[group, SUITE] = [[case.text for case in members]]
        for source, texts in others.items():
            size = min(len(members), len(texts[group]))
            draws = (("diversity", source, group, str(draw)) for draw in range(RANDOM_SAMPLES))
            samples[group, source] = [
                rng_for(seed, *draw).sample(texts[group], size) for draw in draws
            ]
    productions = productions_of_texts(
        text for drawn in samples.values() for texts in drawn for text in texts
    )
    rows: list[DiversityRow] = []
    for (group, source), drawn in samples.items():
        scores = [self_bleu(texts) for texts in drawn]
        means = [float(sample.mean()) for sample in scores]
        bounds = min(means), max(means)
        if source == SUITE:
            families = families_of(groups[group]).tolist()
            bounds = mean_and_interval(families, scores[0], seed=0)[1]
        counts = [len(frozenset().union(*(productions[text] for text in texts))) for texts in drawn]
        figures = fmean(means), bounds, fmean(counts)
        rows.append(DiversityRow(group, source, len(drawn[0]), *figures))
    return Diversity(tuple(rows))


def _cases_by_group(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """All cases; seeds and expansions, where there are both; capabilities, where several."""
    groups = {ALL_CASES: list(cases)}
    kinds = sorted({case.kind for case in cases}, reverse=True)
    if len(kinds) > 1:
        groups |= {f"{kind}s": [case for case in cases if case.kind == kind] for kind in kinds}
    names = sorted({case.capability for case in cases}, key=natural_order)
    if len(names) > 1:
        groups |= {name: [case for case in cases if case.capability == name] for name in names}
    return groups


def productions_of_texts(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    """The distinct productions above the parts of speech, as ``NP -> DT NN``, of each text."""
    tagger, parser = load_tagger(), load_parser()
    distinct_texts = list(dict.fromkeys(texts))
    advance = bar("tag and parse", len(distinct_texts))
    productions: dict[str, frozenset[str]] = {}
    for start in range(0, len(distinct_texts), TEXTS_PER_BATCH):
        batch = {text: split_sentences(text) for text in distinct_texts[start:][:TEXTS_PER_BATCH]}
        sentences = list(dict.fromkeys(sentence for part in batch.values() for sentence in part))
        parsed = dict(zip(sentences, parsed_sentences(sentences, tagger, parser), strict=True))
        for text, part in batch.items():
            productions[text] = frozenset(
                f"{node.label} -> {' '.join(node.child_labels)}"
                for sentence in part
                if (tree := parsed[sentence]) is not None
                for node in tree.tree.nodes()
                if node.children
            )
        advance(len(batch))
    return productions


def self_bleu(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """BLEU of each text against all the others, 0 to 100, shape (texts,); 0 of a single text.

    What sacreBLEU gives for a sentence and its references (13a tokens, exponential smoothing,
    effective order), computed for all texts at once: an n-gram's greatest count among the others
    is the greatest of all, or the second greatest for the text that has the greatest.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.helpers import extract_all_word_ngrams

    scores = np.zeros(len(texts))
    if len(texts) < 2:
        return scores
    bleu = BLEU(effective_order=True)
    counted = [
        extract_all_word_ngrams(bleu.tokenizer(text.rstrip()), 1, BLEU_ORDER) for text in texts
    ]
    two_greatest: dict[tuple[str, ...], list[int]] = {}
    for ngrams, _ in counted:
        for ngram, count in ngrams.items():
            two_greatest[ngram] = sorted([*two_greatest.get(ngram, (0, 0)), count])[1:]
    lengths = Counter(length for _, length in counted)
    for number, (ngrams, length) in enumerate(counted):
        correct, total = [0] * BLEU_ORDER, [0] * BLEU_ORDER
        for ngram, count in ngrams.items():
            second, greatest = two_greatest[ngram]
            total[len(ngram) - 1] += count
            correct[len(ngram) - 1] += min(count, second if count == greatest else greatest)
        other_lengths = lengths if lengths[length] > 1 else lengths.keys() - {length}
        closest = min(other_lengths, key=lambda other: (abs(other - length), other))
        scores[number] = bleu.compute_bleu(
            correct,
            total,
            length,
            closest,
            smooth_method=bleu.smooth_method,
            effective_order=bleu.effective_order,
        ).score
    return scores
