"""Coverage-guided augmentation: new training texts that reach what the old ones do not.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), Algorithm 1, after DeepTest's (Tian et al. 2018). As printed, each original is held
against its own coverage, the second transformation is always drawn, and the original's turn ends
with the first text that is kept. So nearly every changed text that is close in meaning is kept,
whatever others have covered, and the queue of transformations, which is new for each original, is
never drawn from.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

from s2lct.analysis.augment.transformations import Transformation
from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel, Floats
from s2lct.builder.records import Sentence
from s2lct.errors import AnalysisError
from s2lct.hub_calls import pretrained
from s2lct.identity import content_id, rng_for
from s2lct.progress import bar

Similarity = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class AugmentedText:
    """A text made from a sentence, whose label it keeps.

    It went through the transformations of these names; similarity is to the original's embedding,
    and growth of coverage None where it was not asked.
    """

    text: str
    original: Sentence
    transformations: tuple[str, ...] = ()
    similarity: float = 1.0
    growth: float | None = None


def embedding_similarity() -> Similarity:
    """Cosine similarity of sentence embeddings by the embedded encoder (mean of its last states).

    Raises:
        ModelError: the encoder's package is missing or carries another file.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    from s2lct.builder.models.encoder import encoder_path

    tokenizer = pretrained(AutoTokenizer, encoder_path())
    model = pretrained(AutoModel, encoder_path()).eval()

    @lru_cache(maxsize=8)
    def embedding(text: str) -> Floats:
        # Alone, so that no padding changes the last bits.
        inputs = tokenizer(text, truncation=True, max_length=256, return_tensors="pt")
        with torch.inference_mode():
            states = model(**inputs).last_hidden_state[0].mean(dim=0)
        vector: Floats = torch.nn.functional.normalize(states, dim=0).numpy()
        return vector

    def cosine(original: str, text: str) -> float:
        return min(max(float(embedding(original) @ embedding(text)), -1.0), 1.0)

    return cosine


@dataclass(frozen=True)
class Augmenter:
    """Puts originals through pairs of transformations, and keeps what is new and close to them.

    Kept texts have the least similarity to the original, in [-1, 1], and make coverage grow. So
    many failed tries end an original's turn.

    Raises:
        AnalysisError: fewer than two transformations.
    """

    originals: Sequence[Sentence]
    transformations: Sequence[Transformation]
    similarity: Similarity
    least: float = 0.8
    tries: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if (count := len(self.transformations)) < 2:
            raise AnalysisError(
                f"--transformation: a pair takes two, and there {'is 1' if count else 'are none'}",
                hint="leave out --transformation, or give it twice at least",
            )

    def search(self, encoder: EncoderModel, metric: Coverage) -> list[AugmentedText]:
        """Algorithm 1: at most one text of each original.

        The metric stays as it is: what an original covers by itself is what has to grow.
        """
        kept: list[AugmentedText] = []
        choices, shown = list(self.transformations), bar("search", len(self.originals))
        for original in self.originals:
            rng = rng_for(self.seed, "augment as printed", original.id, original.text)
            alone = metric.emptied().cover(encoder, [original.text])
            for _ in range(self.tries):
                # Drawn one by one: both may be the same.
                pair = rng.choice(choices), rng.choice(choices)
                made = self._made(original, pair, rng, {original.text})
                if made is None:
                    continue
                growth = alone.growth(metric.marks(next(encoder.activations([made.text]))))
                if growth > 0:
                    kept.append(replace(made, growth=growth))
                    break
            shown(1)
        return kept

    def at_random(self, count: int) -> list[AugmentedText]:
        """So many texts, whatever they cover, and however many of one original.

        They are fewer where 50 times as many tries did not give so many.
        """
        rng = rng_for(self.seed, "augment at random")
        kept: list[AugmentedText] = []
        known = {sentence.text for sentence in self.originals}
        for _ in range(50 * count):
            if len(kept) == count:
                break
            original = rng.choice(self.originals)
            pair = rng.sample(list(self.transformations), 2)
            made = self._made(original, pair, rng, known)
            if made is not None:
                known.add(made.text)
                kept.append(made)
        return kept

    def _made(
        self,
        original: Sentence,
        pair: Sequence[Transformation],
        rng: Random,
        known: Container[str],
    ) -> AugmentedText | None:
        """What a pair makes of a text, if it is new and close enough to the original."""
        text, names = original.text, list[str]()
        for transformation in pair:
            changed = transformation.apply(text, rng)
            if changed is not None and changed != text:
                text = changed
                names.append(transformation.name)
        if text in known or (close := self.similarity(original.text, text)) < self.least:
            return None
        return AugmentedText(text, original, tuple(names), close)


def corpus_rows(
    train: Iterable[Sentence],
    added: Iterable[AugmentedText],
    others: Iterable[tuple[str, Sentence]] = (),
) -> list[dict[str, Any]]:
    """Rows of an augmented corpus, which `read_corpus` reads again.

    Behind the sentences to train on, and what was made from them, stand those of other splits.
    """

    def row(sentence: Sentence, split: str, **made: Any) -> dict[str, Any]:
        plain = {"id": sentence.id, "text": sentence.text, "label": sentence.label, "split": split}
        unmade: dict[str, Any] = {"transformations": [], "similarity": None, "growth": None}
        return {**plain, "original_id": sentence.id, **unmade, **made}

    rows = [row(sentence, "train") for sentence in train]
    for one in added:
        made = asdict(one) | {"id": content_id("augmented", one.original.id, one.text)}
        made |= {"similarity": round(one.similarity, 6), "transformations": [*one.transformations]}
        del made["original"]
        rows.append(row(one.original, "train", **made))
    return rows + [row(sentence, split) for split, sentence in others]
