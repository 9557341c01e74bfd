"""Tables 2 and 3, Figure 4, and what RQ3 and RQ4 of the S²LCT paper ask of cases and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean

import numpy as np
from pydantic import TypeAdapter

from s2lct.analysis.coverage.criteria import build_metrics
from s2lct.analysis.coverage.curves import Curve, measure
from s2lct.analysis.coverage.encoder import load_encoder
from s2lct.analysis.coverage.suites import reference_and_held_out
from s2lct.analysis.diversity.measures import Diversity, compare
from s2lct.analysis.diversity.readings import Reader
from s2lct.analysis.diversity.report import as_png
from s2lct.analysis.diversity.sources import ALL_CASES, SEEDS, Groups, Text, corpus_texts, grouped
from s2lct.analysis.explain.attribution import method_of
from s2lct.analysis.explain.fillers import MaskedLMFiller
from s2lct.analysis.explain.report import Explanation, Options, aggregate
from s2lct.analysis.explain.search import chosen_rows, explain
from s2lct.analysis.kept import kept
from s2lct.analysis.plots import INK, picture, style
from s2lct.analysis.reproduce.printed import PAPER_MODELS, QUESTION_NO, TABLE_3
from s2lct.analysis.reproduce.runner import (
    Cell,
    Inputs,
    PaperTable,
    Reproduction,
    beside,
    comes_back,
    named,
    of_families,
    predicted,
)
from s2lct.analysis.study.agreement import Agreement, Estimate, case_values, evaluate, mean_estimate
from s2lct.analysis.study.form import QUESTIONS, Key, read_key
from s2lct.analysis.suite_rows import load_rows
from s2lct.builder.models import EMBEDDED, load_parser, load_tagger
from s2lct.extras import require
from s2lct.identity import fingerprint_of, shuffle_key
from s2lct.leaderboard.scoring.statistics import CapabilityResult, model_figures
from s2lct.suite.annotation import Annotation, Question, read_annotations
from s2lct.suite.cases import load_cases

ALL = "all"
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
    figures = [
        f"{figure}{bound}"
        for figure in ("label consistency", "relevancy")
        for bound in ("", " from", " to")
    ]
    columns = ("test cases", "cases", "labels that differ", *figures)

    def bounded(estimate: Estimate) -> list[Cell]:
        return [estimate.value, *(estimate.ci or (None, None))]

    def row(name: str, of: Agreement) -> list[Cell]:
        share = of.label_consistency.value
        differ = None if share is None else round((1 - share) * of.rated)
        return [name, of.cases, differ, *bounded(of.label_consistency), *bounded(of.relevance)]

    names = {"seed": "seed", "expansion": "expanded", "all": ALL}
    rows = [row(names[kind], of) for kind, of in found.kinds.items()]
    apart = [_expanded_less_seed(annotations, key, one, inputs.seed) for one in QUESTIONS]
    rows.append(["expanded less seed", None, None, *bounded(apart[0]), *bounded(apart[1])])
    both = found.kinds[ALL]
    alphas = [one.value for one in (both.alpha_sentiment, both.alpha_relevance)]
    shown = ["not defined" if value is None else f"{value:.2f}" for value in alphas]
    notes = [
        f"{len(found.annotators)} annotators, {both.answers} ratings of sentiment; α "
        f"(Krippendorff's, ordinal) {shown[0]} for sentiment and {shown[1]} for relevance, which "
        "the paper does not report.",
        "Equations 1 and 2: the ratings of a case are averaged, then the mean is a label (up to "
        "2.6 negative, up to 3.4 neutral: where the paper cuts the corpus's scores) and a share "
        "((rating − 1)/4). Equation 1 as printed counts the labels that differ; label consistency "
        "is the share that does not. Bounds are 95 % bootstrap intervals of families. Expanded "
        "less seed: over seeds that were annotated together with expansions.",
        "The paper's table is in none of its drafts. Its text says: label consistency over 0.8, "
        "relevancy high, and no difference between seeds and expansions in either.",
    ]
    digits = dict.fromkeys(figures, 2)
    parts = [row(name, of) for name, of in found.capabilities.items()]
    told = [
        f"label consistency of {names[kind]} cases is "
        f"{'over' if value > LEAST_CONSISTENCY else 'not over'} 0.8"
        for kind in ("seed", "expansion")
        if (value := found.kinds[kind].label_consistency.value) is not None
    ] + [
        f"{'no ' if estimate.ci[0] <= 0 <= estimate.ci[1] else 'a '}difference in {name} between "
        f"seeds and expansions is seen (interval {estimate.ci[0]:+.2f} to {estimate.ci[1]:+.2f})"
        for name, estimate in zip(("label consistency", "relevancy"), apart, strict=True)
        if estimate.ci is not None
    ]
    share = sum(one.split(" is ")[-1].startswith("over") or one.startswith("no ") for one in told)
    return Reproduction(
        [
            PaperTable(
                "Table 2 of S²LCT: label consistency and relevancy, by annotators",
                columns, rows, notes, digits,
            ),
            PaperTable("The same by capability", columns, parts, (), digits),
        ],
        f"{comes_back(share / max(1, len(told)))}: {'; '.join(told)}.",
    )  # fmt: skip


def _expanded_less_seed(
    annotations: Sequence[Annotation], key: Key, question: Question, seed: int
) -> Estimate:
    """The mean difference over the seeds that were annotated with expansions of theirs."""
    of_seed: dict[str, dict[str, list[float]]] = {}
    cluster_of: dict[str, int | str] = {}
    for name, value in case_values(annotations, question, key.items).items():
        item = key.items[name]
        of_seed.setdefault(item.seed_id, {}).setdefault(item.kind, []).append(value)
        cluster_of[item.seed_id] = item.cluster
    differences = [
        (cluster_of[seed_id], fmean(kinds["expansion"]) - fmean(kinds["seed"]))
        for seed_id, kinds in of_seed.items()
        if len(kinds) > 1
    ]
    return mean_estimate(differences, seed)


def table3(inputs: Inputs) -> Reproduction:
    """What models fail, capability by capability, of seeds, expansions and CheckList's cases."""
    inputs.need("model", "suite", "checklist")
    read = load_cases(str(inputs.suite))
    cases = of_families(read.cases, inputs.limit, inputs.seed)
    capabilities = tuple(dict.fromkeys(case.capability for case in cases))
    others = beside(inputs.read_checklist(), capabilities, inputs.limit, inputs.seed)
    columns = (
        "capability", "model", "seeds", "expansions", "seeds fail %", "expansions fail %",
        "pass-to-fail", "fail-to-pass", "CheckList cases", "CheckList fails %",
    )  # fmt: skip
    figures: dict[str, dict[str, CapabilityResult]] = {}
    outcomes: dict[str, dict[str, list[bool]]] = {}
    for model in inputs.model:
        judge = inputs.judge(model)
        every = [*cases, *(case for part in others.values() for case in part)]
        labels = predicted(judge, [case.text for case in every])
        failed = iter([label not in case.passes for case, label in zip(every, labels, strict=True)])
        of_suite = np.array([next(failed) for _ in cases], dtype=bool)
        figures[model] = model_figures(cases, of_suite[None])[0].capabilities
        outcomes[model] = {name: [next(failed) for _ in part] for name, part in others.items()}
    rows: list[list[Cell]] = []
    for name in (*capabilities, ALL):
        for model in inputs.model:
            of = [part for key, part in figures[model].items() if name in (key, ALL)]
            fails = [f for key, each in outcomes[model].items() if name in (key, ALL) for f in each]
            rows.append(
                [
                    name,
                    model,
                    sum(one.seed.cases for one in of),
                    sum(one.expansion.cases for one in of),
                    _percent([(one.seed.failures, one.seed.cases) for one in of]),
                    _percent([(one.expansion.failures, one.expansion.cases) for one in of]),
                    sum(one.pass_to_fail for one in of),
                    sum(one.fail_to_pass for one in of),
                    len(fails) or None,
                    _percent([(sum(fails), len(fails))]),
                ]
            )
        rows += _printed(name)
    notes = [
        f"{inputs.limited}Suite {named(read)}. Pass-to-fail counts failing expansions whose seed "
        "passes, fail-to-pass the other way round, which the paper does not print. CheckList's "
        "cases are those of the test that a capability was modelled on.",
        "The paper's models were fine-tuned on SST-2. Its figures are those of the newest draft, "
        "CheckList's of the draft before; it has LC10 and LC11 together there "
        f"({QUESTION_NO[0]:,} cases: {' / '.join(f'{share:.1f}' for share in QUESTION_NO[1])} % "
        "fail). Its LC9 counts CheckList's neutral questions too. Of LC9 and BERT it prints more "
        "pass-to-fail (43) than failing expansions (2.69 % of 1,373 are 37).",
    ]
    told = []
    for model in inputs.model:
        flips = [
            sum(getattr(one, way) for one in figures[model].values())
            for way in ("pass_to_fail", "fail_to_pass")
        ]
        rates = [
            (figures[model][name].all.failure_rate, fmean(fails))
            for name, fails in outcomes[model].items()
            if fails
        ]
        harder = sum(of_suite > other for of_suite, other in rates)
        told.append((flips[0] > 0, f"{model} {flips[0]} and {flips[1]} the other way round; more "
            f"of the suite's cases fail than of CheckList's in {harder} of {len(rates)} "
            "capabilities"))  # fmt: skip
    title = "Table 3 of S²LCT: failures by capability, beside CheckList's"
    return Reproduction(
        [PaperTable(title, columns, rows, notes)],
        f"{comes_back(fmean(flipped for flipped, _ in told))}: expansions fail whose seed passes "
        f"(the paper has 174 to 391): {'; '.join(text for _, text in told)}. The rates themselves "
        "cannot be compared: models and cases are others.",
    )


def _percent(counts: Sequence[tuple[int, int]]) -> float | None:
    """Failures of all cases together; None where there is no case."""
    failures, cases = (sum(part) for part in zip(*counts, strict=True))
    return 100 * failures / cases if cases else None


def _printed(name: str) -> list[list[Cell]]:
    """The paper's rows of a capability; of all, the sums that it does not print."""
    rows: list[list[Cell]] = []
    printed = [row for key, row in TABLE_3.items() if name in (key, ALL)]
    for number, model in enumerate(PAPER_MODELS if printed else ()):
        counts = (sum(row.seeds for row in printed), sum(row.expansions or 0 for row in printed))
        flips = sum(row.pass_to_fail[number] for row in printed if row.pass_to_fail)
        shares: list[Cell] = [None, None, None, None]
        if name != ALL:
            (row,) = printed
            shares = [
                row.seeds_fail[number],
                row.expansions_fail[number] if row.expansions_fail else None,
                row.checklist,
                row.checklist_fail[number] if row.checklist_fail else None,
            ]
        first: list[Cell] = [name, model, counts[0], counts[1] or None]
        rows.append([*first, *shares[:2], flips or None, None, *shares[2:]])
    return rows


def coverage(inputs: Inputs) -> Reproduction:
    """BoundCov and SActCov of equal numbers of S²LCT's and CheckList's cases, as these grow."""
    require("matplotlib")
    inputs.need("model", "suite", "checklist", "reference")
    metrics, random = ("BoundCov", "SActCov"), "random sentences"
    read = load_cases(str(inputs.suite))
    bounds, held_out = reference_and_held_out(str(inputs.reference), None, inputs.seed)
    texts = {
        SUITE: {case.text for case in read.cases},
        CHECKLIST: {case.text for case in inputs.read_checklist()},
        random: {case.text for case in held_out.cases},
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
                found = measure(name, chosen, encoder, boundary, 10, 20, inputs.seed)  # noqa: B023
                return dict(found.curves)

            about = ["curves", fingerprint_of([bounds, chosen]), inputs.seed]
            curves[model, name] = kept(encoder.fingerprint, about, adapter, measured)
    notes = [
        f"Suite {named(read)}, {most:,} random cases of each; means of 10 random orders, and where "
        "95 % of these lie. Neurons are the outputs of the encoder's layers, at any token. Bounds "
        f"are set by {len(bounds):,} sentences of the reference corpus; random sentences are "
        "others of it.",
        "SActCov counts values above the upper bound, as the paper's equation 4 and section 5.3 "
        "say; its section 4 says below the lower one. The paper prints a figure without numbers; "
        "it says that S²LCT is above CheckList in all six plots.",
    ]
    rows: list[list[Cell]] = []
    for (model, name), of in curves.items():
        sizes = of[metrics[0]].sizes
        for place in sorted({-(-len(sizes) * part // 4) - 1 for part in (1, 2, 3, 4)}):
            row: list[Cell] = [model, name, sizes[place]]
            for curve in (of[metric] for metric in metrics):
                row += [100 * one[place] for one in (curve.mean, curve.low, curve.high)]
            rows.append(row)
    bounds_of = [f"{metric} {what}" for metric in metrics for what in ("%", "from", "to")]
    table = PaperTable(
        f"Figure 4 of S²LCT: coverage as the cases grow to {most:,}",
        ("model", "cases of", "cases", *bounds_of),
        rows,
        notes,
        dict.fromkeys(bounds_of, 2),
    )
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
    drawing = _drawn(list(inputs.model), metrics, curves)
    return Reproduction([table], verdict, {"s2lct-coverage.png": drawing})


def _drawn(
    models: Sequence[str],
    metrics: Sequence[str],
    curves: Mapping[tuple[str, str], Mapping[str, Curve]],
) -> bytes:
    """The paper's figure: a column a model, a row a metric."""
    with style():
        from matplotlib.figure import Figure

        size = (4.2 * len(models), 3.2 * len(metrics))
        canvas = Figure(figsize=size, dpi=110, layout="constrained", facecolor="white")
        panels = canvas.subplots(len(metrics), len(models), squeeze=False, sharex=True)
        for (row, metric), (column, model) in product(enumerate(metrics), enumerate(models)):
            axes = panels[row][column]
            colours = iter(("#c1272d", INK, "#7d8590"))
            for (of_model, name), of in curves.items():
                if of_model != model:
                    continue
                curve, colour = of[metric], next(colours)
                mean, low, high = (
                    [0, *(100 * one for one in part)]
                    for part in (curve.mean, curve.low, curve.high)
                )
                sizes = (0, *curve.sizes)
                axes.plot(sizes, mean, color=colour, label=name)
                axes.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_title(model if row == 0 else "", fontsize=11)
            axes.set_xlabel("cases" if row == len(metrics) - 1 else "")
            axes.set_ylabel(f"{metric}, %" if column == 0 else "")
        panels[0][0].legend(frameon=False, fontsize=9)
        return picture(canvas, "png")


def explanations(inputs: Inputs) -> Reproduction:
    """RQ4: the smallest sets of words that hold failures of each capability, model by model."""
    inputs.need("model", "suite")
    suite, most = load_rows(str(inputs.suite)), inputs.limit or 5
    options, filler = Options(seed=inputs.seed), MaskedLMFiller("embedded")
    columns = (
        "model", "capability", "failures", "words kept", "words in all", "on the template",
        "on the sentence alone", "on nothing", "mean P", "words in most sets",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    told, methods = [], []
    for model in inputs.model:
        judge = inputs.judge(model)
        labels = predicted(judge, [row.case.text for row in suite.rows])
        explained = explain(judge, chosen_rows(suite.rows, labels, limit=most), filler, options)
        methods.append(method_of(judge))
        rows += [_explained_row(model, name, explained) for name in _capabilities(explained)]
        kept_words = fmean([len(one.kept) for one in explained] or [0])
        words = fmean([len(one.words) for one in explained] or [0])
        small = sum(one.ci[1] < options.threshold for one in explained)
        told.append(
            f"{kept_words:.1f} of {words:.1f} words hold a failure of {model} on average ({small} "
            f"of {len(explained)} sets are too small by new samples)"
        )
    notes = [
        f"At most {most} failures of a capability, of different families where there are enough. "
        f"Contributions: {', '.join(dict.fromkeys(methods))}. Hidden words are filled by "
        f"{filler.description}. A set holds a failure where the model says the same of at least "
        f"{options.threshold:.0%} of the fillings; none of its words can be left out. Mean P is of "
        f"{options.samples} new fillings of each set. On nothing: the model says the same of the "
        "fully masked text.",
        "The paper gives the procedure and equation 5, and names neither the explanation method "
        "nor P_thresh nor the number of samples or sentences; its section of results is empty.",
    ]
    title = "RQ4 of S²LCT: the words that hold failures"
    return Reproduction(
        [PaperTable(title, columns, rows, notes, {"mean P": 2})],
        f"Cannot be compared: the paper prints no result. {'; '.join(told)}.",
    )


def _capabilities(explained: Sequence[Explanation]) -> list[str]:
    return [one.capability for one in aggregate(explained)]


def _explained_row(model: str, name: str, explained: Sequence[Explanation]) -> list[Cell]:
    own = [one for one in explained if one.capability == name]
    (one,) = aggregate(own)
    words = ", ".join(f"{word.name} {word.held}/{word.cases}" for word in one.words[:5])
    return [
        model,
        name,
        one.failures,
        one.kept,
        one.words_in_all,
        one.kinds[0].held,
        one.source_alone,
        one.unprompted,
        fmean(each.probability for each in own),
        words,
    ]


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
    reader = Reader(load_tagger(), load_parser(EMBEDDED))
    measured = compare(sources, reader, draws=inputs.seeds, seed=inputs.seed)
    columns = (
        "cases of", "source", "cases", "self-BLEU", "from", "to", "productions",
        "distinct 2-grams",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for group, by_source in measured.groups.items():
        for source, one in by_source.items():
            bleu = one.figures["self_bleu"]
            figures = [bleu.value, bleu.low, bleu.high, one["productions"], one["distinct_2"]]
            rows.append([group, source, one.cases, *figures])
    notes = [
        f"{inputs.limited}Suite {named(read)}; of the other sources means of {inputs.seeds} draws "
        "of as many cases, and the least and the greatest. Self-BLEU: BLEU (0 to 100) of a case "
        "against all others, less is more diverse; the suite's bounds are a 95 % bootstrap "
        "interval of families. Productions: distinct ones of the parses above the parts of speech.",
        "No draft of the paper prints these figures: it says that its cases are more diverse than "
        "CheckList's, an older draft by similarities between cases, of which it names no measure.",
    ]
    title = "Diversity of S²LCT beside CheckList"
    wins = {group: _more_diverse(of) for group, of in measured.groups.items()}
    parts = [won for group, won in wins.items() if group not in (ALL_CASES, SEEDS)]
    together = measured.groups[ALL_CASES]
    return Reproduction(
        [PaperTable(title, columns, rows, notes, {"distinct 2-grams": 2})],
        f"{comes_back(fmean(wins[ALL_CASES]))}: of as many cases, S²LCT's have a self-BLEU of "
        f"{together[SUITE]['self_bleu']:.1f} beside CheckList's "
        f"{together[CHECKLIST]['self_bleu']:.1f}, and {together[SUITE]['productions']:,.0f} "
        f"distinct productions beside {together[CHECKLIST]['productions']:,.0f}. By capability, "
        f"self-BLEU is lower in {sum(one for one, _ in parts)} and productions are more in "
        f"{sum(other for _, other in parts)} of {len(parts)}.",
        {"s2lct-diversity.png": as_png(measured)},
    )


def _more_diverse(of: Mapping[str, Diversity]) -> tuple[bool, bool]:
    """Whether the suite has the lower self-BLEU, and the more productions."""
    suite, other = of[SUITE], of[CHECKLIST]
    return suite["self_bleu"] < other["self_bleu"], suite["productions"] > other["productions"]
