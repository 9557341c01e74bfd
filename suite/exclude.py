"""Cases that a build leaves out: the ones that people disputed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from s2lct.errors import BuildError
from s2lct.files import regular_bytes

_MOST_BYTES = 64 << 20
_Id = Annotated[str, Field(min_length=1)]


class _Case(BaseModel):
    id: _Id
    seed_id: str | None = None


class _Disputed(BaseModel):
    cases: list[_Id | _Case]


_FILE: TypeAdapter[_Disputed | list[_Id | _Case]] = TypeAdapter(_Disputed | list[_Id | _Case])


@dataclass(frozen=True)
class Excluded:
    """Ids of cases to leave out, and those of them whose seed is left out too."""

    ids: frozenset[str] = frozenset()
    with_their_seed: frozenset[str] = frozenset()

    def not_met(self, met: int) -> int:
        """How many ids a build did not meet that met so many of them.

        Expansions that go with their seed are not looked for.
        """
        return max(0, len(self.ids - self.with_their_seed) - met)


def read_excluded(path: Path) -> Excluded:
    """Read JSON: a list of ids, or an object whose ``cases`` hold ``id`` and ``seed_id``.

    Raises:
        BuildError: the file cannot be read or is no such list.
    """
    try:
        read = _FILE.validate_json(regular_bytes(path, _MOST_BYTES).removeprefix(b"\xef\xbb\xbf"))
    except (OSError, ValidationError) as error:
        why = getattr(error, "strerror", None) or "is no JSON list of ids"
        raise BuildError(
            f"--exclude {path}: {why}",
            hint="pass what `s2lct study import --disputed` wrote, or a JSON list of ids: "
            '["0f3a9c…", …]',
        ) from error
    cases = read.cases if isinstance(read, _Disputed) else read
    seed_of = {
        case if isinstance(case, str) else case.id: None if isinstance(case, str) else case.seed_id
        for case in cases
    }
    with_seed = (name for name, seed in seed_of.items() if seed != name and seed in seed_of)
    return Excluded(frozenset(seed_of), frozenset(with_seed))
