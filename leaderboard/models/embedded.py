"""The two small models that are shipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version

from s2lct.files import sha256_of
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.answers.predictions import Array


class Embedded:
    """One of the two small models that are shipped.

    Attributes:
        weights_sha256: over the hashes of the encoder and the head.
    """

    def __init__(self, name: str) -> None:
        from s2lct.builder.models.encoder import encoder_path
        from s2lct.leaderboard.models.sentiment_head import EmbeddedSentiment

        self._model = EmbeddedSentiment.load(name)  # type: ignore[arg-type]
        self.name = name
        self.classes = tuple(self._model.classes)
        self.weights_sha256 = self._model.fingerprint
        settings = {
            path.name: sha256_of(path)
            for path in sorted(encoder_path().iterdir())
            if path.suffix in (".json", ".txt")
        }
        self.fingerprint = fingerprint_of([name, self.weights_sha256, settings])
        self.revision = version("s2lct")

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """All texts in one batch of batches."""
        yield list(range(len(texts))), self._model.probabilities(texts)
