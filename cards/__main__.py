"""``python -m s2lct.cards``: write the shipped models' cards from the figures kept with them."""

from __future__ import annotations

from pathlib import Path

from s2lct.cards import write_model_cards


def main() -> None:
    """Write the cards into this package."""
    here = Path(__file__).parent
    for weights in ("builder/models/weights", "leaderboard/weights"):
        for path in write_model_cards(here.parent / weights, here):
            print(path.name)


if __name__ == "__main__":
    main()
