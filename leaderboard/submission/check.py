"""Whether a stranger's result file can be believed: every figure, every case, the model itself.

Nothing of a submission is trusted. Texts and passing labels are those of the suite, every figure is
computed again, and the model is asked again by `rescoring`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path

from s2lct.errors import ScoringError
from s2lct.files import write_text
from s2lct.leaderboard.results import untrusted
from s2lct.leaderboard.results.read import read_outcomes, wrong_figures
from s2lct.leaderboard.results.record import BUILT_IN, Result
from s2lct.leaderboard.results.write import root_of
from s2lct.leaderboard.submission.rescoring import ask_again
from s2lct.plain_text import plain
from s2lct.suite.cases import SuiteCases

MOST_REASONS = 50
LONGEST_REASON = 240
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.+!-]{0,63}", re.ASCII)
_HUB_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]{0,95}/)?[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_MARKUP = re.compile(r"<[A-Za-z/!?]")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check of a submission came to."""

    file: str  # the result file
    sha256: str  # of its bytes; empty where they were not read
    accepted: bool  # whether nothing speaks against it
    reasons: tuple[str, ...]  # what does, a line each
    rescored: int = 0  # how many cases and counterparts the model was asked again
    verified: bool = False  # whether it was accepted with its model asked all cases again
    doubts: tuple[str, ...] = ()  # why it is not, though its model was asked all cases again

    def as_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))


def check(path: Path, suite: SuiteCases, *, rescore: bool = False) -> Verdict:
    """Check a submission: a result file with its outcomes beside it.

    Args:
        path: the JSON file.
        suite: the suite it must have been scored on, from a source that is trusted.
        rescore: ask the model, by the name and commit that the submission gives, again.
    """
    digest, rescored, doubts = "", 0, tuple[str, ...]()
    reasons: list[str] = []
    try:
        data = untrusted.bytes_of(path, untrusted.MOST_JSON_BYTES)
        digest = sha256(data).hexdigest()
        result = untrusted.parse_result(data)
        reasons += _faults_of_record(result, suite)
        outcomes = read_outcomes(path, result, suite)
        if missing := len(suite.asked) - len(outcomes.labels):
            reasons.append(f"{result.outcomes.path}: lacks {missing:,} of what the suite asks")
        wrong = wrong_figures(result, outcomes)
        reasons += [f"{where} does not follow from the cases" for where in wrong]
        if rescore and not reasons:
            again = ask_again(result, suite.asked, outcomes.labels)
            reasons += again.faults
            rescored, doubts = again.asked, again.doubts
    except untrusted.RefusedError as refusal:
        reasons += refusal.reasons
    except ScoringError as error:
        reasons.append(error.problem.removeprefix(f"{path}: "))
    if len(reasons) > MOST_REASONS:
        reasons[MOST_REASONS:] = [f"and {len(reasons) - MOST_REASONS} more"]
    return Verdict(
        file=one_line(str(path)),
        sha256=digest,
        accepted=not reasons,
        reasons=tuple(map(one_line, reasons)),
        rescored=rescored,
        verified=bool(rescored) and not (reasons or doubts),
        doubts=tuple(map(one_line, doubts)),
    )


def one_line(text: str) -> str:
    """A stranger's text fit for a terminal: one line, not long, no control characters."""
    return plain(text, LONGEST_REASON - 1)


def _faults_of_record(result: Result, suite: SuiteCases) -> Iterator[str]:
    """What is wrong with the words of a result on a suite, whatever its figures."""
    model, options = result.model, result.model.options
    yield from untrusted.faults_of_words(result)
    yield from untrusted.faults_of_names(result)
    for where, text in untrusted.texts_of(result.model_dump(), ""):
        # What a language model is asked may hold its own marks, and is part of the label rule.
        name = where.rpartition(".")[2]
        if _MARKUP.search(text) and not (options.prompt and name in ("prompt", "label_rule")):
            yield f"{where}: holds markup"
    built_in = model.name in BUILT_IN
    if model.endpoint is not None:
        if model.revision or model.weights_sha256 or built_in:
            yield "model.endpoint: a model behind an endpoint has no revision, weights or own code"
    elif not untrusted.SHA256.fullmatch(model.weights_sha256):
        yield "model.weights_sha256: is no SHA-256"
    elif not _HUB_NAME.fullmatch(model.name) or ".." in model.name or "--" in model.name:
        yield f"model.name: {model.name!r} is neither a Hub id nor a built-in model"
    elif built_in and not _PACKAGE.fullmatch(model.revision):
        yield f"model.revision: {model.revision!r} is no version of a package"
    elif not built_in and not _COMMIT.fullmatch(model.revision):
        yield (
            f"model.revision: {model.revision!r} is no commit; score the model by its Hub id, so "
            "that others can load it"
        )
    if model.predictions is not None:
        yield "model: is known by given predictions alone, which nobody can score again"
    if not model.label_rule.strip():
        yield "model.label_rule: is empty"
    if result.suite.fingerprint != suite.fingerprint:
        yield "suite.fingerprint: is not the suite's; score the model on this version of it"
    if result.partial:
        yield "selection: is a part of the suite; score the model on all of it"


def record(path: Path, verdict: Verdict) -> Path:
    """Note in `VERIFIED_FILE` that a submission was accepted with its model asked again.

    Args:
        path: the result file; the list lies at the top of its repository, or beside it.
        verdict: what its check came to; a `ScoringError` unless it was verified.
    """
    if not verdict.verified:
        raise ScoringError(
            f"{path}: was not "
            + ("accepted" if not verdict.accepted else "verified" if verdict.rescored else "asked"),
            hint="only what was accepted with --rescore is recorded as verified",
        )
    file = root_of(path) / untrusted.VERIFIED_FILE
    dates = untrusted.read_verified(file)
    dates[verdict.sha256] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    write_text(file, json.dumps(dates, indent=2, sort_keys=True) + "\n")
    return file


def in_words(verdict: Verdict) -> list[str]:
    """A verdict as it is printed, a line each."""
    if not verdict.accepted:
        return [f"refused: {verdict.file}", *(f"  {reason}" for reason in verdict.reasons)]
    line = f"accepted: {verdict.file}: every figure follows from its cases"
    if not verdict.rescored:
        return [line]
    known = "verified" if verdict.verified else f"not verified: {'; '.join(verdict.doubts)}"
    return [f"{line}; all {verdict.rescored:,} texts scored again: {known}"]
