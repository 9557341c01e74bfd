"""Whether a stranger's result can be believed: every figure, every case, the model itself.

Nothing of a submission is trusted. Texts and passing labels are those of the suite, and every
figure is computed again. The model's files, no code among them, are fetched at the commit that the
result names, and the model is asked again here, in single precision. Whoever runs this limits what
that may cost: in a container.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from s2lct.errors import MissingPackageError, ScoringError
from s2lct.files import sha256_of
from s2lct.hub_calls import error_summary
from s2lct.labels import LABELS, NEGATIVE, NEUTRAL, POLAR_LABELS, POSITIVE
from s2lct.leaderboard.answers.label_rules import LabelRule, fault_of_probabilities
from s2lct.leaderboard.models.load import load_model
from s2lct.leaderboard.models.record import BUILT_IN, ModelRecord
from s2lct.leaderboard.results.hub import hub_api, hub_errors
from s2lct.leaderboard.results.read_results import read_outcomes, read_result, wrong_figures
from s2lct.leaderboard.results.record import Result, ranking_faults
from s2lct.leaderboard.results.shown_names import look_alikes
from s2lct.leaderboard.results.write_results import repository_path
from s2lct.leaderboard.scoring.score import Outcomes, score
from s2lct.plain_text import MAX_LINE_CHARACTERS, MAX_TEXT_CHARACTERS, plain
from s2lct.suite.cases import SuiteCases

DEFAULT_BRANCH = "main"
MIN_AGREEMENT = 0.98
"""The least share of labels that a model, asked again on another machine, must give again."""
PROBABILITY_MARGIN = 1e-3
"""By how much probabilities in a file, which are rounded, may differ from the model's."""
TIE_MARGIN = 1e-4
"""By how much a label's rounded probability may lie below the largest."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_NAME = re.compile(r"(?!.*(?:\.\.|--))[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_SUITE_FOLDER = re.compile(r"(.*-)?[0-9a-f]{12}")
_UNKNOWN_OF_ENDPOINTS = ("parameters", "licence", "answers_sha256", "dtype", "device", "batch_size")
_RECOMPUTED_FIELDS = (
    *("revision", "weights_sha256", "label_rule", "options", "dtype", "parameters", "licence"),
)


@dataclass(frozen=True, slots=True)
class SubmissionCheck:
    """Whether a submitted result is accepted."""

    file: str  # the result file
    accepted: bool  # whether there is no reason against it
    reasons: tuple[str, ...]  # against it, a line each
    rescored: int = 0  # how many cases and contrasts the model was asked again
    sha256: str = ""  # of the result file, where it can be read

    def as_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        if not self.accepted:
            return "\n  ".join([f"refused: {self.file}", *self.reasons])
        asked = "; the model was not asked"
        if self.rescored:
            asked = f"; all {self.rescored:,} texts scored again"
        return f"accepted: {self.file}: every figure follows from its cases{asked}"


def check(path: Path, suite: SuiteCases, *, rescore: bool = False) -> SubmissionCheck:
    """Check a submission: a result file with its outcomes beside it.

    Args:
        path: the JSON file.
        suite: the suite it must have been scored on, from a source that is trusted.
        rescore: ask the model, by the name and commit that the submission gives, again.

    Raises:
        MissingPackageError: the model needs a package that is not installed here.
    """
    reasons: list[str] = []
    rescored, sha256 = 0, ""
    try:
        result = read_result(path)
        sha256 = sha256_of(path)
        reasons += submission_faults(path, result, suite)
        if rescore and not reasons:
            reasons += _model_faults(result, read_outcomes(path, result, suite))
            rescored = len(suite.with_contrasts)
    except MissingPackageError:
        raise
    except ScoringError as error:
        reasons.append(error.problem.removeprefix(f"{path}: "))
    except Exception as error:  # a stranger's files and model may fail in any way
        reasons.append(f"cannot be checked ({error_summary(error)})")
    # A stranger's words, fit for a terminal.
    lines = tuple(plain(reason, MAX_TEXT_CHARACTERS) for reason in reasons)
    return SubmissionCheck(
        plain(str(path), MAX_LINE_CHARACTERS), not reasons, lines, rescored, sha256
    )


def submission_faults(path: Path, result: Result, suite: SuiteCases) -> list[str]:
    """Why a result is refused without asking its model; empty if it is not.

    Raises:
        ScoringError: its outcomes cannot be read.
    """
    faults = [*ranking_faults(result), *_record_faults(result, suite), *_place_faults(path, result)]
    outcomes = read_outcomes(path, result, suite)
    faults += _probability_faults(outcomes)
    wrong = wrong_figures(result, outcomes)
    return faults + [f"{field} does not follow from the cases" for field in wrong]


def rescored_results(checks: Path) -> frozenset[str]:
    """SHA-256 of the result files whose models were asked again, and agree.

    Args:
        checks: what `s2lct leaderboard check --rescore --json` printed, a line for each file.

    Raises:
        ScoringError: a line is something else.
    """
    agreeing: set[str] = set()
    for number, line in enumerate(checks.read_bytes().splitlines(), 1):
        try:
            check = json.loads(line)
            if check["accepted"] is True and check["rescored"] > 0 and check["sha256"]:
                agreeing.add(check["sha256"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ScoringError(
                f"{checks}, line {number}: is not the check of a result",
                hint="write the file with `s2lct leaderboard check FILES --suite SUITE --rescore "
                f"--json > {checks}`",
            ) from None
    return frozenset(agreeing)


def _record_faults(result: Result, suite: SuiteCases) -> Iterator[str]:
    """Why others could not score this model on this suite again, by what the result says."""
    model = result.model
    if model.endpoint is not None:
        for field in _UNKNOWN_OF_ENDPOINTS:
            if getattr(model, field):
                yield f"model.{field}: nobody can know this of a model behind an endpoint"
        if model.name in BUILT_IN:
            yield f"model.name: {model.name!r} comes with s2lct, and answers at no endpoint"
    else:
        if not model.weights_sha256:
            yield "model.weights_sha256: is missing"
        if model.answers_sha256:
            yield "model.answers_sha256: a model in memory cannot be loaded by others"
        if model.name not in BUILT_IN and not _HUB_NAME.fullmatch(model.name):
            yield f"model.name: {model.name!r} is neither a Hub id nor a built-in model"
        elif model.name not in BUILT_IN and not _COMMIT.fullmatch(model.revision):
            yield (
                f"model.revision: {model.revision!r} is no commit; score the model by its Hub id, "
                "so that others can load it"
            )
    is_known = "/" in model.name or model.name in BUILT_IN
    if not is_known and (other := look_alikes([model.name, *BUILT_IN]).get(model.name)):
        yield f"model.name: {model.name!r} looks like {other!r}, which comes with s2lct"
    if result.suite.fingerprint != suite.fingerprint:
        yield "suite.fingerprint: is not the suite's; score the model on this version of it"
    elif result.suite.version != suite.version:
        yield (
            f"suite.version: is {result.suite.version!r}, the suite's is {suite.version!r}; score "
            "the model on this version of it"
        )


def _place_faults(path: Path, result: Result) -> Iterator[str]:
    """Why a file in a repository of results is not where `publish results` puts it.

    Results of one model on one suite have one place, so none of them replaces another.
    """
    place, expected = path.resolve().parts, PurePosixPath(repository_path(result)).parts
    is_published = place[-3:-2] == expected[:1] and _SUITE_FOLDER.fullmatch(place[-2])
    if is_published and place[-2:] != expected[1:]:
        yield f"{'/'.join(place[-3:])}: this result belongs at {'/'.join(expected)}"


def _probability_faults(outcomes: Outcomes) -> Iterator[str]:
    """Why the probabilities in a file are none, or belong to other labels."""
    table, labels = outcomes.probabilities, outcomes.labels
    if table is None:
        return
    if fault := fault_of_probabilities(table):
        yield f"the probabilities: {fault}"
        return
    is_label = labels < len(LABELS)
    known_labels = np.where(is_label, labels, 0)
    rule = LabelRule(LABELS, (NEGATIVE, NEUTRAL, POSITIVE))
    fits = rule.could_win(known_labels, table, TIE_MARGIN)
    if not table[:, NEUTRAL].any():  # perhaps a model without a neutral class
        rule = LabelRule(POLAR_LABELS, (NEGATIVE, POSITIVE))
        fits |= rule.could_win(known_labels, table[:, [NEGATIVE, POSITIVE]], TIE_MARGIN)
    if wrong := np.flatnonzero(~(fits & is_label)).tolist():
        case = outcomes.suite.with_contrasts[wrong[0]]
        first = f"first {case.id[:40]!r}"
        yield f"the probabilities of {len(wrong):,} texts are of other labels ({first})"


def _model_faults(result: Result, outcomes: Outcomes) -> Iterator[str]:
    """How a model that is asked again differs from what its result says of it."""
    stated = result.model
    if stated.endpoint is not None:
        yield (
            "cannot be scored again: nobody can tell which model answers at "
            f"{stated.endpoint.url}; without --rescore it can be accepted"
        )
        return
    try:
        if stated.name not in BUILT_IN:
            _check_commit(stated)
        options = stated.options
        model = load_model(
            stated.name,
            revision=None if stated.name in BUILT_IN else stated.revision,
            device="cpu",
            dtype="float32",
            prompt=options.label_prompt,
        )
        again = score(model, outcomes.suite, label_map=options.label_map, cache=False)
    except ScoringError as error:
        yield f"cannot be scored again: {error.problem}"
        return
    different = [
        f"model.{field}: is {getattr(stated, field)!r}, the model's is {value!r}"
        for field in _RECOMPUTED_FIELDS
        if getattr(stated, field) != (value := getattr(again.model, field))
    ]
    if stated.other_dtype:
        different.append("models are asked again in single precision, with --dtype float32")
    yield from different or _outcome_faults(outcomes, again)


def _check_commit(model: ModelRecord) -> None:
    """Refuse with a `ScoringError` a commit that is not on the model's default branch."""
    name, hint = model.name, "submit the result of a model as its owners keep it"
    with hub_errors(f"fetch model {name}"):
        history = hub_api().list_repo_commits(name, repo_type="model", revision=DEFAULT_BRANCH)
        id = hub_api().model_info(name, revision=DEFAULT_BRANCH).id
    if model.revision not in {commit.commit_id for commit in history}:
        raise ScoringError(
            f"model.revision: {model.revision} is no commit of the branch {DEFAULT_BRANCH} of "
            f"{name}",
            hint=hint,
        )
    if id != name:
        raise ScoringError(f"model.name: is {name}, the Hub calls it {id}", hint=hint)


def _outcome_faults(stated: Outcomes, again: Outcomes) -> Iterator[str]:
    """Whether a model gives the labels and probabilities that its result says."""
    other = np.flatnonzero(again.labels != stated.labels)
    texts = len(stated.labels)
    if len(other) > (1 - MIN_AGREEMENT) * texts:
        first = stated.suite.with_contrasts[other[0]].id[:40]
        yield (
            f"the model says something else of {len(other):,} out of {texts:,} texts (first "
            f"{first!r}), asked in single precision; at least {MIN_AGREEMENT:.0%} must agree"
        )
    elif again.probabilities is not None and stated.probabilities is None:
        yield "the probabilities that the model gives are missing"
    elif again.probabilities is not None and stated.probabilities is not None:
        difference = np.abs(again.probabilities - stated.probabilities).max(axis=1)
        if apart := int((difference > PROBABILITY_MARGIN).sum()):
            yield f"the model gives {apart:,} texts other probabilities"
