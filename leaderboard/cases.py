"""The cases of a suite, read from a folder, a Hub dataset or rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from s2lct.builder.config import fingerprint_of
from s2lct.builder.records import LABELS
from s2lct.builder.write import ALL, KINDS, SPLIT, SUITE_FILE
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.known_splits import memberships_of


@dataclass(frozen=True, slots=True)
class Case:
    """One sentence to classify.

    Attributes:
        id: the row's id.
        capability: ``LC1`` …
        kind: ``seed`` or ``expansion``.
        seed_id: its own id for a seed.
        text: the sentence.
        passes: label ids (0 negative, 1 neutral, 2 positive) that pass.
        inserted: the words that an expansion has and its seed lacks.
        production: what licensed them, as ``NP -> DT JJ NN``; empty for a seed.
        splits: what its source sentences are known to be in, as ``sst:train``; see
            `known_splits.memberships_of`. No part of what makes cases equal: it is knowledge
            about them.
    """

    id: str
    capability: str
    kind: str
    seed_id: str
    text: str
    passes: frozenset[int]
    inserted: tuple[str, ...] = ()
    production: str = ""
    splits: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, slots=True)
class SuiteCases:
    """A suite's cases and what names the suite.

    Attributes:
        name: where it was read from.
        version: its semantic version; empty if unknown.
        fingerprint: SHA-256 over its rows; empty if unknown.
        cases: in the suite's order.
        partial: whether cases of the suite were left out.
    """

    name: str
    version: str
    fingerprint: str
    cases: tuple[Case, ...]
    partial: bool = False

    def select(
        self,
        capabilities: Sequence[str] | None = None,
        kind: str | None = None,
        limit: int | None = None,
    ) -> SuiteCases:
        """Some of the cases.

        Args:
            capabilities: ids; None for all.
            kind: ``seed`` or ``expansion``; None for both.
            limit: most cases of a capability, from the first on.

        Raises:
            ScoringError: a capability that the suite lacks, or nothing is left.
        """
        known = list(dict.fromkeys(case.capability for case in self.cases))
        if unknown := [name for name in capabilities or () if name not in known]:
            raise ScoringError(
                f"suite {self.name}: has no capability {', '.join(unknown)}",
                mend=f"choose among {', '.join(known)}",
            )
        taken: dict[str, int] = dict.fromkeys(known, 0)
        kept: list[Case] = []
        for case in self.cases:
            if capabilities and case.capability not in capabilities:
                continue
            if (kind and case.kind != kind) or (limit and taken[case.capability] >= limit):
                continue
            taken[case.capability] += 1
            kept.append(case)
        if not kept:
            raise ScoringError(
                f"suite {self.name}: no case is left to score",
                mend="loosen --capability, --kind or --limit",
            )
        partial = self.partial or len(kept) < len(self.cases)
        return SuiteCases(self.name, self.version, self.fingerprint, tuple(kept), partial)


def load_cases(suite: str | Path | SuiteCases | Iterable[Mapping[str, Any]]) -> SuiteCases:
    """Read a suite.

    Args:
        suite: a folder that `s2lct build` wrote, a Hub id (``ORG/s2lct`` or ``ORG/s2lct@REVISION``,
            as `datasets.load_dataset` takes it), or rows: dicts, a `datasets.Dataset`, a
            `DatasetDict` or a dict of them by config, as `s2lct.builder.build` returns.

    Raises:
        ScoringError: there is no such suite, or rows lack columns.
    """
    if isinstance(suite, SuiteCases):
        return suite
    if isinstance(suite, (str, Path)):
        folder = Path(suite)
        return _from_folder(folder) if folder.is_dir() else _from_hub(str(suite))
    return SuiteCases("rows", "", "", tuple(case_of(row) for row in _rows(suite)))


def case_of(row: Mapping[str, Any]) -> Case:
    """A row of a suite as a case.

    Raises:
        ScoringError: the row lacks a column or has a label that does not exist.
    """
    try:
        production = row.get("production")
        return Case(
            id=str(row["id"]),
            capability=str(row["capability"]),
            kind=str(row["kind"]),
            seed_id=str(row["seed_id"]),
            text=str(row["text"]),
            passes=frozenset(_label_id(label) for label in row["labels"]),
            inserted=tuple(str(word["word"]) for word in row.get("inserted") or ()),
            production=(
                f"{production['lhs']} -> {' '.join(production['reference_rhs'])}"
                if production and production.get("lhs")
                else ""
            ),
            splits=memberships_of(row.get("sources") or ()),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ScoringError(
            f"row {dict(row).get('id', row)!r}: not a row of a suite ({error!r})",
            mend="pass rows as `load_dataset` gives them, with id, capability, kind, seed_id, "
            "text and labels",
        ) from error


def _label_id(label: object) -> int:
    if isinstance(label, str):
        return LABELS.index(label)
    number = int(label)  # type: ignore[call-overload]
    if number not in range(len(LABELS)):
        raise ValueError(f"label {number}")
    return int(number)


def _rows(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        if "id" in data and "text" in data:
            yield data
            return
        configs = {name: part for name, part in data.items() if name != ALL} or data
        for part in configs.values():
            yield from _rows(part)
        return
    yield from data


def _from_folder(folder: Path) -> SuiteCases:
    import pyarrow.parquet as pq

    try:
        suite = json.loads((folder / SUITE_FILE).read_text(encoding="utf-8"))
        rows = [
            row
            for capability in suite["capabilities"]
            if (file := suite["files"].get(capability["id"])) is not None
            for row in pq.read_table(folder / file["path"]).to_pylist()
        ]
        version, fingerprint = str(suite["version"]), str(suite["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScoringError(
            f"--suite {folder}: is no suite ({error})",
            mend="build one with `s2lct build --out DIR`, or pass a Hub id"
            + ("; this folder shadows the installed suite" if folder == Path("s2lct") else ""),
        ) from error
    return SuiteCases(str(folder), version, fingerprint, tuple(case_of(row) for row in rows))


def _from_hub(name: str) -> SuiteCases:
    from datasets import load_dataset

    repo, _, revision = name.partition("@")
    try:
        data = load_dataset(repo, ALL, split=SPLIT, revision=revision or None)
    except Exception as error:
        raise ScoringError(
            f"--suite {name}: neither a folder here nor a data set that can be loaded "
            f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})",
            mend="check the name; without a network, build a suite with `s2lct build --out DIR` "
            "and pass DIR",
        ) from error
    described = _description(repo, revision)
    order = [str(one["id"]) for one in described.get("capabilities", ())]
    # The config "all" has its files in the order of their names, LC10 before LC2.
    rows = sorted(data, key=lambda row: _place(str(row["capability"]), order))
    known = str(data.info.version or "")
    return SuiteCases(
        name,
        str(described.get("version") or (known if known != "0.0.0" else revision)),
        fingerprint_of([[row["id"], row["text"], row["labels"]] for row in rows]),
        tuple(case_of(row) for row in rows),
    )


def _description(repo: str, revision: str) -> dict[str, Any]:
    """What a suite's repository says of it; nothing where a name stands for no repository."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        path = hf_hub_download(repo, SUITE_FILE, repo_type="dataset", revision=revision or None)
        described = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, HfHubHTTPError, HFValidationError):
        return {}
    return described if isinstance(described, dict) else {}


def _place(capability: str, order: Sequence[str]) -> tuple[int, str, int]:
    if capability in order:
        return order.index(capability), "", 0
    letters = capability.rstrip("0123456789")
    return len(order), letters, int(capability[len(letters) :] or 0)


__all__ = ["KINDS", "Case", "SuiteCases", "case_of", "load_cases"]
