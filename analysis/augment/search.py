"""Coverage-guided augmentation: new training texts that reach what the old ones do not.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), Algorithm 1, after DeepTest's (Tian et al. 2018). For each original, pairs of
transformations are drawn at random and put through it. The text that comes out is kept if it makes
coverage grow and is close enough to the original in meaning; the search then goes on from it, and
the pair, which has proved itself, is queued to be tried before any other is drawn. So many failures
end an original's turn. The search is greedy: coverage counts all texts kept before.
"""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from s2lct.analysis.augment.transformations import Transformation
from s2lct.analysis.coverage.activations import Floats
from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.errors import AnalysisError
from s2lct.files import write_bytes
from s2lct.hub_calls import pretrained
from s2lct.identity import content_id, rng_for
from s2lct.suite.records import Sentence

Similarity = Callable[[str, str], float]
Advance = Callable[[int], None]
COLUMNS = (
    "id", "text", "label", "split", "original_id", "transformations", "similarity", "growth",
)  # fmt: skip


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
    settings: SearchSettings | None = None,
    *,
    advance: Advance | None = None,
) -> list[AugmentedText]:
    """Search for texts that make coverage grow (Algorithm 1).

    Args:
        originals: sentences to start from.
        transformations: to draw pairs from.
        encoder: the model whose coverage it is.
        coverage: what is covered already; it takes in every text that is kept.
        similarity: of an original and a text.
        settings: see `SearchSettings`; None for its defaults.
        advance: told how many originals were done.

    Returns:
        The texts kept, in the order they were found.

    Raises:
        AnalysisError: fewer than two transformations, or coverage of another model.
    """
    settings = settings or SearchSettings()
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
        if advance:
            advance(1)
    return kept


def augment_at_random(
    originals: Sequence[Sentence],
    transformations: Sequence[Transformation],
    similarity: Similarity,
    count: int,
    settings: SearchSettings | None = None,
    *,
    advance: Advance | None = None,
) -> list[AugmentedText]:
    """As many texts, from the same originals, transformations and bound, whatever they cover.

    Args:
        originals: sentences to start from.
        transformations: to draw pairs from.
        similarity: of an original and a text.
        count: how many texts.
        settings: ``growth`` plays no part, and ``most`` is exceeded if it has to be; None for the
            defaults.
        advance: told how many texts were made.

    Returns:
        ``count`` texts, or fewer where 50 times as many tries did not give so many.
    """
    settings = settings or SearchSettings()
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
        if advance:
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


def corpus_rows(
    train: Iterable[Sentence],
    added: Iterable[AugmentedText],
    others: Iterable[tuple[str, Sentence]] = (),
) -> list[dict[str, Any]]:
    """Rows of an augmented corpus, which `read_corpus` reads again: see `COLUMNS`.

    Args:
        train: the sentences to train on.
        added: what was made from them.
        others: further splits' names and sentences, which stay as they are.
    """
    rows = [_row(sentence, "train") for sentence in train]
    rows += [
        _row(one.original, "train")
        | {
            "id": one.id,
            "text": one.text,
            "transformations": list(one.transformations),
            "similarity": round(one.similarity, 6),
            "growth": one.growth,
        }
        for one in added
    ]
    return rows + [_row(sentence, split) for split, sentence in others]


def _row(sentence: Sentence, split: str) -> dict[str, Any]:
    return {
        "id": sentence.id,
        "text": sentence.text,
        "label": sentence.label,
        "split": split,
        "original_id": sentence.id,
        "transformations": [],
        "similarity": None,
        "growth": None,
    }


def check_corpus_path(path: Path) -> None:
    """Refuse a file whose format is not known.

    Raises:
        AnalysisError: it ends in neither .jsonl nor .parquet.
    """
    if path.suffix not in (".jsonl", ".parquet"):
        raise AnalysisError(
            f"--out {path}: neither .jsonl nor .parquet", mend="name a file such as augmented.jsonl"
        )


def write_corpus(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows of `corpus_rows` as JSON lines or Parquet, by the file's suffix.

    Raises:
        AnalysisError: another suffix.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_corpus_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_bytes(path, "".join(lines).encode())
        return
    types: dict[str, Any] = dict.fromkeys(COLUMNS, pa.string()) | {
        "transformations": pa.list_(pa.string()),
        "similarity": pa.float64(),
        "growth": pa.float64(),
    }
    buffer = io.BytesIO()
    table = pa.Table.from_pylist(list(rows), schema=pa.schema(list(types.items())))
    pq.write_table(table, buffer, compression="zstd")
    write_bytes(path, buffer.getvalue())


@dataclass(frozen=True, slots=True)
class Accuracies:
    """What retraining on one training set gave.

    Attributes:
        texts: size of the training set.
        values: accuracy on the test texts, one a seed, shape (seeds,).
    """

    texts: int
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return float(np.mean(self.values))

    def interval(self, against: Accuracies | None = None) -> tuple[float, float] | None:
        """95 % t-interval of the mean, or of the mean paired difference; None for one seed."""
        from scipy import stats

        values = np.array(self.values) - (np.array(against.values) if against else 0.0)
        if len(values) < 2:
            return None
        middle, error = float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5
        reach = float(stats.t.ppf(0.975, len(values) - 1)) * error
        return middle - reach, middle + reach
