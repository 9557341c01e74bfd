"""The cases of a suite, read from a folder, a Hub dataset or rows."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.errors import ScoringError, SuiteError
from s2lct.files import is_folder, is_here, regular_bytes
from s2lct.hub_calls import data_set, hub_call, said_by
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import natural_order, spelled
from s2lct.suite.checks import Rows, rows_fingerprint
from s2lct.suite.known_splits import memberships_of
from s2lct.suite.other_suites import SUITE_FORMS, is_spec, rows_of_folder, rows_of_spec
from s2lct.suite.read import MOST_DESCRIPTION_BYTES, parse_description, read_suite
from s2lct.suite.rows import CaseRow
from s2lct.suite.tables import ALL, COUNTERPART, KINDS, SPLIT, SUITE_FILE

if TYPE_CHECKING:
    from datasets import Dataset

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Case:
    """One sentence to classify.

    Attributes:
        id: the row's id.
        capability: ``LC1`` …
        kind: ``seed`` or ``expansion``, or ``counterpart``: no case, and in no failure rate.
        seed_id: its own id for a seed.
        text: the sentence.
        passes: label ids (0 negative, 1 neutral, 2 positive) that pass.
        inserted: the words that an expansion has and its seed lacks.
        production: what licensed them, as ``NP -> DT JJ NN``; empty for a seed.
        splits: what its source sentences are known to be in; see `memberships_of`. No part of
            what makes cases equal: it is knowledge about them.
        sources: which these are, ``CORPUS:ID`` each; empty where the suite does not tell.
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
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuiteCases:
    """A suite's cases and what names the suite.

    Attributes:
        name: where it was read from.
        version: its semantic version; empty if unknown.
        fingerprint: SHA-256 over the rows of the whole suite, computed from them.
        cases: in the suite's order.
        partial: whether cases of the suite were left out.
        counterparts: of the seeds among the cases: their sentences with the opposite answer.
    """

    name: str
    version: str
    fingerprint: str
    cases: tuple[Case, ...]
    partial: bool = False
    counterparts: tuple[Case, ...] = ()

    @property
    def asked(self) -> tuple[Case, ...]:
        """All that a model is asked: the cases, and the counterparts behind them."""
        return (*self.cases, *self.counterparts) if self.counterparts else self.cases

    def select(
        self,
        capabilities: Sequence[str] | None = None,
        kind: str | None = None,
        limit: int | None = None,
    ) -> SuiteCases:
        """Some of the cases, under the whole suite's fingerprint.

        Args:
            capabilities: ids in any case; None for all.
            kind: ``seed`` or ``expansion``; None for both.
            limit: most cases of a capability, from the first on; None for all.

        Raises:
            ScoringError: a capability that the suite lacks, or nothing is left.
        """
        known = list(dict.fromkeys(case.capability for case in self.cases))
        chosen = known if capabilities is None else self._named(capabilities, known)
        if kind is not None and kind not in KINDS:
            raise ScoringError(f"--kind {kind}: no such", hint=f"pass {' or '.join(KINDS)}")
        if limit is not None and (isinstance(limit, bool) or not _is_whole(limit) or limit < 1):
            raise ScoringError(
                f"--limit {limit}: takes a whole number from 1 on",
                hint="pass 1 or more, or leave it out to take every case",
            )
        taken: dict[str, list[Case]] = {name: [] for name in chosen}
        kept: list[Case] = []
        for case in self.cases:
            of_capability = taken.get(case.capability)
            if of_capability is None or kind not in (None, case.kind):
                continue
            if limit is None or len(of_capability) < limit:
                of_capability.append(case)
                kept.append(case)
        if not kept:
            raise ScoringError(
                f"suite {self.name}: no case is left to score",
                hint="loosen --capability, --kind or --limit",
            )
        seeds = {case.id for case in kept if case.kind == "seed"}
        return replace(
            self,
            cases=tuple(kept),
            partial=self.partial or len(kept) < len(self.cases),
            counterparts=tuple(case for case in self.counterparts if case.seed_id in seeds),
        )

    def _named(self, capabilities: Sequence[str], known: Sequence[str]) -> Sequence[str]:
        asked = [capabilities] if isinstance(capabilities, str) else list(capabilities)
        if not asked:
            raise ScoringError(
                f"suite {self.name}: no capability is named",
                hint=f"choose among {', '.join(known)}, or leave them out to take all",
            )
        names = spelled(map(str, asked), known)
        if unknown := [name for name in names if name not in known]:
            raise ScoringError(
                f"suite {self.name}: has no capability {', '.join(unknown)}",
                hint=f"choose among {', '.join(known)}",
            )
        return names


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The rows of a whole suite, checked, and what names it; see `SuiteCases`."""

    name: str
    version: str
    fingerprint: str
    rows: tuple[CaseRow, ...]


def load_cases(
    suite: str | Path | SuiteCases | Iterable[Mapping[str, Any]], kinds: Collection[str] = KINDS
) -> SuiteCases:
    """Read a suite.

    Args:
        suite: a folder that `s2lct build` wrote or another with tables, a suite of others (see
            `other_suites`), a Hub id (``ORG/s2lct`` or ``ORG/s2lct@REVISION``,
            as `datasets.load_dataset` takes it), or rows: dicts, a `datasets.Dataset`, a
            `DatasetDict` or a dict of them by config, as `s2lct.builder.build` returns.
        kinds: which rows are its `cases`; without any said, those that a failure rate counts.
            Counterparts that are not among these are its `counterparts`.

    Raises:
        ScoringError: there is no such suite, it is damaged or altered, or rows lack columns.
    """
    if not isinstance(suite, SuiteCases):
        return cases_of(read_rows(suite), kinds)
    rows = [
        {name: getattr(case, name) for name in ("id", "capability", "kind", "seed_id", "text")}
        | {"labels": list(case.passes)}
        for case in suite.asked
    ]
    _checked_rows(rows, f"suite {suite.name}, ", written=False, whole=not suite.partial)
    return suite


def cases_of(read: CheckedRows, kinds: Collection[str] = KINDS) -> SuiteCases:
    """The cases among rows that were read, of the kinds asked for, with their counterparts."""
    found = [case_from(row) for row in read.rows]
    cases = tuple(case for case in found if case.kind in kinds)
    opposite = () if COUNTERPART in kinds else (c for c in found if c.kind == COUNTERPART)
    return SuiteCases(
        read.name, read.version, read.fingerprint, cases, counterparts=tuple(opposite)
    )


def read_rows(suite: str | Path | Iterable[Mapping[str, Any]]) -> CheckedRows:
    """Read a suite's rows, whole and checked; see `load_cases`."""
    if not isinstance(suite, (str, Path)):
        rows = _checked_rows(_rows(suite), "", written=False)
        # Rows may come in the order of their files' names, LC10 before LC2.
        read = CheckedRows("rows", "", rows_fingerprint(_in_order(rows)), tuple(rows))
        if not rows:
            raise ScoringError(
                "there is no row in the suite or references that were given",
                hint="pass rows as `load_dataset` gives them",
            )
        return read
    if is_folder(Path(suite)):
        read = _from_folder(Path(suite))
    elif is_spec(str(suite)):
        read = _from_others(*rows_of_spec(str(suite)))
    elif is_here(Path(suite)):
        raise ScoringError(f"--suite {suite}: a file of what kind?", hint=SUITE_FORMS)
    else:
        read = read_hub(str(suite))[1]
    if not read.rows:
        raise ScoringError(f"suite {read.name}: holds no case", hint="build one with more seeds")
    return read


def case_of(row: Mapping[str, Any]) -> Case:
    """A row of a suite as a case; a `ScoringError` says what it lacks."""
    return case_from(_checked_rows([row], "", written=False, whole=False)[0])


def case_from(row: CaseRow) -> Case:
    """A checked row as a case."""
    production, sources = row.production, row.sources or ()
    known = all(source.id for source in sources)
    return Case(
        id=row.id,
        capability=row.capability,
        kind=row.kind,
        seed_id=row.seed_id,
        text=row.text,
        passes=frozenset(row.labels),
        inserted=tuple(word.word for word in row.inserted or ()),
        production=(
            f"{production.lhs} -> {' '.join(production.reference_rhs)}" if production else ""
        ),
        splits=memberships_of([source.model_dump() for source in sources]),
        sources=tuple(f"{source.corpus}:{source.id}" for source in sources if known),
    )


def _checked_rows(
    rows: Iterable[Mapping[str, Any]], where: str, *, written: bool, whole: bool = True
) -> list[CaseRow]:
    """Checked rows; those of a whole suite are checked together too."""
    checks = Rows(written=written)
    checks.add(list(rows))
    if whole:
        checks.together()
    if faults := checks.faults:
        more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
        raise ScoringError(
            f"{where}{faults[0].row}: not a row of a suite: {faults[0].what}{more}",
            hint="pass rows as `load_dataset` gives them, with id, capability, kind, seed_id, "
            "text and labels, and expansions together with their seeds",
        )
    return checks.rows


def _is_whole(number: object) -> bool:
    try:
        operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _rows(data: Any) -> Iterator[Any]:
    if isinstance(data, Mapping):
        if "id" in data and "text" in data:
            yield data
            return
        configs = {name: part for name, part in data.items() if name != ALL} or data
        for part in configs.values():
            yield from _rows(part)
        return
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise ScoringError(
            f"rows of type {type(data).__name__}: no suite",
            hint="pass a folder, a Hub id, or rows as `load_dataset` gives them",
        )
    yield from data


def _in_order(rows: Sequence[CaseRow]) -> list[CaseRow]:
    return sorted(rows, key=lambda row: natural_order(row.capability))


def _from_others(name: str, rows: Sequence[Mapping[str, Any]]) -> CheckedRows:
    """A suite that was not built here, of the rows of its files."""
    checked = _in_order(_checked_rows(rows, f"suite {name}, ", written=False))
    return CheckedRows(name, "", rows_fingerprint(checked), tuple(checked))


def _from_folder(folder: Path) -> CheckedRows:
    if not (folder / SUITE_FILE).exists() and (rows := rows_of_folder(folder)):
        # Nothing shows that its labels are those that it was written with.
        return _from_others(f"folder:{folder.resolve().name} (no {SUITE_FILE})", rows)
    try:
        suite = read_suite(folder)
    except SuiteError as error:
        if (folder / SUITE_FILE).exists():
            raise ScoringError(f"--suite {error.problem}", hint=error.hint) from error
        raise ScoringError(
            f"--suite {folder}: is no suite (no {SUITE_FILE} there)",
            hint="build one with `s2lct build --out DIR`, or pass a Hub id, or a folder of tables"
            + ("; this folder shadows the installed suite" if folder == Path("s2lct") else ""),
        ) from error
    return CheckedRows(str(folder), suite.version, suite.fingerprint, tuple(suite.checked))


def read_hub(name: str, split: str = SPLIT) -> tuple[Dataset, CheckedRows]:
    """A suite that `datasets` loads, as it is and checked.

    Args:
        name: a Hub id, with ``@REVISION`` or without, or the name of an installed suite.
        split: which of its splits.

    Raises:
        ScoringError: there is none, or its rows are not those that its repository states.
    """
    repo, _, revision = name.partition("@")
    shown = plain(name, _SHOWN)
    try:
        data = data_set(repo, ALL, split=split, revision=revision or None)
    except Exception as error:
        raise ScoringError(
            f"--suite {shown}: neither a folder here nor a data set that can be loaded "
            f"({said_by(error)})",
            hint="check the name; without a network, build a suite with `s2lct build --out DIR` "
            "and pass DIR",
        ) from error
    described = _description(repo, revision)
    rows = _checked_rows(data, f"suite {name}, ", written=True)
    order = [str(one["id"]) for one in described["capabilities"]] if described else []
    place = {capability: number for number, capability in enumerate(order)}
    # The config "all" has its files in the order of their names, LC10 before LC2.
    rows.sort(
        key=lambda row: (place.get(row.capability, len(order)), natural_order(row.capability))
    )
    fingerprint = rows_fingerprint(rows)
    if described and fingerprint != described["fingerprint"]:
        raise ScoringError(
            f"--suite {shown}: its rows are not those that its {SUITE_FILE} was written with "
            "(the fingerprint differs)",
            hint=f"name a released version, {repo}@vVERSION, and tell whoever keeps {repo}",
        )
    known = str(data.info.version or "")
    version = described["version"] if described else known if known != "0.0.0" else revision
    return data, CheckedRows(name, str(version), fingerprint, tuple(rows))


def _description(repo: str, revision: str) -> dict[str, Any] | None:
    """What a suite's repository says of it; None where a name stands for no repository."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        with hub_call():
            path = hf_hub_download(repo, SUITE_FILE, repo_type="dataset", revision=revision or None)
    except (OSError, ValueError, HfHubHTTPError, HFValidationError):
        return None
    try:
        return parse_description(regular_bytes(Path(path), MOST_DESCRIPTION_BYTES), repo)
    except OSError as error:
        raise ScoringError(
            f"--suite {repo}: its {SUITE_FILE} cannot be read ({error.strerror})",
            hint="fetch it again",
        ) from error
    except SuiteError as error:
        raise ScoringError(f"--suite {error.problem}", hint="name another suite") from error
