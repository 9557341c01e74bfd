"""Verdicts: what readers found of sentences, extensions and seeds.

A file of verdicts is JSON lines, only ever appended to: ids and grades, no text. Several files are
merged by id and reader; where a reader judged something twice, the later verdict counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from s2lct.errors import BuildError
from s2lct.json_lines import read_json_lines
from s2lct.labels import Label

PROTOCOL = "2026-11"
LEAST_READERS = 2
Answer = Label | Literal["mixed"]


class Verdict(BaseModel):
    """What a reader found of a text.

    Attributes:
        id: content id of what was read: a sentence, an extension of one, or a case.
        reader: who read it.
        protocol: version of the instructions.
        label: the sentiment that the reader takes it to have; ``mixed`` where readers would split.
        natural: 2 if a fluent writer could have written every word, 1 if an editor would strike or
            change one, 0 if something is wrong.
        relevant: whether it shows its capability; None where none was asked about.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    reader: Annotated[str, Field(min_length=1, max_length=100)]
    protocol: Annotated[str, Field(max_length=40)] = PROTOCOL
    label: Answer
    natural: Annotated[int, Field(ge=0, le=2)]
    relevant: bool | None = None


class Verdicts:
    """Verdicts by what they are about."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        of_id: defaultdict[str, dict[str, Verdict]] = defaultdict(dict)
        for one in verdicts:
            of_id[one.id][one.reader] = one
        self._of_id: Mapping[str, Mapping[str, Verdict]] = dict(of_id)

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Verdicts:
        """Read and merge files.

        Raises:
            BuildError: one cannot be read, or a line of it is no verdict.
        """
        return cls(verdict for path in paths for verdict in read_verdicts(path))

    def __len__(self) -> int:
        """Return how many things were read."""
        return len(self._of_id)

    def of(self, id: str) -> list[Verdict]:
        """The verdicts on one thing, by reader."""
        return [verdict for _, verdict in sorted(self._of_id.get(id, {}).items())]

    def passes(self, id: str, labels: Collection[Label], *, least_sum: int) -> bool:
        """Whether at least two readers found it rightly labelled, relevant and natural.

        Args:
            id: of what was read.
            labels: the labels that are right.
            least_sum: what the two best grades of naturalness must come to: 4 for 2 and 2, 3 for
                2 and 1. A 0 by any reader fails.
        """
        found = self.of(id)
        if len(found) < LEAST_READERS:
            return False
        if any(v.label not in labels or v.natural == 0 or v.relevant is False for v in found):
            return False
        return sum(sorted((v.natural for v in found), reverse=True)[:2]) >= least_sum


def read_verdicts(path: Path) -> list[Verdict]:
    """The verdicts in a file.

    Raises:
        BuildError: it cannot be read, or a line of it is no verdict.
    """
    mend = "a verdict is {id, reader, protocol, label, natural, relevant}"

    def refused(number: int, error: BaseException) -> BuildError:
        return BuildError(f"{path}, line {number}: {error}", mend=mend)

    found: list[Verdict] = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, row in read_json_lines(file, refused):
                try:
                    found.append(Verdict.model_validate(row))
                except ValidationError as error:
                    problem = error.errors()[0]
                    field = ".".join(map(str, problem["loc"]))
                    raise BuildError(
                        f"{path}, line {number}: {field}: {problem['msg']}", mend=mend
                    ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(f"{path}: cannot be read: {error}", mend=mend) from error
    return found
