"""The one way to have a model answer texts: in its batches, equal texts once, answers kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.classifier import Classifier
from s2lct.leaderboard.scoring.cache import Kept

Advance = Callable[[int], None]


def probabilities_of(
    model: Classifier,
    texts: Sequence[str],
    cache: Path | None = None,
    advance: Advance | None = None,
) -> Array:
    """Probabilities of each text, shape (texts, classes).

    What models said is kept in the file ``cache``; ``advance`` is told how many distinct texts were
    done. Raises a ScoringError where the outputs cannot be used.
    """
    wanted = list(dict.fromkeys(texts))
    with closing(Kept(cache if model.fingerprint else None)) as kept:
        known = kept.read(model, wanted)
        missing = [text for text in wanted if text not in known]
        if advance and known:
            advance(len(known))
        for numbers, batch in model.probabilities(missing) if missing else ():
            if batch.shape != (len(numbers), len(model.classes)):
                raise ScoringError(
                    f"model {model.name}: gave {batch.shape} for {len(numbers)} texts and "
                    f"{len(model.classes)} classes",
                    mend="give one row a text and one column a class",
                )
            if not np.isfinite(batch).all():
                raise ScoringError(
                    f"model {model.name}: its output is not a number (NaN or infinite)",
                    mend="check the model's weights; in half precision try --dtype float32",
                )
            said = {missing[n]: row for n, row in zip(numbers, batch, strict=True)}
            known |= said
            kept.write(model, said)
            if advance:
                advance(len(numbers))
    return np.array([known[text] for text in texts]).reshape(-1, len(model.classes))
