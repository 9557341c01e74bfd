"""Whether a stranger's result file can be believed: every figure, every case, the model itself.

Nothing of a submission is trusted. Sizes are checked before anything is read, the Parquet file is
decoded in a process of its own with little memory, texts and passing labels are those of the suite,
and every figure is computed again.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import secrets
import stat
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from pydantic import ValidationError

from s2lct.builder.checkpoint import write_text
from s2lct.builder.records import LABELS
from s2lct.leaderboard.cases import Case, SuiteCases
from s2lct.leaderboard.collection import VERIFIED_FILE
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.labels import Labels, rule_for
from s2lct.leaderboard.models import EMBEDDED_MODELS, WORD_LISTS, Classifier, load_classifier
from s2lct.leaderboard.results import Result, asked, case_columns, wrong_figures
from s2lct.leaderboard.scoring import Outcomes, failed_cases, probabilities_of, rule_in_words

MOST_JSON_BYTES = 1 << 20
MOST_TABLE_BYTES = 64 << 20
MOST_MEMORY = 1 << 30
MOST_SECONDS = 60
MOST_REASONS = 50
LONGEST_REASON = 240
RESCORED_SHARE = 0.02
FEWEST_RESCORED = 20
ROUNDING = 0.02
"""How far a probability may be off where a model ran in bfloat16, or on another machine."""

_READER = Path(__file__).with_name("untrusted_table.py")
_SPARE_BYTES, _TEXTS_A_ROW = 1 << 20, 8
_TEXT, _TEXTS = ("string", "large_string"), ("list<string>", "list<null>")
_TYPES = {
    **dict.fromkeys(("id", "capability", "kind", "seed_id", "text", "production", "label"), _TEXT),
    **dict.fromkeys(("inserted", "splits", "sources"), _TEXTS),
    "passes": ("list<int64>",),
    "failed": ("bool",),
}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.+!-]{0,63}", re.ASCII)
_HUB_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]{0,95}/)?[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_FILE_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,195}\.parquet", re.ASCII)
_MARKUP = re.compile(r"<[A-Za-z/!?]")
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_LONGEST_TEXTS = {"prompt": 4_000, "label_rule": 10_000}
_LONGEST_TEXT = 300


class RefusedError(Exception):
    """A submission that is not looked at any further.

    Attributes:
        reasons: a line each.
    """

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons
        super().__init__("; ".join(reasons))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check of a submission came to.

    Attributes:
        file: the result file.
        sha256: of its bytes; empty where they were not read.
        accepted: whether nothing speaks against it.
        reasons: what does, a line each.
        rescored: how many cases the model was asked again.
        seed: what they were drawn by; None where none were.
    """

    file: str
    sha256: str
    accepted: bool
    reasons: tuple[str, ...]
    rescored: int = 0
    seed: int | None = None

    def as_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))


def check(
    path: Path, suite: SuiteCases, *, rescore: bool = False, seed: int | None = None
) -> Verdict:
    """Check a submission: a result file with its outcomes beside it.

    Args:
        path: the JSON file.
        suite: the suite it must have been scored on, from a source that is trusted.
        rescore: ask the model again for a random 2 % of the cases, at least 20. It is loaded by
            the name and revision that the submission gives.
        seed: which cases; None draws them so that nobody can know them before.
    """
    rescored, digest = 0, ""
    drawn_by = secrets.randbits(32) if seed is None else seed
    try:
        data = _bytes_of(path, MOST_JSON_BYTES)
        digest = sha256(data).hexdigest()
        result = _result_of(data)
        reasons = [*_faults_of_record(result), *_faults_of_suite(result, suite)]
        labels, faults = _labels(result, path, suite)
        reasons += faults
        if labels is not None:
            outcomes = _outcomes(result, suite, labels)
            reasons += [
                f"{where} does not follow from the cases"
                for where in wrong_figures(result, outcomes)
            ]
            if rescore and not reasons:
                faults, rescored = _faults_of_model(result, suite, labels, drawn_by)
                reasons += faults
    except RefusedError as refusal:
        reasons = list(refusal.reasons)
    if len(reasons) > MOST_REASONS:
        more = len(reasons) - MOST_REASONS
        reasons = [*reasons[:MOST_REASONS], f"and {more} more"]
    return Verdict(
        file=one_line(str(path)),
        sha256=digest,
        accepted=not reasons,
        reasons=tuple(one_line(reason) for reason in reasons),
        rescored=rescored,
        seed=drawn_by if rescored else None,
    )


def one_line(text: str) -> str:
    """A stranger's text fit for a terminal: one line, not long, no control characters."""
    shown = "".join("\ufffd" if unicodedata.category(c) in _INVISIBLE else c for c in text)
    return shown if len(shown) <= LONGEST_REASON else shown[: LONGEST_REASON - 1] + "…"


def _bytes_of(path: Path, most: int) -> bytes:
    """A plain file's bytes, if they are not too many; no link is followed, no pipe is opened."""
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise RefusedError(f"{path.name}: is no plain file (a link, folder or device)")
        if found.st_size > most:
            raise RefusedError(f"{path.name}: has {found.st_size:,} bytes, at most {most:,}")
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise RefusedError(f"{path.name}: cannot be read ({error.strerror})") from error
    if len(data) > most:
        raise RefusedError(f"{path.name}: grew to more than {most:,} bytes while it was read")
    return data


def _result_of(data: bytes) -> Result:
    """Bytes as a result, by the letter of JSON and of the schema."""
    try:
        content = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_without_duplicates,
            parse_constant=_no_number,
            parse_float=_finite,
        )
    except RecursionError:
        raise RefusedError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise RefusedError(f"is no JSON in UTF-8 ({error})") from error
    if isinstance(content, dict) and isinstance(content.get("format"), bool):
        raise RefusedError("format: is no number")  # Python and pydantic take True for 1
    try:
        return Result.model_validate_json(data, strict=True)
    except ValidationError as error:
        raise RefusedError(
            *(
                f"{'.'.join(map(str, fault['loc']))[:100] or 'the file'}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_input=False)
            )
        ) from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
        raise RefusedError(f"the JSON has the key {twice[0]!r} twice in one object")
    return dict(pairs)


def _no_number(text: str) -> NoReturn:
    raise RefusedError(f"the JSON holds {text}, which is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise RefusedError(f"the JSON holds {text[:20]}, which is no finite number")
    return number


def _faults_of_record(result: Result) -> Iterator[str]:
    """What is wrong with the result's own words, whatever its figures."""
    model, options = result.model, result.model.options
    for where, text in _texts(result.model_dump(), ""):
        name = where.rpartition(".")[2]
        if len(text) > (most := _LONGEST_TEXTS.get(name, _LONGEST_TEXT)):
            yield f"{where}: has {len(text):,} characters, at most {most:,}"
        allowed = "\n\t" if name == "prompt" else ""
        if hidden := [
            c for c in text if unicodedata.category(c) in _INVISIBLE and c not in allowed
        ]:
            yield f"{where}: holds a control character (U+{ord(hidden[0]):04X})"
        # What a language model is asked may hold its own marks, and is part of the label rule.
        if _MARKUP.search(text) and not (options.prompt and name in ("prompt", "label_rule")):
            yield f"{where}: holds markup"
    built_in = model.name in WORD_LISTS or model.name in EMBEDDED_MODELS
    if not _HUB_NAME.fullmatch(model.name) or ".." in model.name or "--" in model.name:
        yield f"model.name: {model.name!r} is neither a Hub id nor a built-in model"
    elif built_in and not _PACKAGE.fullmatch(model.revision):
        yield f"model.revision: {model.revision!r} is no version of a package"
    elif not built_in and not _COMMIT.fullmatch(model.revision):
        yield (
            f"model.revision: {model.revision!r} is no commit; score the model by its Hub id, so "
            "that others can load it"
        )
    if not _SHA256.fullmatch(model.weights_sha256):
        yield "model.weights_sha256: is no SHA-256"
    if not model.label_rule.strip():
        yield "model.label_rule: is empty"
    if (options.prompt is None) != (options.label_words is None):
        yield "model.options: prompt and label_words belong together"
    else:
        try:
            asks = asked(options)
        except ScoringError as error:
            yield f"model.options: {error.problem}"
        else:
            if asks is not None and not model.label_rule.endswith(f"; {asks}"):
                yield "model.label_rule: is not that of the prompt and the label words"
    yield from _faults_of_date(result.date)
    if len(result.packages) > 50 or "s2lct" not in result.packages:
        yield "packages: s2lct must be among at most 50"
    for name, version in result.packages.items():
        if not _PACKAGE.fullmatch(name) or not _PACKAGE.fullmatch(version):
            yield f"packages: {name!r} {version!r} is no package with a version"


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text of nested data with its place, keys included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, part in value.items():
            inner = f"{where}.{key}" if where else str(key)
            yield f"a key in {where or 'the file'}", str(key)
            yield from _texts(part, inner)
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from _texts(part, f"{where}.{number}")


def _faults_of_date(text: str) -> Iterator[str]:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        yield f"date: {text!r} is no date"
        return
    if date.tzinfo is None:
        yield f"date: {text!r} has no time zone"
    elif date > datetime.now(timezone.utc) + timedelta(days=1):
        yield f"date: {text} lies in the future"


def _faults_of_suite(result: Result, suite: SuiteCases) -> Iterator[str]:
    if result.suite.version != suite.version:
        yield f"suite.version: is {result.suite.version!r}, the suite's is {suite.version!r}"
    if result.suite.fingerprint != suite.fingerprint:
        yield "suite.fingerprint: is not the suite's; score the model on this version of it"
    if result.outcomes.rows != len(suite.cases):
        yield (
            f"outcomes.rows: is {result.outcomes.rows}, the suite has {len(suite.cases)} cases; "
            "score the model on all of them"
        )


def _labels(result: Result, path: Path, suite: SuiteCases) -> tuple[Labels | None, list[str]]:
    """What the model said of each of the suite's cases, and what is wrong with the file.

    Labels are None where figures cannot be computed from them.
    """
    name = result.outcomes.path
    if not _FILE_NAME.fullmatch(name):
        return None, [f"outcomes.path: {name!r} is no plain name of a Parquet file beside it"]
    try:
        data = _bytes_of(path.parent / name, MOST_TABLE_BYTES)
    except RefusedError as refusal:
        return None, list(refusal.reasons)
    if sha256(data).hexdigest() != result.outcomes.sha256:
        return None, [f"{name}: is not the file that the result names (SHA-256 differs)"]
    longest = max((len(case.text.encode()) for case in suite.cases), default=0)
    columns, problem = read_untrusted(data, rows=len(suite.cases), longest=longest + 1_000)
    if columns is None:
        return None, [f"{name}: {problem}"]
    return _compared(columns, name, suite)


def read_untrusted(
    data: bytes, *, rows: int, longest: int
) -> tuple[dict[str, list[Any]] | None, str]:
    """The columns of a stranger's outcomes file, decoded in a process of its own.

    Args:
        data: the Parquet file.
        rows: how many it must have.
        longest: bytes of the longest text that it may hold.

    Returns:
        The columns, or None and what is wrong.
    """
    limits = {
        "types": _TYPES,
        "rows": rows,
        "characters": longest,
        "bytes": _SPARE_BYTES + _TEXTS_A_ROW * rows * longest,
        "memory": MOST_MEMORY,
        "seconds": MOST_SECONDS,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(_READER), json.dumps(limits)],
            input=data,
            capture_output=True,
            timeout=2 * MOST_SECONDS,
            env=os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"},
            check=False,
        )
        answer = json.loads(done.stdout) if done.returncode == 0 else {}
    except (subprocess.TimeoutExpired, ValueError):
        answer = {}
    if "columns" in answer:
        return answer["columns"], ""
    return None, answer.get(
        "problem",
        f"cannot be read with {MOST_MEMORY >> 20} MiB of memory and {MOST_SECONDS} seconds",
    )


def _compared(
    columns: dict[str, list[Any]], name: str, suite: SuiteCases
) -> tuple[Labels | None, list[str]]:
    ids = columns["id"]
    known = [case.id for case in suite.cases]
    faults: list[str] = []
    if twice := [one for one, count in Counter(ids).items() if count > 1]:
        faults.append(f"{name}: has {_some(twice, 'id')} more than once")
    if unknown := [one for one in dict.fromkeys(ids) if one not in set(known)]:
        faults.append(f"{name}: has {_some(unknown, 'id')} that the suite does not have")
    if missing := [one for one in known if one not in set(ids)]:
        faults.append(f"{name}: lacks {_some(missing, 'case')} of the suite")
    if faults:
        return None, faults
    if ids != known:
        return None, [f"{name}: has the cases in another order than the suite"]
    for column, expected in case_columns(suite.cases).items():
        if other := [
            one
            for one, told, own in zip(ids, columns[column], expected, strict=True)
            if told != own
        ]:
            faults.append(f"{name}: {column} is not the suite's in {_some(other, 'case')}")
    said = columns["label"]
    if wrong := [one for one, label in zip(ids, said, strict=True) if label not in LABELS]:
        return None, [*faults, f"{name}: label is no label in {_some(wrong, 'case')}"]
    labels = np.array([LABELS.index(label) for label in said], dtype=np.int64)
    fails = failed_cases(suite.cases, labels).tolist()
    if other := [
        one for one, told, own in zip(ids, columns["failed"], fails, strict=True) if told is not own
    ]:
        faults.append(f"{name}: failed does not follow from the label in {_some(other, 'case')}")
    return labels, faults


def _some(ids: Sequence[Any], noun: str) -> str:
    plural = "" if len(ids) == 1 else "s"
    return f"{len(ids):,} {noun}{plural} (first {str(ids[0])[:40]!r})"


def _outcomes(result: Result, suite: SuiteCases, labels: Labels) -> Outcomes:
    """What the model said, on the suite's own cases with the suite's own passing labels."""
    return Outcomes(
        model=result.model.name,
        revision=result.model.revision,
        weights_sha256=result.model.weights_sha256,
        label_rule=result.model.label_rule,
        suite=suite,
        labels=labels,
        failed=failed_cases(suite.cases, labels),
    )


def _faults_of_model(
    result: Result, suite: SuiteCases, labels: Labels, seed: int
) -> tuple[list[str], int]:
    """Ask the model itself, and say where it differs; also how many cases it was asked."""
    told, options = result.model, result.model.options
    built_in = told.name in WORD_LISTS or told.name in EMBEDDED_MODELS
    if not built_in and Path(told.name).exists():
        # A folder that came with the submission is not the model on the Hub.
        return [
            f"model.name: a folder {told.name} in the working directory would be loaded instead "
            "of the Hub's; check from an empty directory"
        ], 0
    wanted = max(FEWEST_RESCORED, math.ceil(RESCORED_SHARE * len(suite.cases)))
    drawn = sorted(
        random.Random(seed).sample(range(len(suite.cases)), min(wanted, len(suite.cases)))
    )
    try:
        model = load_classifier(
            told.name, revision=None if built_in else told.revision, asks=asked(options)
        )
        rule = rule_for(
            model.classes,
            model=model.name,
            label_map=options.label_map,
            neutral_band=options.neutral_band,
        )
        faults = [*_faults_of_identity(result, model, rule_in_words(rule, asked(options)))]
        if faults:
            return faults, 0
        cases: list[Case] = [suite.cases[number] for number in drawn]
        probabilities = probabilities_of(model, cases)
    except ScoringError as error:
        return [f"cannot be scored again: {error.problem}"], 0
    except Exception as error:  # a stranger's model may fail in any way
        return [f"cannot be scored again: {type(error).__name__}: {error}"], 0
    right = rule.could_be(labels[drawn], probabilities, ROUNDING)
    if not right.all():
        wrong = [case.id for case, fits in zip(cases, right, strict=True) if not fits]
        faults.append(
            f"the model says something else of {_some(wrong, 'case')} out of {len(drawn)} drawn "
            f"(--seed {seed})"
        )
    return faults, len(drawn)


def _faults_of_identity(result: Result, model: Classifier, label_rule: str) -> Iterator[str]:
    from s2lct.leaderboard.model_facts import licence_of, parameters_of

    told = result.model
    if model.revision != told.revision:
        yield f"model.revision: is {told.revision}, the model here is {model.revision}"
    if getattr(model, "weights_sha256", model.fingerprint) != told.weights_sha256:
        yield "model.weights_sha256: is not that of the model"
    if label_rule != told.label_rule:
        yield "model.label_rule: is not that of the model with these options"
    parameters, licence = parameters_of(model), licence_of(model)
    if told.parameters is not None and told.parameters != parameters:
        yield f"model.parameters: is {told.parameters}, the model has {parameters}"
    if told.licence is not None and licence is not None and told.licence != licence:
        yield f"model.licence: is {told.licence!r}, the model's is {licence!r}"


def record(path: Path, verdict: Verdict) -> Path:
    """Write down that a submission was accepted with its model asked again.

    Args:
        path: the result file; `VERIFIED_FILE` lies beside it and maps the SHA-256 of result files
            to the dates they were checked.
        verdict: what its check came to.

    Returns:
        The path of `VERIFIED_FILE`.

    Raises:
        ScoringError: it was not accepted, its model was not asked, or the file is broken.
    """
    if not verdict.accepted or not verdict.rescored:
        raise ScoringError(
            f"{path}: was not {'scored again' if verdict.accepted else 'accepted'}",
            mend="only what was accepted with --rescore is recorded as verified",
        )
    file = path.with_name(VERIFIED_FILE)
    dates = read_verified(file)
    dates[verdict.sha256] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    write_text(file, json.dumps(dates, indent=2, sort_keys=True) + "\n")
    return file


def read_verified(file: Path) -> dict[str, str]:
    """Dates by SHA-256 of result files; empty where the file does not exist.

    Raises:
        ScoringError: it is broken.
    """
    if not file.exists() and not file.is_symlink():
        return {}
    try:
        dates = json.loads(_bytes_of(file, MOST_TABLE_BYTES))
        if not isinstance(dates, dict) or not all(
            _SHA256.fullmatch(key) and isinstance(date, str) for key, date in dates.items()
        ):
            raise ValueError("it is no object of SHA-256 and date")
    except (RefusedError, ValueError, RecursionError) as error:
        raise ScoringError(
            f"{file}: cannot be read ({error})", mend="restore it from the repository's history"
        ) from error
    return dates
