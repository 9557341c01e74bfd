"""Where cases come from that are measured: a suite, CheckList's cases, a corpus."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from s2lct.analysis.corpus_parts import source_corpus
from s2lct.builder.capabilities.files import cases_beside
from s2lct.errors import AnalysisError
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case, families_of
from s2lct.suite.checklist import read_checklist

ALL_CASES = "all"
SEEDS = "seeds"
EXPANSIONS = "expansions"


class Text(NamedTuple):
    """A case to measure, and its family: what it shares with those that depend on it."""

    text: str
    family: Hashable


Groups = Mapping[str, Sequence[Text]]
"""What cases are drawn from, by group: ``all``, ``seeds``, ``expansions``, a capability."""


def grouped(cases: Sequence[Case]) -> Groups:
    """Texts by group: all; seeds and expansions, if there are both; capabilities, if several."""
    families = families_of(cases).tolist()
    texts = [(one, Text(one.text, family)) for one, family in zip(cases, families, strict=True)]
    groups = {ALL_CASES: [text for _, text in texts]}
    if len({one.kind for one in cases}) > 1:
        groups[SEEDS] = [text for one, text in texts if one.kind == "seed"]
        groups[EXPANSIONS] = [text for one, text in texts if one.kind == "expansion"]
    names = sorted({one.capability for one in cases}, key=natural_order)
    for name in names if len(names) > 1 else ():
        groups[name] = [text for one, text in texts if one.capability == name]
    return groups


def checklist_texts(against: str, groups: Iterable[str], capabilities: Sequence[str]) -> Groups:
    """CheckList's cases by group.

    Groups that are no capability are drawn from the tests of the capabilities asked for, or all.
    """
    name, _, path = against.partition(":")
    if name != "checklist" or not path:
        raise AnalysisError(
            f"--against {against}: is not checklist:PATH",
            hint="write it like checklist:sentiment_mft.jsonl.gz",
        )
    cases = read_checklist(Path(path))
    if capabilities:
        wanted = {id(one) for asked in capabilities for one in cases_beside(cases, asked)}
        cases = [one for one in cases if id(one) in wanted]
    return {
        group: [
            Text(one.text, str(number)) for number, one in enumerate(cases_beside(cases, group))
        ]
        for group in groups
    }


def corpus_texts(suite: str, named: str | None, groups: Iterable[str]) -> Groups:
    """The corpus named, or the one that the suite's description names; none for ``none``."""
    corpus = source_corpus(suite, named)
    texts = [Text(sentence.text, sentence.id) for sentence in corpus.sentences] if corpus else []
    return dict.fromkeys(groups, texts) if texts else {}
