"""Coverage-guided augmentation: new training texts that reach what the old ones do not.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), Algorithm 1, after DeepTest's (Tian et al. 2018). For each original, pairs of
transformations are drawn at random and put through it. The text that comes out is kept if it makes
coverage grow and is close enough to the original in meaning; the search then goes on from it, and
the pair, which has proved itself, is queued to be tried before any other is drawn. So many failures
end an original's turn. The search is greedy: coverage counts all texts kept before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from s2lct.analysis.augment.transformations import Transformation
from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel, Floats
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError
from s2lct.hub_calls import pretrained
from s2lct.identity import content_id, rng_for
from s2lct.suite.records import Sentence

Similarity = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """When a text is kept, and when an original's turn ends.

    Attributes:
        similarity: least cosine similarity to the original, in [-1, 1].
        growth: coverage has to grow by more than this.
        tries: failures that end an original's turn.
        most: texts kept that end it.
        seed: of every draw.
    """

    similarity: float = 0.8
    growth: float = 0.0
    tries: int = 5
    most: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if not -1 <= self.similarity <= 1:
            raise AnalysisError(
                f"--similarity {self.similarity:g}", mend="give a cosine, from -1 to 1"
            )
        if not 0 <= self.growth < 1:
            raise AnalysisError(f"--threshold {self.growth:g}", mend="give 0 or more, less than 1")
        if self.tries < 1 or self.most < 1:
            raise AnalysisError("--tries and --most have to be 1 at least", mend="leave them out")


_BY_DEFAULT = SearchSettings()


@dataclass(frozen=True, slots=True)
class AugmentedText:
    """A text made from another, and how.

    Attributes:
        text: the text.
        original: the sentence it was made from, whose label it keeps.
        transformations: names of those it went through, in order, from the original on.
        similarity: cosine of its sentence embedding and the original's.
        growth: by how much it made coverage grow; None where coverage was not asked.
    """

    text: str
    original: Sentence
    transformations: tuple[str, ...]
    similarity: float
    growth: float | None = None

    @property
    def id(self) -> str:
        """Hash of the original's id and the text."""
        return content_id("augmented", self.original.id, self.text)


class EmbeddingSimilarity:
    """Cosine similarity of sentence embeddings by the embedded encoder (mean of its last states).

    Raises:
        ModelError: the encoder's package is missing or carries another file.
    """

    def __init__(self) -> None:
        from transformers import AutoModel, AutoTokenizer

        from s2lct.builder.models.encoder import encoder_path

        self._tokenizer = pretrained(AutoTokenizer, encoder_path())
        self._model = pretrained(AutoModel, encoder_path()).eval()
        self._embedding = lru_cache(maxsize=8)(self._embed)

    def _embed(self, text: str) -> Floats:
        import torch

        # Alone, so that no padding changes the last bits.
        inputs = self._tokenizer(text, truncation=True, max_length=256, return_tensors="pt")
        with torch.inference_mode():
            states = self._model(**inputs).last_hidden_state[0].mean(dim=0)
        vector: Floats = torch.nn.functional.normalize(states, dim=0).numpy()
        return vector

    def __call__(self, original: str, text: str) -> float:
        """The cosine, in [-1, 1]."""
        cosine = float(self._embedding(original) @ self._embedding(text))
        return min(max(cosine, -1.0), 1.0)


def augment_by_coverage(
    originals: Sequence[Sentence],
    transformations: Sequence[Transformation],
    encoder: EncoderModel,
    coverage: Coverage,
    similarity: Similarity,
    settings: SearchSettings = _BY_DEFAULT,
    *,
    advance: Advance = silently,
) -> list[AugmentedText]:
    """Search for texts that make coverage grow (Algorithm 1), in the order they are found.

    The coverage is of what is covered already; it takes in every text that is kept.

    Raises:
        AnalysisError: fewer than two transformations, or coverage of another model.
    """
    _check_pairs(transformations)
    coverage.check_model(encoder)
    kept: list[AugmentedText] = []
    known = {sentence.text for sentence in originals}
    for original in originals:
        rng = rng_for(settings.seed, "augment", original.id, original.text)
        queue: deque[tuple[Transformation, Transformation]] = deque()
        text = original.text
        history: tuple[str, ...] = ()
        failures = found = 0
        while failures < settings.tries and found < settings.most:
            pair = queue.popleft() if queue else _drawn_pair(transformations, rng)
            candidate, names = _put_through(text, pair, rng)
            grown = None
            if names and candidate not in known:
                close = similarity(original.text, candidate)
                if close >= settings.similarity:
                    marks = next(encoder.in_order([candidate], coverage.marks))
                    growth = coverage.growth(marks)
                    if growth > settings.growth:
                        coverage.add(marks)
                        grown = AugmentedText(
                            candidate, original, (*history, *names), close, growth
                        )
            if grown is None:
                failures += 1
                continue
            kept.append(grown)
            known.add(candidate)
            queue.append(pair)
            text, history = candidate, grown.transformations
            found += 1
        advance(1)
    return kept


def augment_at_random(
    originals: Sequence[Sentence],
    transformations: Sequence[Transformation],
    similarity: Similarity,
    count: int,
    settings: SearchSettings = _BY_DEFAULT,
    *,
    advance: Advance = silently,
) -> list[AugmentedText]:
    """So many texts, of the same originals, transformations and bound, whatever they cover.

    Of the settings ``growth`` plays no part, and ``most`` is exceeded if it has to be. They are
    fewer where 50 times as many tries did not give so many.
    """
    _check_pairs(transformations)
    rng = rng_for(settings.seed, "augment at random")
    made: list[AugmentedText] = []
    known = {sentence.text for sentence in originals}
    for _ in range(50 * count):
        if len(made) == count:
            break
        original = rng.choice(originals)
        text, names = _put_through(original.text, _drawn_pair(transformations, rng), rng)
        if not names or text in known:
            continue
        close = similarity(original.text, text)
        if close < settings.similarity:
            continue
        known.add(text)
        made.append(AugmentedText(text, original, names, close))
        advance(1)
    return made


def _check_pairs(transformations: Sequence[Transformation]) -> None:
    if len(transformations) < 2:
        raise AnalysisError(
            f"{len(transformations)} transformation{'' if len(transformations) else 's'}: "
            "a pair takes two",
            mend="leave out --transformation, or give it twice at least",
        )


def _drawn_pair(
    transformations: Sequence[Transformation], rng: Random
) -> tuple[Transformation, Transformation]:
    first, second = rng.sample(list(transformations), 2)
    return first, second


def _put_through(
    text: str, pair: Iterable[Transformation], rng: Random
) -> tuple[str, tuple[str, ...]]:
    """The text behind those of the pair that had something to change, and their names."""
    names: list[str] = []
    for transformation in pair:
        changed = transformation.apply(text, rng)
        if changed is not None and changed != text:
            text = changed
            names.append(transformation.name)
    return text, tuple(names)
