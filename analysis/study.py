"""Whether people agree with a suite: blind forms for annotators, and what their answers say.

After S²LCT, RQ1 and RQ2: three sets of 50 seeds and 50 of their expansions, rated from 1 to 5 for
sentiment and for relevance to the capability. The paper leaves two things open. How a case's mean
rating becomes a label: see `label_of`. How relevance becomes a share: here 1 is 0 and 5 is 1.
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
HIGHEST_IRRELEVANT_RATING = 2


def _answers(*meanings: str) -> dict[str, str]:
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
    about_item=True,
)
QUESTIONS = (SENTIMENT, RELEVANCE)
INTRODUCTION = (
    "You will read {} short texts, many about films. For each, say what its author feels, and how "
    "well it shows the capability named below it. There is no right answer: say what you read. "
    "Some texts resemble others; judge each by itself."
)
Estimate = tuple[float, tuple[float, float]]
"""A mean and its 95 % bootstrap interval of families."""
Ratings = Mapping[str, Sequence[int]]
"""The ratings of each item that has any."""


@dataclass(frozen=True, repr=False)
class Key(ShortRepr):
    """What annotators must not see: the case behind each item ``STUDY-SET-PLACE`` of the forms."""

    study: str
    suite: str
    suite_fingerprint: str
    items: dict[str, Case]


_KEY = TypeAdapter(Key)


def draw(suite: SuiteCases, *, sets: int = 3, seeds: int = 50, seed: int = 0) -> Key:
    """Draw so many forms (``sets``), each of so many seeds and an expansion of each.

    Capabilities take turns, so that all have the same share as long as their seeds last. No seed is
    in two sets. The order of the suite's cases changes nothing.

    Raises:
        AnalysisError: the suite has too few seeds with expansions.
    """
    pairs = _seeds_with_expansion(suite.cases, seed)
    if len(pairs) < sets * seeds:
        raise AnalysisError(
            f"suite {suite.name}: {len(pairs)} of its seeds have expansions, {sets} sets of "
            f"{seeds} need {sets * seeds}",
            hint=f"--sets {sets} --seeds {max(1, len(pairs) // sets)}, or build a larger suite",
        )
    # Dealt out capability by capability, so each set has its share of each.
    dealt = sorted(pairs[: sets * seeds], key=lambda pair: pair[0].capability)
    forms = [_form_order(dealt[number::sets], seed, number) for number in range(sets)]
    study = fingerprint_of([[case.id for case in cases] for cases in forms])[:8]
    items = {
        f"{study}-{number}-{place:03}": case
        for number, cases in enumerate(forms, 1)
        for place, case in enumerate(cases, 1)
    }
    return Key(study, suite.name, suite.fingerprint, items)


def _seeds_with_expansion(cases: Sequence[Case], seed: int) -> list[tuple[Case, Case]]:
    """Seeds with a random expansion of theirs, in random order, capabilities taking turns."""
    shuffled = sorted(cases, key=lambda case: shuffle_key(seed, "study", case.id))
    expansions: dict[str, Case] = {}
    for case in shuffled:
        if case.kind == "expansion":
            expansions.setdefault(case.seed_id, case)
    pairs: dict[str, list[tuple[Case, Case]]] = defaultdict(list)
    for case in shuffled:
        if case.kind == "seed" and case.id in expansions:
            pairs[case.capability].append((case, expansions[case.id]))
    order = sorted(pairs, key=lambda name: shuffle_key(seed, "study", name))
    turns = itertools.zip_longest(*(pairs[name] for name in order))
    return [pair for turn in turns for pair in turn if pair is not None]


def _form_order(pairs: Sequence[tuple[Case, Case]], seed: int, number: int) -> list[Case]:
    """A form's cases: a random one of each pair in its first half, the others in its second."""
    rng = rng_for(seed, "study", "form", str(number))
    turned = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]
    halves = [[pair[half] for pair in turned] for half in (0, 1)]
    return [case for half in halves for case in rng.sample(half, len(half))]


def forms_of(key: Key) -> dict[str, Form]:
    """The form of each set, by the name of its files.

    Titles and descriptions of capabilities come from the suite's folder, else from the shipped
    capabilities.
    """
    about = {shipped.id: (shipped.title, shipped.raters or "") for shipped in load_capabilities()}
    if Path(key.suite).is_dir():
        for capability in read_description(Path(key.suite))["capabilities"]:
            _, shipped_description = about.get(capability["id"], ("", ""))
            description = capability.get("raters") or shipped_description
            about[capability["id"]] = capability["title"], description
    sets: dict[str, list[Item]] = defaultdict(list)
    for id, case in key.items.items():
        sets[id.split("-")[1]].append(
            Item(id, case.text, *about.get(case.capability, (case.capability, "")))
        )
    return {
        f"set-{number}": Form(
            f"study-{key.study}-set-{number}",
            f"S²LCT reading study, set {number} of {len(sets)}",
            (INTRODUCTION.format(len(items)),),
            items,
            QUESTIONS,
        )
        for number, items in sets.items()
    }


def write_study(key: Key, folder: Path) -> list[Path]:
    """Write each form as a page and as a table, and the key; returns the paths, the key's last.

    Raises:
        AnalysisError: the folder holds the key of another study.
        OutputError: it is a file.
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
        AnalysisError: there is none, or it is broken.
    """
    try:
        return _KEY.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
        raise AnalysisError(
            f"--key {path}: {why}", hint=f"name the {KEY_FILE} that `s2lct study export` wrote"
        ) from error


@dataclass(frozen=True)
class Agreement:
    """How far annotators agree with the suite, and with each other, about some cases.

    ``rated`` cases have a rating of sentiment. ``label_consistency`` is the share of them whose
    mean rating is a label that passes (equation 1 counts the others), ``relevance`` the mean
    relevance in [0, 1] (equation 2); the alphas are Krippendorff's. None is what is undefined.
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
    """Agreement about seeds, expansions and all, then about each capability.

    ``missing`` counts the ratings left out on the forms handed in; ``disputed`` are the ids of
    cases about which no majority of annotators agrees with the suite.
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


def evaluate(annotations: Sequence[Annotation], key: Key) -> StudyResult:
    """Compare annotators' answers with the suite and with each other.

    Raises:
        AnalysisError: nobody rated anything.
    """
    ratings: dict[str, dict[str, list[int]]] = {question.name: {} for question in QUESTIONS}
    for annotation in annotations:
        for name, rating in annotation.answers.items():
            ratings[name].setdefault(annotation.item, []).append(int(rating))
    sentiments, relevances = ratings[SENTIMENT.name], ratings[RELEVANCE.name]
    rated = sentiments.keys() | relevances.keys()
    cases = {id: case for id, case in key.items.items() if id in rated}
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
    sentiments, relevances = (
        {id: ratings[id] for id in cases if id in ratings} for ratings in (sentiments, relevances)
    )

    def estimate(values: Mapping[str, float]) -> Estimate | None:
        if not values:
            return None
        families = families_of([cases[id] for id in values]).tolist()
        return mean_and_interval(families, list(values.values()), seed=0)

    lowest, *_, highest = RATINGS
    return Agreement(
        cases=len(cases),
        rated=len(sentiments),
        ratings=sum(map(len, sentiments.values())),
        label_consistency=estimate(
            {id: label_of(fmean(r)) in cases[id].passes for id, r in sentiments.items()}
        ),
        relevance=estimate(
            {id: (fmean(r) - lowest) / (highest - lowest) for id, r in relevances.items()}
        ),
        alpha_sentiment=alpha_of(sentiments),
        alpha_relevance=alpha_of(relevances),
    )


def label_of(sentiment: float) -> int:
    """The label that a rating of sentiment, or a mean of ratings, stands for.

    Means are cut where the paper cuts SST's scores: at 0.4 and 0.6 of the scale.
    """
    if sentiment <= HIGHEST_NEGATIVE_MEAN:
        return NEGATIVE
    return NEUTRAL if sentiment <= HIGHEST_NEUTRAL_MEAN else POSITIVE


def alpha_of(ratings: Ratings) -> float | None:
    """Krippendorff's ordinal alpha; None unless items with two ratings have different ones."""
    import krippendorff

    items = [item for item in ratings.values() if len(item) > 1]
    if len({rating for item in items for rating in item}) < 2:
        return None
    counts = np.array([[item.count(rating) for rating in RATINGS] for item in items])
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal"))


def _is_disputed(case: Case, sentiments: Sequence[int], relevances: Sequence[int]) -> bool:
    """Whether at most half of a case's annotators agree on its label, or on its relevance.

    HateCheck's rule (Röttger et al. 2021).
    """
    labels = [label_of(rating) in case.passes for rating in sentiments]
    relevant = [rating > HIGHEST_IRRELEVANT_RATING for rating in relevances]
    return any(votes and sum(votes) <= len(votes) / 2 for votes in (labels, relevant))
