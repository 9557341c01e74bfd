"""Whether a stranger's result can be believed: every figure, every case, the model itself.

Nothing of a submission is trusted. Texts and passing labels are those of the suite, and every
figure is computed again. The model's files, no code among them, are fetched at the commit that the
result names, and the model is asked again here, in single precision. What that may cost is for who
runs it to limit: in a container.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt

from s2lct.errors import ScoringError
from s2lct.files import sha256_of
from s2lct.hub_calls import reason_of
from s2lct.labels import ENDS, LABELS, NEGATIVE, NEUTRAL, POSITIVE
from s2lct.leaderboard.answers.label_rules import (
    LabelRule,
    fault_of_probabilities,
    rule_and_map,
)
from s2lct.leaderboard.models.classifier import Classifier, facts_of
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.models.record import (
    BUILT_IN,
    ModelRecord,
    OptionsRecord,
    other_dtype,
    question_of,
)
from s2lct.leaderboard.results.hub_results import hub_api, named_hub_errors
from s2lct.leaderboard.results.read import read_outcomes, read_result, wrong_figures
from s2lct.leaderboard.results.record import Result, faults_of_names
from s2lct.leaderboard.results.shown_names import look_alikes
from s2lct.leaderboard.results.write import repository_path
from s2lct.leaderboard.scoring.score import Outcomes, probabilities_of, rule_in_words
from s2lct.plain_text import plain
from s2lct.suite.cases import Case, SuiteCases

Mask = npt.NDArray[np.bool_]
DEFAULT_BRANCH = "main"
ROUNDING = 1e-4
"""By how much probabilities or logits may differ where other machines round otherwise."""
PROBABILITY_MARGIN = 1e-3
"""By how much probabilities in a file, which are rounded, may differ from the model's."""
MOST_NEAR_TIES = 0.02
LONGEST_REASON = 240
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_SUITE_FOLDER = re.compile(r"(.*-)?[0-9a-f]{12}")
_MODEL_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken", "*.vocab", "README.md")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check of a submission came to."""

    file: str  # the result file
    accepted: bool  # whether nothing speaks against it
    reasons: tuple[str, ...]  # what does, a line each
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


def check(path: Path, suite: SuiteCases, *, rescore: bool = False) -> Verdict:
    """Check a submission: a result file with its outcomes beside it.

    Args:
        path: the JSON file.
        suite: the suite it must have been scored on, from a source that is trusted.
        rescore: ask the model, by the name and commit that the submission gives, again.
    """
    reasons: list[str] = []
    rescored, sha256 = 0, ""
    try:
        result = read_result(path)
        sha256 = sha256_of(path)
        reasons += [*faults_of_names(result), *_faults_of_kind(result, suite)]
        reasons += _faults_of_place(path, result)
        outcomes = read_outcomes(path, result, suite)
        reasons += _faults_of_probabilities(outcomes)
        reasons += [
            f"{where} does not follow from the cases" for where in wrong_figures(result, outcomes)
        ]
        if rescore and not reasons:
            reasons += _faults_of_model(result, outcomes)
            rescored = len(suite.with_contrasts)
    except ScoringError as error:
        reasons.append(error.problem.removeprefix(f"{path}: "))
    except Exception as error:  # a stranger's files and model may fail in any way
        reasons.append(f"cannot be checked ({reason_of(error)})")
    # A stranger's words, fit for a terminal.
    lines = tuple(plain(reason, LONGEST_REASON - 1) for reason in reasons)
    return Verdict(plain(str(path), LONGEST_REASON), not reasons, lines, rescored, sha256)


def rescored_results(verdicts: Path) -> frozenset[str]:
    """SHA-256 of the result files whose models were asked again, and agree.

    Args:
        verdicts: what `s2lct leaderboard check --rescore --json` printed, a verdict a line.

    Raises:
        ScoringError: a line is no verdict.
    """
    agreeing: set[str] = set()
    for number, line in enumerate(verdicts.read_bytes().splitlines(), 1):
        try:
            verdict = json.loads(line)
            if verdict["accepted"] is True and verdict["rescored"] > 0 and verdict["sha256"]:
                agreeing.add(verdict["sha256"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ScoringError(
                f"{verdicts}, line {number}: is no verdict",
                hint="write the file with `s2lct leaderboard check FILES --suite SUITE --rescore "
                f"--json > {verdicts}`",
            ) from None
    return frozenset(agreeing)


def _faults_of_kind(result: Result, suite: SuiteCases) -> Iterator[str]:
    """Why a result is no submission, whatever its figures."""
    model = result.model
    if model.endpoint is None and not model.weights_sha256:
        yield "model.weights_sha256: is missing"
    if model.endpoint is None and model.name not in BUILT_IN:
        if not _HUB_NAME.fullmatch(model.name) or ".." in model.name or "--" in model.name:
            yield f"model.name: {model.name!r} is neither a Hub id nor a built-in model"
        elif not _COMMIT.fullmatch(model.revision):
            yield (
                f"model.revision: {model.revision!r} is no commit; score the model by its Hub id, "
                "so that others can load it"
            )
    alike = look_alikes([model.name, *BUILT_IN]).get(model.name) if "/" not in model.name else None
    if alike and model.name not in BUILT_IN:
        yield f"model.name: {model.name!r} looks like {alike!r}, which comes with s2lct"
    if model.endpoint is not None:
        unknown = ModelRecord(
            name=model.name,
            revision="",
            weights_sha256="",
            label_rule=model.label_rule,
            options=model.options,
            endpoint=model.endpoint,
        )
        fields = unknown.model_dump()
        for name in (name for name, value in model.model_dump().items() if value != fields[name]):
            yield f"model.{name}: nobody knows that of what answers at an endpoint"
        if model.name in BUILT_IN:
            yield f"model.name: {model.name!r} comes with s2lct, and answers at no endpoint"
    if model.answers_sha256:
        yield "model.answers_sha256: a model in memory cannot be loaded by others"
    if model.predictions is not None:
        yield "model.predictions: nobody can score given predictions again"
    if result.suite.fingerprint != suite.fingerprint:
        yield "suite.fingerprint: is not the suite's; score the model on this version of it"
    elif result.suite.version != suite.version:
        yield (
            f"suite.version: is {result.suite.version!r}, the suite's is {suite.version!r}; score "
            "the model on this version of it"
        )
    if result.partial:
        yield "selection: is a part of the suite; score the model on all of it"


def _faults_of_place(path: Path, result: Result) -> Iterator[str]:
    """Why a file in a repository of results is not where `publish results` puts it.

    Results of one model on one suite have one place, so none of them replaces another.
    """
    place, expected = path.resolve().parts, PurePosixPath(repository_path(result)).parts
    is_published = place[-3:-2] == expected[:1] and _SUITE_FOLDER.fullmatch(place[-2])
    if is_published and place[-2:] != expected[1:]:
        yield f"{'/'.join(place[-3:])}: this result belongs at {'/'.join(expected)}"


def _faults_of_probabilities(outcomes: Outcomes) -> Iterator[str]:
    """Why the probabilities in a file are none, or none of its labels."""
    table, labels = outcomes.probabilities, outcomes.labels
    if table is None:
        return
    if fault := fault_of_probabilities(table):
        yield f"the probabilities: {fault}"
        return
    said = labels < len(LABELS)
    asked = np.where(said, labels, 0)
    # Of a model without a neutral class: which it was is not in the file.
    fits = LabelRule(LABELS, (NEGATIVE, NEUTRAL, POSITIVE)).could_be(asked, table, ROUNDING)
    if not table[:, NEUTRAL].any():
        ends = LabelRule(ENDS, (NEGATIVE, POSITIVE))
        fits |= ends.could_be(asked, table[:, [NEGATIVE, POSITIVE]], ROUNDING)
    if wrong := np.flatnonzero(~(fits & said)).tolist():
        case = outcomes.suite.with_contrasts[wrong[0]]
        first = f"first {case.id[:40]!r}"
        yield f"the probabilities of {len(wrong):,} texts are of other labels ({first})"


def _faults_of_model(result: Result, outcomes: Outcomes) -> Iterator[str]:
    """What a model, asked again, says otherwise than its result, or is otherwise."""
    cases = outcomes.suite.with_contrasts
    stated, options = result.model, result.model.options
    if stated.endpoint is not None:
        yield (
            "cannot be scored again: nobody can tell which model answers at "
            f"{stated.endpoint.url}; without --rescore it can be accepted"
        )
        return
    texts = [case.text for case in cases]
    built_in = stated.name in BUILT_IN
    place = stated.name
    try:
        if not built_in:
            place = str(_fetched_model(stated.name, stated.revision))
        asks = question_of(options)
        model = load_classifier(place, device="cpu", dtype="float32", asks=asks)
        rule, label_map = rule_and_map(
            model.classes, model=stated.name, label_map=options.label_map
        )
        asks = getattr(model, "asks", None)
        facts = facts_of(model)
        known = {
            "revision": model.revision if built_in else stated.revision,
            "weights_sha256": getattr(model, "weights_sha256", model.fingerprint),
            "label_rule": rule_in_words(rule, asks),
            "options": OptionsRecord.of(label_map, asks),
            "dtype": facts.dtype,
            "parameters": facts.parameters,
            "licence": facts.licence,
        }
        wrong = [
            f"model.{field}: is {getattr(stated, field)!r}, the model's is {value!r}"
            for field, value in known.items()
            if getattr(stated, field) != value
        ]
        if other_dtype(stated):
            wrong.append("models are asked again in single precision, with --dtype float32")
        yield from wrong or _faults_of_labels(model, rule, cases, texts, outcomes)
    except ScoringError as error:
        yield f"cannot be scored again: {error.problem.replace(place, stated.name)}"


def _fetched_model(name: str, commit: str) -> Path:
    """The folder of a model's files at a commit of its default branch."""
    api, hint = hub_api(), "submit the result of a model as its owners keep it"
    with named_hub_errors(f"model {name}"):
        history = api.list_repo_commits(name, repo_type="model", revision=DEFAULT_BRANCH)
    if commit not in {one.commit_id for one in history}:
        raise ScoringError(
            f"model.revision: {commit} is no commit of the branch {DEFAULT_BRANCH} of {name}",
            hint=hint,
        )
    with named_hub_errors(f"model {name}"):
        info = api.model_info(name, revision=commit)
        safe = any(one.rfilename.endswith(".safetensors") for one in info.siblings or ())
        files = [*_MODEL_FILES, "*.safetensors" if safe else "pytorch_model*.bin"]
        folder = api.snapshot_download(name, revision=commit, allow_patterns=files)
    if info.id != name:
        raise ScoringError(f"model.name: is {name}, the Hub calls it {info.id}", hint=hint)
    return Path(folder)


def _faults_of_labels(
    model: Classifier,
    rule: LabelRule,
    cases: Sequence[Case],
    texts: list[str],
    outcomes: Outcomes,
) -> Iterator[str]:
    """Cases that a model gives another label, or other probabilities, than its result says.

    Rounding may decide between two labels that are as good as equally likely. That excuses few
    cases, and none of a model whose labels hang on rounding altogether.
    """
    labels, stated = outcomes.labels, outcomes.probabilities
    probabilities = probabilities_of(model, texts)
    other = rule.labels(probabilities) != labels
    could = np.stack(
        [
            rule.could_be(np.full(len(cases), number), probabilities, ROUNDING)
            for number in range(len(LABELS))
        ]
    )
    near = could.sum(axis=0) > 1
    known = labels < len(LABELS)
    fits = known & could[np.where(known, labels, 0), np.arange(len(cases))]
    if near.mean() <= MOST_NEAR_TIES:
        other &= ~(near & fits)
    if wrong := np.flatnonzero(other).tolist():
        yield (
            f"the model says something else of {len(wrong):,} out of {len(cases):,} texts (first "
            f"{cases[wrong[0]].id[:40]!r}), asked in single precision; a result that was made in "
            "another one is to be made again with --dtype float32"
        )
    elif stated is not None:
        apart = np.abs(rule.folded(probabilities) - stated).max(axis=1) > PROBABILITY_MARGIN
        if apart.any():
            yield f"the model gives {int(apart.sum()):,} texts other probabilities"
