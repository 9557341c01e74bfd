"""Options that several commands have."""

from __future__ import annotations


def label_map_of(text: str | None) -> dict[str, str] | None:
    """``0=negative,1=positive`` as a dict; None for None.

    Raises:
        ScoringError: it is no such list, names a class twice or means no label.
    """
    from s2lct.leaderboard.answers.label_rules import check_label_map

    return check_label_map(text)
