"""The one reader of results that anybody may have written.

Sizes are checked before anything is read, JSON is taken by its letter, the Parquet file is decoded
in a process of its own with little memory, and every word that a page shows is bounded.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from pydantic import ValidationError

from s2lct.errors import ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Labels
from s2lct.leaderboard.results.decoder import Decoded, Decoder, DecoderError
from s2lct.leaderboard.results.outcomes import case_columns, case_of_outcome, outcomes_schema
from s2lct.leaderboard.results.record import Result, asked
from s2lct.leaderboard.results.untrusted_files import RefusedError, bytes_of
from s2lct.leaderboard.scoring.chance import RANDOM
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import is_capability_id
from s2lct.suite.cases import KINDS, Case, SuiteCases

MOST_JSON_BYTES = 1 << 20
MOST_TABLE_BYTES = 64 << 20
MOST_DECODED_BYTES = 256 << 20
MOST_ROWS = 200_000
MOST_CASES = 2_000_000
"""Of all suites together that nobody has named as trusted."""
LONGEST_TEXT = 20_000
LONGEST_NAME = 200
FIRST_DAY = datetime(2020, 1, 1, tzinfo=timezone.utc)

_LONGEST_WORDS = {"prompt": 4_000, "label_rule": 10_000, "name": 4_096}
_LONGEST_WORD = 300
_MOST_PARAMETERS = 10**15
NOT_IN_FORMAT_1 = ("sources",)
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_NAME = r"[A-Za-z0-9_.-]"
MODEL_NAME = re.compile(rf"/?(?!-){_NAME}+(?:/(?!-){_NAME}+)*/?")
"""Hub ids, built-in models, and folders."""
REVISION = re.compile(rf"(?!-)(?:{_NAME}|[+!])*")
VERSION = re.compile(rf"(?!-)(?:{_NAME}|\+){{0,64}}")
SHA256 = re.compile(r"[0-9a-f]{64}")
REFERENCE_NAMES = frozenset({RANDOM, *(f"always-{label}" for label in LABELS)})
"""Rows that stand among the models and are none."""


@dataclass(frozen=True, slots=True)
class Untrusted:
    """A result of anybody's, of which all is bounded and nothing is proved.

    Attributes:
        result: what the file says.
        sha256: of the file.
        cases: as its outcomes have them; equal ones of one reader are one object.
        labels: what the model said of them, shape (cases,).
    """

    result: Result
    sha256: str
    cases: tuple[Case, ...]
    labels: Labels


class UntrustedReader:
    """Reads one result after the other; use it as a context manager.

    Args:
        names: refuse names of models, versions and revisions that are none, as a page that shows
            them side by side needs it.
        longest: characters of the longest text of a case.
        known: cases of suites that are trusted; equal ones will be these objects.
    """

    def __init__(
        self,
        *,
        names: bool = True,
        longest: int = LONGEST_TEXT,
        known: Iterable[tuple[Case, ...]] = (),
    ) -> None:
        self._names, self._longest = names, longest
        self._decoder = Decoder()
        self._cases_of: dict[str, tuple[Case, ...]] = {}
        self._known = {_all_of(cases): cases for cases in known}
        self._room = MOST_CASES

    def __enter__(self) -> UntrustedReader:
        return self

    def __exit__(self, *error: object) -> None:
        self._decoder.__exit__(*error)

    def read(self, path: Path) -> Untrusted:
        """A result file and the outcomes beside it.

        Raises:
            RefusedError: it cannot be read, is no result, or is not what a result may be.
        """
        data = bytes_of(path, MOST_JSON_BYTES)
        result = _record(data, names=self._names)
        table = decoded(
            self._decoder,
            path,
            result,
            longest=4 * self._longest,
            most_bytes=MOST_DECODED_BYTES,
        )
        name = result.outcomes.path
        cases = self._cases(table, name)
        said = table.columns["label"]
        try:
            labels = np.array([_LABEL_IDS[label] for label in said], dtype=np.int64)
        except (KeyError, TypeError):
            raise RefusedError(f"{name}: a label is none of {', '.join(LABELS)}") from None
        if table.columns["failed"] != failed_cases(cases, labels).tolist():
            raise RefusedError(f"{name}: failed does not follow from the label")
        return Untrusted(result, sha256(data).hexdigest(), cases, labels)

    def _cases(self, table: Decoded, name: str) -> tuple[Case, ...]:
        if table.shared is None:
            try:
                return self._cases_of[table.digest]
            except KeyError:
                raise RefusedError(f"{name}: its cases were refused before") from None
        cases = checked_cases(table.shared, name, self._longest)
        key = _all_of(cases)
        if key not in self._known:
            if len(cases) > self._room:
                raise RefusedError(f"{name}: is of one suite too many to be held in memory")
            self._room -= len(cases)
            self._known[key] = cases
        cases = self._cases_of[table.digest] = self._known[key]
        return cases


def _all_of(cases: tuple[Case, ...]) -> tuple[object, ...]:
    """What must be equal for cases to be taken for others: also what equality leaves out."""
    return cases, tuple(case.splits for case in cases)


_LABEL_IDS = {label: number for number, label in enumerate(LABELS)}


def read_untrusted_record(path: Path) -> Result:
    """A result file without its outcomes, whoever wrote it.

    Raises:
        ScoringError: it cannot be read, is no result, or says what no result may say.
    """
    with _told(path):
        return _record(bytes_of(path, MOST_JSON_BYTES), names=False)


def read_untrusted_result(path: Path) -> tuple[Result, Outcomes]:
    """A result file and the outcomes that it was made from, whoever wrote them.

    Models may be named by folders, whatever those are called.

    Raises:
        ScoringError: it cannot be read, is no result, or is not what a result may be.
    """
    with _told(path), UntrustedReader(names=False) as reader:
        read = reader.read(path)
    result, model = read.result, read.result.model
    suite = SuiteCases(
        result.suite.name,
        result.suite.version,
        result.suite.fingerprint,
        read.cases,
        result.partial,
    )
    return result, Outcomes(
        model=model.name,
        revision=model.revision,
        weights_sha256=model.weights_sha256,
        label_rule=model.label_rule,
        label_map=model.options.label_map,
        neutral_band=model.options.neutral_band,
        asks=asked(model.options),
        suite=suite,
        labels=read.labels,
        failed=failed_cases(read.cases, read.labels),
        parameters=model.parameters,
        licence=model.licence,
    )


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except RefusedError as refusal:
        raise ScoringError(
            plain(f"{path}: {refusal.reasons[0]}", 1_000),
            mend="make it with `s2lct score MODEL --suite DIR --out results/`, and leave the JSON "
            "and the Parquet file beside each other",
        ) from None


def _record(data: bytes, *, names: bool) -> Result:
    try:
        result = parse_result(data)
    except RefusedError as refusal:
        raise RefusedError(f"is no result file ({refusal.reasons[0]})") from None
    if faults := [*faults_of_words(result), *(faults_of_names(result) if names else ())]:
        raise RefusedError(*faults)
    return result


def parse_result(data: bytes) -> Result:
    """Bytes as a result, by the letter of JSON and of the schema.

    Raises:
        RefusedError: they are none.
    """
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


def faults_of_words(result: Result) -> Iterator[str]:
    """What no result may say, wherever it is shown."""
    model = result.model
    for where, text in texts_of(result.model_dump(), ""):
        name = where.rpartition(".")[2]
        if len(text) > (most := _LONGEST_WORDS.get(name, _LONGEST_WORD)):
            yield f"{where}: has {len(text):,} characters, at most {most:,}"
        if text.isprintable():
            continue
        allowed = "\n\t" if name == "prompt" else ""
        if hidden := [
            c for c in text if unicodedata.category(c) in _INVISIBLE and c not in allowed
        ]:
            yield f"{where}: holds a control character (U+{ord(hidden[0]):04X})"
    if not model.name.strip():
        yield "model.name: is empty"
    if model.parameters is not None and model.parameters > _MOST_PARAMETERS:
        yield f"model.parameters: is {model.parameters:.1e}, too large to be true"
    if (model.options.prompt is None) != (model.options.label_words is None):
        yield "model.options: prompt and label_words belong together"
    else:
        try:
            asked(model.options)
        except ScoringError as error:
            yield f"model.options: {error.problem}"
    for name in result.capabilities:
        if not is_capability_id(name):
            yield f"capabilities: {name!r} is no name of a capability"
    yield from faults_of_date(result.date)


def texts_of(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text of nested data with its place, keys included."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, part in value.items():
            inner = f"{where}.{key}" if where else str(key)
            yield f"a key in {where or 'the file'}", str(key)
            yield from texts_of(part, inner)
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from texts_of(part, f"{where}.{number}")


def faults_of_names(result: Result) -> Iterator[str]:
    """Names that a page cannot put beside others: what is none, or looks like another."""
    model, suite = result.model, result.suite
    for where, name in (("model.name", model.name), ("suite.name", suite.name)):
        if len(name) > LONGEST_NAME:
            yield f"{where}: has {len(name):,} characters, at most {LONGEST_NAME}"
    if not MODEL_NAME.fullmatch(model.name):
        yield (
            f"model.name: {model.name!r} is no name of letters, digits, _, . and -, with / "
            "between owner and name"
        )
    if model.name.lower() in REFERENCE_NAMES:
        yield f"model.name: {model.name!r} is what an answer is called that reads no case"
    if not REVISION.fullmatch(model.revision):
        yield f"model.revision: {model.revision!r} is no revision"
    if not SHA256.fullmatch(model.weights_sha256 or "0" * 64):
        yield "model.weights_sha256: is no SHA-256"
    if not VERSION.fullmatch(suite.version):
        yield f"suite.version: {suite.version!r} is no version"
    if not SHA256.fullmatch(suite.fingerprint or "0" * 64):
        yield "suite.fingerprint: is no SHA-256"


def faults_of_date(text: str) -> Iterator[str]:
    """Whether a date is one between `FIRST_DAY` and tomorrow."""
    try:
        moment(text)
    except ValueError as error:
        yield f"date: {text!r} {error}"


def moment(text: str) -> datetime:
    """An ISO date in UTC; without a time zone it counts as UTC.

    Raises:
        ValueError: it is none, or lies before `FIRST_DAY` or after tomorrow.
    """
    if not _DATE.fullmatch(text):
        raise ValueError("is no ISO date")
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
        found = (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).astimezone(
            timezone.utc
        )
    except (ValueError, OverflowError):
        raise ValueError("is no ISO date") from None
    if found < FIRST_DAY:
        raise ValueError(f"lies before {FIRST_DAY.year}")
    if found > datetime.now(timezone.utc) + timedelta(days=1):
        raise ValueError("lies in the future")
    return found


def decoded(
    decoder: Decoder, path: Path, result: Result, *, longest: int, most_bytes: int
) -> Decoded:
    """The columns of a result's Parquet file; those of its cases are the shared ones.

    Args:
        decoder: what decodes it.
        path: the result file.
        result: what it says.
        longest: bytes of the longest text.
        most_bytes: what the columns may need in memory.

    Raises:
        RefusedError: it is missing, is not the file that the result names, or cannot be read.
    """
    name, rows = result.outcomes.path, result.outcomes.rows
    if Path(name).name != name or "\\" in name or not name.endswith(".parquet"):
        raise RefusedError(f"outcomes.path: {name!r} is no plain name of a Parquet file beside it")
    if not 0 < rows <= MOST_ROWS:
        raise RefusedError(f"outcomes.rows: is {rows:,}, at most {MOST_ROWS:,}")
    data = bytes_of(path.parent / name, MOST_TABLE_BYTES)
    if sha256(data).hexdigest() != result.outcomes.sha256:
        raise RefusedError(f"{name}: is not the file that the result names (SHA-256 differs)")
    try:
        return decoder.decode(
            data,
            types=_types(result.format),
            shared=list(case_columns(())),
            rows=rows,
            longest=longest,
            most_bytes=most_bytes,
        )
    except DecoderError as error:
        raise RefusedError(f"{name}: {error}") from None


def _types(format_number: int) -> dict[str, tuple[str, ...]]:
    """The columns of an outcomes file with the types that writers give them."""
    types: dict[str, tuple[str, ...]] = {}
    for field in outcomes_schema():
        if field.name in NOT_IN_FORMAT_1 and format_number == 1:
            continue
        name = str(field.type).replace("list<item: ", "list<").replace("list<element: ", "list<")
        # Lists that are all empty have no type of their own.
        types[field.name] = (
            ("string", "large_string") if name == "string"
            else (name, "list<null>") if name == "list<string>"
            else (name,)
        )  # fmt: skip
    return types


def checked_cases(
    columns: Mapping[str, Sequence[Any]], name: str, longest: int
) -> tuple[Case, ...]:
    """Columns as cases.

    Args:
        columns: values by column.
        name: of the file, for messages.
        longest: characters of the longest text.

    Raises:
        RefusedError: a case is none, or comes twice.
    """
    names = list(columns)
    cases: list[Case] = []
    known: set[str] = set()
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(names, values, strict=True))
        if fault := _fault_of_case(row, longest):
            raise RefusedError(f"{name}: case {plain(str(row['id']), 40)!r} {fault}")
        if row["id"] in known:
            raise RefusedError(f"{name}: case {plain(row['id'], 40)!r} comes twice")
        known.add(row["id"])
        cases.append(case_of_outcome(row))
    return tuple(cases)


def _fault_of_case(row: Mapping[str, Any], longest: int) -> str:
    words = [*row["inserted"], *row["splits"], *row.get("sources", ())]
    if None in row.values() or None in (*row["passes"], *words):
        return "has gaps"
    for field in ("id", "seed_id"):
        if not row[field] or len(row[field]) > LONGEST_NAME or not row[field].isprintable():
            return f"has no {field} that can be shown"
    if row["kind"] not in KINDS:
        return f"is of no known kind ({' or '.join(KINDS)})"
    if not is_capability_id(row["capability"]):
        return f"is of {plain(row['capability'], 40)!r}, which is no name of a capability"
    passes = row["passes"]
    if not passes or not set(passes) <= set(range(len(LABELS))):
        return "has no known label"
    if len(row["text"]) > longest:
        return f"has a text longer than {longest:,} characters"
    if not all(row["inserted"]):
        return "has an inserted word that is empty"
    if max(map(len, (row["production"], *words))) > longest:
        return f"has a word longer than {longest:,} characters"
    return ""
