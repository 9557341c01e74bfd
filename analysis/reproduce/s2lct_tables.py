"""The tables and figures of the S²LCT paper, and of its older draft those of retraining."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.coverage.criteria import build_metrics
from s2lct.analysis.coverage.encoder import load_encoder
from s2lct.analysis.coverage.measure import Curve, drawing, measure, read_reference
from s2lct.analysis.diversity import (
    ALL_CASES,
    SEEDS,
    Diversity,
    Groups,
    Text,
    compare,
    corpus_texts,
    drawn_as,
    grouped,
)
from s2lct.analysis.explain.attribution import method_of
from s2lct.analysis.explain.report import aggregate
from s2lct.analysis.explain.search import SAMPLES, THRESHOLD, chosen_failures, explain
from s2lct.analysis.explain.words import MaskedLMFiller
from s2lct.analysis.kept import kept
from s2lct.analysis.plots import picture, style
from s2lct.analysis.reproduce.runner import (
    Cell,
    Inputs,
    PaperTable,
    Reproduction,
    beside,
    comes_back,
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
from s2lct.builder.models import load_parser, load_tagger
from s2lct.errors import require
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.leaderboard.scoring.figures import flips
from s2lct.suite.annotation import read_annotations
from s2lct.suite.cases import Case, SuiteCases, load_cases

ALL = "all"
MARK = "*"
"""Behind a capability's name: CheckList's cases of the test that it stands beside."""
SUITE, CHECKLIST, CORPUS = "S²LCT", "CheckList", "corpus"
LEAST_CONSISTENCY = 0.8


def table2(inputs: Inputs) -> Reproduction:
    """Label consistency and relevancy, by annotators, of seeds and of expansions."""
    inputs.need("key", "annotations")
    require("krippendorff")
    assert inputs.key is not None
    key = read_key(inputs.key)
    annotations = read_annotations(inputs.annotations, QUESTIONS, key.items)
    found = evaluate(annotations, key, seed=inputs.seed)

    def bounded(mean: Estimate | None) -> list[Cell]:
        return [None, None, None] if mean is None else [mean[0], *mean[1]]

    def row(name: str, of: Agreement) -> list[Cell]:
        mean = of.label_consistency
        differ = None if mean is None else round((1 - mean[0]) * of.rated)
        return [name, of.cases, differ, *bounded(mean), *bounded(of.relevance)]

    names = {"seeds": "seed", "expansions": "expanded", ALL: ALL}
    rows = [row(names.get(group, group), of) for group, of in found.groups.items()]
    apart = {
        "label consistency": consistency(ratings_of(annotations, SENTIMENT), key),
        "relevancy": relevancy(ratings_of(annotations, RELEVANCE)),
    }
    less = {name: _expanded_less_seed(values, key, inputs.seed) for name, values in apart.items()}
    rows.append(["expanded less seed", None, None, *itertools.chain(*map(bounded, less.values()))])
    findings = [
        (
            mean[0] > LEAST_CONSISTENCY,
            f"label consistency of {name} cases is "
            f"{'over' if mean[0] > LEAST_CONSISTENCY else 'not over'} 0.8",
        )
        for group, name in names.items()
        if group != ALL and (mean := found.groups[group].label_consistency) is not None
    ] + [
        (
            low <= 0 <= high,
            f"{'no' if low <= 0 <= high else 'a'} difference in {name} between seeds and "
            f"expansions is seen (interval {low:+.2f} to {high:+.2f})",
        )
        for name, mean in less.items()
        if mean is not None
        for low, high in (mean[1],)
    ]
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
    share = fmean(as_printed for as_printed, _ in findings) if findings else 0
    return Reproduction(
        [table],
        f"{comes_back(share)}: {'; '.join(text for _, text in findings)}.",
    )


def _expanded_less_seed(values: Mapping[str, float], key: Key, seed: int) -> Estimate | None:
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
    return estimate(differences, key, seed)


def table3(inputs: Inputs) -> Reproduction:
    """What models fail, capability by capability, of seeds, expansions and CheckList's cases."""
    inputs.need("model", "suite", "checklist")
    read = load_cases(str(inputs.suite))
    cases = of_families(read.cases, inputs.limit, inputs.seed)
    capabilities = dict.fromkeys(case.capability for case in cases)
    of_tests = beside(inputs.read_checklist(), capabilities, inputs.limit, inputs.seed)
    others = [case for part in of_tests.values() for case in part]
    rows: dict[tuple[str, str], list[Any]] = {}
    findings: list[tuple[bool, str]] = []
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
        to_fail, to_pass = rows[ALL, model][6:8]
        findings.append((to_fail > 0, f"{model} {to_fail} and {to_pass} the other way round"))
    printed = described(inputs.name)["printed"]
    both = [
        row
        for name in (*capabilities, ALL)
        for row in (
            *(rows[name, model] for model in inputs.model),
            *(row for row in printed if row[0] == name),
        )
    ]
    return Reproduction(
        [PaperTable.of(inputs.name, both, limited=inputs.limited, suite=named(read))],
        f"{comes_back(fmean(found for found, _ in findings))}: expansions fail whose seed passes "
        f"(the paper has 174 to 391): {'; '.join(text for _, text in findings)}. The rates "
        "themselves cannot be compared: models and cases are others.",
    )


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


def coverage(inputs: Inputs) -> Reproduction:
    """BoundCov and SActCov of equal numbers of S²LCT's and CheckList's cases, as these grow."""
    require("matplotlib")
    inputs.need("model", "suite", "checklist", "reference")
    metrics, random = ("BoundCov", "SActCov"), "random sentences"
    read = load_cases(str(inputs.suite))
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
    table = PaperTable.of(inputs.name, rows, suite=named(read), most=most, bounds=len(bounds))
    # Models whose neurons cover the same, such as heads on one encoder, count as one.
    distinct = {str(curves[model, SUITE]): model for model in reversed(inputs.model)}.values()
    above = [
        curves[model, SUITE][metric].mean[-1] > curves[model, CHECKLIST][metric].mean[-1]
        for model in distinct
        for metric in metrics
    ]
    verdict = (
        f"{comes_back(fmean(above))}: S²LCT's cases cover more than CheckList's in {sum(above)} of "
        f"{len(above)} plots of models with neurons of their own."
    )
    panels = {
        f"{model}: {metric}": {
            name: curves[model, name][metric] for name in texts if (model, name) in curves
        }
        for metric, model in itertools.product(metrics, inputs.model)
    }
    with style():
        drawn = picture(drawing("Coverage as the cases grow", panels, len(inputs.model)), "png")
    return Reproduction([table], verdict, {"s2lct-coverage.png": drawn})


def explanations(inputs: Inputs) -> Reproduction:
    """RQ4: the smallest sets of words that hold failures of each capability, model by model."""
    inputs.need("model", "suite")
    suite, most = load_cases(str(inputs.suite)), inputs.limit or 5
    filler = MaskedLMFiller("embedded")
    rows: list[list[Cell]] = []
    findings, methods = [], []
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
        kept_words = fmean([len(explanation.kept) for explanation in explained] or [0])
        words = fmean([len(explanation.words) for explanation in explained] or [0])
        small = sum(explanation.ci[1] < THRESHOLD for explanation in explained)
        findings.append(
            f"{kept_words:.1f} of {words:.1f} words hold a failure of {model} on average ({small} "
            f"of {len(explained)} sets are too small by new samples)"
        )
    table = PaperTable.of(
        inputs.name,
        rows,
        most=most,
        methods=", ".join(dict.fromkeys(methods)),
        filler=filler.description,
        threshold=THRESHOLD,
        samples=SAMPLES,
    )
    return Reproduction(
        [table], f"Cannot be compared: the paper prints no result. {'; '.join(findings)}."
    )


def diversity(inputs: Inputs) -> Reproduction:
    """RQ3: self-BLEU and distinct productions of as many of the suite's and CheckList's cases.

    All cases together, seeds alone, and each capability beside its own CheckList test; the
    reference corpus too, where there is one. No model is asked.
    """
    require("sacrebleu", "matplotlib")
    inputs.need("suite", "checklist")
    read = load_cases(str(inputs.suite))
    groups = grouped(of_families(read.cases, inputs.limit, inputs.seed))
    found = inputs.read_checklist()
    every = [Text(case.text, number) for number, case in enumerate(found)]
    of_tests = beside(found, groups, None, inputs.seed)
    others = {
        name: every
        if name in (ALL_CASES, SEEDS)
        else [Text(case.text, case.id) for case in of_tests.get(name, ())]
        for name in groups
    }
    # What has nothing beside it cannot be compared.
    groups = {name: texts for name, texts in groups.items() if others[name]}
    sources: dict[str, Groups] = {SUITE: groups, CHECKLIST: others}
    if inputs.reference is not None:
        sources[CORPUS] = corpus_texts(str(inputs.suite), inputs.reference, groups)
    measured = compare(sources, load_tagger(), load_parser(), draws=inputs.seeds, seed=inputs.seed)
    rows: list[list[Cell]] = []
    for group, by_source in measured.groups.items():
        for source, of in by_source.items():
            figures = [*of.figures["self_bleu"], of["productions"], of["distinct_2"]]
            rows.append([group, source, of.cases, *figures])
    table = PaperTable.of(
        inputs.name, rows, limited=inputs.limited, suite=named(read), draws=inputs.seeds
    )
    wins = {group: _more_diverse(of) for group, of in measured.groups.items()}
    parts = [won for group, won in wins.items() if group not in (ALL_CASES, SEEDS)]
    together = measured.groups[ALL_CASES]
    return Reproduction(
        [table],
        f"{comes_back(fmean(wins[ALL_CASES]))}: of as many cases, S²LCT's have a self-BLEU of "
        f"{together[SUITE]['self_bleu']:.1f} beside CheckList's "
        f"{together[CHECKLIST]['self_bleu']:.1f}, and {together[SUITE]['productions']:,.0f} "
        f"distinct productions beside {together[CHECKLIST]['productions']:,.0f}. By capability, "
        f"self-BLEU is lower in {sum(less for less, _ in parts)} and productions are more in "
        f"{sum(other for _, other in parts)} of {len(parts)}.",
        {"s2lct-diversity.png": drawn_as(measured, "png")},
    )


def _more_diverse(of: Mapping[str, Diversity]) -> tuple[bool, bool]:
    """Whether the suite has the lower self-BLEU, and the more productions."""
    suite, other = of[SUITE], of[CHECKLIST]
    return suite["self_bleu"] < other["self_bleu"], suite["productions"] > other["productions"]


def retraining(inputs: Inputs) -> Reproduction:
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
    table = replace(table, notes=[*table.notes, *notes])
    return Reproduction([table], _verdict([row[3:] for row in crossed]))


def both_suites(inputs: Inputs) -> SuiteCases:
    """The suite's cases and CheckList's beside them, as one suite to train and test on."""
    suite = load_cases(str(inputs.suite))
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


def _verdict(crossed: Sequence[Sequence[int]]) -> str:
    """Whether tests after training are failed as a whole or passed as a whole, as the paper's.

    Given the counts of each test, as in the table.
    """
    if not crossed:
        return "Cannot be compared: nothing could be trained and tested on the other suite."
    extreme = sum(0 in counts[-2:] for counts in crossed)
    cases, to_pass, to_fail, before, _, after, _ = map(sum, zip(*crossed, strict=True))
    printed = [0 in row[-2:] for row in described("s2lct-retraining")["printed"]]
    return (
        f"{comes_back(extreme > len(crossed) / 2)}: after training on a capability the same "
        f"capability of the other suite is passed or failed as a whole in {extreme} of "
        f"{len(crossed)} tests (the paper's rows: {sum(printed)} of {len(printed)}). Of {cases:,} "
        f"cases {before:,} failed before and {after:,} after; {to_pass:,} turned from fail to "
        f"pass, {to_fail:,} from pass to fail. The counts cannot be compared: the paper's names of "
        "what was trained on are lost."
    )
