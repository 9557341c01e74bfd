"""The one reader of results that anybody may have written.

Sizes are checked before anything is read, JSON is taken by its letter, the Parquet file is decoded
in a process of its own with little memory, and every word that a page shows is bounded.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from pydantic import ValidationError

from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import Labels
from s2lct.leaderboard.results.decoder import Decoded, Decoder, DecoderError
from s2lct.leaderboard.results.outcomes import case_columns, case_of_outcome, outcomes_schema
from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.results.untrusted_files import RefusedError, bytes_of
from s2lct.leaderboard.results.words import LONGEST_NAME, faults_of_names, faults_of_words, names_of
from s2lct.leaderboard.scoring.score import failed_cases
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import is_capability_id
from s2lct.suite.cases import Case
from s2lct.suite.tables import KINDS

MOST_JSON_BYTES = 1 << 20
MOST_TABLE_BYTES = 64 << 20
MOST_DECODED_BYTES = 256 << 20
MOST_ROWS = 200_000
MOST_CASES = 2_000_000
"""Of all suites together that nobody has named as trusted."""
LONGEST_TEXT = 20_000
NOT_IN_FORMAT_1 = ("sources",)


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
        result = checked_record(data, names=self._names)
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


def checked_record(data: bytes, *, names: bool) -> Result:
    """Bytes as a result whose words may be shown.

    Args:
        data: a result file.
        names: see `UntrustedReader`.

    Raises:
        RefusedError: they are none.
    """
    try:
        result = parse_result(data)
    except RefusedError as refusal:
        raise RefusedError(f"is no result file ({refusal.reasons[0]})") from None
    if faults := [*faults_of_words(result), *(faults_of_names(names_of(result)) if names else ())]:
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
