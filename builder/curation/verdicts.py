"""Verdicts: what readers found of sentences, extensions and seeds.

A file of verdicts is JSON lines, only ever appended to: ids and grades, no text. Several files are
merged by id and reader; where a reader judged something twice, the later verdict counts.

What readers said of traps stands among them. A trap's id follows from the id of what it was made
of (`trap_of`), so whoever reads the file can tell who did not read with care.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.errors import BuildError, S2lctWarning
from s2lct.files import as_json_lines, check_file_out, read_json_lines
from s2lct.identity import content_id
from s2lct.labels import LABELS, Label
from s2lct.suite.annotation import alpha

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PROTOCOL = "2026-11"
LEAST_READERS = 2
Grades = Literal["2+2", "2+1"]
"""What the two best grades of naturalness must come to for something to pass."""
STRICTEST: Grades = "2+2"
LENIENT: Grades = "2+1"
MOST_TRAPS_PASSED = 0.1
"""Of the broken sentences among what a reader gets: who passes more of them is not reading."""
Answer = Label | Literal["mixed"]
State = Literal["passed", "refused", "open"]
"""What readers found so far; open is what another reader decides."""


BEST = 2


class Verdict(BaseModel):
    """What a reader found of a text.

    Attributes:
        id: content id of what was read: a sentence, an extension of one, or a case.
        reader: who read it.
        protocol: version of the instructions.
        label: the sentiment that the reader takes it to have; ``mixed`` where readers would split.
        natural: `BEST` (2) if a fluent writer could have written every word, 1 if an editor would
            strike or change one, 0 if something is wrong.
        relevant: whether it shows its capability; None where none was asked about.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    reader: Annotated[str, Field(min_length=1, max_length=100)]
    protocol: Annotated[str, Field(max_length=40)] = PROTOCOL
    label: Answer
    natural: Annotated[int, Field(ge=0, le=BEST)]
    relevant: bool | None = None


@dataclass(frozen=True, slots=True)
class Care:
    """How many of the traps among what a reader got were called natural."""

    passed: int
    traps: int

    @property
    def is_enough(self) -> bool:
        """Whether no more than a tenth were; one may be by chance."""
        return self.passed <= max(1.0, MOST_TRAPS_PASSED * self.traps)


def trap_of(id: str) -> str:
    """The id of the trap that is made of something."""
    return content_id("trap", id)


class Verdicts:
    """Verdicts by what they are about; those of a careless reader are not among them.

    Args:
        verdicts: of any readers, in any order.
        grades: what the two best grades of naturalness must come to.

    Attributes:
        care: of each reader, how many traps were called natural.
    """

    def __init__(self, verdicts: Iterable[Verdict], grades: Grades = STRICTEST) -> None:
        self._least_sum = sum(map(int, grades.split("+")))
        of_id: defaultdict[str, dict[str, Verdict]] = defaultdict(dict)
        for one in verdicts:
            of_id[one.id][one.reader] = one
        traps = {trap_of(id) for id in of_id}.intersection(of_id)
        passed: Counter[str] = Counter()
        given: Counter[str] = Counter()
        for id in traps:
            for reader, verdict in of_id.pop(id).items():
                given[reader] += 1
                passed[reader] += verdict.natural == BEST
        readers = sorted({*given, *(reader for some in of_id.values() for reader in some)})
        self.care = {reader: Care(passed[reader], given[reader]) for reader in readers}
        careless = set(self.careless)
        self._of_id: Mapping[str, Mapping[str, Verdict]] = {
            id: kept
            for id, some in of_id.items()
            if (kept := {reader: one for reader, one in some.items() if reader not in careless})
        }

    @property
    def careless(self) -> list[str]:
        """The readers who call too many traps natural."""
        return [reader for reader, care in self.care.items() if not care.is_enough]

    def __iter__(self) -> Iterator[str]:
        """The ids of what was read."""
        return iter(self._of_id)

    @classmethod
    def read(cls, paths: Sequence[Path], grades: Grades = STRICTEST) -> Verdicts:
        """Read and merge files; a warning names readers whose verdicts are left out.

        Raises:
            BuildError: one cannot be read, or a line of it is no verdict.
        """
        found = cls((verdict for path in paths for verdict in read_verdicts(path)), grades)
        found.tell_careless()
        return found

    def tell_careless(self) -> None:
        """Warn of readers whose verdicts are left out."""
        for reader in self.careless:
            care = self.care[reader]
            warnings.warn(
                f"{reader} called {care.passed} of {care.traps} broken sentences natural: what "
                "that reader found is left out",
                S2lctWarning,
                stacklevel=3,
            )

    def check_care(self, reader: str) -> None:
        """Refuse a reader who calls too many broken sentences natural.

        Raises:
            BuildError: that is so.
        """
        if reader in self.careless:
            care = self.care[reader]
            raise BuildError(
                f"{reader}: called {care.passed} of {care.traps} broken sentences natural, more "
                "than a tenth; what this reader found is not used",
                hint="choose another reader; what others found is kept",
            )

    def of(self, id: str) -> list[Verdict]:
        """The verdicts on one thing, by reader."""
        return [verdict for _, verdict in sorted(self._of_id.get(id, {}).items())]

    def passes(self, id: str, labels: Collection[Label]) -> bool:
        """Whether at least two readers found it rightly labelled, relevant and natural.

        A 0 for naturalness by any reader fails, and so does another label than those.

        Args:
            id: of what was read.
            labels: the labels that are right.
        """
        return self.state(id, labels) == "passed"

    def state(self, id: str, labels: Collection[Label]) -> State:
        """What readers found so far; the arguments are those of `passes`."""
        found = self.of(id)
        if any(v.label not in labels or v.natural == 0 or v.relevant is False for v in found):
            return "refused"
        if len(found) < LEAST_READERS:
            # What cannot reach the grades with one reader more is not read again.
            reachable = BEST + max((verdict.natural for verdict in found), default=BEST)
            return "open" if reachable >= self._least_sum else "refused"
        best = sorted((verdict.natural for verdict in found), reverse=True)[:LEAST_READERS]
        return "passed" if sum(best) >= self._least_sum else "refused"


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts in a file.

    Raises:
        BuildError: it cannot be read, or a line of it is no verdict.
    """
    try:
        with path.open(encoding="utf-8") as file:
            return _verdicts_in(file, path)
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(f"{path}: cannot be read: {error}", hint=_MEND_LINE) from error


_MEND_LINE = "a verdict is {id, reader, protocol, label, natural, relevant}"


def _verdicts_in(lines: Iterable[str], path: Path) -> list[Verdict]:
    def refused(number: int, error: BaseException) -> BuildError:
        return BuildError(f"{path}, line {number}: {error}", hint=_MEND_LINE)

    found: list[Verdict] = []
    for number, row in read_json_lines(lines, refused):
        try:
            found.append(Verdict.model_validate(row))
        except ValidationError as error:
            problem = error.errors()[0]
            field = ".".join(map(str, problem["loc"]))
            raise BuildError(
                f"{path}, line {number}: {field}: {problem['msg']}", hint=_MEND_LINE
            ) from error
    return found


class VerdictFile:
    """A file of verdicts that is only ever appended to, with what stands in others.

    Attributes:
        path: the file; it need not exist.
        all: the verdicts of all files, those of careless readers too.
        verdicts: the same, merged.

    A warning names readers whose verdicts are left out.

    Args:
        path: the file.
        others: files that are only read.
        grades: what lets something pass, see `Verdicts`.

    Raises:
        BuildError: a file cannot be read, or a line of it is no verdict.
        OutputError: there can be no file of that name.
    """

    def __init__(self, path: Path, others: Sequence[Path] = (), grades: Grades = STRICTEST) -> None:
        check_file_out(path, "--verdicts")
        self.path = path
        if path.exists():
            _drop_half_a_line(path)
        files = [*others, *([path] if path.exists() else [])]
        self.all = [verdict for file in files for verdict in read_verdicts(file)]
        self._grades = grades
        self.verdicts = Verdicts(self.all, grades)
        self.verdicts.tell_careless()

    def append(self, verdicts: Sequence[Verdict]) -> None:
        """Add verdicts; when this returns, they are on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            dumped = (verdict.model_dump(exclude_none=True) for verdict in verdicts)
            file.write(as_json_lines(dumped).encode())
            file.flush()
            os.fsync(file.fileno())
        self.all += verdicts
        self.verdicts = Verdicts(self.all, self._grades)


def _drop_half_a_line(path: Path) -> None:
    """Cut off what was being written when the process or the machine stopped.

    A file that is none of verdicts stays as it is.
    """
    try:
        with path.open("r+b") as file:
            content = file.read()
            end = content.rfind(b"\n") + 1
            half = content[end:]
            if not half:
                return
            _verdicts_in(content[:end].decode().splitlines(), path)
            try:
                Verdict.model_validate_json(half)
            except ValidationError:
                if half.startswith(_BEGINNING) or _BEGINNING.startswith(half):
                    file.truncate(end)
            else:
                file.write(b"\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise BuildError(
            f"--verdicts {path}: cannot be used: {why}", hint="name a file of verdicts"
        ) from error


_BEGINNING = b'{"id": "'


_ANSWERS: tuple[Answer, ...] = (*LABELS, "mixed")


@dataclass(frozen=True)
class Agreement:
    """Verdicts of readers, and how far they agree.

    Attributes:
        verdicts: of each reader, how many count.
        care: of each reader, how many broken sentences were called natural.
        shared: what at least two readers read.
        same_label: of two readers of the same, how often they give the same label.
        same_grade: likewise the same grade of naturalness.
        alpha_label: Krippendorff's alpha of the labels, nominal.
        alpha_natural: of the grades of naturalness, ordinal.

    Shares and alphas are None where they are not defined.
    """

    verdicts: dict[str, int]
    care: dict[str, Care]
    shared: int
    same_label: float | None
    same_grade: float | None
    alpha_label: float | None
    alpha_natural: float | None


def agreement(verdicts: Verdicts) -> Agreement:
    """How far readers agree on what at least two of them read."""
    found = [verdicts.of(id) for id in verdicts]
    counts = dict.fromkeys(verdicts.care, 0)
    for some in found:
        for verdict in some:
            counts[verdict.reader] += 1
    shared = [some for some in found if len(some) > 1]
    pairs = [pair for some in shared for pair in combinations(some, 2)]
    return Agreement(
        verdicts=counts,
        care=dict(verdicts.care),
        shared=len(shared),
        same_label=_share(one.label == other.label for one, other in pairs),
        same_grade=_share(one.natural == other.natural for one, other in pairs),
        alpha_label=alpha(_counted(shared, "label"), "nominal"),
        alpha_natural=alpha(_counted(shared, "natural"), "ordinal"),
    )


def _counted(
    shared: Sequence[Sequence[Verdict]], field: Literal["label", "natural"]
) -> npt.NDArray[np.int64]:
    import numpy as np

    values: Sequence[object] = _ANSWERS if field == "label" else range(BEST + 1)
    counts = np.zeros((len(shared), len(values)), dtype=np.int64)
    for row, some in enumerate(shared):
        for verdict in some:
            counts[row, values.index(getattr(verdict, field))] += 1
    return counts


def _share(answers: Iterable[bool]) -> float | None:
    found = list(answers)
    return sum(found) / len(found) if found else None
