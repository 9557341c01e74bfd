"""Which cases to explain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from s2lct.analysis.suite_rows import SuiteRow


def chosen_rows(
    rows: Sequence[SuiteRow],
    said: Sequence[int],
    *,
    pass_to_fail: bool = False,
    limit: int | None = None,
) -> list[SuiteRow]:
    """The cases to explain, of cases and what the model says of each.

    Args:
        rows: cases.
        said: what the model says of each.
        pass_to_fail: failing expansions, each behind its passing seed, instead of all failures.
        limit: most failures of a capability, of different seed families where there are enough.
    """
    failed = {
        row.case.id: label not in row.case.passes for row, label in zip(rows, said, strict=True)
    }
    seeds = {row.case.id: row for row in rows if row.case.kind == "seed"}
    wanted: dict[str, list[SuiteRow]] = {}
    for row in rows:
        if not failed[row.case.id]:
            continue
        if pass_to_fail and (row.case.kind == "seed" or failed.get(row.case.seed_id, True)):
            continue
        wanted.setdefault(row.case.capability, []).append(row)
    chosen: list[SuiteRow] = []
    for found in wanted.values():
        for row in _limited(found, limit):
            seed = seeds.get(row.case.seed_id)
            if pass_to_fail and seed is not None and seed not in chosen:
                chosen.append(seed)
            chosen.append(row)
    return chosen


def _limited(rows: Sequence[SuiteRow], limit: int | None) -> list[SuiteRow]:
    """The first of each family, then the second, and so on, in the order of the rows."""
    nth = Counter[str]()
    rounds: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        rounds.append((nth[row.case.seed_id], number))
        nth[row.case.seed_id] += 1
    return [rows[number] for number in sorted(number for _, number in sorted(rounds)[:limit])]
