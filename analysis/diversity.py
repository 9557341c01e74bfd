"""How diverse a suite is, beside CheckList's cases and the corpus that it was made of.

As in Lee et al., "Automated Testing Linguistic Capabilities of NLP Models", by self-BLEU and
distinct productions of the same number of cases from each.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from nltk import Tree

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.corpus_parts import source_corpus
from s2lct.builder.capabilities.files import cases_beside
from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.builder.records import Token
from s2lct.identity import rng_for
from s2lct.leaderboard.site.report import capability_words
from s2lct.progress import bar
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case, families_of
from s2lct.suite.other_suites import read_checklist
from s2lct.tables import Cell, Table, page_templates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALL_CASES, SEEDS, EXPANSIONS = "all", "seeds", "expansions"
BLEU_ORDER = 4
DRAWS = 3
"""How often cases are drawn from what is not the suite."""
FIGURES = {"self_bleu": "{:.1f}", "productions": "{:,.0f}"}
TEXTS_AT_ONCE = 64
COLOURS = ("#2f81d6", "#d9730d", "#7d8590")
"""Of the suite, CheckList and the corpus."""
PANELS = {
    "self_bleu": "Self-BLEU (less is more diverse)",
    "productions": "Distinct productions",
}
_CLOSING = frozenset({"''", '"', "”", "’", "'", ")", "-RRB-"})


class Text(NamedTuple):
    """A case to measure, and its family: what it shares with those that depend on it."""

    text: str
    family: Hashable


Groups = Mapping[str, Sequence[Text]]
"""What cases are drawn from, by group: ``all``, ``seeds``, ``expansions``, a capability."""


def grouped(cases: Sequence[Case]) -> Groups:
    """Texts by group: all; seeds and expansions, if there are both; capabilities, if several."""
    families = families_of(cases).tolist()
    texts = [(case, Text(case.text, family)) for case, family in zip(cases, families, strict=True)]
    groups = {ALL_CASES: [text for _, text in texts]}
    if len({case.kind for case in cases}) > 1:
        groups[SEEDS] = [text for case, text in texts if case.kind == "seed"]
        groups[EXPANSIONS] = [text for case, text in texts if case.kind == "expansion"]
    names = sorted({case.capability for case in cases}, key=natural_order)
    for name in names if len(names) > 1 else ():
        groups[name] = [text for case, text in texts if case.capability == name]
    return groups


def checklist_texts(path: Path, groups: Iterable[str], capabilities: Sequence[str]) -> Groups:
    """CheckList's cases by group.

    Groups that are no capability are drawn from the tests of the capabilities named, or all.
    """
    cases = read_checklist(path)
    if capabilities:
        wanted = {id(case) for named in capabilities for case in cases_beside(cases, named)}
        cases = [case for case in cases if id(case) in wanted]
    return {
        group: [Text(case.text, number) for number, case in enumerate(cases_beside(cases, group))]
        for group in groups
    }


def corpus_texts(suite: str, named: str | None, groups: Iterable[str]) -> Groups:
    """The corpus named, or the one that the suite's description names; none for ``none``."""
    corpus = source_corpus(suite, named)
    texts = [Text(sentence.text, sentence.id) for sentence in corpus.sentences] if corpus else []
    return dict.fromkeys(groups, texts) if texts else {}


Productions = Mapping[str, frozenset[str]]
"""A text's distinct productions above the parts of speech, as ``NP -> DT NN``."""


def sentences(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    """Split a text's tokens behind each mark that ends a sentence, quotes that close included.

    A mark ends none where a small letter follows: ``"Is it?" she asks.`` is one sentence.
    """
    parts: list[tuple[Token, ...]] = []
    start = 0
    for number, token in enumerate(tokens):
        if token.tag != "." or number < start:
            continue
        end = number + 1
        while end < len(tokens) and (tokens[end].text in _CLOSING or tokens[end].tag == "."):
            end += 1
        if end < len(tokens) and not tokens[end].text[:1].islower():
            parts.append(tuple(tokens[start:end]))
            start = end
    if start < len(tokens):
        parts.append(tuple(tokens[start:]))
    return parts


def productions_of(tree: str) -> frozenset[str]:
    """The productions above a tree's parts of speech."""
    productions = Tree.fromstring(tree).productions()
    return frozenset(str(production) for production in productions if production.is_nonlexical())


def read(
    texts: Iterable[str], tagger: Tagger, parser: ConstituencyParser
) -> dict[str, frozenset[str]]:
    """The productions of each text; equal ones are parsed once."""
    distinct_texts = list(dict.fromkeys(texts))
    advance = bar("read and parse", len(distinct_texts))
    readings: dict[str, frozenset[str]] = {}
    for start in range(0, len(distinct_texts), TEXTS_AT_ONCE):
        part = distinct_texts[start : start + TEXTS_AT_ONCE]
        split = [sentences(tokens) for tokens in tagger.tag(part)]
        trees = iter(parser.parse([sentence for found in split for sentence in found]))
        for text, found in zip(part, split, strict=True):
            readings[text] = frozenset().union(
                *(productions_of(tree) for tree in islice(trees, len(found)) if tree)
            )
        advance(len(part))
    return readings


class Figure(NamedTuple):
    """A figure with the bounds of its interval; None where it has none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Diversity:
    """How diverse some cases are, by figures by name.

    ``self_bleu`` is the mean BLEU, 0 to 100, of each case against all others (Zhu et al. 2018),
    ``productions`` distinct ones of the parses.
    """

    cases: int
    figures: Mapping[str, Figure]

    def __getitem__(self, name: str) -> float:
        return self.figures[name].value


@dataclass(frozen=True)
class Comparison:
    """Sources side by side, the suite first: figures by group and source.

    The group ``all`` is first, then ``seeds`` and ``expansions`` apart, then capabilities.
    """

    groups: Mapping[str, Mapping[str, Diversity]]


def self_bleu(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """BLEU of each text, of at least two, against all the others, 0 to 100, shape (texts,).

    What sacreBLEU gives for a sentence and references (13a tokens, exponential smoothing,
    effective order), computed for all texts at once: an n-gram's greatest count among the others
    is the greatest of all, or the second greatest for the text that holds it.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.helpers import extract_all_word_ngrams

    bleu = BLEU(effective_order=True)
    counted = [
        extract_all_word_ngrams(bleu.tokenizer(text.rstrip()), 1, BLEU_ORDER) for text in texts
    ]
    greatest: dict[tuple[str, ...], list[int]] = {}
    for ngrams, _ in counted:
        for ngram, count in ngrams.items():
            greatest[ngram] = sorted([*greatest.get(ngram, (0, 0)), count])[1:]
    lengths = Counter(length for _, length in counted)
    scores = np.zeros(len(texts))
    for number, (ngrams, length) in enumerate(counted):
        correct, total = [0] * BLEU_ORDER, [0] * BLEU_ORDER
        for ngram, count in ngrams.items():
            second, first = greatest[ngram]
            total[len(ngram) - 1] += count
            correct[len(ngram) - 1] += min(count, second if count == first else first)
        others = lengths if lengths[length] > 1 else lengths.keys() - {length}
        closest = min(others, key=lambda other: (abs(other - length), other))
        scores[number] = bleu.compute_bleu(
            correct,
            total,
            length,
            closest,
            smooth_method=bleu.smooth_method,
            effective_order=bleu.effective_order,
        ).score
    return scores


def measure(texts: Sequence[Text], readings: Productions) -> Diversity:
    """Measure cases, at least one."""
    bleu = Figure(0.0)
    if len(texts) > 1:
        scores = self_bleu([text for text, _ in texts])
        _, ci = mean_and_interval([family for _, family in texts], scores, seed=0)
        bleu = Figure(float(scores.mean()), *ci)
    productions = frozenset().union(*(readings[text] for text, _ in texts))
    figures = {"self_bleu": bleu, "productions": Figure(float(len(productions)))}
    return Diversity(len(texts), figures)


def merged(measured: Sequence[Diversity]) -> Diversity:
    """The means of several draws, with the least and the greatest for an interval."""
    if len(measured) == 1:  # the suite's, which is not drawn
        return measured[0]
    figures = {}
    for name in measured[0].figures:
        values = [draw[name] for draw in measured]
        figures[name] = Figure(float(np.mean(values)), min(values), max(values))
    return Diversity(measured[0].cases, figures)


def compare(
    sources: Mapping[str, Groups], tagger: Tagger, parser: ConstituencyParser, seed: int = 0
) -> Comparison:
    """Measure a suite, the first, beside sources with the same groups, so many cases from each.

    From the others they are drawn several times, without replacement; fewer where they have fewer.
    """
    suite, *_ = sources

    def drawn(name: str, group: str) -> list[Sequence[Text]]:
        texts, of_suite = sources[name][group], sources[suite][group]
        if name == suite:
            return [of_suite]
        most = min(len(of_suite), len(texts))
        keys = (("diversity", name, group, str(draw)) for draw in range(DRAWS))
        return [rng_for(seed, *key).sample(list(texts), most) for key in keys]

    taken = {(group, name): drawn(name, group) for group in sources[suite] for name in sources}
    every = (text for parts in taken.values() for texts in parts for text, _ in texts)
    readings = read(every, tagger, parser)
    return Comparison(
        groups={
            group: {
                name: merged([measure(texts, readings) for texts in taken[group, name]])
                for name in sources
            }
            for group in sources[suite]
        },
    )


def table(comparison: Comparison) -> Table:
    """Every group, a row for each source, and how the figures were made."""
    words = capability_words(comparison.groups)
    rows: list[list[str | Cell]] = [
        [
            Cell("" if number else group, "" if number else words[group].short, value=group),
            name,
            Cell(f"{of.cases:,}", value=of.cases),
            *(
                Cell(written.format(of[metric]), value=of[metric])
                for metric, written in FIGURES.items()
            ),
        ]
        for group, by_source in comparison.groups.items()
        for number, (name, of) in enumerate(by_source.items())
    ]
    return Table(
        ("group", "source", "cases", "self-BLEU", "productions"),
        rows,
        caption="Self-BLEU: BLEU (0 to 100) of a case against all others, mean; less is more "
        "diverse. Productions: distinct ones of the parses above the parts of speech. What is "
        f"not the suite: means of {DRAWS} draws of as many cases.",
        names=2,
    )


def conclusion(comparison: Comparison) -> str:
    """Which source is most diverse, in a sentence."""
    figures = [
        f"{of['productions']:,.0f} distinct productions and a self-BLEU of {of['self_bleu']:.1f} "
        f"({name})"
        for name, of in comparison.groups[ALL_CASES].items()
    ]
    return f"Of as many cases: {', '.join(figures)}. Less self-BLEU (0 to 100) is more diverse."


def as_html(comparison: Comparison, suite: str) -> str:
    """One page with plots and table that needs no network; ``suite`` is where it was read from."""
    plots = [_picture(comparison, metric) for metric in PANELS]
    return (
        page_templates("s2lct.analysis")
        .get_template("diversity.html.jinja")
        .render(
            suite=suite,
            conclusion=conclusion(comparison),
            sources=[*zip(comparison.groups[ALL_CASES], COLOURS, strict=False)],
            plots=[Markup(svg[svg.index("<svg") :]) for svg in plots],
            table=table(comparison),
        )
    )


def _picture(comparison: Comparison, metric: str) -> str:
    """A dot a group and source, as SVG, the same each time."""
    import matplotlib
    from matplotlib.figure import Figure as Drawing

    file = io.StringIO()
    # Text as text, in the page's letters.
    options: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "s2lct", "axes.grid": True}
    with matplotlib.rc_context(options | {"font.family": "sans-serif", "grid.alpha": 0.18}):
        height = 1 + 0.3 * len(comparison.groups)
        drawing: Drawing = Drawing(figsize=(5.4, height), layout="constrained")
        _draw(drawing.subplots(), metric, comparison)
        drawing.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _draw(axes: Axes, metric: str, comparison: Comparison) -> None:
    """A row a group, with a dot a source and a line for its interval."""
    axes.set_title(PANELS[metric], loc="left")
    groups = comparison.groups
    for row, by_source in enumerate(groups.values()):
        for number, of in enumerate(by_source.values()):
            place = row + 0.7 * (number + 0.5) / len(by_source) - 0.35
            value, low, high = of.figures[metric]
            colour = COLOURS[number]
            axes.plot([value], [place], "o", color=colour, markersize=5)
            if low is not None and high is not None:
                axes.plot([low, high], [place, place], color=colour, linewidth=1.5)
    axes.set_xlim(left=0)
    words = capability_words(groups)
    axes.set_yticks(range(len(groups)), [f"{words[name].short} {name}".strip() for name in groups])
    axes.set_ylim(len(groups) - 0.5, -0.5)
