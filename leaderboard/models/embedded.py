"""The two small models that are shipped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from s2lct.files import sha256_of
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.threads import batches_at_once

TEXTS_A_BATCH = 32


class Embedded:
    """One of the two small models that are shipped, as a `classifier.Classifier`.

    ``weights_sha256`` is over the hashes of the encoder and the head. Raises a ModelError where the
    file of either is missing or broken.
    """

    package = "s2lct"

    def __init__(self, name: str) -> None:
        import torch

        from s2lct.builder.models.encoder import ENCODER_SHA256, encoder_path
        from s2lct.builder.models.shipped import shipped
        from s2lct.leaderboard.models import sentiment_head as heads

        path = shipped(heads.head_path(name))
        self.name, self.classes = name, heads.CLASSES[name]
        self.encoder = heads.SentenceEncoder()
        # The encoder's last bits depend on a batch's padding; the head adds no noise of its own.
        head = heads.load_head(path, self.classes).eval().requires_grad_(False)
        self.head = head.to(self.encoder.device, torch.float64)
        weights = f"{ENCODER_SHA256} {sha256_of(path)}"
        self.weights_sha256 = hashlib.sha256(weights.encode()).hexdigest()
        settings = {
            path.name: sha256_of(path)
            for path in sorted(encoder_path().iterdir())
            if path.suffix in (".json", ".txt")
        }
        self.fingerprint = fingerprint_of([name, self.weights_sha256, settings])
        self.revision = version("s2lct")

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[Any]]]:
        """Texts of like lengths, shorter ones first, as word pieces; cut after 256 of them."""
        return self.encoder.tokenised(texts, TEXTS_A_BATCH)

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Probabilities of each batch, which one thread computes."""

        def answered(given: tuple[list[int], list[Any]]) -> tuple[list[int], Array]:
            numbers, rows = given
            features = self.encoder.features(rows).double()
            return numbers, self.head(features).softmax(dim=1).cpu().numpy()

        on_cpu = self.encoder.device.type == "cpu"
        yield from batches_at_once(answered, self.batches(texts), on_cpu=on_cpu)
