"""What annotators answered: label consistency, relevance, agreement, and the cases they dispute.

Label consistency and relevance are after equations 1 and 2 of Lee et al., "Automated Testing
Linguistic Capabilities of NLP Models"; agreement is Krippendorff's alpha, ordinal. As in the paper,
ratings of a sentence are averaged first, and its mean becomes a label: ratings 2 and 4 are neutral
together. Equation 1 as printed counts the labels that differ, the text reports the share that does
not; this is that share. The paper says neither how a mean becomes a label, see `label_of`, nor how
relevance is brought to [0, 1]: here 1 is 0 and 5 is 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.study.form import QUESTIONS, RATINGS, RELEVANCE, SENTIMENT, Key, KeyItem
from s2lct.errors import AnalysisError
from s2lct.labels import Label
from s2lct.leaderboard.scoring.statistics import RESAMPLES, interval
from s2lct.suite.annotation import Annotation, Question, alpha
from s2lct.suite.capability_ids import natural_order
from s2lct.tables import Table

IRRELEVANT = 2
"""A rating of relevance up to this disputes that the case tests its capability."""
DisputedBy = Literal["majority", "any"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with the bounds of its 95 % bootstrap interval; None where it is not defined."""

    value: float | None
    ci: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """What annotators said of a group of cases, with so many ratings of sentiment, of ``rated``.

    ``label_consistency`` is the share of the cases whose mean, as a label, passes (equation 1),
    ``relevance`` the mean of the cases' means in [0, 1] (equation 2); the alphas are
    Krippendorff's, among the annotators.
    """

    cases: int
    answers: int
    rated: int
    label_consistency: Estimate
    relevance: Estimate
    alpha_sentiment: Estimate
    alpha_relevance: Estimate


@dataclass(frozen=True, slots=True)
class Disputed:
    """A case that annotators disagree with the suite about.

    ``reasons`` are ``sentiment``, ``relevance`` or both; ratings have the lowest first.
    """

    id: str
    kind: str
    seed_id: str
    capability: str
    text: str
    passes: tuple[str, ...]
    reasons: tuple[str, ...]
    sentiment: tuple[int, ...]
    relevance: tuple[int, ...]


@dataclass(frozen=True)
class StudyResult:
    """What a study found, by kind (``seed``, ``expansion``, ``all``) and by capability.

    ``missing`` counts ratings that were left out on the forms handed in.
    """

    annotators: tuple[str, ...]
    missing: int
    kinds: dict[str, Agreement]
    capabilities: dict[str, Agreement]
    disputed: tuple[Disputed, ...]


def label_of(sentiment: float) -> Label:
    """A rating of sentiment, or a mean of ratings, as a label.

    1 and 2 are negative, 3 is neutral, 4 and 5 are positive. Means are cut where the paper cuts
    SST's scores, which are means of annotators too: at 0.4 and 0.6 of the scale, that is 2.6 and
    3.4.
    """
    return "negative" if sentiment <= 2.6 else "neutral" if sentiment <= 3.4 else "positive"


def ratings_of(annotations: Iterable[Annotation], question: Question) -> list[tuple[str, int]]:
    """Item and rating of each answer to a question."""
    return [
        (one.item, int(one.answers[question.name]))
        for one in annotations
        if question.name in one.answers
    ]


def case_means(annotations: Iterable[Annotation], question: Question) -> dict[str, float]:
    """The mean rating of each item that was rated."""
    ratings: dict[str, list[int]] = {}
    for item, rating in ratings_of(annotations, question):
        ratings.setdefault(item, []).append(rating)
    return {item: sum(given) / len(given) for item, given in ratings.items()}


def case_values(
    annotations: Iterable[Annotation], question: Question, items: Mapping[str, KeyItem]
) -> dict[str, float]:
    """What equations 1 and 2 average: whether a mean's label passes, or its share of the scale."""
    low, *_, high = RATINGS
    return {
        name: float(label_of(mean) in items[name].passes)
        if question is SENTIMENT
        else (mean - low) / (high - low)
        for name, mean in case_means(annotations, question).items()
    }


def evaluate(
    annotations: Iterable[Annotation], key: Key, *, by: DisputedBy = "majority", seed: int = 0
) -> StudyResult:
    """Compare the annotators with the suite and with each other.

    ``by`` says whose disagreement makes a case disputed, see `disputed_cases`; the seed is of the
    bootstrap.

    Raises:
        AnalysisError: there is no rating at all.
    """
    ordered = sorted(annotations, key=lambda one: (one.item, one.annotator))
    rated = [one for one in ordered if one.answers]
    if not rated:
        raise AnalysisError(
            "the files hold no rating", hint="have the forms filled in, then import them"
        )

    def of(wanted: Callable[[KeyItem], bool]) -> Agreement:
        return _agreement([one for one in rated if wanted(key.items[one.item])], key.items, seed)

    names = sorted({key.items[one.item].capability for one in rated}, key=natural_order)
    return StudyResult(
        annotators=tuple(sorted({one.annotator for one in rated})),
        missing=sum(len(QUESTIONS) - len(one.answers) for one in ordered),
        kinds={
            "seed": of(lambda item: item.kind == "seed"),
            "expansion": of(lambda item: item.kind == "expansion"),
            "all": of(lambda item: True),
        },
        capabilities={name: of(lambda item, name=name: item.capability == name) for name in names},  # type: ignore[misc]
        disputed=tuple(disputed_cases(rated, key, by=by)),
    )


def _agreement(
    annotations: Sequence[Annotation], items: Mapping[str, KeyItem], seed: int
) -> Agreement:
    def mean(values: Mapping[str, float]) -> Estimate:
        return mean_estimate([(items[name].cluster, one) for name, one in values.items()], seed)

    consistent = case_values(annotations, SENTIMENT, items)
    sentiments = ratings_of(annotations, SENTIMENT)
    clusters = {one.item: items[one.item].cluster for one in annotations}
    return Agreement(
        cases=len(clusters),
        answers=len(sentiments),
        rated=len(consistent),
        label_consistency=mean(consistent),
        relevance=mean(case_values(annotations, RELEVANCE, items)),
        alpha_sentiment=alpha_estimate(sentiments, clusters, seed),
        alpha_relevance=alpha_estimate(ratings_of(annotations, RELEVANCE), clusters, seed),
    )


def mean_estimate(values: Sequence[tuple[Hashable, float]], seed: int = 0) -> Estimate:
    """The mean, its interval from a bootstrap of families, of each case's family and value."""
    if not values:
        return Estimate(None, None)
    families, numbers = zip(*values, strict=True)
    return Estimate(*mean_and_interval(families, numbers, seed))


def alpha_estimate(
    ratings: Sequence[tuple[str, int]], family_of: Mapping[str, Hashable], seed: int = 0
) -> Estimate:
    """Krippendorff's ordinal alpha, its interval from a bootstrap of families.

    Given item and rating of each answer; nothing where no item has two ratings or all ratings are
    the same: alpha is not defined.
    """
    number_of = {item: row for row, item in enumerate(dict.fromkeys(item for item, _ in ratings))}
    rows = [number_of[item] for item, _ in ratings]
    counts = np.zeros((len(number_of), len(RATINGS)), dtype=np.int64)
    np.add.at(counts, (rows, [rating - RATINGS[0] for _, rating in ratings]), 1)
    value = alpha(counts, "ordinal")
    if value is None:
        return Estimate(None, None)
    members: dict[Hashable, list[int]] = {}
    for item, row in number_of.items():
        members.setdefault(family_of[item], []).append(row)
    groups = [np.array(group) for group in members.values()]
    rng = np.random.default_rng(seed)
    defined: list[float] = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(len(groups), size=len(groups))
        again = alpha(counts[np.concatenate([groups[number] for number in drawn])], "ordinal")
        defined += [again] if again is not None else []
    return Estimate(value, interval(np.array(defined)) if len(defined) > RESAMPLES / 2 else None)


def disputed_cases(
    annotations: Sequence[Annotation], key: Key, *, by: DisputedBy = "majority"
) -> Iterator[Disputed]:
    """The cases that annotators disagree with the suite about.

    An annotator disagrees whose label does not pass, or who rates relevance 1 or 2. With
    ``majority`` a case is disputed unless more than half of those who rated it agree (HateCheck's
    rule: Röttger et al. 2021); with ``any`` one of them is enough.
    """
    ratings: dict[str, dict[str, list[int]]] = {
        name: {question.name: [] for question in QUESTIONS} for name in key.items
    }
    for question in QUESTIONS:
        for name, rating in ratings_of(annotations, question):
            ratings[name][question.name].append(rating)
    for name, item in key.items.items():
        sentiment, relevance = (tuple(sorted(ratings[name][one.name])) for one in QUESTIONS)
        agreeing = {
            SENTIMENT.name: [label_of(rating) in item.passes for rating in sentiment],
            RELEVANCE.name: [rating > IRRELEVANT for rating in relevance],
        }
        reasons = tuple(
            reason
            for reason, votes in agreeing.items()
            if not all(votes) and (by == "any" or sum(votes) <= len(votes) / 2)
        )
        if reasons:
            yield Disputed(
                id=item.case,
                **item.model_dump(include={"kind", "seed_id", "capability", "text", "passes"}),
                reasons=reasons,
                sentiment=sentiment,
                relevance=relevance,
            )


def result_json(result: StudyResult, key: Key) -> str:
    """The result with what names study and suite, as JSON."""
    described = asdict(result) | {"study": key.study, "suite": key.suite.model_dump()}
    return json.dumps(described, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def disputed_json(disputed: Sequence[Disputed], key: Key) -> str:
    """The disputed cases with their reasons, as JSON."""
    listed: dict[str, Any] = {
        "format": "s2lct-disputed",
        "study": key.study,
        "suite": key.suite.model_dump(),
        "cases": [asdict(one) for one in disputed],
    }
    return json.dumps(listed, indent=2, ensure_ascii=False) + "\n"


def agreement_table(result: StudyResult) -> Table:
    """Figures of seeds, expansions and all, then of each capability."""
    names = {"seed": "seeds", "expansion": "expansions", "all": "all"}
    rows = [[names[kind], *_cells(of)] for kind, of in result.kinds.items()]
    rows += [[capability, *_cells(of)] for capability, of in result.capabilities.items()]
    return Table(("", "cases", "consistent %", "relevant %", "α sentiment", "α relevance"), rows)


def _cells(agreement: Agreement) -> list[str]:
    def percent(share: float) -> str:
        return f"{100 * share:.0f}"

    def without_zero(value: float) -> str:
        return f"{round(value, 2) + 0:.2f}".replace("0.", ".", 1)

    def shown(estimate: Estimate, written: Callable[[float], str]) -> str:
        if estimate.value is None:
            return "–"
        bounds = f" [{', '.join(map(written, estimate.ci))}]" if estimate.ci is not None else ""
        return f"{written(estimate.value)}{bounds}"

    return [
        str(agreement.cases),
        shown(agreement.label_consistency, percent),
        shown(agreement.relevance, percent),
        shown(agreement.alpha_sentiment, without_zero),
        shown(agreement.alpha_relevance, without_zero),
    ]


def disputed_lines(result: StudyResult, most: int = 10) -> list[str]:
    """The disputed cases, two lines each, at most so many."""
    shown = result.disputed[:most]
    more = f", the first {most}" if len(result.disputed) > most else ""
    lines = [f"{len(result.disputed)} disputed cases{more}{':' if shown else '.'}"]
    for case in shown:
        given = {"sentiment": case.sentiment, "relevance": case.relevance}
        ratings = ", ".join(f"{scale} {' '.join(map(str, given[scale]))}" for scale in case.reasons)
        passes = " or ".join(case.passes)
        lines += [
            f"{case.capability} {case.kind} {case.id}, passes {passes}: {ratings}",
            f"  {case.text}",
        ]
    return lines
