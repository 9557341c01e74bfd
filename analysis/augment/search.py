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
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from s2lct.analysis.augment.transformations import Transformation
from s2lct.analysis.coverage.activations import Floats
from s2lct.analysis.coverage.criteria import Coverage
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError
from s2lct.files import whole_file, write_text
from s2lct.hub_calls import pretrained
from s2lct.identity import content_id, rng_for
from s2lct.json_lines import as_json_lines
from s2lct.suite.records import Sentence

Similarity = Callable[[str, str], float]
_COLUMNS = pa.schema(
    {
        **dict.fromkeys(("id", "text", "label", "split", "original_id"), pa.string()),
        "transformations": pa.list_(pa.string()),
        **dict.fromkeys(("similarity", "growth"), pa.float64()),
    }
)


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
        queue: deque[Sequence[Transformation]] = deque()
        last = AugmentedText(original.text, original, (), 1.0)
        failures = found = 0
        while failures < settings.tries and found < settings.most:
            pair = queue.popleft() if queue else rng.sample(list(transformations), 2)
            made = _put_through(last, pair, rng, known, similarity, settings)
            if made is not None:
                marks = next(encoder.in_order([made.text], coverage.marks))
                growth = coverage.growth(marks)
                if growth > settings.growth:
                    coverage.add(marks)
                    last = replace(made, growth=growth)
                    kept.append(last)
                    known.add(last.text)
                    queue.append(pair)
                    found += 1
                    continue
            failures += 1
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
    kept: list[AugmentedText] = []
    known = {sentence.text for sentence in originals}
    for _ in range(50 * count):
        if len(kept) == count:
            break
        original = rng.choice(originals)
        first = AugmentedText(original.text, original, (), 1.0)
        pair = rng.sample(list(transformations), 2)
        made = _put_through(first, pair, rng, known, similarity, settings)
        if made is not None:
            known.add(made.text)
            kept.append(made)
            advance(1)
    return kept


def _check_pairs(transformations: Sequence[Transformation]) -> None:
    if len(transformations) < 2:
        raise AnalysisError(
            f"{len(transformations)} transformation{'' if len(transformations) else 's'}: "
            "a pair takes two",
            mend="leave out --transformation, or give it twice at least",
        )


def _put_through(
    last: AugmentedText,
    pair: Sequence[Transformation],
    rng: Random,
    known: Container[str],
    similarity: Similarity,
    settings: SearchSettings,
) -> AugmentedText | None:
    """What a pair makes of a text, if it is new and close enough to the original."""
    text, names = last.text, last.transformations
    for transformation in pair:
        changed = transformation.apply(text, rng)
        if changed is not None and changed != text:
            text, names = changed, (*names, transformation.name)
    if text in known:
        return None
    close = similarity(last.original.text, text)
    return (
        AugmentedText(text, last.original, names, close) if close >= settings.similarity else None
    )


def corpus_rows(
    train: Iterable[Sentence],
    added: Iterable[AugmentedText],
    others: Iterable[tuple[str, Sentence]] = (),
) -> list[dict[str, Any]]:
    """Rows of an augmented corpus, which `read_corpus` reads again.

    Behind the sentences to train on, and what was made from them, stand those of other splits.
    """

    def row(sentence: Sentence, split: str) -> dict[str, Any]:
        own = {"id": sentence.id, "text": sentence.text, "label": sentence.label, "split": split}
        made = {"original_id": sentence.id, "transformations": []}
        return own | made | {"similarity": None, "growth": None}

    return [
        *(row(sentence, "train") for sentence in train),
        *(
            row(one.original, "train")
            | {
                "id": content_id("augmented", one.original.id, one.text),
                "text": one.text,
                "transformations": list(one.transformations),
                "similarity": round(one.similarity, 6),
                "growth": one.growth,
            }
            for one in added
        ),
        *(row(sentence, split) for split, sentence in others),
    ]


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
    check_corpus_path(path)
    if path.suffix == ".jsonl":
        write_text(path, as_json_lines(rows))
        return
    with whole_file(path) as file:
        pq.write_table(pa.Table.from_pylist(rows, schema=_COLUMNS), file, compression="zstd")
