"""A study of whether annotators agree with a suite: write blind forms, evaluate the annotations.

After S²LCT, RQ1 and RQ2: three sets of 50 seeds and 50 of their expansions are rated from 1 to 5
for sentiment and for relevance to the capability. Two points that the paper leaves open are decided
here: `label_of_rating` labels a case's mean rating; relevance becomes a share from 0 to 1.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from pydantic import TypeAdapter, ValidationError

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.analysis.result import Result
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.errors import AnalysisError
from s2lct.files import check_output_folder, write_text
from s2lct.identity import fingerprint_of, rng_for, shuffle_key
from s2lct.labels import NEGATIVE, NEUTRAL, POSITIVE
from s2lct.plain_text import ShortRepr
from s2lct.suite.annotation import Annotation, Form, Item, Question
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case, SuiteCases, families_of
from s2lct.suite.read import read_description
from s2lct.tables import Table

KEY_FILE = "key.json"
RATINGS = (1, 2, 3, 4, 5)
HIGHEST_NEGATIVE_MEAN, HIGHEST_NEUTRAL_MEAN = 2.6, 3.4
"""Highest mean ratings of sentiment that become the labels negative and neutral."""
HIGHEST_IRRELEVANT_RATING = 2


def _answers(*meanings: str) -> dict[str, str]:
    """The meaning of each rating, from 1 to 5, by the rating as a string."""
    return dict(zip(map(str, RATINGS), meanings, strict=True))


SENTIMENT = Question(
    "sentiment",
    "What does the author feel, all in all?",
    "What the author of the whole text thinks in the end, not what others in it think.",
    _answers("very negative", "negative", "neutral or mixed", "positive", "very positive"),
)
RELEVANCE = Question(
    "relevance",
    "How well does the text show this?",
    "Whether the text is what the description below it says. A clumsy text can be fully relevant.",
    _answers("not at all", "hardly", "partly", "mostly", "fully"),
    shows_description=True,
)
QUESTIONS = (SENTIMENT, RELEVANCE)
INTRODUCTION = (
    "You will read {} short texts, many about films. For each, say what its author feels, and how "
    "well it shows the capability named below it. There is no right answer: say what you read. "
    "Some texts resemble others; judge each by itself."
)
Estimate = tuple[float, tuple[float, float]]
"""A mean and its 95 % bootstrap interval, which resamples families."""
Ratings = Mapping[str, Sequence[int]]
"""The ratings of each rated item, by the item's id."""


@dataclass(frozen=True, repr=False)
class Key(ShortRepr):
    """The case behind each item of the forms, which annotators must not see.

    Item ids have the form ``STUDY-SET-POSITION``, as in ``1a2b3c4d-2-007``.
    """

    study: str
    suite: str
    suite_fingerprint: str
    items: dict[str, Case]


_KEY = TypeAdapter(Key)


def draw_study(
    suite: SuiteCases, *, n_sets: int = 3, n_seeds: int = 50, random_seed: int = 0
) -> Key:
    """Draw the cases of ``n_sets`` forms, each of ``n_seeds`` seeds and an expansion of each seed.

    Capabilities take turns, so that all have the same share as long as their seeds last. No seed is
    in two sets. The order of the suite's cases does not matter.

    Raises:
        AnalysisError: the suite has too few seeds with expansions.
    """
    pairs = _seeds_with_expansion(suite.cases, random_seed)
    if len(pairs) < n_sets * n_seeds:
        raise AnalysisError(
            f"suite {suite.name}: {len(pairs)} of its seeds have expansions, {n_sets} sets of "
            f"{n_seeds} need {n_sets * n_seeds}",
            hint=f"--sets {n_sets} --seeds {max(1, len(pairs) // n_sets)}, or build a larger suite",
        )
    # Dealt to the sets capability by capability, so that each set has its share of each.
    by_capability = sorted(pairs[: n_sets * n_seeds], key=lambda pair: pair[0].capability)
    sets = [
        _form_order(by_capability[index::n_sets], random_seed, index) for index in range(n_sets)
    ]
    study_id = fingerprint_of([[case.id for case in cases] for cases in sets])[:8]
    items = {
        f"{study_id}-{set_number}-{position:03}": case
        for set_number, cases in enumerate(sets, 1)
        for position, case in enumerate(cases, 1)
    }
    return Key(study_id, suite.name, suite.fingerprint, items)


def _seeds_with_expansion(cases: Sequence[Case], random_seed: int) -> list[tuple[Case, Case]]:
    """Pairs of a seed and a random expansion of it, in random order; capabilities take turns."""
    shuffled = sorted(cases, key=lambda case: shuffle_key(random_seed, "study", case.id))
    expansions: dict[str, Case] = {}
    for case in shuffled:
        if case.kind == "expansion":
            expansions.setdefault(case.seed_id, case)
    pairs: dict[str, list[tuple[Case, Case]]] = defaultdict(list)
    for case in shuffled:
        if case.kind == "seed" and case.id in expansions:
            pairs[case.capability].append((case, expansions[case.id]))
    names = sorted(pairs, key=lambda name: shuffle_key(random_seed, "study", name))
    turns = itertools.zip_longest(*(pairs[name] for name in names))
    return [pair for turn in turns for pair in turn if pair is not None]


def _form_order(
    pairs: Sequence[tuple[Case, Case]], random_seed: int, form_index: int
) -> list[Case]:
    """Order a form's cases: a random case of each pair is in the first half, its partner later."""
    rng = rng_for(random_seed, "study", "form", str(form_index))
    shuffled_pairs = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]
    halves = [[pair[half] for pair in shuffled_pairs] for half in (0, 1)]
    return [case for half in halves for case in rng.sample(half, len(half))]


def forms_of(key: Key) -> dict[str, Form]:
    """The form of each set, by the name of its files without suffix, such as ``set-1``.

    Titles and descriptions of capabilities come from the suite's folder, else from the shipped
    capabilities.
    """
    titles_and_descriptions = {
        shipped.id: (shipped.title, shipped.raters or "") for shipped in load_capabilities()
    }
    if Path(key.suite).is_dir():
        for capability in read_description(Path(key.suite))["capabilities"]:
            _, shipped_description = titles_and_descriptions.get(capability["id"], ("", ""))
            description = capability.get("raters") or shipped_description
            titles_and_descriptions[capability["id"]] = capability["title"], description
    sets: dict[str, list[Item]] = defaultdict(list)
    for id, case in key.items.items():
        title, description = titles_and_descriptions.get(case.capability, (case.capability, ""))
        sets[id.split("-")[1]].append(Item(id, case.text, title, description))
    return {
        f"set-{set_number}": Form(
            f"study-{key.study}-set-{set_number}",
            f"S²LCT reading study, set {set_number} of {len(sets)}",
            (INTRODUCTION.format(len(items)),),
            items,
            QUESTIONS,
        )
        for set_number, items in sets.items()
    }


def write_study(key: Key, folder: Path) -> list[Path]:
    """Write each form as HTML and CSV, and the key; return the paths, with the key's path last.

    Raises:
        AnalysisError: the folder holds the key of another study.
        OutputError: the folder is a file.
    """
    check_output_folder(folder, "--out")
    if (folder / KEY_FILE).exists() and read_key(folder / KEY_FILE) != key:
        raise AnalysisError(f"--out {folder}: holds another study", hint="choose another folder")
    contents: dict[str, str] = {}
    for name, form in forms_of(key).items():
        contents |= {f"{name}.html": form.html(), f"{name}.csv": form.csv()}
    contents[KEY_FILE] = _KEY.dump_json(key, indent=1).decode() + "\n"
    for name, content in contents.items():
        write_text(folder / name, content)
    return [folder / name for name in contents]


def read_key(path: Path) -> Key:
    """Read the key that `write_study` wrote.

    Raises:
        AnalysisError: there is no such file, or it holds no key.
    """
    try:
        return _KEY.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
        raise AnalysisError(
            f"--key {path}: {reason}", hint=f"name the {KEY_FILE} that `s2lct study export` wrote"
        ) from error


@dataclass(frozen=True)
class Agreement:
    """Annotators' agreement with the suite, and with each other, about a group of cases.

    Undefined figures are None.

    Attributes:
        cases: the number of cases.
        rated: the number of cases with a rating of sentiment.
        ratings: the number of ratings of sentiment.
        label_consistency: the share of rated cases whose mean rating becomes a label that passes
            (equation 1 counts the others).
        relevance: the mean relevance in [0, 1] (equation 2).
        alpha_sentiment: Krippendorff's alpha of the ratings of sentiment.
        alpha_relevance: Krippendorff's alpha of the ratings of relevance.
    """

    cases: int
    rated: int
    ratings: int
    label_consistency: Estimate | None
    relevance: Estimate | None
    alpha_sentiment: float | None
    alpha_relevance: float | None


@dataclass(frozen=True, repr=False)
class StudyResult(Result):
    """Agreement by group of cases: seeds, expansions, all, then each capability.

    ``missing`` is the number of ratings that annotators left out. ``disputed`` has the ids of the
    cases on which no majority of annotators agrees with the suite.
    """

    study: str
    suite: str
    suite_fingerprint: str
    annotators: tuple[str, ...]
    missing: int
    groups: dict[str, Agreement]
    disputed: tuple[str, ...]

    def table(self) -> Table:
        """A row for each group."""

        def percent(estimate: Estimate | None) -> str:
            if estimate is None:
                return "–"
            mean, (low, high) = estimate
            return f"{100 * mean:.0f} [{100 * low:.0f}, {100 * high:.0f}]"

        def alpha(value: float | None) -> str:
            return "–" if value is None else f"{value:.2f}"

        rows = [
            [
                *(name, str(group.cases)),
                *map(percent, (group.label_consistency, group.relevance)),
                *map(alpha, (group.alpha_sentiment, group.alpha_relevance)),
            ]
            for name, group in self.groups.items()
        ]
        return Table(
            ("", "cases", "consistent %", "relevant %", "α sentiment", "α relevance"),
            rows,
            caption=f"{len(self.annotators)} annotators, {self.groups['all'].ratings} ratings of "
            f"sentiment, {self.missing} ratings left out. [95 % intervals]: bootstrap of "
            f"families. α: Krippendorff's, ordinal. {len(self.disputed)} cases that no majority "
            "agrees about with the suite.",
        )


def evaluate_annotations(annotations: Sequence[Annotation], key: Key) -> StudyResult:
    """Compare annotations with the suite and with each other.

    Raises:
        AnalysisError: there is no rating.
    """
    ratings: dict[str, dict[str, list[int]]] = {question.name: {} for question in QUESTIONS}
    for annotation in annotations:
        for name, rating in annotation.answers.items():
            ratings[name].setdefault(annotation.item, []).append(int(rating))
    sentiments, relevances = ratings[SENTIMENT.name], ratings[RELEVANCE.name]
    rated_ids = sentiments.keys() | relevances.keys()
    cases = {id: case for id, case in key.items.items() if id in rated_ids}
    if not cases:
        raise AnalysisError(
            "the files hold no rating", hint="have the forms filled in, then import them"
        )
    names = sorted({case.capability for case in cases.values()}, key=natural_order)
    groups: dict[str, Agreement] = {}
    for name in ("seeds", "expansions", "all", *names):
        group = {
            id: case
            for id, case in cases.items()
            if name in (f"{case.kind}s", "all", case.capability)
        }
        groups[name] = _agreement(group, sentiments, relevances)
    return StudyResult(
        study=key.study,
        suite=key.suite,
        suite_fingerprint=key.suite_fingerprint,
        annotators=tuple(sorted({a.annotator for a in annotations if a.answers})),
        missing=sum(len(QUESTIONS) - len(annotation.answers) for annotation in annotations),
        groups=groups,
        disputed=tuple(
            case.id
            for id, case in cases.items()
            if _is_disputed(case, sentiments.get(id, ()), relevances.get(id, ()))
        ),
    )


def _agreement(cases: Mapping[str, Case], sentiments: Ratings, relevances: Ratings) -> Agreement:
    """The agreement about cases, given by item id, from the ratings of all items."""
    sentiments, relevances = (
        {id: ratings[id] for id in cases if id in ratings} for ratings in (sentiments, relevances)
    )

    def estimate(values: Mapping[str, float]) -> Estimate | None:
        if not values:
            return None
        families = families_of([cases[id] for id in values]).tolist()
        return mean_and_interval(families, list(values.values()), random_seed=0)

    lowest_rating, *_, highest_rating = RATINGS
    return Agreement(
        cases=len(cases),
        rated=len(sentiments),
        ratings=sum(map(len, sentiments.values())),
        label_consistency=estimate(
            {id: label_of_rating(fmean(r)) in cases[id].passes for id, r in sentiments.items()}
        ),
        relevance=estimate(
            {
                id: (fmean(r) - lowest_rating) / (highest_rating - lowest_rating)
                for id, r in relevances.items()
            }
        ),
        alpha_sentiment=krippendorff_alpha(sentiments),
        alpha_relevance=krippendorff_alpha(relevances),
    )


def label_of_rating(sentiment: float) -> int:
    """The label for a rating of sentiment or a mean of ratings, from 1 to 5.

    The bounds are 0.4 and 0.6 of the way from 1 to 5, as the paper has them for SST's scores.
    """
    if sentiment <= HIGHEST_NEGATIVE_MEAN:
        return NEGATIVE
    return NEUTRAL if sentiment <= HIGHEST_NEUTRAL_MEAN else POSITIVE


def krippendorff_alpha(ratings: Ratings) -> float | None:
    """Krippendorff's ordinal alpha of the items with two or more ratings.

    None if these items have fewer than two different ratings among them all.
    """
    import krippendorff

    ratings_of_items = [item for item in ratings.values() if len(item) > 1]
    if len({rating for item in ratings_of_items for rating in item}) < 2:
        return None
    counts = np.array([[item.count(rating) for rating in RATINGS] for item in ratings_of_items])
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal"))


def _is_disputed(case: Case, sentiments: Sequence[int], relevances: Sequence[int]) -> bool:
    """Whether no majority of annotators agrees with a case's label, or none finds it relevant.

    This is HateCheck's rule (Röttger et al. 2021).
    """
    agrees = [label_of_rating(rating) in case.passes for rating in sentiments]
    is_relevant = [rating > HIGHEST_IRRELEVANT_RATING for rating in relevances]
    return any(votes and sum(votes) <= len(votes) / 2 for votes in (agrees, is_relevant))
