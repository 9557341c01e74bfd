"""What raters said: label consistency, relevance, agreement, and the cases they dispute.

Label consistency and relevance are equations 1 and 2 of Lee et al., "Automated Testing Linguistic
Capabilities of NLP Models"; agreement is Krippendorff's alpha, ordinal.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.analysis.study.form import RATINGS, Key, KeyItem
from s2lct.errors import AnalysisError
from s2lct.labels import Label
from s2lct.leaderboard.scoring.statistics import RESAMPLES, interval, resampled_rates

ALL_CASES = "all"
DISPUTED_FORMAT = "s2lct-disputed"
IRRELEVANT = 2
"""A rating of relevance up to this disputes that the case tests its capability."""

DisputedBy = Literal["majority", "any"]
Scale = Literal["relevance", "sentiment"]
SCALES: tuple[Scale, ...] = ("relevance", "sentiment")
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rater said of an item.

    Attributes:
        rater: name or initials.
        item: the item's id.
        relevance, sentiment: 1 to 5; None where the rater left it out.
    """

    rater: str
    item: str
    relevance: int | None
    sentiment: int | None

    def rating(self, scale: Scale) -> int | None:
        """The rating on one of the two scales."""
        return self.relevance if scale == "relevance" else self.sentiment


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with the bounds of its 95 % bootstrap interval; None where it is not defined."""

    value: float | None
    ci: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """What raters said of a group of cases.

    Attributes:
        cases: cases that somebody rated.
        answers: ratings of sentiment.
        label_consistency: share of those whose label passes (equation 1).
        relevance: mean relevance, normalised to [0, 1] (equation 2).
        alpha_sentiment, alpha_relevance: Krippendorff's alpha among the raters.
    """

    cases: int
    answers: int
    label_consistency: Estimate
    relevance: Estimate
    alpha_sentiment: Estimate
    alpha_relevance: Estimate


@dataclass(frozen=True, slots=True)
class Disputed:
    """A case that raters disagree with the suite about.

    Attributes:
        id, kind, seed_id, capability, text: of the case.
        passes: the labels that pass in the suite.
        reasons: ``sentiment``, ``relevance`` or both.
        sentiment, relevance: the ratings, the lowest first.
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
    """What a study found.

    Attributes:
        raters: their names, sorted.
        missing: ratings that were left out on the forms handed in.
        kinds: by ``seed``, ``expansion`` and ``all``.
        capabilities: by capability, in their order.
        disputed: in the order of the key.
    """

    raters: tuple[str, ...]
    missing: int
    kinds: dict[str, Agreement]
    capabilities: dict[str, Agreement]
    disputed: tuple[Disputed, ...]


def label_of(sentiment: int) -> Label:
    """A rating of sentiment as a label: 1 and 2 negative, 3 neutral, 4 and 5 positive."""
    return "negative" if sentiment < 3 else "neutral" if sentiment == 3 else "positive"


def normalised(relevance: int) -> float:
    """A rating of relevance, 1 to 5, in [0, 1] (the Norm of equation 2)."""
    return (relevance - RATINGS[0]) / (RATINGS[-1] - RATINGS[0])


def evaluate(
    answers: Iterable[Answer], key: Key, *, by: DisputedBy = "majority", seed: int = 0
) -> StudyResult:
    """Compare the raters with the suite and with each other.

    Args:
        answers: of all raters, in any order.
        key: of the study.
        by: whose disagreement makes a case disputed, see `disputed_cases`.
        seed: of the bootstrap.

    Raises:
        AnalysisError: there is no rating at all.
    """
    ordered = sorted(answers, key=lambda one: (one.item, one.rater))
    rated = [one for one in ordered if one.relevance is not None or one.sentiment is not None]
    if not rated:
        raise AnalysisError(
            "the files hold no rating", mend="have the forms filled in, then import them"
        )
    items = key.items
    kinds = {
        kind: _agreement(
            [one for one in rated if kind in (ALL_CASES, items[one.item].kind)], items, seed
        )
        for kind in ("seed", "expansion", ALL_CASES)
    }
    names = sorted(
        {items[one.item].capability for one in rated}, key=lambda name: (len(name), name)
    )
    return StudyResult(
        raters=tuple(sorted({one.rater for one in rated})),
        missing=sum(one.rating(scale) is None for one in ordered for scale in SCALES),
        kinds=kinds,
        capabilities={
            name: _agreement(
                [one for one in rated if items[one.item].capability == name], items, seed
            )
            for name in names
        },
        disputed=tuple(disputed_cases(rated, key, by=by)),
    )


def _agreement(answers: Sequence[Answer], items: Mapping[str, KeyItem], seed: int) -> Agreement:
    sentiment = [(one.item, one.sentiment) for one in answers if one.sentiment is not None]
    relevance = [(one.item, one.relevance) for one in answers if one.relevance is not None]
    family_of = {one.item: items[one.item].seed_id for one in answers}
    consistent = [
        (family_of[item], float(label_of(said) in items[item].passes)) for item, said in sentiment
    ]
    relevant = [(family_of[item], normalised(said)) for item, said in relevance]
    return Agreement(
        cases=len(family_of),
        answers=len(sentiment),
        label_consistency=mean_estimate(consistent, seed),
        relevance=mean_estimate(relevant, seed),
        alpha_sentiment=alpha_estimate(sentiment, family_of, seed),
        alpha_relevance=alpha_estimate(relevance, family_of, seed),
    )


def mean_estimate(values: Sequence[tuple[str, float]], seed: int = 0) -> Estimate:
    """The mean of values, its interval from a bootstrap of whole families.

    Args:
        values: family and value of each answer.
        seed: of the bootstrap.
    """
    if not values:
        return Estimate(None, None)
    number_of: dict[str, int] = {}
    family = [number_of.setdefault(name, len(number_of)) for name, _ in values]
    sums = np.bincount(family, weights=[value for _, value in values]).astype(np.float64)
    counts = np.bincount(family).astype(np.float64)
    return Estimate(float(sums.sum() / counts.sum()), interval(resampled_rates(sums, counts, seed)))


def alpha_estimate(
    ratings: Sequence[tuple[str, int]], family_of: Mapping[str, str], seed: int = 0
) -> Estimate:
    """Krippendorff's ordinal alpha, its interval from a bootstrap of whole families.

    Args:
        ratings: item and rating of each answer.
        family_of: the family of each item.
        seed: of the bootstrap.

    Returns:
        Nothing where no item has two ratings or all ratings are the same: alpha is not defined.
    """
    number_of: dict[str, int] = {}
    rows = [number_of.setdefault(item, len(number_of)) for item, _ in ratings]
    counts = np.zeros((len(number_of), len(RATINGS)), dtype=np.int64)
    np.add.at(counts, (rows, [rating - RATINGS[0] for _, rating in ratings]), 1)
    value = _alpha(counts)
    if value is None:
        return Estimate(None, None)
    members: dict[str, list[int]] = {}
    for item, row in number_of.items():
        members.setdefault(family_of[item], []).append(row)
    groups = [np.array(group) for group in members.values()]
    rng = np.random.default_rng(seed)
    drawn = (
        _alpha(
            counts[np.concatenate([groups[n] for n in rng.integers(len(groups), size=len(groups))])]
        )
        for _ in range(RESAMPLES)
    )
    defined = np.array([one for one in drawn if one is not None])
    return Estimate(value, interval(defined) if len(defined) > RESAMPLES / 2 else None)


def _alpha(counts: Counts) -> float | None:
    """Alpha from how often each item (row) was given each rating (column)."""
    import krippendorff

    paired = counts[counts.sum(axis=1) >= 2]
    if np.count_nonzero(paired.sum(axis=0)) < 2:
        return None
    return float(krippendorff.alpha(value_counts=paired, level_of_measurement="ordinal"))


def disputed_cases(
    answers: Sequence[Answer], key: Key, *, by: DisputedBy = "majority"
) -> Iterator[Disputed]:
    """The cases that raters disagree with the suite about.

    A rater disagrees whose label does not pass, or who rates relevance 1 or 2. With ``majority``
    a case is disputed unless more than half of those who rated it agree (HateCheck's rule:
    Röttger et al. 2021); with ``any`` one rater is enough.
    """
    of_item: dict[str, list[Answer]] = {}
    for answer in answers:
        of_item.setdefault(answer.item, []).append(answer)
    for name, item in key.items.items():
        given = of_item.get(name, [])
        sentiment = sorted(one.sentiment for one in given if one.sentiment is not None)
        relevance = sorted(one.relevance for one in given if one.relevance is not None)
        agreeing = {
            "sentiment": [label_of(rating) in item.passes for rating in sentiment],
            "relevance": [rating > IRRELEVANT for rating in relevance],
        }
        reasons = tuple(reason for reason, votes in agreeing.items() if _outvoted(votes, by))
        if reasons:
            yield Disputed(
                id=item.case,
                kind=item.kind,
                seed_id=item.seed_id,
                capability=item.capability,
                text=item.text,
                passes=item.passes,
                reasons=reasons,
                sentiment=tuple(sentiment),
                relevance=tuple(relevance),
            )


def _outvoted(agreeing: Sequence[bool], by: DisputedBy) -> bool:
    if by == "any":
        return not all(agreeing)
    return bool(agreeing) and sum(agreeing) <= len(agreeing) / 2


class _JsonItem(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    id: str
    relevance: int | None = Field(None, ge=RATINGS[0], le=RATINGS[-1])
    sentiment: int | None = Field(None, ge=RATINGS[0], le=RATINGS[-1])


class _JsonAnswers(BaseModel):
    """What a form exports."""

    model_config = ConfigDict(extra="ignore", strict=True)

    rater: str = ""
    answers: list[_JsonItem]


_MEND_FILE = "pass the JSON or CSV that a form gave, or the CSV that `s2lct study export` wrote"


def read_answers(paths: Sequence[Path], key: Key) -> list[Answer]:
    """Read raters' files, JSON or CSV, in any order.

    A rater who left no name is called as the file is.

    Raises:
        AnalysisError: a file cannot be read, is of another study, holds a rating that is not 1
            to 5, or a rater rated an item twice and differently.
    """
    answers: dict[tuple[str, str], tuple[Answer, Path]] = {}
    for path in paths:
        for answer in _read(path):
            if answer.item not in key.items:
                raise AnalysisError(
                    f"{path}: {answer.item!r} is no item of study {key.study}",
                    mend="pass the key and the answers of one study",
                )
            known, where = answers.setdefault((answer.rater, answer.item), (answer, path))
            if known != answer:
                raise AnalysisError(
                    f"{where} and {path}: {answer.rater!r} has two answers to {answer.item}",
                    mend="pass only the later file, or give two raters different names",
                )
    return [answer for answer, _ in answers.values()]


def _read(path: Path) -> list[Answer]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise AnalysisError(f"{path}: {error.strerror}", mend=_MEND_FILE) from error
    except UnicodeDecodeError as error:
        raise AnalysisError(
            f"{path}: is not UTF-8 (byte {error.start})", mend="save it as UTF-8"
        ) from error
    return _from_json(text, path) if text.lstrip().startswith(("{", "[")) else _from_csv(text, path)


def _from_json(text: str, path: Path) -> list[Answer]:
    try:
        read = _JsonAnswers.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise AnalysisError(
            f"{path}: {f'{where}: ' if where else ''}{fault['msg']}", mend=_MEND_FILE
        ) from error
    rater = read.rater.strip() or path.stem
    return [Answer(rater, one.id, one.relevance, one.sentiment) for one in read.answers]


def _from_csv(text: str, path: Path) -> list[Answer]:
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    rows = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter)
    answers: list[Answer] = []
    try:
        columns = [(name or "").strip().lower() for name in rows.fieldnames or ()]
        if missing := [name for name in ("id", *SCALES) if name not in columns]:
            raise AnalysisError(f"{path}: has no column {', '.join(missing)}", mend=_MEND_FILE)
        rows.fieldnames = columns
        for number, row in enumerate(rows, 1):
            if not (item := (row["id"] or "").strip()):
                continue
            rater = (row.get("rater") or "").strip() or path.stem
            relevance, sentiment = (
                _rating(row[scale], f"{path}: row {number}, {scale}") for scale in SCALES
            )
            answers.append(Answer(rater, item, relevance, sentiment))
    except csv.Error as error:
        raise AnalysisError(f"{path}: line {rows.line_num}: {error}", mend=_MEND_FILE) from error
    return answers


def _rating(text: str | None, where: str) -> int | None:
    text = (text or "").strip()
    if not text:
        return None
    for rating in RATINGS:
        if text in (str(rating), f"{rating}.0", f"{rating},0"):
            return rating
    raise AnalysisError(f"{where}: {text!r} is no rating", mend="rate 1 to 5, or leave it empty")


def result_json(result: StudyResult, key: Key) -> str:
    """The result with what names study and suite, as JSON."""
    described = asdict(result) | {"study": key.study, "suite": key.suite.model_dump()}
    return json.dumps(described, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def disputed_json(disputed: Sequence[Disputed], key: Key) -> str:
    """The list that ``s2lct build --exclude`` reads."""
    listed: dict[str, Any] = {
        "format": DISPUTED_FORMAT,
        "study": key.study,
        "suite": key.suite.model_dump(),
        "cases": [asdict(one) for one in disputed],
    }
    return json.dumps(listed, indent=2, ensure_ascii=False) + "\n"
