"""Which neurons count, their values in a text, and their ranges on a reference corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from s2lct.analysis.arrays import check_memory
from s2lct.analysis.coverage.encoder import Activations, EncoderModel, Floats, Integers
from s2lct.analysis.coverage.masks import Vocabulary
from s2lct.analysis.progress import Advance, silently
from s2lct.errors import AnalysisError

Bits = npt.NDArray[Any]
Marks = Mapping[str, tuple[Any, Bits]]
"""Values of neurons, or bits, by part: where (an index of the part's array), and which."""
Tokens = Literal["all", "cls"]
BINS = 10
PLACES = 128


@dataclass(frozen=True)
class Layers:
    """Which layers count.

    Attributes:
        hidden: numbers of hidden states: 0 is the embeddings, n the n-th encoder layer.
        pooler: whether the pooler's output counts.
    """

    hidden: Sequence[int]
    pooler: bool = False

    @property
    def attentions(self) -> tuple[int, ...]:
        """Numbers of the encoder layers, counted from 0."""
        return tuple(number - 1 for number in self.hidden if number)

    @classmethod
    def parse(cls, text: str, encoder: EncoderModel) -> Layers:
        """Read what ``--layers`` says: parts with commas between.

        A part is ``encoder`` (every encoder layer), ``embeddings``, ``pooler``, a number from 1
        on, or a range such as ``4-6``.

        Raises:
            AnalysisError: a part that means nothing, or a layer that the model lacks.
        """
        named = {"encoder": range(1, encoder.layers + 1), "embeddings": range(1)}
        hidden: set[int] = set()
        pooler = False
        for part in (part.strip() for part in text.split(",")):
            first, dash, last = part.partition("-")
            found = named.get(part, range(0))
            if part == "pooler" and encoder.pooler is not None:
                pooler = True
                continue
            if first.isdecimal() and (last.isdecimal() or not dash) and int(first):
                found = range(int(first), int(last or first) + 1)
            if not found or found[-1] > encoder.layers:
                raise AnalysisError(
                    f"--layers {part}: model {encoder.name} has no such layer",
                    mend=f"name encoder, embeddings, 1 to {encoder.layers}, a range such as "
                    f"1-{encoder.layers}"
                    + (" (it has no pooler)" if encoder.pooler is None else " or pooler"),
                )
            hidden |= set(found)
        return cls(tuple(sorted(hidden)), pooler)


@dataclass(frozen=True)
class Units:
    """Neurons that are output units of layers: dimensions of hidden states, and of the pooler.

    Attributes:
        layers: whose units.
        tokens: ``all``: a unit has a value at each token of the text, special tokens included;
            ``cls``: its value at the first token alone.
    """

    layers: Layers
    tokens: Tokens = "all"

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Units:
        """The inverse of `dataclasses.asdict`; what else the settings say is left out."""
        return cls(Layers(**settings["layers"]), settings["tokens"])

    def of_layers(self, one: Activations) -> list[Floats]:
        """A text's values, an array of shape (tokens, units) for each layer."""
        rows = slice(0, 1 if self.tokens == "cls" else None)
        values = [one.hidden[number][rows] for number in self.layers.hidden]
        if self.layers.pooler and one.pooled is not None:
            values.append(one.pooled[None])
        return values

    def unset(self, encoder: EncoderModel) -> dict[str, npt.NDArray[Any]]:
        """Nothing yet: the first text gives the first ranges."""
        return {}

    def extremes(self, one: Activations, extreme: np.ufunc) -> Marks:
        """Each unit's least or greatest value in a text."""
        values = [extreme.reduce(layer, axis=0) for layer in self.of_layers(one)]
        return {"": (slice(None), np.concatenate(values))}


@dataclass(frozen=True, eq=False)
class SectionNeurons:
    """Word-level and attention neurons; see `SectionCoverage`.

    Attributes:
        layers: whose; the pooler has none.
        bins: B, sections of each neuron's range, 1 to 64.
        places: for neurons of places: how many.
        vocabulary: for neurons of words: the task vocabulary's pieces; None for those of places.
        table: the vocabulary entry of each token id; empty for neurons of places.
    """

    layers: Layers
    bins: int
    places: int
    vocabulary: Sequence[str] | None
    table: Integers

    @classmethod
    def of_texts(
        cls,
        encoder: EncoderModel,
        texts: Iterable[str],
        layers: Layers,
        *,
        bins: int = BINS,
        places: int = PLACES,
        vocabulary: Vocabulary | None = None,
    ) -> SectionNeurons:
        """Neurons of the vocabulary's words, or of as many places as the longest text has.

        Raises:
            AnalysisError: the layers have no attention.
        """
        if layers.pooler or not layers.attentions:
            raise AnalysisError(
                "--layers: pooler and embeddings have no attention neurons",
                mend="name encoder layers, such as --layers encoder",
            )
        if vocabulary is not None:
            table = vocabulary.table(encoder.tokenizer)
            return cls(layers, bins, places, list(vocabulary.pieces), table)
        places = min(places, max(len(encoder.token_ids(text)) for text in texts))
        return cls(layers, bins, places, None, np.zeros(0, dtype=np.int64))

    def settings(self) -> dict[str, Any]:
        """As plain JSON values; the table is among the ranges."""
        names = ("bins", "places", "vocabulary")
        return {"layers": asdict(self.layers)} | {name: getattr(self, name) for name in names}

    @property
    def bits_type(self) -> np.dtype[Any]:
        """The smallest unsigned integers that hold a bit for each section."""
        return np.min_scalar_type(2**self.bins - 1)

    def unset(self, encoder: EncoderModel) -> dict[str, npt.NDArray[Any]]:
        """No neuron has a range: low is above high.

        Raises:
            AnalysisError: memory cannot hold them.
        """
        config = encoder.model.config
        size = self.places if self.vocabulary is None else len(self.vocabulary) + 1
        heads, attentions = int(config.num_attention_heads), len(self.layers.attentions)
        shapes = {
            "words": (len(self.layers.hidden), size, int(config.hidden_size)),
            "pairs": (attentions, heads, size, size),
        }
        count = sum(int(np.prod(shape)) for shape in shapes.values())
        axis, smaller = (
            ("places", "a smaller --places or fewer --layers")
            if self.vocabulary is None
            else ("words", "a smaller --vocab, or --neurons places")
        )
        check_memory(
            count * (2 * np.dtype(np.float32).itemsize + self.bits_type.itemsize),
            f"{count:,} neurons of {size:,} {axis} and their pairs",
            smaller,
        )
        return {"neurons_table": self.table} | {
            f"{part}_{end}": np.full(shape, worst, dtype=np.float32)
            for part, shape in shapes.items()
            for end, worst in (("low", np.inf), ("high", -np.inf))
        }

    def of_text(self, one: Activations) -> Marks:
        """Each token's and each pair's values in a text, of one neuron perhaps several."""
        kept = slice(self.places if self.vocabulary is None else None)
        words = np.stack([one.hidden[number][kept] for number in self.layers.hidden])
        pairs = np.stack([one.attentions[n][:, kept, kept] for n in self.layers.attentions])
        at: Any = slice(words.shape[1])
        looking = at
        if self.vocabulary is not None:
            at = self.table[one.input_ids]
            looking = at[:, None]
        return {"words": ((slice(None), at), words), "pairs": ((..., looking, at), pairs)}

    def together(self, marks: Marks, ufunc: np.ufunc) -> Marks:
        """What `of_text` gives, values of one neuron put together."""
        if self.vocabulary is None:
            return marks
        _, entries = marks["words"][0]
        order = np.argsort(entries, kind="stable")
        distinct, starts = np.unique(entries[order], return_index=True)

        def grouped(part: str, *axes: int) -> Bits:
            values = marks[part][1]
            for axis in axes:
                values = ufunc.reduceat(values.take(order, axis), starts, axis)
            return values

        return {
            "words": ((slice(None), distinct), grouped("words", 1)),
            "pairs": ((..., distinct[:, None], distinct), grouped("pairs", 2, 3)),
        }

    def extremes(self, one: Activations, extreme: np.ufunc) -> Marks:
        """Each neuron's least or greatest value in a text."""
        marks = self.together(self.of_text(one), extreme)
        return {f"{part}_": mark for part, mark in marks.items()}


def widen(
    ranges: dict[str, npt.NDArray[Any]], neurons: Units | SectionNeurons, one: Activations
) -> None:
    """Take a text into the ranges of neurons."""
    for end, extreme in (("low", np.minimum), ("high", np.maximum)):
        for part, (where, values) in neurons.extremes(one, extreme).items():
            known = ranges.setdefault(part + end, values)
            known[where] = extreme(known[where], values)


def ranges_of(
    encoder: EncoderModel,
    texts: Iterable[str],
    *neurons: Units | SectionNeurons,
    advance: Advance = silently,
) -> list[dict[str, npt.NDArray[Any]]]:
    """Least and greatest values of neurons on a reference corpus, in one pass.

    Returns:
        For each selection of neurons ``low`` and ``high``, shape (units,); or ``words_low`` …,
        shape (layers, n, dim), and ``pairs_low`` …, shape (layers, heads, n, n), where n is the
        number of places or words. Low is above high where the corpus had no value.

    Raises:
        AnalysisError: fewer than two different texts, or neurons that memory cannot hold.
    """
    texts = list(texts)
    if len(set(texts)) < 2:
        raise AnalysisError(
            f"reference corpus of {len(set(texts))} sentence{'' if texts else 's'}: no neuron "
            "has a range",
            mend="pass the corpus that the model was trained on, or another large one",
        )
    ranges = [chosen.unset(encoder) for chosen in neurons]
    for one in encoder.activations(texts, advance):
        for known, chosen in zip(ranges, neurons, strict=True):
            widen(known, chosen, one)
    return ranges
