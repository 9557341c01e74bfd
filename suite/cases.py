"""The cases of a suite, read from a folder, a Hub dataset or rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.errors import ScoringError
from s2lct.files import is_folder, is_here
from s2lct.hub_calls import causes_of, hub_call, reason_of
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import chosen, natural_order
from s2lct.suite.other_suites import SUITE_FORMS, is_spec, rows_of_spec
from s2lct.suite.read import WrittenSuite, read_suite
from s2lct.suite.tables import (
    ALL,
    COUNTERPART,
    KINDS,
    SPLIT,
    SUITE_FILE,
    Row,
    checked_rows,
    rows_fingerprint,
    typed_rows,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
        sources: the corpus sentences that it was made from, ``CORPUS:ID`` each; empty where the
            suite does not say.
        source_texts: these sentences.
        label: id of the label to train on.
        template: that it was put into.
        places: where its inserted words stand: character offsets, end exclusive.
    """

    id: str
    capability: str
    kind: str
    seed_id: str
    text: str
    passes: frozenset[int]
    inserted: tuple[str, ...] = ()
    production: str = ""
    sources: tuple[str, ...] = ()
    source_texts: tuple[str, ...] = ()
    label: int = 0
    template: str = ""
    places: tuple[tuple[int, int], ...] = ()


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

    @property
    def capabilities(self) -> tuple[str, ...]:
        """In the suite's order."""
        return tuple(dict.fromkeys(case.capability for case in self.cases))

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
        if kind is not None and kind not in KINDS:
            raise ScoringError(f"kind {kind}: no such", hint=f"pass {' or '.join(KINDS)}")
        if limit is not None and limit < 1:
            raise ScoringError(f"--limit {limit}: no case would be left", hint="pass 1 or more")
        known = self.capabilities
        if capabilities is not None:
            named = [capabilities] if isinstance(capabilities, str) else capabilities
            known = chosen(named, known, self.name)
        taken: Counter[str] = Counter()
        kept: list[Case] = []
        for case in self.cases:
            wanted = case.capability in known and kind in (None, case.kind)
            if wanted and (limit is None or taken[case.capability] < limit):
                taken[case.capability] += 1
                kept.append(case)
        if not kept:
            raise ScoringError(
                f"suite {self.name}: no case is left to score",
                hint="loosen --capability or --limit",
            )
        seeds = {case.id for case in kept if case.kind == "seed"}
        return replace(
            self,
            cases=tuple(kept),
            partial=self.partial or len(kept) < len(self.cases),
            counterparts=tuple(case for case in self.counterparts if case.seed_id in seeds),
        )


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The rows of a whole suite, checked, and what names it; see `SuiteCases`."""

    name: str
    version: str
    fingerprint: str
    rows: tuple[Row, ...]


def load_cases(
    suite: str | Path | SuiteCases | Iterable[Mapping[str, Any]], kinds: Collection[str] = KINDS
) -> SuiteCases:
    """Read a suite.

    Args:
        suite: a folder that `s2lct build` wrote, a suite of others (see
            `other_suites`), a Hub id (``ORG/s2lct`` or ``ORG/s2lct@REVISION``), the name of the
            installed suite, or rows: dicts, a `datasets.Dataset`, a `DatasetDict` or a dict of
            them by config, as `s2lct.builder.build` returns.
        kinds: which rows are its `cases`. Contrasts that are not among these are its
            `counterparts`.

    Raises:
        ScoringError: there is no such suite, it is damaged or altered, or rows lack columns.
    """
    return suite if isinstance(suite, SuiteCases) else cases_of(read_rows(suite), kinds)


def cases_of(read: CheckedRows, kinds: Collection[str] = KINDS) -> SuiteCases:
    """The cases among rows that were read, of the kinds asked for, with their contrasts."""
    found = [case_from(row) for row in read.rows]
    cases = tuple(case for case in found if case.kind in kinds)
    contrasts = () if COUNTERPART in kinds else (c for c in found if c.kind == COUNTERPART)
    return SuiteCases(
        read.name, read.version, read.fingerprint, cases, counterparts=tuple(contrasts)
    )


def case_from(row: Row) -> Case:
    """A checked row as a case."""
    production, sources = row["production"], row["sources"] or ()
    known = all(source["id"] for source in sources)
    return Case(
        id=row["id"],
        capability=row["capability"],
        kind=row["kind"],
        seed_id=row["seed_id"],
        text=row["text"],
        passes=frozenset(row["labels"]),
        inserted=tuple(word["word"] for word in row["inserted"] or ()),
        production=(
            f"{production['lhs']} -> {' '.join(production['reference_rhs'])}" if production else ""
        ),
        sources=tuple(f"{source['corpus']}:{source['id']}" for source in sources if known),
        source_texts=tuple(source["text"] for source in sources),
        label=row["labels"][0] if row["label"] is None else row["label"],
        template=row["template"] or "",
        places=tuple((word["start"], word["end"]) for word in row["inserted"] or ()),
    )


def families_of(cases: Sequence[Case], *, across: bool = False) -> npt.NDArray[np.int64]:
    """The number of each case's family, from 0 on; shape (cases,).

    Cases of a family are not independent of each other: they are resampled and tested as one. A
    family is, within a capability, all seeds made of the same set of corpus sentences ("X is not
    good" and "X isn't good") with all their expansions; where a suite does not name its sentences,
    a seed with its expansions. Seeds that share one of several sentences are families apart: LC7
    quotes few neutral sentences before many opinions, and models pass or fail by the opinion. A
    family ``across`` capabilities is one wherever these sentences are used.
    """
    import numpy as np

    keys = [
        ("" if across else case.capability, frozenset(case.sources) or case.seed_id)
        for case in cases
    ]
    number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([number_of[key] for key in keys], dtype=np.int64)


def read_rows(suite: str | Path | Iterable[Mapping[str, Any]]) -> CheckedRows:
    """Read a suite's rows, whole and checked; see `load_cases`."""
    if not isinstance(suite, (str, Path)):
        read = _of_others("rows", list(_rows_in(suite)))
    elif is_spec(str(suite)):
        read = _of_others(*rows_of_spec(str(suite)))
    elif is_here(Path(suite)) and not is_folder(Path(suite)):
        raise ScoringError(f"--suite {suite}: a file of what kind?", hint=SUITE_FORMS)
    else:
        built = _built(suite)
        read = CheckedRows(str(suite), built.version, built.fingerprint, tuple(built.all_rows))
    if not read.rows:
        raise ScoringError(f"suite {read.name}: holds no case", hint="build one with more seeds")
    return read


def _built(suite: str | Path) -> WrittenSuite:
    """A suite that was built, from a folder or the Hub."""
    folder = Path(suite)
    if not is_folder(folder):
        return read_suite(published_suite(str(suite)), str(suite))
    if (folder / SUITE_FILE).exists():
        return read_suite(folder)
    raise ScoringError(
        f"--suite {folder}: is no suite (no {SUITE_FILE} there)",
        hint="build one with `s2lct build --out DIR`, or pass a Hub id"
        + ("; this folder shadows the installed suite" if folder == Path("s2lct") else ""),
    )


def installed_folder() -> Path:
    """Where the suite lies that ``s2lct`` stands for, as `s2lct install` put it there."""
    from datasets import config

    return Path(config.HF_DATASETS_CACHE).expanduser() / "s2lct"


def published_suite(name: str) -> Path:
    """The folder of a published suite, which is fetched if it is not here, or of the installed one.

    Args:
        name: a Hub id, with ``@REVISION`` or without, or ``s2lct``.

    Raises:
        ScoringError: there is none.
    """
    from huggingface_hub import snapshot_download

    if name == "s2lct" and is_here(installed_folder() / SUITE_FILE):
        return installed_folder()
    repo, _, revision = name.partition("@")
    wanted = [SUITE_FILE, f"data/*/{SPLIT}-*.parquet"]
    try:
        with hub_call():
            folder = snapshot_download(
                repo, repo_type="dataset", revision=revision or None, allow_patterns=wanted
            )
    except Exception as error:  # of whatever kind the client and its HTTP library have
        *_, root = causes_of(error)
        raise ScoringError(
            f"--suite {plain(name, _SHOWN)}: neither a folder here nor a data set that can be "
            f"loaded ({reason_of(root)})",
            hint="check the name; without a network, build a suite with `s2lct build --out DIR` "
            "and pass DIR",
        ) from error
    return Path(folder)


def check_same_suite(fingerprints: Mapping[str, str]) -> None:
    """Refuse what is of several suites.

    Args:
        fingerprints: of suites, by what is of them, such as a result file.

    Raises:
        ScoringError: two differ.
    """
    (first, of_first), *others = fingerprints.items()
    for name, fingerprint in others:
        if fingerprint != of_first:
            raise ScoringError(
                f"{first} and {name}: of different suites ({of_first[:12]} and {fingerprint[:12]})",
                hint="score both on one suite",
            )


def _rows_in(data: Any) -> Iterator[Any]:
    if isinstance(data, Mapping):
        if "id" in data and "text" in data:
            yield data
            return
        configs = {name: part for name, part in data.items() if name != ALL} or data
        for part in configs.values():
            yield from _rows_in(part)
        return
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise ScoringError(
            f"rows of type {type(data).__name__}: no suite",
            hint="pass a folder, a Hub id, or rows as `load_dataset` gives them",
        )
    yield from data


def _of_others(name: str, rows: Sequence[Any]) -> CheckedRows:
    """A suite whose rows come without a ``suite.json``."""
    checked, faults = checked_rows([("", "", typed_rows(rows))], built=False)
    if faults:
        more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
        raise ScoringError(
            f"suite {name}, {faults[0]}: not a row of a suite{more}",
            hint="pass rows as `load_dataset` gives them, with id, capability, kind, seed_id, "
            "text and labels, and expansions together with their seeds",
        )
    # Rows may come in the order of their files' names, LC10 before LC2.
    checked.sort(key=lambda row: natural_order(row["capability"]))
    return CheckedRows(name, "", rows_fingerprint(checked), tuple(checked))
