"""Cases that a build leaves out: the ones that people disputed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from s2lct.errors import BuildError
from s2lct.files import regular_bytes

_MOST_BYTES = 64 << 20
_MEND = 'pass what `s2lct study import --disputed` wrote, or a JSON list of ids: ["0f3a9c…", …]'


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
        read = json.loads(regular_bytes(path, _MOST_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise BuildError(f"--exclude {path}: {error.strerror}", hint=_MEND) from error
    except (ValueError, RecursionError) as error:
        raise BuildError(f"--exclude {path}: is no JSON ({error})", hint=_MEND) from error
    cases = read.get("cases") if isinstance(read, dict) else read
    if not isinstance(cases, list):
        raise BuildError(f"--exclude {path}: holds no list of cases", hint=_MEND)
    seed_of: dict[str, str] = {}
    for number, case in enumerate(cases, 1):
        name = case.get("id") if isinstance(case, dict) else case
        if not isinstance(name, str) or not name:
            raise BuildError(f"--exclude {path}: case {number} has no id", hint=_MEND)
        seed_of[name] = str(case.get("seed_id") or name) if isinstance(case, dict) else name
    with_seed = (name for name, seed in seed_of.items() if seed != name and seed in seed_of)
    return Excluded(frozenset(seed_of), frozenset(with_seed))
