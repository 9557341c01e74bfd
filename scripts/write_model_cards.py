"""Write the shipped models' cards from the figures kept with their weights.

python scripts/write_model_cards.py
"""

from __future__ import annotations

import json
from pathlib import Path

import jinja2

ROOT = Path(__file__).parents[1]
TEMPLATES = {
    "builder/models/weights/masked_lm": "masked_lm.md.jinja",
    "builder/models/weights/parser": "parser.md.jinja",
    "builder/models/weights/sentiment_2class": "sentiment.md.jinja",
    "builder/models/weights/sentiment_3class": "sentiment.md.jinja",
}


def main() -> None:
    """Write each card into the package ``cards``."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    for place, template in TEMPLATES.items():
        figures = json.loads((ROOT / f"{place}.json").read_text("utf-8"))
        card = ROOT / "cards" / f"{Path(place).name}.md"
        card.write_text(environment.get_template(template).render(**figures), "utf-8")
        print(card)


if __name__ == "__main__":
    main()
