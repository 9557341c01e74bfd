"""The tables and figures of the S²LCT paper, and of its older draft those of retraining."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.corpus_parts import source_corpus
from s2lct.analysis.coverage.criteria import build_metrics
from s2lct.analysis.coverage.encoder import load_encoder
from s2lct.analysis.coverage.measure import Curve, measure, read_reference
from s2lct.analysis.diversity import RANDOM_SAMPLES, measure_diversity
from s2lct.analysis.explain.attribution import method_of
from s2lct.analysis.explain.report import aggregate
from s2lct.analysis.explain.search import SAMPLES, THRESHOLD, chosen_failures, explain
from s2lct.analysis.explain.words import MaskedLMFiller
from s2lct.analysis.kept import kept
from s2lct.analysis.reproduce.runner import (
    Cell,
    Inputs,
    PaperTable,
    beside,
    described,
    named,
    of_families,
    predicted,
)
from s2lct.analysis.retrain import Retrainer
from s2lct.analysis.study import (
    QUESTIONS,
    RELEVANCE,
    SENTIMENT,
    Agreement,
    Estimate,
    Key,
    consistency,
    estimate,
    evaluate,
    ratings_of,
    read_key,
    relevancy,
)
from s2lct.analysis.training import TrainOptions
from s2lct.errors import require
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.leaderboard.scoring.figures import flips
from s2lct.suite.annotation import read_annotations
from s2lct.suite.cases import Case, SuiteCases, load_suite

ALL = "all"
MARK = "*"
"""Behind a capability's name: CheckList's cases of the test that it stands beside."""
SUITE, CHECKLIST, CORPUS = "S²LCT", "CheckList", "corpus"


def table2(inputs: Inputs) -> list[PaperTable]:
    """Label consistency and relevancy, by annotators, of seeds and of expansions."""
    inputs.need("key", "annotations")
    require("krippendorff")
    assert inputs.key is not None
    key = read_key(inputs.key)
    annotations = read_annotations(inputs.annotations, QUESTIONS, key.items)
    found = evaluate(annotations, key)

    def bounded(mean: Estimate | None) -> list[Cell]:
        return [None, None, None] if mean is None else [mean[0], *mean[1]]

    def row(name: str, of: Agreement) -> list[Cell]:
        mean = of.label_consistency
        differ = None if mean is None else round((1 - mean[0]) * of.rated)
        return [name, of.cases, differ, *bounded(mean), *bounded(of.relevance)]

    names = {"seeds": "seed", "expansions": "expanded", ALL: ALL}
    rows = [row(names.get(group, group), of) for group, of in found.groups.items()]
    apart = (
        consistency(ratings_of(annotations, SENTIMENT), key),
        relevancy(ratings_of(annotations, RELEVANCE)),
    )
    less = [_expanded_less_seed(values, key) for values in apart]
    rows.append(["expanded less seed", None, None, *itertools.chain(*map(bounded, less))])
    both = found.groups[ALL]
    alphas = [
        "not defined" if value is None else f"{value:.2f}"
        for value in (both.alpha_sentiment, both.alpha_relevance)
    ]
    table = PaperTable.of(
        inputs.name,
        rows,
        annotators=len(found.annotators),
        answers=both.ratings,
        sentiment=alphas[0],
        relevance=alphas[1],
    )
    return [table]


def _expanded_less_seed(values: Mapping[str, float], key: Key) -> Estimate | None:
    """The mean difference over the seeds that were annotated with expansions of theirs."""
    of_seed: dict[str, dict[str, list[str]]] = {}
    for name in values:
        item = key.items[name]
        of_seed.setdefault(item.seed_id, {}).setdefault(item.kind, []).append(name)
    differences = {
        kinds["seed"][0]: fmean(values[name] for name in kinds["expansion"])
        - fmean(values[name] for name in kinds["seed"])
        for kinds in of_seed.values()
        if len(kinds) > 1
    }
    return estimate(differences, key)


def table3(inputs: Inputs) -> list[PaperTable]:
    """What models fail, capability by capability, of seeds, expansions and CheckList's cases."""
    inputs.need("model", "suite", "checklist")
    read = load_suite(str(inputs.suite))
    cases = of_families(read.cases, inputs.limit, inputs.seed)
    capabilities = dict.fromkeys(case.capability for case in cases)
    of_tests = beside(inputs.read_checklist(), capabilities, inputs.limit, inputs.seed)
    others = [case for part in of_tests.values() for case in part]
    rows: dict[tuple[str, str], list[Any]] = {}
    for model in inputs.model:
        judge = inputs.judge(model)
        labels = predicted(judge, [case.text for case in (*cases, *others)])
        failed = {
            id(case): label not in case.passes
            for case, label in zip((*cases, *others), labels, strict=True)
        }
        for name in (*capabilities, ALL):
            of_suite, of_test = (
                [case for case in part if name in (case.capability, ALL)]
                for part in (cases, others)
            )
            rows[name, model] = [
                name,
                model,
                *_failures(of_suite, [failed[id(case)] for case in of_suite]),
                len(of_test) or None,
                _percent([failed[id(case)] for case in of_test]),
            ]
    printed = described(inputs.name)["printed"]
    both = [
        row
        for name in (*capabilities, ALL)
        for row in (
            *(rows[name, model] for model in inputs.model),
            *(row for row in printed if row[0] == name),
        )
    ]
    return [PaperTable.of(inputs.name, both, limited=inputs.limited, suite=named(read))]


def _failures(cases: Sequence[Case], failed: Sequence[bool]) -> list[Any]:
    """Seeds and expansions, how many of each fail in percent, and how many flip which way."""
    seeds, expansions = (
        [fails for case, fails in zip(cases, failed, strict=True) if case.kind == kind]
        for kind in ("seed", "expansion")
    )
    flipped = flips(cases, np.array(failed, dtype=bool))
    shares = (_percent(seeds), _percent(expansions))
    return [len(seeds), len(expansions), *shares, *map(len, flipped)]


def _percent(failed: Sequence[bool]) -> Any:
    """How many fail; None where there is no case."""
    return 100 * sum(failed) / len(failed) if failed else None


def coverage(inputs: Inputs) -> list[PaperTable]:
    """BoundCov and SActCov of equal numbers of S²LCT's and CheckList's cases, as these grow."""
    inputs.need("model", "suite", "checklist", "reference")
    metrics, random = ("BoundCov", "SActCov"), "random sentences"
    read = load_suite(str(inputs.suite))
    bounds, held_out = read_reference(str(inputs.reference), None, inputs.seed)
    texts = {
        SUITE: {case.text for case in read.cases},
        CHECKLIST: {case.text for case in inputs.read_checklist()},
        random: {str(text) for of in held_out.values() for text in of},
    }
    texts = {name: part for name, part in texts.items() if part}
    most = min(len(part) for part in texts.values())
    most = min(most, inputs.limit or most)
    adapter = TypeAdapter(dict[str, Curve])
    curves: dict[tuple[str, str], dict[str, Curve]] = {}
    for model in inputs.model:
        encoder = load_encoder(model, device=inputs.device)
        boundary = build_metrics(["boundary"], encoder, bounds)
        for name, part in texts.items():
            chosen = sorted(part, key=lambda one: (shuffle_key(inputs.seed, "coverage", one), one))
            chosen = chosen[:most]

            def measured(name: str = name, chosen: list[str] = chosen) -> dict[str, Curve]:
                found = measure(name, chosen, encoder, boundary, shuffles=10, seed=inputs.seed)  # noqa: B023
                return dict(found.curves)

            about = ["curves", fingerprint_of([bounds, chosen]), inputs.seed]
            curves[model, name] = kept(encoder.fingerprint, about, adapter, measured)
    rows: list[list[Cell]] = []
    for (model, name), of in curves.items():
        sizes = of[metrics[0]].sizes
        for place in sorted({-(-len(sizes) * part // 4) - 1 for part in (1, 2, 3, 4)}):
            row: list[Cell] = [model, name, sizes[place]]
            for curve in (of[metric] for metric in metrics):
                row += [100 * values[place] for values in (curve.mean, curve.low, curve.high)]
            rows.append(row)
    return [PaperTable.of(inputs.name, rows, suite=named(read), most=most, bounds=len(bounds))]


def explanations(inputs: Inputs) -> list[PaperTable]:
    """RQ4: the smallest sets of words that hold failures of each capability, model by model."""
    require("captum")
    inputs.need("model", "suite")
    suite, most = load_suite(str(inputs.suite)), inputs.limit or 5
    filler = MaskedLMFiller()
    rows: list[list[Cell]] = []
    methods = []
    for model in inputs.model:
        judge = inputs.judge(model)
        labels = predicted(judge, [row.text for row in suite.cases])
        explained = explain(judge, chosen_failures(suite.cases, labels, most), filler)
        methods.append(method_of(judge))
        for of in aggregate(explained):
            shares = [
                explanation.probability
                for explanation in explained
                if explanation.capability == of.capability
            ]
            counts = [of.failures, of.kept, of.words, of.template, of.source_alone, of.unprompted]
            rows.append([model, of.capability, *counts, fmean(shares), of.commonest])
    table = PaperTable.of(
        inputs.name,
        rows,
        most=most,
        methods=", ".join(dict.fromkeys(methods)),
        filler=filler.description,
        threshold=THRESHOLD,
        samples=SAMPLES,
    )
    return [table]


def diversity(inputs: Inputs) -> list[PaperTable]:
    """RQ3: self-BLEU and distinct productions of as many of the suite's and CheckList's cases.

    All cases together, seeds alone, and each capability beside its own CheckList test; the
    reference corpus too, where there is one. No model is asked.
    """
    require("sacrebleu")
    inputs.need("suite", "checklist")
    read = load_suite(str(inputs.suite))
    cases = of_families(read.cases, inputs.limit, inputs.seed)
    checklist = inputs.read_checklist()
    compared = {ALL, "seeds", *beside(checklist, read.capabilities, None, inputs.seed)}
    corpus = source_corpus(str(inputs.suite), inputs.reference) if inputs.reference else None
    measured = measure_diversity(cases, checklist=checklist, corpus=corpus, seed=inputs.seed)
    names = {"suite": SUITE, "CheckList": CHECKLIST, "corpus": CORPUS}
    rows: list[list[Cell]] = [
        [
            *(row.group, names[row.source], row.cases),
            *(row.self_bleu, *row.self_bleu_range, row.productions),
        ]
        for row in measured.rows
        if row.group in compared
    ]
    return [
        PaperTable.of(
            inputs.name, rows, limited=inputs.limited, suite=named(read), draws=RANDOM_SAMPLES
        )
    ]


def retraining(inputs: Inputs) -> list[PaperTable]:
    """Fail-to-pass and pass-to-fail of trainings on a capability of the suite, or of CheckList.

    Each is tested on the capability of the other suite, on cases that share no sentence with
    those trained on.
    """
    require("accelerate", "sklearn")
    inputs.need("model", "suite", "checklist")
    suite, options = both_suites(inputs), TrainOptions()
    trainings = {name: (name,) for name in suite.capabilities}
    crossed: list[list[Any]] = []
    notes: list[str] = []
    for model in inputs.model:
        matrix = Retrainer(inputs.judge(model), suite, None, options).matrix(trainings)
        for training in matrix.trainings:
            name = training.name
            other = name.removesuffix(MARK) if name.endswith(MARK) else name + MARK
            if training.problem:
                notes.append(f"{model}, trained on {name}: {training.problem}")
            elif of := training.changes.get(other):
                turned = [of.fail_to_pass, of.pass_to_fail]
                before = [of.failures_before, of.cases - of.failures_before]
                after = [of.failures_after, of.cases - of.failures_after]
                crossed.append([model, name, other, of.cases, *turned, *before, *after])
    table = PaperTable.of(
        inputs.name,
        [*crossed, *described(inputs.name)["printed"]],
        limited=inputs.limited,
        epochs=options.epochs,
        batch=options.batch_size,
        lr=options.lr,
    )
    return [replace(table, notes=[*table.notes, *notes])]


def both_suites(inputs: Inputs) -> SuiteCases:
    """The suite's cases and CheckList's beside them, as one suite to train and test on."""
    suite = load_suite(str(inputs.suite))
    cases = of_families(suite.cases, inputs.limit, inputs.seed)
    capabilities = dict.fromkeys(case.capability for case in cases)
    found = beside(inputs.read_checklist(), capabilities, inputs.limit, inputs.seed)
    others = [
        # With the label that suites give cases of several.
        replace(case, capability=case.capability + MARK, label=max(case.passes))
        for part in found.values()
        for case in part
    ]
    described = [[case.id, case.text, case.label] for case in (*cases, *others)]
    return replace(suite, cases=(*cases, *others), fingerprint=fingerprint_of(described))
