"""RQ3 of the S²LCT paper by its cases: self-BLEU and productions, beside CheckList's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from s2lct.analysis.diversity.measures import Diversity, DiversityComparison, compare
from s2lct.analysis.diversity.readings import SENTENCES_AT_ONCE, Reader, Reading
from s2lct.analysis.diversity.report import as_png
from s2lct.analysis.diversity.sources import ALL_CASES, SEEDS, Groups, Text, corpus_texts, grouped
from s2lct.analysis.progress import Advance, silently
from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable
from s2lct.analysis.reproduce.suite_inputs import (
    beside,
    named,
    needed_checklist,
    needed_suite,
    of_families,
)
from s2lct.builder.models import EMBEDDED, load_parser, load_tagger
from s2lct.extras import require
from s2lct.identity import fingerprint_of
from s2lct.suite.cases import load_cases

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.builder.models import ConstituencyParser, Tagger
    from s2lct.progress import Bars

SUITE, CHECKLIST, CORPUS = "S²LCT", "CheckList", "corpus"
COLUMNS = (
    "cases of",
    "source",
    "cases",
    "self-BLEU",
    "from",
    "to",
    "productions",
    "distinct 2-grams",
)
_READINGS = TypeAdapter(list[Reading])


class KeptReader(Reader):
    """A reader whose readings are steps, so that an interrupted run goes on."""

    def __init__(self, tagger: Tagger, parser: ConstituencyParser, steps: Checkpoints) -> None:
        super().__init__(tagger, parser)
        self._steps = steps

    def read(self, texts: Sequence[str], advance: Advance = silently) -> list[Reading]:
        """Readings of the texts, in order."""
        missing = self.missing(texts)
        for start in range(0, len(missing), SENTENCES_AT_ONCE):
            chunk = missing[start : start + SENTENCES_AT_ONCE]
            name = f"readings-{fingerprint_of(chunk)[:16]}"
            found = self._steps.kept(name, _READINGS)
            if found is None:
                found = self._steps.keep(name, _READINGS, super().read(chunk))
            self._readings.update(zip(chunk, found, strict=True))
            advance(len(chunk))
        return [self._readings[text] for text in texts]


def tables(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """Self-BLEU and distinct productions of a suite and of CheckList's cases, as many of each.

    All cases together, seeds alone, and each capability beside its own CheckList test; the
    reference corpus too, where one is given. No model is asked.

    Raises:
        AnalysisError: a suite or CheckList's cases are missing.
    """
    require("sacrebleu", "matplotlib")
    suite = needed_suite(options)
    read = load_cases(suite)
    groups = grouped(of_families(read.cases, options.limit, options.seed))
    sources: dict[str, Groups] = {SUITE: groups, CHECKLIST: _checklist_groups(options, groups)}
    lacking = [name for name in groups if not sources[CHECKLIST][name]]
    for source in sources:  # what has nothing beside it cannot be compared
        sources[source] = {n: t for n, t in sources[source].items() if n not in lacking}
    if options.reference is not None:
        columns = {"text_column": None, "label_column": None, "label_map": None}
        sources[CORPUS] = corpus_texts(suite, options.reference, columns, sources[SUITE])
    reader = KeptReader(load_tagger(), load_parser(EMBEDDED), steps)
    measured = compare(sources, reader, draws=options.seeds, seed=options.seed, bars=bars)
    rows = [
        _row(group, source, found)
        for group, by_source in measured.groups.items()
        for source, found in by_source.items()
    ]
    some = f"At most {options.limit} cases of a capability. " if options.limit else ""
    notes = [
        f"{some}Suite {named(read)}; of the other sources means of {options.seeds} draws of as "
        "many cases, and the least and the greatest. Self-BLEU: BLEU (0 to 100) of a case against "
        "all others, less is more diverse; the suite's bounds are a 95 % bootstrap interval of "
        "families. Productions: distinct ones of the parses above the parts of speech.",
        "No draft of the paper prints these figures: it says that its cases are more diverse than "
        "CheckList's, an older draft by similarities between cases, of which it names no measure.",
    ]
    table = PaperTable(
        "Diversity of S²LCT beside CheckList", COLUMNS, rows, notes, {"distinct 2-grams": 2}
    )
    pictures = {"s2lct-diversity.png": as_png(measured)}
    return Reproduction([table], _verdict(measured), pictures)


def _checklist_groups(options: ReproduceOptions, groups: Groups) -> dict[str, list[Text]]:
    """CheckList's cases by group: of capabilities their tests, of the others all cases."""
    found = needed_checklist(options)
    every = [Text(case.text, str(number)) for number, case in enumerate(found)]
    own = beside(found, groups, None, options.seed)
    return {
        name: every
        if name in (ALL_CASES, SEEDS)
        else [Text(case.text, case.id) for case in own.get(name, ())]
        for name in groups
    }


def _row(group: str, source: str, found: Diversity) -> list[Cell]:
    bleu = found.self_bleu
    return [
        group,
        source,
        found.cases,
        bleu.value,
        bleu.low,
        bleu.high,
        float(found.productions.value),
        found.distinct[2].value,
    ]


def _verdict(measured: DiversityComparison) -> str:
    """Whether the suite is more diverse than CheckList, on the whole and by capability."""
    groups: Mapping[str, Mapping[str, Diversity]] = measured.groups
    together = groups[ALL_CASES]
    less = together[SUITE].self_bleu.value < together[CHECKLIST].self_bleu.value
    more = together[SUITE].productions.value > together[CHECKLIST].productions.value
    parts = [of for name, of in groups.items() if name not in (ALL_CASES, SEEDS)]
    bleus = sum(of[SUITE].self_bleu.value < of[CHECKLIST].self_bleu.value for of in parts)
    found = sum(of[SUITE].productions.value > of[CHECKLIST].productions.value for of in parts)
    told = (
        "Comes back"
        if less and more
        else "Comes back in part"
        if less or more
        else ("Does not come back")
    )
    counted = (
        f" By capability, self-BLEU is lower in {bleus} and productions are more in {found} of "
        f"{len(parts)}."
        if parts
        else ""
    )
    return (
        f"{told}: of as many cases, S²LCT's have a self-BLEU of "
        f"{together[SUITE].self_bleu.value:.1f} beside CheckList's "
        f"{together[CHECKLIST].self_bleu.value:.1f}, and {together[SUITE].productions.value:,.0f} "
        f"distinct productions beside {together[CHECKLIST].productions.value:,.0f}.{counted}"
    )
