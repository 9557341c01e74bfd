"""Annotations of sentences, extensions and cases, and the file that keeps them.

A file of annotations is JSON lines: ids and grades, no text. Several files are merged by id and
annotator; where an annotator graded something twice, the later line counts.

Among what annotators get are traps, sentences with three words in the wrong order. A trap's id
follows from the id of what it was made of (`trap_of`), so whoever reads the file can tell who did
not read with care.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from s2lct.errors import BuildError, S2lctWarning
from s2lct.files import as_json_lines, check_output_file, sha256_of, write_bytes
from s2lct.labels import Label
from s2lct.suite.annotation import trap_of
from s2lct.suite.read import faults_in
from s2lct.table_files import read_rows

PROTOCOL = "2026-11"
"""Of the annotations that name none, too: later ones need another name for theirs."""
LEAST_ANNOTATORS = 2
BEST = 2
"""The best grade of naturalness."""
MOST_TRAPS_PASSED = 0.1
"""Who calls more of the traps natural does not read."""
REACHED = ".reached"
"""What the file ends with that says what passing texts were made of."""
Answer = Label | Literal["mixed"]
State = Literal["passed", "refused", "open"]
"""Of a text; open is what another annotator decides."""


class Annotation(BaseModel):
    """What an annotator found of a text.

    Attributes:
        id: content id of the text: a sentence, an extension of one, or a case.
        annotator: who read it; files before suite 4.0.0 call this ``reader``.
        protocol: version of the instructions.
        label: the sentiment that it has; ``mixed`` where readers would split.
        natural: `BEST` (2) if a fluent writer could have written every word, 1 if an editor would
            strike or change one, 0 if something is wrong.
        relevant: whether it shows its capability; None where none was asked about.
        sentence: of an expansion, the id of the sentence in it with what was inserted.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    annotator: Annotated[
        str,
        Field(min_length=1, max_length=100, validation_alias=AliasChoices("annotator", "reader")),
    ]
    protocol: Annotated[str, Field(max_length=40)] = PROTOCOL
    label: Answer
    natural: Annotated[int, Field(ge=0, le=BEST)]
    relevant: bool | None = None
    sentence: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None = None


_ROWS = TypeAdapter(Annotated[list[Annotation], Field(fail_fast=True)])


class Annotations:
    """Annotations by what they are about, without those of careless annotators.

    Args:
        annotations: of any annotators, in any order.
        marks_allowed: how many of those who read a text may have graded it 1.

    Attributes:
        careless: who called too many traps natural, and what to say of that, by annotator.
        is_hopeful: whether what nobody refused passes.
        reached: ids of the sentences, texts with masks and phrases of which something was made
            that passes, and of the sentences in the seeds of each capability; None where that is
            not known. Of what is not among them nothing is made, and no model is asked about it.
    """

    reached: frozenset[str] | None = None
    is_hopeful = False

    def __init__(self, annotations: Iterable[Annotation], marks_allowed: int = 0) -> None:
        self._marks_allowed = marks_allowed
        of_id: defaultdict[str, dict[str, Annotation]] = defaultdict(dict)
        for each in annotations:
            of_id[each.id][each.annotator] = each
        traps = {trap_of(id) for id in of_id}.intersection(of_id)
        missed: Counter[str] = Counter()
        given: Counter[str] = Counter()
        for id in traps:
            for annotator, annotation in of_id.pop(id).items():
                given[annotator] += 1
                missed[annotator] += annotation.natural == BEST
        # One may be missed by chance.
        self.careless = {
            name: f"{name} called {missed[name]} of {number} broken sentences natural"
            for name, number in sorted(given.items())
            if missed[name] > max(1, MOST_TRAPS_PASSED * number)
        }
        self._of_id: Mapping[str, Mapping[str, Annotation]] = {
            id: kept
            for id, found in of_id.items()
            if (kept := {name: each for name, each in found.items() if name not in self.careless})
        }

    def __iter__(self) -> Iterator[str]:
        """The ids of what was annotated."""
        return iter(self._of_id)

    @classmethod
    def read(cls, paths: Sequence[Path], marks_allowed: int = 0) -> Annotations:
        """Read and merge files; a warning names careless annotators.

        Raises:
            BuildError: one cannot be read, or a line of it is no annotation.
        """
        found = cls((each for path in paths for each in read_file(path)), marks_allowed)
        found.warn_of_careless()
        if len(paths) == 1:
            found.reached = read_reached(*paths)
        return found

    def warn_of_careless(self) -> None:
        """Warn of annotators whose annotations are left out."""
        for why in self.careless.values():
            warnings.warn(f"{why}, and is left out", S2lctWarning, stacklevel=3)

    def check_care(self, annotator: str) -> None:
        """Refuse a careless annotator.

        Raises:
            BuildError: the annotator is one.
        """
        if annotator in self.careless:
            raise BuildError(
                f"{self.careless[annotator]}: more than a tenth",
                hint="choose another annotator; what others found is kept",
            )

    def of(self, id: str) -> list[Annotation]:
        """The annotations of a text, by annotator."""
        return [each for _, each in sorted(self._of_id.get(id, {}).items())]

    def passes(self, id: str, labels: Collection[Label]) -> bool:
        """Whether at least two annotators found a text rightly labelled, relevant and natural.

        Args:
            id: of the text.
            labels: the labels that are right.
        """
        return id in self._of_id and self.state(id, labels) == "passed"

    def may_reach(self, id: str) -> bool:
        """Whether something that passes may be made of a sentence, or of a text with masks."""
        return self.reached is None or id in self.reached

    def may_stand(self, id: str) -> bool:
        """Whether a case that passes may have an extension in it."""
        return self.reached is None or id in self.in_cases

    def state(self, id: str, labels: Collection[Label]) -> State:
        """What annotators found so far; the arguments are those of `passes`.

        One other label, one "not relevant", one grade of 0 or too many of 1 refuse a text.
        """
        found = self.of(id)
        if any(v.label not in labels or v.relevant is False for v in found):
            return "refused"
        if not self._reads_well(found):
            return "refused"
        return "passed" if len(found) >= LEAST_ANNOTATORS else "open"

    def _reads_well(self, found: Collection[Annotation]) -> bool:
        grades = [each.natural for each in found]
        return 0 not in grades and len(grades) - grades.count(BEST) <= self._marks_allowed

    @cached_property
    def in_cases(self) -> frozenset[str]:
        """The ids of sentences in whose cases annotators found no fault."""
        return frozenset(
            each.sentence
            for found in self._of_id.values()
            if len(found) >= LEAST_ANNOTATORS
            and sum(one.natural == BEST and bool(one.relevant) for one in found.values())
            >= LEAST_ANNOTATORS - self._marks_allowed
            for each in found.values()
            if each.sentence
        )

    @cached_property
    def in_faulty_cases(self) -> frozenset[str]:
        """The ids of sentences that stood in two unnatural cases or more, and in no good one."""
        worst = (min(some.values(), key=lambda one: one.natural) for some in self._of_id.values())
        faulty = Counter(each.sentence for each in worst if each.sentence and each.natural < BEST)
        return frozenset(id for id, number in faulty.items() if number > 1) - self.in_cases

    def agreement(self) -> tuple[int, float, float]:
        """Of texts by two annotators: how many, and how often label and grade are the same."""
        pairs = [pair for id in self for pair in combinations(self.of(id), 2)]
        number = len(pairs) or 1
        labels = sum(first.label == second.label for first, second in pairs)
        grades = sum(first.natural == second.natural for first, second in pairs)
        return len(pairs), labels / number, grades / number


def read_file(path: Path) -> list[Annotation]:
    """The annotations in a file of JSON lines, or a Parquet file.

    Raises:
        ScoringError: it cannot be read.
        BuildError: a line of it is no annotation.
    """
    rows = read_rows(path, "parquet" if path.suffix == ".parquet" else "jsonl")
    try:
        return _ROWS.validate_python([row for _, row in rows])
    except ValidationError as error:
        number = error.errors()[0]["loc"][0]
        faults = (each.removeprefix(f"{number}.") for each in faults_in(error))
        raise BuildError(
            f"{rows[int(number)][0]}: {'; '.join(faults)}",
            hint="an annotation is {id, annotator, protocol, label, natural, relevant}",
        ) from error


def write_reached(path: Path, reached: Collection[str]) -> None:
    """Write `Annotations.reached` beside a file of annotations."""
    lines = [sha256_of(path), *sorted(reached)]
    write_bytes(path.with_suffix(REACHED), "\n".join(lines).encode() + b"\n")


def read_reached(path: Path) -> frozenset[str] | None:
    """What `write_reached` wrote; None if it did not, or the annotations have changed since."""
    try:
        made_for, *reached = path.with_suffix(REACHED).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    return frozenset(reached) if made_for == sha256_of(path) else None


class AnnotationFile:
    """A file of annotations that new ones are added to, with what stands in others.

    Attributes:
        path: the file; it need not exist.
        all: the annotations of all files, those of careless annotators too.
        annotations: the same, merged.

    Args:
        path: the file.
        others: files that are only read.
        marks_allowed: see `Annotations`.

    Raises:
        BuildError: a file cannot be read, or a line of it is no annotation.
        OutputError: there can be no file of that name.
    """

    def __init__(self, path: Path, others: Sequence[Path] = (), marks_allowed: int = 0) -> None:
        check_output_file(path, "--annotations")
        if path.suffix == ".parquet":
            raise BuildError(f"{path}: is only read", hint="name a .jsonl file before it")
        self.path = path
        files = [*others, *([path] if path.exists() else [])]
        self.all = [each for file in files for each in read_file(file)]
        self._marks_allowed = marks_allowed
        self.annotations = Annotations(self.all, marks_allowed)
        self.annotations.warn_of_careless()

    def append(self, new: Sequence[Annotation]) -> None:
        """Add annotations; when this returns, the file has all of them."""
        before = self.path.read_bytes() if self.path.exists() else b""
        if before and not before.endswith(b"\n"):
            before += b"\n"
        rows = (each.model_dump(exclude_none=True) for each in new)
        write_bytes(self.path, before + as_json_lines(rows).encode())
        self.all += new
        self.annotations = Annotations(self.all, self._marks_allowed)
