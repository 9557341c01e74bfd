"""Annotations of sentences, extensions and cases, and the file that keeps them.

A file of annotations is JSON lines: ids and grades, no text. Several files are merged by id and
annotator; where an annotator graded something twice, the later line counts.

Annotators also get traps, which are sentences with three words in the wrong order. The id of a trap
follows from the id of its item (`trap_id_of`), so the file shows which annotators read carelessly.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, product
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from s2lct.errors import BuildError, S2lctWarning
from s2lct.files import as_json_lines, check_output_file, sha256_of, write_bytes
from s2lct.labels import LABELS, Label
from s2lct.suite.annotation import trap_id_of
from s2lct.suite.read import faults_in
from s2lct.table_files import read_rows

PROTOCOL = "2026-11"
"""The default version of the instructions to annotators; a new version needs a new name."""
MIN_ANNOTATORS = 2
BEST_GRADE = 2
"""The best grade of naturalness."""
MAX_SHARE_OF_TRAPS_PASSED = 0.1
"""An annotator who calls a greater share of traps natural is careless."""
INDEX_SUFFIX = ".reached"
"""The suffix of the index file beside a file of annotations."""
Answer = Label | Literal["mixed"]
State = Literal["accepted", "refused", "open"]
"""The decision of annotators on a text; ``open`` if another annotation is needed."""


class Annotation(BaseModel):
    """An annotator's judgement of a text.

    Attributes:
        id: the content id of the text: a sentence, an extension of one, or a case.
        annotator: the name of the annotator; in files before suite 4.0.0 called ``reader``.
        protocol: version of the instructions.
        label: the sentiment of the text; ``mixed`` if readers would disagree.
        natural: 2 if a fluent writer could have written every word, 1 if an editor would strike or
            change one, 0 if something is wrong.
        relevant: whether the text shows its capability; None for a sentence outside of a case.
        sentence: for a case, the id of the sentence in it, with its insertion.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    annotator: Annotated[
        str,
        Field(min_length=1, max_length=100, validation_alias=AliasChoices("annotator", "reader")),
    ]
    protocol: Annotated[str, Field(max_length=40)] = PROTOCOL
    label: Answer
    natural: Annotated[int, Field(ge=0, le=BEST_GRADE)]
    relevant: bool | None = None
    sentence: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None = None


_ROWS = TypeAdapter(Annotated[list[Annotation], Field(fail_fast=True)])


class Annotations:
    """Annotations by the id of their text, without those of careless annotators.

    Without annotations every text is accepted if undecided texts are.

    Args:
        annotations: annotations of any annotators, in any order.
        marks_allowed: the number of annotators of an accepted text that may have graded it 1.
        accepts_undecided: whether texts are accepted that no annotator refused.
        left_out: ids of texts that are never accepted.

    Attributes:
        careless: the reason why the annotations of a careless annotator are left out, by name.
        index: ids of texts that led to accepted cases when the annotations were indexed (see
            ``scripts/index_annotations.py``): sentences, texts with masks, phrases, and sentences
            in the seeds and in the expansions of a capability. None where there is no index.
    """

    index: frozenset[str] | None = None

    def __init__(
        self,
        annotations: Iterable[Annotation] = (),
        marks_allowed: int = 0,
        *,
        accepts_undecided: bool = False,
        left_out: Collection[str] = frozenset(),
    ) -> None:
        self._marks_allowed, self._accepts_undecided = marks_allowed, accepts_undecided
        self._left_out = left_out
        by_id: defaultdict[str, dict[str, Annotation]] = defaultdict(dict)
        for annotation in annotations:
            by_id[annotation.id][annotation.annotator] = annotation
        traps = {trap_id_of(id) for id in by_id}.intersection(by_id)
        on_traps = [annotation for id in traps for annotation in by_id.pop(id).values()]
        trap_count = Counter(annotation.annotator for annotation in on_traps)
        missed = Counter(trap.annotator for trap in on_traps if trap.natural == BEST_GRADE)
        # One may be missed by chance.
        self.careless = {
            name: f"{name} called {missed[name]} of {number} broken sentences natural"
            for name, number in sorted(trap_count.items())
            if missed[name] > max(1, MAX_SHARE_OF_TRAPS_PASSED * number)
        }
        self._by_id: Mapping[str, list[Annotation]] = {
            id: careful
            for id, by_annotator in by_id.items()
            if (
                careful := [by_annotator[n] for n in sorted(by_annotator) if n not in self.careless]
            )
        }

    def __iter__(self) -> Iterator[str]:
        """The ids of the annotated texts."""
        return iter(self._by_id)

    @classmethod
    def read(cls, paths: Sequence[Path], marks_allowed: int = 0) -> Annotations:
        """Read and merge files; a warning names careless annotators.

        Raises:
            BuildError: a file cannot be read, or a line of it is no annotation.
        """
        merged = cls((each for path in paths for each in read_file(path)), marks_allowed)
        merged.warn_of_careless()
        if len(paths) == 1:
            merged.index = read_index(*paths)
        return merged

    def warn_of_careless(self) -> None:
        """Warn of careless annotators, whose annotations are left out."""
        for reason in self.careless.values():
            warnings.warn(f"{reason}, and is left out", S2lctWarning, stacklevel=3)

    def check_care(self, annotator: str) -> None:
        """Refuse a careless annotator.

        Raises:
            BuildError: the annotator is careless.
        """
        if annotator in self.careless:
            raise BuildError(
                f"{self.careless[annotator]}: more than a tenth",
                hint="choose another annotator; the annotations of others are kept",
            )

    def of(self, id: str) -> list[Annotation]:
        """The annotations of a text, sorted by annotator."""
        return self._by_id.get(id, [])

    def accepts(self, id: str, labels: Collection[Label]) -> bool:
        """Whether a text may be published.

        At least two annotators found it rightly labelled, relevant and natural; where undecided
        texts are accepted, no annotator refused it.

        Args:
            id: the id of the text.
            labels: the correct labels.
        """
        if id in self._left_out or (id not in self._by_id and not self._accepts_undecided):
            return False
        state = self.state(id, labels)
        return state == "accepted" or (state == "open" and self._accepts_undecided)

    def state(self, id: str, labels: Collection[Label]) -> State:
        """The decision of annotators so far; see `accepts` for the arguments.

        Another label, "not relevant", a grade of 0 or too many grades of 1 refuse a text.
        """
        annotations = self.of(id)
        grades = [annotation.natural for annotation in annotations]
        if (
            any(each.label not in labels or each.relevant is False for each in annotations)
            or 0 in grades
            or len(grades) - grades.count(BEST_GRADE) > self._marks_allowed
        ):
            return "refused"
        return "accepted" if len(annotations) >= MIN_ANNOTATORS else "open"

    @cached_property
    def in_cases(self) -> frozenset[str]:
        """The ids of sentences inside cases without a fault."""
        return frozenset(
            annotation.sentence
            for annotations in self._by_id.values()
            if len(annotations) >= MIN_ANNOTATORS
            and sum(each.natural == BEST_GRADE and bool(each.relevant) for each in annotations)
            >= MIN_ANNOTATORS - self._marks_allowed
            for annotation in annotations
            if annotation.sentence
        )

    @cached_property
    def in_faulty_cases(self) -> frozenset[str]:
        """The ids of sentences inside at least two unnatural cases and no good one."""
        lowest_grades = [min(each, key=lambda one: one.natural) for each in self._by_id.values()]
        faulty = Counter(each.sentence for each in lowest_grades if each.natural < BEST_GRADE)
        return frozenset(id for id, count in faulty.items() if id and count > 1) - self.in_cases

    @cached_property
    def accepted_parts(self) -> frozenset[tuple[str, Label]]:
        """The ids of sentences and extensions that a case may contain, each with its label."""
        accepted = (
            (id, label)
            for id, annotations in self._by_id.items()
            for label in {annotation.label for annotation in annotations}.intersection(LABELS)
            if self.state(id, (label,)) == "accepted"
        )
        return frozenset(chain(accepted, product(self.in_cases, LABELS)))

    @cached_property
    def faultless(self) -> frozenset[str]:
        """The ids of texts that are accepted with any label."""
        return self.in_cases.union(id for id in self if self.state(id, LABELS) == "accepted")

    @cached_property
    def refused_parts(self) -> frozenset[tuple[str, Label]]:
        """The ids of sentences and extensions, each with a label whose cases may not contain it."""
        refused = (
            (id, label)
            for id, label in product(self, LABELS)
            if self.state(id, (label,)) == "refused"
        )
        return frozenset(chain(refused, product(self._left_out, LABELS))) - self.accepted_parts

    def agreement(self) -> tuple[int, float, float]:
        """The number of pairs of annotations of one text; the shares of equal labels and grades."""
        pairs = [
            pair for annotations in self._by_id.values() for pair in combinations(annotations, 2)
        ]
        pair_count = len(pairs) or 1
        equal_labels = sum(first.label == second.label for first, second in pairs)
        equal_grades = sum(first.natural == second.natural for first, second in pairs)
        return len(pairs), equal_labels / pair_count, equal_grades / pair_count


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


def write_index(path: Path, ids: Collection[str]) -> None:
    """Write `Annotations.index` beside a file of annotations."""
    lines = [sha256_of(path), *sorted(ids)]
    write_bytes(path.with_suffix(INDEX_SUFFIX), "\n".join(lines).encode() + b"\n")


def read_index(path: Path) -> frozenset[str] | None:
    """The index beside a file of annotations; None if it is missing or of another version."""
    try:
        file_hash, *ids = path.with_suffix(INDEX_SUFFIX).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    return frozenset(ids) if file_hash == sha256_of(path) else None


class AnnotationFile:
    """A file of annotations to append to, and further files that are only read.

    Attributes:
        path: the file; it need not exist.
        all: the annotations of all files, including those of careless annotators.
        annotations: the merged annotations, without those of careless annotators.

    Args:
        path: the file.
        others: files that are only read.
        marks_allowed: see `Annotations`.

    Raises:
        BuildError: a file cannot be read, or a line of it is no annotation.
        OutputError: no file can have that path.
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
        content = self.path.read_bytes() if self.path.exists() else b""
        if content and not content.endswith(b"\n"):
            content += b"\n"
        rows = (each.model_dump(exclude_none=True) for each in new)
        write_bytes(self.path, content + as_json_lines(rows).encode())
        self.all += new
        self.annotations = Annotations(self.all, self._marks_allowed)
