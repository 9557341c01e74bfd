"""Check submitted results: their figures, their outcomes, and on request the model itself.

Nothing in a submission is trusted. Texts and passing labels come from the suite, and every figure
is computed again. To score a model again, its files, but no code, are fetched at the commit that
the result names, and it runs here in single precision. Run this in a container that limits the
time and memory that a stranger's model may take.
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
"""The least share of equal labels if a model is scored again, perhaps on another machine."""
PROBABILITY_MARGIN = 1e-3
"""The largest difference between a probability in a file, which is rounded, and the model's."""
TIE_MARGIN = 1e-4
"""The largest difference between a label's rounded probability and the largest probability."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_NAME = re.compile(r"(?!.*(?:\.\.|--))[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_SUITE_FOLDER = re.compile(r"(.*-)?[0-9a-f]{12}")
_ENDPOINT_UNKNOWNS = ("parameters", "licence", "answers_sha256", "dtype", "device", "batch_size")
_RECOMPUTED_FIELDS = (
    *("revision", "weights_sha256", "label_rule", "options", "dtype", "parameters", "licence"),
)


@dataclass(frozen=True, slots=True)
class SubmissionCheck:
    """Whether a submitted result is accepted, and if not, why."""

    file: str  # path of the result file
    accepted: bool
    reasons: tuple[str, ...]  # why it is refused, a line each
    rescored: int = 0  # number of cases and contrasts that the model was asked again
    sha256: str = ""  # of the result file; empty if it cannot be read

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
        suite: the suite that the result must be on, from a trusted source.
        rescore: score the model again, by the name and commit in the submission.

    Raises:
        MissingPackageError: the model needs a package that is not installed here.
    """
    reasons: list[str] = []
    rescored_count, sha256 = 0, ""
    try:
        result = read_result(path)
        sha256 = sha256_of(path)
        reasons += submission_faults(path, result, suite)
        if rescore and not reasons:
            reasons += _model_faults(result, read_outcomes(path, result, suite))
            rescored_count = len(suite.with_contrasts)
    except MissingPackageError:
        raise
    except ScoringError as error:
        reasons.append(error.problem.removeprefix(f"{path}: "))
    except Exception as error:  # a stranger's files and model may fail in any way
        reasons.append(f"cannot be checked ({error_summary(error)})")
    # Text from strangers, made safe for a terminal.
    lines = tuple(plain(reason, MAX_TEXT_CHARACTERS) for reason in reasons)
    return SubmissionCheck(
        plain(str(path), MAX_LINE_CHARACTERS), not reasons, lines, rescored_count, sha256
    )


def submission_faults(path: Path, result: Result, suite: SuiteCases) -> list[str]:
    """The reasons to refuse a result that are known without its model; empty if there are none.

    Raises:
        ScoringError: the outcomes of the result cannot be read.
    """
    faults = [*ranking_faults(result), *_result_faults(result, suite)]
    outcomes = read_outcomes(path, result, suite)
    faults += [*_location_faults(path, result), *_probability_faults(outcomes)]
    fields = wrong_figures(result, outcomes)
    return faults + [f"{field} does not follow from the cases" for field in fields]


def rescored_results(check_file: Path) -> frozenset[str]:
    """SHA-256 of the result files whose models were scored again and accepted.

    Args:
        check_file: the output of `s2lct leaderboard check --rescore --json`, a line for each file.

    Raises:
        ScoringError: a line is not the check of a result.
    """
    accepted_hashes: set[str] = set()
    for line_number, line in enumerate(check_file.read_bytes().splitlines(), 1):
        try:
            check = json.loads(line)
            if check["accepted"] is True and check["rescored"] > 0 and check["sha256"]:
                accepted_hashes.add(check["sha256"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ScoringError(
                f"{check_file}, line {line_number}: is not the check of a result",
                hint="write the file with `s2lct leaderboard check FILES --suite SUITE --rescore "
                f"--json > {check_file}`",
            ) from None
    return frozenset(accepted_hashes)


def _result_faults(result: Result, suite: SuiteCases) -> Iterator[str]:
    """The statements of a result that would keep others from scoring the model on this suite."""
    model = result.model
    if model.endpoint is not None:
        for field in _ENDPOINT_UNKNOWNS:
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
    has_owner, is_built_in = "/" in model.name, model.name in BUILT_IN
    look_alike = look_alikes([model.name, *BUILT_IN]).get(model.name)
    if look_alike and not has_owner and not is_built_in:
        yield f"model.name: {model.name!r} looks like {look_alike!r}, which comes with s2lct"
    if result.suite.fingerprint != suite.fingerprint:
        yield "suite.fingerprint: is not the suite's; score the model on this version of it"
    elif result.suite.version != suite.version:
        yield (
            f"suite.version: is {result.suite.version!r}, the suite's is {suite.version!r}; score "
            "the model on this version of it"
        )


def _location_faults(path: Path, result: Result) -> Iterator[str]:
    """A fault if a file in a repository of results is not where `publish results` puts it.

    Results of one model on one suite share a path; results of different models do not.
    """
    parts, expected_parts = path.resolve().parts, PurePosixPath(repository_path(result)).parts
    is_published = parts[-3:-2] == expected_parts[:1] and _SUITE_FOLDER.fullmatch(parts[-2])
    if is_published and parts[-2:] != expected_parts[1:]:
        yield f"{'/'.join(parts[-3:])}: this result belongs at {'/'.join(expected_parts)}"


def _probability_faults(outcomes: Outcomes) -> Iterator[str]:
    """The faults of probabilities: values that are none, or that belong to other labels."""
    probabilities, labels = outcomes.probabilities, outcomes.labels
    if probabilities is None:
        return
    if fault := fault_of_probabilities(probabilities):
        yield f"the probabilities: {fault}"
        return
    is_label = labels < len(LABELS)
    known_labels = np.where(is_label, labels, 0)
    rule = LabelRule(LABELS, (NEGATIVE, NEUTRAL, POSITIVE))
    is_possible = rule.could_win(known_labels, probabilities, TIE_MARGIN)
    if not probabilities[:, NEUTRAL].any():  # perhaps a model without a neutral class
        rule = LabelRule(POLAR_LABELS, (NEGATIVE, POSITIVE))
        polar_probabilities = probabilities[:, [NEGATIVE, POSITIVE]]
        is_possible |= rule.could_win(known_labels, polar_probabilities, TIE_MARGIN)
    if wrong_numbers := np.flatnonzero(~(is_possible & is_label)).tolist():
        case = outcomes.suite.with_contrasts[wrong_numbers[0]]
        first = f"first {case.id[:40]!r}"
        yield f"the probabilities of {len(wrong_numbers):,} texts are of other labels ({first})"


def _model_faults(result: Result, outcomes: Outcomes) -> Iterator[str]:
    """The differences between a result and its model, scored again here."""
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
        rescored = score(model, outcomes.suite, label_map=options.label_map, cache=False)
    except ScoringError as error:
        yield f"cannot be scored again: {error.problem}"
        return
    different = [
        f"model.{field}: is {getattr(stated, field)!r}, the model's is {value!r}"
        for field in _RECOMPUTED_FIELDS
        if getattr(stated, field) != (value := getattr(rescored.model, field))
    ]
    if stated.other_dtype:
        different.append("models are asked again in single precision, with --dtype float32")
    yield from different or _outcome_faults(outcomes, rescored)


def _check_commit(model: ModelRecord) -> None:
    """Raise a `ScoringError` if a commit is not on the default branch of its model."""
    name, hint = model.name, "submit the result of a model as its owners keep it"
    with hub_errors(f"fetch model {name}"):
        history = hub_api().list_repo_commits(name, repo_type="model", revision=DEFAULT_BRANCH)
        hub_id = hub_api().model_info(name, revision=DEFAULT_BRANCH).id
    if model.revision not in {commit.commit_id for commit in history}:
        raise ScoringError(
            f"model.revision: {model.revision} is no commit of the branch {DEFAULT_BRANCH} of "
            f"{name}",
            hint=hint,
        )
    if hub_id != name:
        raise ScoringError(f"model.name: is {name}, the Hub calls it {hub_id}", hint=hint)


def _outcome_faults(stated: Outcomes, rescored: Outcomes) -> Iterator[str]:
    """The differences between stated outcomes and those of the model scored again."""
    differing = np.flatnonzero(rescored.labels != stated.labels)
    text_count = len(stated.labels)
    if len(differing) > (1 - MIN_AGREEMENT) * text_count:
        first_id = stated.suite.with_contrasts[differing[0]].id[:40]
        yield (
            f"the model says something else of {len(differing):,} out of {text_count:,} texts "
            f"(first {first_id!r}), asked in single precision; at least {MIN_AGREEMENT:.0%} must "
            "agree"
        )
    elif rescored.probabilities is not None and stated.probabilities is None:
        yield "the probabilities that the model gives are missing"
    elif rescored.probabilities is not None and stated.probabilities is not None:
        difference = np.abs(rescored.probabilities - stated.probabilities).max(axis=1)
        if differing_count := int((difference > PROBABILITY_MARGIN).sum()):
            yield f"the model gives {differing_count:,} texts other probabilities"
