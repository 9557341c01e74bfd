"""Result files: JSON with figures, and beside it a Parquet file with what was said of each case."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from s2lct.errors import ScoringError
from s2lct.files import sha256_of, whole_file, write_text
from s2lct.labels import LABELS, Label
from s2lct.leaderboard.answers.label_rules import NEUTRAL_BAND
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS
from s2lct.leaderboard.models.language_model import LabelPrompt
from s2lct.leaderboard.models.word_lists import WORD_LISTS
from s2lct.leaderboard.scoring.chance import references
from s2lct.leaderboard.scoring.score import (
    Outcomes,
    answers,
    figures,
    flipping_productions,
    flipping_words,
    seen_in_training,
)
from s2lct.suite.cases import Case

if TYPE_CHECKING:
    import pyarrow as pa
from s2lct.leaderboard.results.read import read_outcomes, read_result

FORMAT: Literal[2] = 2
SCHEMA_FILE = Path(__file__).parent / "result.schema.json"
BUILT_IN = (*WORD_LISTS, *EMBEDDED_MODELS)
_LONGEST_SLUG = 100
_PACKAGES = ("s2lct", "datasets", "numpy", "scipy", "torch", "transformers")
_NOT_IN_FORMAT_1 = re.compile(
    r"\.ci\.[01]$|\.(all|chance|chance_corrected)$|^(answers|references|seen_in_training)$"
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


class GroupRecord(_Strict):
    """Cases of one group: the mean of the failure rates of the capabilities that have some."""

    cases: int = Count
    capabilities: int = Count
    failures: int = Count
    failure_rate: float | None = Field(ge=0, le=1)
    ci: tuple[float, float] | None


class ComparisonRecord(_Strict):
    """Cases with a sentence of some splits, cases known to have none, and cases of unknown origin.

    A split is written ``corpus:split``.
    """

    training_data: tuple[str, ...]
    train: GroupRecord
    other: GroupRecord
    unknown: GroupRecord


class TrainingRecord(_Strict):
    """Cases made of training data: the model's own if it is known, else each known train split."""

    known: bool
    comparisons: tuple[ComparisonRecord, ...]


class SelectionRecord(_Strict):
    """What a part of a suite was chosen by; nothing where it was chosen in another way."""

    capabilities: tuple[str, ...] | None = None
    kind: Literal["seed", "expansion"] | None = None
    limit: int | None = Field(default=None, ge=1)

    def __str__(self) -> str:
        told = [
            ", ".join(self.capabilities) if self.capabilities else "",
            f"{self.kind}s" if self.kind else "",
            f"at most {self.limit} of a capability" if self.limit else "",
        ]
        return "; ".join(part for part in told if part) or "a choice of cases"


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
    ``all``, ``chance``, ``chance_corrected``, ``answers`` and ``references``; see `current`. Older
    files lack ``selection`` and ``seen_in_training``, and have ``contamination``, which called
    cases free of training data that were not: it is read and not used.
    """

    format: Literal[1, 2] = FORMAT
    suite: SuiteRecord
    selection: SelectionRecord | None = None
    model: ModelRecord
    date: str
    packages: dict[str, str]
    overall: OverallRecord
    capabilities: dict[str, CapabilityRecord]
    answers: dict[Label, int] | None = None
    references: dict[str, ReferenceRecord] | None = None
    seen_in_training: TrainingRecord | None = None
    contamination: dict[Literal["train", "other"], RateRecord] | None = Field(
        default=None, exclude=True, deprecated=True
    )
    flipping_words: tuple[FlippingRecord, ...]
    flipping_productions: tuple[FlippingRecord, ...]
    outcomes: OutcomesRecord

    @property
    def partial(self) -> bool:
        """Whether cases of the suite were left out."""
        return self.selection is not None


def file_name(model: str) -> str:
    """A name as a file name; different names may give the same one."""
    return re.sub(r"[^\w.-]+", "--", model).strip("-.") or "model"


def slug(name: str) -> str:
    """A name as a part of a file name on any system: not too long, ASCII, no leading dot."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "--", name)[:_LONGEST_SLUG]
    return plain.strip("-.") or "model"


def digest_of(*parts: Any) -> str:
    """Eight hex digits over parts of which a slug tells only some."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]


def model_identity(model: ModelRecord) -> list[Any]:
    """What makes a scored model another one, with its options."""
    options = model.options.model_dump(mode="json")
    return [model.name, model.revision, model.weights_sha256, options]


def write_result(
    outcomes: Outcomes, folder: Path, selection: SelectionRecord | None = None
) -> Path:
    """Write a JSON file and the Parquet file beside it, each whole or not at all.

    A built-in model with default options on a whole suite is ``vader.json``, unless that file holds
    something else; all others have a hash of what they are in their names. So the same thing scored
    again replaces its own files and nothing else.

    Args:
        outcomes: what to write.
        folder: made if there is none.
        selection: what a part of the suite was chosen by; of no account for a whole suite.

    Returns:
        The path of the JSON file.
    """
    check_out_folder(folder)
    partial = outcomes.suite.partial
    parts = figures_of(outcomes)
    suite = SuiteRecord(
        name=outcomes.suite.name,
        version=outcomes.suite.version,
        fingerprint=outcomes.suite.fingerprint,
    )
    model = ModelRecord(
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
    )
    stem = _stem(model, suite, outcomes.cases, partial, folder)
    table = folder / f"{stem}.parquet"
    _write_outcomes(outcomes, table)
    result = Result(
        suite=suite,
        selection=(selection or SelectionRecord()) if partial else None,
        model=model,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        packages=_versions(),
        outcomes=OutcomesRecord(path=table.name, rows=len(outcomes.cases), sha256=sha256_of(table)),
        **parts,
    )
    path = folder / f"{stem}.json"
    write_text(path, result.model_dump_json(indent=2) + "\n")
    return path


def check_out_folder(folder: Path) -> None:
    """Make a folder for results, before time goes into them.

    Raises:
        ScoringError: it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = "it is no folder" if os.path.isfile(folder) else error.strerror or error  # noqa: PTH113
        raise ScoringError(
            f"--out {folder}: no result can be written there ({why})",
            mend="choose a folder that can be written to, or one that does not exist yet",
        ) from error


def plain_path(model: ModelRecord, folder: Path) -> Path | None:
    """Where a whole result of a built-in model with default options belongs; None for others."""
    if model.name not in BUILT_IN or model.options != OptionsRecord():
        return None
    return folder / f"{model.name}.json"


def _stem(
    model: ModelRecord, suite: SuiteRecord, cases: Sequence[Case], partial: bool, folder: Path
) -> str:
    plain = None if partial else plain_path(model, folder)
    if plain is not None and (not os.path.lexists(plain) or _is_of(plain, model, suite, cases)):
        return plain.stem
    # The cases themselves tell suites without a fingerprint, and parts of a suite, apart.
    rows = [[case.id, case.text, sorted(case.passes)] for case in cases]
    digest = digest_of(model_identity(model), suite.fingerprint, rows)
    return f"{slug(model.name)}{'--partial' if partial else ''}--{digest}"


def _is_of(path: Path, model: ModelRecord, suite: SuiteRecord, cases: Sequence[Case]) -> bool:
    """Whether a file holds a result of the same model and options on the same whole suite."""
    try:
        found = read_result(path)
    except ScoringError:
        return False
    # The revision of a built-in model is a package's version: what it says hangs on its weights.
    same = found.model.model_copy(update={"revision": model.revision})
    return (
        model_identity(same) == model_identity(model)
        and found.suite.fingerprint == suite.fingerprint
        and found.outcomes.rows == len(cases)
        and not found.partial
    )


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
        "seen_in_training": seen_in_training(outcomes),
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
    kept: dict[str, Any] = {"format": result.format}
    if result.seen_in_training is None:
        kept["seen_in_training"] = None  # a file of an older version
    follows = _computed(result, outcomes).model_copy(update=kept)
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
