"""Result files: JSON with figures, and beside it a Parquet file with what was said of each case."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from s2lct.builder.checkpoint import check_folder_out, whole_file, write_text
from s2lct.builder.hashing import sha256_of
from s2lct.builder.records import LABELS, Label
from s2lct.leaderboard.cases import Case
from s2lct.leaderboard.chance import references
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.labels import NEUTRAL_BAND
from s2lct.leaderboard.language_model import LabelPrompt
from s2lct.leaderboard.scoring import (
    Outcomes,
    answers,
    contamination,
    figures,
    flipping_productions,
    flipping_words,
)

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT: Literal[2] = 2
SCHEMA_FILE = Path(__file__).parent / "result.schema.json"
_PACKAGES = ("s2lct", "datasets", "numpy", "scipy", "torch", "transformers")
_NOT_IN_FORMAT_1 = re.compile(
    r"\.ci\.[01]$|\.(all|chance|chance_corrected)$|^(answers|references)$"
)
Proportion = Field(ge=0, le=1)
Count = Field(ge=0)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SuiteRecord(_Strict):
    """Which suite."""

    name: str
    version: str
    fingerprint: str


class OptionsRecord(_Strict):
    """The options of `s2lct score` that decide what a model's answers mean."""

    label_map: dict[str, str] | None = None
    neutral_band: tuple[float, float] = NEUTRAL_BAND
    prompt: str | None = None
    label_words: tuple[str, ...] | None = None


class ModelRecord(_Strict):
    """Which model."""

    name: str
    revision: str
    weights_sha256: str
    label_rule: str
    options: OptionsRecord = OptionsRecord()
    parameters: int | None = Field(default=None, ge=0)
    licence: str | None = None


class RateRecord(_Strict):
    """A failure rate with its interval."""

    cases: int = Count
    failures: int = Count
    failure_rate: float = Proportion
    ci: tuple[float, float]


class OverallRecord(_Strict):
    """The mean of the capabilities' failure rates."""

    failure_rate: float = Proportion
    ci: tuple[float, float]
    cases: int = Count
    chance: float | None = Field(default=None, ge=0, le=1)
    chance_corrected: float | None = Field(default=None, le=1)


class CapabilityRecord(_Strict):
    """One capability: all its cases, and seeds and expansions apart."""

    all: RateRecord | None = None
    seed: RateRecord
    expansion: RateRecord
    pass_to_fail: int = Count
    fail_to_pass: int = Count


class FlippingRecord(_Strict):
    """How often an inserted word or a production turned a pass into a fail."""

    item: str
    pass_to_fail: int = Count
    expansions: int = Count


class ReferenceRecord(_Strict):
    """What an answer that does not read the cases comes to: the mean, and each capability."""

    failure_rate: float = Proportion
    capabilities: dict[str, float]


class OutcomesRecord(_Strict):
    """The Parquet file with the outcomes."""

    path: str
    rows: int = Count
    sha256: str


class Result(_Strict):
    """A result file.

    Files of format 1 have other intervals (of a bootstrap of seeds with their expansions) and lack
    ``all``, ``chance``, ``chance_corrected``, ``answers`` and ``references``; see `current`.
    """

    format: Literal[1, 2] = FORMAT
    suite: SuiteRecord
    model: ModelRecord
    date: str
    packages: dict[str, str]
    overall: OverallRecord
    capabilities: dict[str, CapabilityRecord]
    answers: dict[Label, int] | None = None
    references: dict[str, ReferenceRecord] | None = None
    contamination: dict[Literal["train", "other"], RateRecord]
    flipping_words: tuple[FlippingRecord, ...]
    flipping_productions: tuple[FlippingRecord, ...]
    outcomes: OutcomesRecord


def file_name(model: str) -> str:
    """A model's name as a file name."""
    return re.sub(r"[^\w.-]+", "--", model).strip("-.") or "model"


def write_result(outcomes: Outcomes, folder: Path) -> Path:
    """Write ``folder/MODEL.json`` and ``folder/MODEL.parquet``, each whole or not at all.

    Returns:
        The path of the JSON file.
    """
    check_folder_out(folder)
    name = file_name(outcomes.model)
    table = folder / f"{name}.parquet"
    _write_outcomes(outcomes, table)
    parts = figures_of(outcomes)
    result = Result(
        suite=SuiteRecord(
            name=outcomes.suite.name,
            version=outcomes.suite.version,
            fingerprint=outcomes.suite.fingerprint,
        ),
        model=ModelRecord(
            name=outcomes.model,
            revision=outcomes.revision,
            weights_sha256=outcomes.weights_sha256,
            label_rule=outcomes.label_rule,
            options=OptionsRecord(
                label_map=dict(outcomes.label_map) if outcomes.label_map is not None else None,
                neutral_band=outcomes.neutral_band,
                prompt=outcomes.asks.prompt if outcomes.asks else None,
                label_words=outcomes.asks.words if outcomes.asks else None,
            ),
            parameters=outcomes.parameters,
            licence=outcomes.licence,
        ),
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        packages=_versions(),
        outcomes=OutcomesRecord(path=table.name, rows=len(outcomes.cases), sha256=sha256_of(table)),
        **parts,
    )
    path = folder / f"{name}.json"
    write_text(path, result.model_dump_json(indent=2) + "\n")
    return path


def figures_of(outcomes: Outcomes) -> dict[str, Any]:
    """The fields of `Result` that follow from outcomes."""
    nested = figures(outcomes)
    return {
        "overall": nested.pop("overall"),
        "capabilities": nested,
        "answers": answers(outcomes),
        "references": {
            one.name: {
                "failure_rate": one.failure_rate,
                "capabilities": {name: rate["all"] for name, rate in one.capabilities.items()},
            }
            for one in references(outcomes.cases)
        },
        "contamination": contamination(outcomes),
        "flipping_words": _flipping(flipping_words(outcomes)),
        "flipping_productions": _flipping(flipping_productions(outcomes)),
    }


def _flipping(ranked: list[tuple[str, int, int]]) -> list[FlippingRecord]:
    return [
        FlippingRecord(item=item, pass_to_fail=flips, expansions=total)
        for item, flips, total in ranked
    ]


def case_columns(cases: Sequence[Case]) -> dict[str, list[Any]]:
    """The columns of an outcomes file that the suite decides."""
    return {
        "id": [case.id for case in cases],
        "capability": [case.capability for case in cases],
        "kind": [case.kind for case in cases],
        "seed_id": [case.seed_id for case in cases],
        "text": [case.text for case in cases],
        "passes": [sorted(case.passes) for case in cases],
        "inserted": [list(case.inserted) for case in cases],
        "production": [case.production for case in cases],
        "splits": [sorted(case.splits) for case in cases],
        "sources": [list(case.sources) for case in cases],
    }


def outcomes_schema() -> pa.Schema:
    """The columns of a result's Parquet file."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        {
            "id": text,
            "capability": text,
            "kind": text,
            "seed_id": text,
            "text": text,
            "passes": pa.list_(pa.int64()),
            "inserted": pa.list_(text),
            "production": text,
            "splits": pa.list_(text),
            "sources": pa.list_(text),
            "label": text,
            "failed": pa.bool_(),
        }
    )


def _write_outcomes(outcomes: Outcomes, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        case_columns(outcomes.cases)
        | {
            "label": [LABELS[label] for label in outcomes.labels],
            "failed": outcomes.failed.tolist(),
        },
        schema=outcomes_schema(),
    )
    with whole_file(path) as file:
        pq.write_table(table, file)


def read_result(path: Path) -> Result:
    """Read a result file, whoever wrote it.

    Raises:
        ScoringError: it cannot be read, or is not of the schema.
    """
    from s2lct.leaderboard.untrusted import read_untrusted_record

    return read_untrusted_record(path)


def read_outcomes(path: Path) -> Outcomes:
    """The outcomes that a result file was made from, whoever wrote them.

    Raises:
        ScoringError: the Parquet file is missing, or is not the one that the result names.
    """
    from s2lct.leaderboard.untrusted import read_untrusted_result

    return read_untrusted_result(path)[1]


def asked(options: OptionsRecord) -> LabelPrompt | None:
    """What a language model was asked; None for other models.

    Raises:
        ScoringError: it is no question.
    """
    if options.prompt is None or options.label_words is None:
        return None
    return LabelPrompt(options.prompt, options.label_words)


def case_of_outcome(row: Mapping[str, Any]) -> Case:
    """The case of a row of outcomes; those of format 1 do not tell its sources."""
    return Case(
        id=row["id"],
        capability=row["capability"],
        kind=row["kind"],
        seed_id=row["seed_id"],
        text=row["text"],
        passes=frozenset(row["passes"]),
        inserted=tuple(row["inserted"]),
        production=row["production"],
        splits=frozenset(row["splits"]),
        sources=tuple(row.get("sources") or ()),
    )


def recompute(path: Path) -> Result:
    """Compute every figure of a result file again from its outcomes.

    Returns:
        The result with the figures computed. Those that format 1 has otherwise or not at all are
        not compared.

    Raises:
        ScoringError: a figure does not follow from the outcomes; it is named.
    """
    result = read_result(path)
    outcomes = read_outcomes(path)
    wrong = (
        where
        for where in wrong_figures(result, outcomes)
        if result.format == FORMAT or not _NOT_IN_FORMAT_1.search(where)
    )
    if (where := next(wrong, None)) is not None:
        raise ScoringError(
            f"{path}: {where} does not follow from its outcomes",
            mend="score the model again; do not publish this file",
        )
    return _computed(result, outcomes)


def current(path: Path) -> Result:
    """Read a result file; one of format 1 gets the figures of this version from its outcomes.

    Raises:
        ScoringError: it cannot be read, or it is of format 1 and its outcomes cannot.
    """
    result = read_result(path)
    return result if result.format == FORMAT else _computed(result, read_outcomes(path))


def _computed(result: Result, outcomes: Outcomes) -> Result:
    return Result.model_validate(result.model_dump() | figures_of(outcomes) | {"format": FORMAT})


def wrong_figures(result: Result, outcomes: Outcomes) -> Iterator[str]:
    """The figures of a result that do not follow from outcomes, as ``overall.failure_rate``."""
    told = json.loads(result.model_dump_json())
    follows = _computed(result, outcomes).model_copy(update={"format": result.format})
    yield from _differences(told, json.loads(follows.model_dump_json()), "")


def _differences(told: Any, follows: Any, where: str) -> Iterator[str]:
    if isinstance(told, dict) and isinstance(follows, dict):
        for name in sorted(told.keys() | follows.keys()):
            if name in told and name in follows:
                yield from _differences(told[name], follows[name], f"{where}{name}.")
            else:
                yield f"{where}{name}"
    elif isinstance(told, list) and isinstance(follows, list) and len(told) == len(follows):
        for number, (one, other) in enumerate(zip(told, follows, strict=True)):
            yield from _differences(one, other, f"{where}{number}.")
    elif isinstance(told, float) and isinstance(follows, (int, float)):
        if not abs(told - follows) <= 1e-9:
            yield where.rstrip(".")
    elif told != follows:
        yield where.rstrip(".")


def schema() -> str:
    """The JSON Schema of a result file, as shipped in `SCHEMA_FILE`."""
    return json.dumps(Result.model_json_schema(), indent=2, sort_keys=True) + "\n"


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
