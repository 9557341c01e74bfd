"""The cases of a suite, from a folder, the Hub, a table or rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.errors import ScoringError
from s2lct.files import is_folder, path_exists
from s2lct.hub_calls import causes_of, error_summary, is_hub_id, repository_of
from s2lct.labels import is_integer
from s2lct.plain_text import did_you_mean, listed, plain
from s2lct.suite.capability_ids import chosen_capabilities, natural_order
from s2lct.suite.former_names import with_present_names
from s2lct.suite.other_suites import CHECKLIST, SUITE_FORMS, is_table_name, read_other_suite
from s2lct.suite.read import read_suite
from s2lct.suite.tables import (
    ALL,
    CONTRAST,
    KINDS,
    SPLIT,
    SUITE_FILE,
    Row,
    faults_of_rows,
    rows_fingerprint,
    typed_rows,
)
from s2lct.table_files import TABLE_KINDS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

INSTALLED = "s2lct"
"""The name of the suite that `s2lct install` installed."""
_MAX_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence to classify.

    Attributes:
        id: the row's id.
        capability: ``LC1`` …
        kind: ``seed``, ``expansion``, or ``contrast``, which no failure rate counts.
        seed_id: the id of its seed, for a seed its own; for a contrast, the id of its case.
        text: the sentence.
        passes: label ids (0 negative, 1 neutral, 2 positive) that pass.
        inserted: the words that an expansion adds to its seed.
        sources: the corpus sentences that it was made from, each ``CORPUS:ID``; empty if the suite
            does not name them.
        source_texts: the texts of these sentences.
        label: the label id to train on.
        template: the template that its sentences were inserted into; empty for none.
        places: the character offsets (start, end) of the inserted words, ends exclusive.
    """

    id: str
    capability: str
    kind: str
    seed_id: str
    text: str
    passes: frozenset[int]
    inserted: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    source_texts: tuple[str, ...] = ()
    label: int = 0
    template: str = ""
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class SuiteCases:
    """A suite's cases, with its name and version; ``suite["LC4"]`` has the cases of one capability.

    Attributes:
        name: the folder, file or Hub id that the suite was read from.
        version: its semantic version; empty if unknown.
        fingerprint: SHA-256 over the rows of the whole suite.
        cases: seeds and expansions, in the suite's order.
        partial: whether cases or contrasts of the suite were left out.
        contrasts: cases changed so that no label passes both a case and its contrast.
    """

    name: str
    version: str
    fingerprint: str
    cases: tuple[Case, ...]
    partial: bool = False
    contrasts: tuple[Case, ...] = ()

    @property
    def with_contrasts(self) -> tuple[Case, ...]:
        """The cases, followed by the contrasts: all texts that a model classifies."""
        return (*self.cases, *self.contrasts)

    @property
    def capabilities(self) -> tuple[str, ...]:
        """The ids of the capabilities, in the suite's order."""
        return tuple(dict.fromkeys(case.capability for case in self.cases))

    def __repr__(self) -> str:
        kinds = Counter(case.kind for case in self.cases)
        counts = {"capabilities": len(self.capabilities)}
        counts |= {f"{kind}s": kinds[kind] for kind in KINDS}
        counts["contrasts"] = len(self.contrasts)
        partial_text = ", a part" if self.partial else ""
        shown = ", ".join(f"{name}: {count:,}" for name, count in counts.items())
        return f"<suite {self.name} {self.version or '?'}{partial_text}: {shown}>"

    def __getitem__(self, capability: str) -> SuiteCases:
        """The cases of a capability, with the fingerprint of the whole suite.

        Args:
            capability: its id, in upper or lower case.

        Raises:
            ScoringError: the suite has no such capability.
        """
        return self.select([capability])

    def __iter__(self) -> Iterator[str]:
        """The ids of the capabilities."""
        return iter(self.capabilities)

    def select(
        self,
        capabilities: str | Sequence[str] | None = None,
        kind: str | None = None,
        limit: int | None = None,
    ) -> SuiteCases:
        """The chosen cases and their contrasts, with the fingerprint of the whole suite.

        Args:
            capabilities: ids in upper or lower case; None for all.
            kind: ``seed`` or ``expansion``; None for both.
            limit: the number of cases of each capability, the first ones; None for all.

        Raises:
            ScoringError: the suite lacks a capability, or no case is left.
        """
        if kind is not None and kind not in KINDS:
            raise ScoringError(f"kind {kind}: no such", hint=f"pass {' or '.join(KINDS)}")
        if limit is not None and (not is_integer(limit) or limit < 1):
            raise ScoringError(
                f"--limit {limit!r:.60}: is no number of cases",
                hint="pass a whole number from 1 on",
            )
        chosen = self.capabilities
        if capabilities is not None:
            is_list = isinstance(capabilities, Iterable) and not isinstance(capabilities, str)
            chosen = chosen_capabilities(
                capabilities if is_list else [str(capabilities)], chosen, self.name
            )
        counts: Counter[str] = Counter()
        ids: set[str] = set()
        for case in self.cases:
            is_chosen = case.capability in chosen and kind in (None, case.kind)
            if is_chosen and (limit is None or counts[case.capability] < limit):
                counts[case.capability] += 1
                ids.add(case.id)
        if not ids:
            raise ScoringError(
                f"suite {self.name}: no case is left to score",
                hint="loosen --capability or --limit",
            )
        return self.with_contrasts_of(ids)

    def with_contrasts_of(self, ids: Collection[str]) -> SuiteCases:
        """The cases with these ids, and all contrasts of them."""
        contrasts = {case.id for case in self.contrasts if case.seed_id in ids}
        return self.restricted_to({*ids, *contrasts})

    def restricted_to(self, ids: Collection[str]) -> SuiteCases:
        """The cases and contrasts with these ids; partial if any case or contrast is left out.

        Leaving out contrasts counts, too: a model seems more consistent without the contrasts that
        it gets wrong.
        """
        cases, contrasts = (
            tuple(case for case in rows if case.id in ids) for rows in (self.cases, self.contrasts)
        )
        if len(cases) == len(self.cases) and len(contrasts) == len(self.contrasts):
            return self
        return replace(self, cases=cases, contrasts=contrasts, partial=True)


def load_suite(
    suite: str | Path | SuiteCases | Iterable[Mapping[str, Any]],
    *,
    capabilities: str | Sequence[str] | None = None,
    kind: str | None = None,
    limit: int | None = None,
) -> SuiteCases:
    """The cases of a suite, to look at and to score models on; see `Case`.

    Args:
        suite: a folder that `s2lct build` wrote, ``"s2lct"`` for the installed suite, a Hub id
            (``ORG/s2lct`` or ``ORG/s2lct@REVISION``, see `repository_of`), a suite of others
            (see `other_suites`), or rows: dicts, a `datasets.Dataset`, a `DatasetDict` or a dict
            of them by config, as `s2lct.build` returns.
        capabilities: ids in upper or lower case; None for all.
        kind: ``seed`` or ``expansion``; None for both.
        limit: the number of cases of each capability; None for all.

    Raises:
        ScoringError: no such suite or capability exists, the suite is damaged or altered, or rows
            lack columns.
    """
    cases = suite if isinstance(suite, SuiteCases) else _read(suite)
    return cases.select(capabilities, kind, limit)


def case_from(row: Row) -> Case:
    """The case in a row that was checked by `faults_of_rows`."""
    sources, inserted = row["sources"] or (), row["inserted"] or ()
    has_source_ids = all(source["id"] for source in sources)
    return Case(
        id=row["id"],
        capability=row["capability"],
        kind=row["kind"],
        seed_id=row["seed_id"],
        text=row["text"],
        passes=frozenset(row["labels"]),
        inserted=tuple(word["word"] for word in inserted),
        sources=tuple(f"{source['corpus']}:{source['id']}" for source in sources if has_source_ids),
        source_texts=tuple(source["text"] for source in sources),
        label=row["labels"][0] if row["label"] is None else row["label"],
        template=row["template"] or "",
        places=tuple((word["start"], word["end"]) for word in inserted),
    )


def families_of(cases: Sequence[Case], *, across: bool = False) -> npt.NDArray[np.int64]:
    """The family number of each case, from 0 on; shape (cases,).

    A family holds the seeds of a capability that were made from the same set of corpus sentences
    ("X is not good" and "X isn't good"), and their expansions. If a suite does not name its
    sentences, a family is a seed and its expansions. The cases of a family depend on each other, so
    statistics resample and test families. Seeds that share only some sentences are in different
    families: LC7 quotes few neutral sentences before many opinions, which decide the answers.

    Args:
        cases: the cases of a suite.
        across: whether cases of several capabilities may be in one family.
    """
    import numpy as np

    # Corpora of the same name may have the same ids, so texts are compared, too.
    keys = [
        (
            "" if across else case.capability,
            frozenset(zip_longest(case.sources, case.source_texts))
            if case.sources
            else case.seed_id,
        )
        for case in cases
    ]
    number_of_key = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([number_of_key[key] for key in keys], dtype=np.int64)


def _read(suite: str | Path | Iterable[Mapping[str, Any]]) -> SuiteCases:
    if not isinstance(suite, (str, Path)):
        return _cases_from_rows("rows", list(rows_in(suite)))
    if is_table_name(str(suite)):
        return _cases_from_rows(*read_other_suite(str(suite)))
    folder = Path(suite)
    is_existing_path = isinstance(suite, Path) and path_exists(folder)
    repository = "" if is_existing_path else repository_of(str(suite))
    if repository or not path_exists(folder):
        folder_suite = read_suite(published_suite(repository or str(suite)))
    elif not is_folder(folder):
        raise ScoringError(f"--suite {suite}: a file of what kind?", hint=SUITE_FORMS)
    elif (folder / SUITE_FILE).exists():
        folder_suite = read_suite(folder)
    else:
        raise ScoringError(
            f"--suite {folder}: is no suite (no {SUITE_FILE} there)",
            hint="build one with `s2lct build --out DIR`, or pass a Hub id"
            + ("; this folder shadows the installed suite" if folder == Path("s2lct") else ""),
        )
    return _cases_of(
        str(suite), folder_suite.version, folder_suite.fingerprint, folder_suite.all_rows
    )


def _cases_of(name: str, version: str, fingerprint: str, rows: Sequence[Row]) -> SuiteCases:
    if not rows:
        raise ScoringError(f"suite {name}: holds no case", hint="build one with more seeds")
    cases = tuple(map(case_from, rows))
    return SuiteCases(
        name,
        version,
        fingerprint,
        tuple(case for case in cases if case.kind in KINDS),
        contrasts=tuple(case for case in cases if case.kind == CONTRAST),
    )


def installed_folder() -> Path:
    """The folder of the suite that `s2lct install` installed."""
    from datasets import config

    return Path(config.HF_DATASETS_CACHE).expanduser() / "s2lct"


def published_suite(name: str) -> Path:
    """The folder of a suite on the Hub, which is downloaded if needed, or of the installed suite.

    Args:
        name: a Hub id, with ``@REVISION`` or without, or ``s2lct``.

    Raises:
        ScoringError: no such suite exists, or it cannot be downloaded.
    """
    from huggingface_hub import snapshot_download

    if name == INSTALLED and path_exists(installed_folder() / SUITE_FILE):
        return installed_folder()
    if not is_hub_id(name) and name != INSTALLED:
        kind = name.partition(":")[0]
        suggestion = did_you_mean(kind, (CHECKLIST, *TABLE_KINDS)) if ":" in name else ""
        raise ScoringError(
            f"--suite {plain(name, _MAX_SHOWN)}: there is no such folder",
            hint=f"{suggestion}{SUITE_FORMS}",
        )
    repository, _, revision = name.partition("@")
    patterns = [SUITE_FILE, f"data/*/{SPLIT}-*.parquet"]
    try:
        folder = snapshot_download(
            repository, repo_type="dataset", revision=revision or None, allow_patterns=patterns
        )
    except Exception as error:  # of whatever kind the client and its HTTP library have
        *_, root_cause = causes_of(error)
        raise ScoringError(
            f"--suite {plain(name, _MAX_SHOWN)}: neither a folder here nor a data set that can be "
            f"loaded ({error_summary(root_cause)})",
            hint="check the name; without a network, build a suite with `s2lct build --out DIR` "
            "and pass DIR",
        ) from error
    return Path(folder)


def rows_in(data: Any) -> Iterator[Any]:
    """The rows of a table, or of several tables by config, from `datasets.load_dataset`."""
    if isinstance(data, Mapping):
        if "id" in data and "text" in data:
            yield data
            return
        configs = {name: part for name, part in data.items() if name != ALL} or data
        for part in configs.values():
            yield from rows_in(part)
        return
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise ScoringError(
            f"rows of type {type(data).__name__}: no suite",
            hint="pass a folder, a Hub id, or rows as `load_dataset` gives them",
        )
    yield from data


def _cases_from_rows(name: str, rows: Sequence[Any]) -> SuiteCases:
    """A suite from rows without a ``suite.json``."""
    checked_rows = typed_rows(
        [with_present_names(row) if isinstance(row, Mapping) else row for row in rows]
    )
    if faults := faults_of_rows([("", "", checked_rows)], built=False):
        raise ScoringError(
            f"suite {name}: not a row of a suite: {listed(faults, 1)}",
            hint="pass rows as `load_dataset` gives them, with id, capability, kind, seed_id, "
            "text and labels, and expansions together with their seeds",
        )
    # Rows may come in the order of their files' names, LC10 before LC2.
    checked_rows.sort(key=lambda row: natural_order(row["capability"]))
    return _cases_of(name, "", rows_fingerprint(checked_rows), checked_rows)
