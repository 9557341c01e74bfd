"""Whether people agree with a suite: blind forms for annotators, and what their answers say.

After Lee et al., "Automated Testing Linguistic Capabilities of NLP Models", RQ1 and RQ2: three sets
of 50 seeds and 50 of their expansions, annotated for sentiment and relevance to the capability.
Label consistency and relevance are equations 1 and 2; agreement is Krippendorff's alpha, ordinal.
As in the paper, ratings of a case are averaged first, and their mean becomes a label: ratings 2 and
4 are neutral together. Equation 1 as printed counts the labels that differ, the text reports the
share that does not; this is that share. The paper says neither how a mean becomes a label, see
`label_of`, nor how relevance is brought to [0, 1]: here 1 is 0 and 5 is 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import TypeAdapter, ValidationError

from s2lct.analysis.bootstrap import mean_and_interval
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.errors import AnalysisError
from s2lct.files import check_output_folder, write_text
from s2lct.identity import fingerprint_of, rng_for, shuffle_key
from s2lct.labels import LABELS, Label
from s2lct.plain_text import ShortRepr
from s2lct.suite.annotation import Annotation, Form, Item, Question
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case, SuiteCases, families_of
from s2lct.suite.read import read_description
from s2lct.tables import Table

KEY_FILE = "key.json"
RATINGS = (1, 2, 3, 4, 5)
IRRELEVANT = 2
"""A rating of relevance up to this disputes that the case tests its capability."""
_SENTIMENTS = ("very negative", "negative", "neutral or mixed", "positive", "very positive")
_RELEVANCES = ("not at all", "hardly", "partly", "mostly", "fully")
SENTIMENT = Question(
    "sentiment",
    "What does the author feel, all in all?",
    "What the author of the whole text thinks in the end, not what others in it think.",
    dict(zip(map(str, RATINGS), _SENTIMENTS, strict=True)),
)
RELEVANCE = Question(
    "relevance",
    "How well does the text show this?",
    "Whether the text is what the description below it says. A clumsy text can be fully relevant.",
    dict(zip(map(str, RATINGS), _RELEVANCES, strict=True)),
    about_item=True,
)
QUESTIONS = (SENTIMENT, RELEVANCE)


@dataclass(frozen=True)
class KeyItem:
    """What an item of a form is: the case, its set from 1 on, and the labels that pass.

    The family is its number among the cases drawn, see `families_of`.
    """

    set: int
    case: str
    kind: str
    seed_id: str
    family: int
    capability: str
    text: str
    passes: tuple[Label, ...]


@dataclass(frozen=True, repr=False)
class Key(ShortRepr):
    """What annotators must not see: which case each item is, and what passes.

    The study's id is a hash of the cases drawn; that of an item is such as ``1f0c9a2e-1-007``:
    study, set, place in the form.
    """

    study: str
    suite: str
    suite_fingerprint: str
    items: dict[str, KeyItem]


_KEY = TypeAdapter(Key)


def draw(suite: SuiteCases, *, sets: int = 3, seeds: int = 50, seed: int = 0) -> Key:
    """Draw so many seeds for each set, an expansion of each, and put them in sets.

    The capabilities take turns, so each has the same share until it runs out of seeds that have
    an expansion. No seed is in two sets. The same seed of the draw gives the same study, whatever
    the order of the cases.

    Raises:
        AnalysisError: the suite has too few seeds that have expansions.
    """
    pairs = _pairs(suite.cases, seed)
    if len(pairs) < sets * seeds:
        raise AnalysisError(
            f"suite {suite.name}: {len(pairs)} of its seeds have expansions, {sets} sets of "
            f"{seeds} need {sets * seeds}",
            hint=f"--sets {sets} --seeds {max(1, len(pairs) // sets)}, or build a larger suite",
        )
    # Dealt out capability by capability, so each set has its share of each.
    drawn = sorted(pairs[: sets * seeds], key=lambda pair: pair[0].capability)
    ordered = [_form_order(drawn[number::sets], seed, number) for number in range(sets)]
    study = fingerprint_of([[case.id for case in cases] for cases in ordered])[:8]
    families = iter(families_of([case for cases in ordered for case in cases]).tolist())
    items = {
        f"{study}-{number}-{place:03}": KeyItem(
            set=number,
            case=case.id,
            kind=case.kind,
            seed_id=case.seed_id,
            family=next(families),
            capability=case.capability,
            text=case.text,
            passes=tuple(LABELS[label] for label in sorted(case.passes)),
        )
        for number, cases in enumerate(ordered, 1)
        for place, case in enumerate(cases, 1)
    }
    return Key(study, suite.name, suite.fingerprint, items)


def _pairs(cases: Sequence[Case], seed: int) -> list[tuple[Case, Case]]:
    """Seeds, each with one of its expansions, in drawing order, capabilities taking turns."""

    def drawing(case: Case) -> bytes:
        return shuffle_key(seed, "study", case.id)

    expansions: dict[str, Case] = {}
    for case in sorted(cases, key=drawing, reverse=True):
        if case.kind == "expansion":
            expansions[case.seed_id] = case
    queues: dict[str, list[tuple[Case, Case]]] = {}
    for case in sorted(cases, key=drawing):
        if case.kind == "seed" and case.id in expansions:
            queues.setdefault(case.capability, []).append((case, expansions[case.id]))
    order = sorted(queues, key=lambda name: shuffle_key(seed, "study", name))
    turns = itertools.zip_longest(*(queues[name] for name in order))
    return [pair for turn in turns for pair in turn if pair is not None]


def _form_order(pairs: Sequence[tuple[Case, Case]], seed: int, number: int) -> list[Case]:
    """A set's cases: one of each pair, whichever chance says, in each half of the form."""
    rng = rng_for(seed, "study", "form", str(number))
    turned = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]
    halves = [[pair[half] for pair in turned] for half in (0, 1)]
    return [case for half in halves for case in rng.sample(half, len(half))]


def capability_texts(suite: str, field: Literal["title", "raters"]) -> dict[str, str]:
    """What annotators read of capabilities: by a suite's folder, else by those that are shipped.

    ``raters`` is what relevance is judged by; a capability without it is left out.
    """
    words = {capability.id: getattr(capability, field) for capability in load_capabilities()}
    if suite and Path(suite).is_dir():
        described = read_description(Path(suite))["capabilities"]
        words |= {
            capability["id"]: str(capability[field])
            for capability in described
            if field in capability
        }
    return {name: text for name, text in words.items() if text is not None}


def forms_of(key: Key) -> dict[str, Form]:
    """The form of each set, by the name of its files."""
    titles, descriptions = (
        capability_texts(key.suite, "title"),
        capability_texts(key.suite, "raters"),
    )
    sets: dict[int, list[Item]] = {}
    for id, item in key.items.items():
        title = titles.get(item.capability, item.capability)
        about = descriptions.get(item.capability, "")
        sets.setdefault(item.set, []).append(Item(id, item.text, title, about))
    return {
        f"set-{number}": Form(
            f"study-{key.study}-set-{number}",
            f"S²LCT reading study, set {number} of {len(sets)}",
            (
                f"You will read {len(items)} short texts, many about films. For each, say what "
                "its author feels, and how well it shows the capability named below it. There "
                "is no right answer: say what you read. Some texts resemble others; judge "
                "each by itself.",
            ),
            items,
            QUESTIONS,
        )
        for number, items in sorted(sets.items())
    }


def write_study(key: Key, folder: Path) -> list[Path]:
    """Write a form for each set, as a page and as a table, and last the key; the paths.

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
    hint = f"name the {KEY_FILE} that `s2lct study export` wrote"
    try:
        return _KEY.validate_json(path.read_bytes())
    except OSError as error:
        raise AnalysisError(f"--key {path}: {error.strerror}", hint=hint) from error
    except ValidationError as error:
        raise AnalysisError(f"--key {path}: {error.errors()[0]['msg']}", hint=hint) from error


Estimate = tuple[float, tuple[float, float]]
"""A mean with its 95 % interval, of a bootstrap of families."""


@dataclass(frozen=True)
class Agreement:
    """What annotators answered about some cases; the sentiment of so many was ``rated``.

    ``label_consistency`` is the share of the cases whose mean, as a label, passes (equation 1),
    ``relevance`` the mean of the cases' means in [0, 1] (equation 2); the alphas are
    Krippendorff's, among the annotators. None is what is not defined.
    """

    cases: int
    rated: int
    ratings: int
    label_consistency: Estimate | None
    relevance: Estimate | None
    alpha_sentiment: float | None
    alpha_relevance: float | None


@dataclass(frozen=True, repr=False)
class StudyResult(ShortRepr):
    """What a study found: of seeds, expansions and all, then by capability.

    ``missing`` counts ratings that were left out on the forms handed in; ``disputed`` are the ids
    of cases that no majority of their annotators agrees about with the suite.
    """

    study: str
    suite: str
    suite_fingerprint: str
    annotators: tuple[str, ...]
    missing: int
    groups: dict[str, Agreement]
    disputed: tuple[str, ...]

    def json(self) -> str:
        """All of it, as JSON."""
        return TypeAdapter(StudyResult).dump_json(self, indent=1).decode() + "\n"


Ratings = Mapping[str, Sequence[int]]
"""The ratings of each item that was rated."""


def label_of(sentiment: float) -> Label:
    """A rating of sentiment, or a mean of ratings, as a label.

    1 and 2 are negative, 3 is neutral, 4 and 5 are positive. Means are cut where the paper cuts
    SST's scores, which are means of annotators too: at 0.4 and 0.6 of the scale, that is 2.6 and
    3.4.
    """
    return "negative" if sentiment <= 2.6 else "neutral" if sentiment <= 3.4 else "positive"


def ratings_of(annotations: Iterable[Annotation], question: Question) -> dict[str, list[int]]:
    """The ratings of each item by a question, the lowest first."""
    ratings: dict[str, list[int]] = {}
    for annotation in annotations:
        if question.name in annotation.answers:
            rating = int(annotation.answers[question.name])
            ratings.setdefault(annotation.item, []).append(rating)
    return {item: sorted(given) for item, given in sorted(ratings.items())}


def consistency(ratings: Ratings, key: Key) -> dict[str, float]:
    """What equation 1 averages: whether the mean of an item's ratings is a label that passes."""
    return {
        item: float(label_of(sum(given) / len(given)) in key.items[item].passes)
        for item, given in ratings.items()
    }


def relevancy(ratings: Ratings) -> dict[str, float]:
    """What equation 2 averages: the mean of an item's ratings, as a share of the scale."""
    low, *_, high = RATINGS
    return {item: (sum(given) / len(given) - low) / (high - low) for item, given in ratings.items()}


def estimate(values: Mapping[str, float], key: Key) -> Estimate | None:
    """The mean over items, with its interval."""
    families = [key.items[item].family for item in values]
    return mean_and_interval(families, list(values.values()), 0) if values else None


def alpha_of(ratings: Ratings) -> float | None:
    """Krippendorff's ordinal alpha; None where no text has two ratings or all are the same."""
    import krippendorff

    paired = [given for given in ratings.values() if len(given) > 1]
    if len({rating for given in paired for rating in given}) < 2:
        return None
    counts = np.array([[given.count(rating) for rating in RATINGS] for given in paired])
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal"))


def evaluate(annotations: Sequence[Annotation], key: Key) -> StudyResult:
    """Compare the annotators, of items of the key, with the suite and with each other.

    Raises:
        AnalysisError: there is no rating at all.
    """
    sentiments, relevances = (ratings_of(annotations, question) for question in QUESTIONS)
    rated = sentiments.keys() | relevances.keys()
    if not rated:
        raise AnalysisError(
            "the files hold no rating", hint="have the forms filled in, then import them"
        )

    def of(wanted: Callable[[KeyItem], bool]) -> Agreement:
        items = {item for item in rated if wanted(key.items[item])}
        sentiment, relevance = (
            {item: given for item, given in ratings.items() if item in items}
            for ratings in (sentiments, relevances)
        )
        return Agreement(
            cases=len(items),
            rated=len(sentiment),
            ratings=sum(map(len, sentiment.values())),
            label_consistency=estimate(consistency(sentiment, key), key),
            relevance=estimate(relevancy(relevance), key),
            alpha_sentiment=alpha_of(sentiment),
            alpha_relevance=alpha_of(relevance),
        )

    groups = {
        "seeds": of(lambda item: item.kind == "seed"),
        "expansions": of(lambda item: item.kind == "expansion"),
        "all": of(lambda item: True),
    }
    for name in sorted({key.items[item].capability for item in rated}, key=natural_order):
        groups[name] = of(lambda item, name=name: item.capability == name)  # type: ignore[misc]
    return StudyResult(
        study=key.study,
        suite=key.suite,
        suite_fingerprint=key.suite_fingerprint,
        annotators=tuple(
            sorted({annotation.annotator for annotation in annotations if annotation.answers})
        ),
        missing=sum(len(QUESTIONS) - len(annotation.answers) for annotation in annotations),
        groups=groups,
        disputed=tuple(disputed_cases(sentiments, relevances, key)),
    )


def disputed_cases(sentiments: Ratings, relevances: Ratings, key: Key) -> list[str]:
    """The cases about which no majority of their annotators agrees with the suite.

    An annotator disagrees whose label does not pass, or who rates relevance 1 or 2 (HateCheck's
    rule: Röttger et al. 2021).
    """
    found: list[str] = []
    for name, item in key.items.items():
        labels = [label_of(rating) in item.passes for rating in sentiments.get(name, ())]
        relevant = [rating > IRRELEVANT for rating in relevances.get(name, ())]
        if any(votes and sum(votes) <= len(votes) / 2 for votes in (labels, relevant)):
            found.append(item.case)
    return found


def agreement_table(result: StudyResult) -> Table:
    """A row a group: seeds, expansions and all, then each capability."""

    def percent(mean: Estimate | None) -> str:
        if mean is None:
            return "–"
        value, (low, high) = mean
        return f"{100 * value:.0f} [{100 * low:.0f}, {100 * high:.0f}]"

    def written(value: float | None) -> str:
        return "–" if value is None else f"{round(value, 2) + 0:.2f}".replace("0.", ".", 1)

    rows = [
        [
            name,
            str(of.cases),
            percent(of.label_consistency),
            percent(of.relevance),
            written(of.alpha_sentiment),
            written(of.alpha_relevance),
        ]
        for name, of in result.groups.items()
    ]
    return Table(
        ("", "cases", "consistent %", "relevant %", "α sentiment", "α relevance"),
        rows,
        caption=f"{len(result.annotators)} annotators, {result.groups['all'].ratings} ratings of "
        f"sentiment, {result.missing} ratings left out. [95 % intervals]: bootstrap of families. "
        "α: Krippendorff's, ordinal.",
    )
