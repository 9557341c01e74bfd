"""COVER and MNCOVER: k-multisection coverage of word-level and attention neurons.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), sections 3.1 and 3.2, equations 4 to 7, after Ma et al. 2018 (DeepGauge).

- A word-level neuron is h_{d,t}^l: dimension d of layer l's hidden state at t. An attention neuron
  is α_{ij}^{l,k}: how much j weighs for i in head k of layer l.
- Each neuron's range [low, high] on a reference corpus is cut into B sections of equal width. A
  value v lies in section ⌊(v - low) · B / (high - low)⌋, and high itself in the last one. A value
  outside covers nothing.
- COVER = (C_w + λ C_a) / (B (N_w + λ N_a)): C counts covered sections, N neurons, of words and of
  attention (eq. 4 to 6).
- MNCOVER (eq. 7): the word x_t covers sections only where M_W[x_t] = 1, and the pair (x_i, x_j)
  only where M_A[x_i, x_j] = 1.

By the convention ``paper``, N_w and N_a count all neurons of 128 places, reached or not, varying or
not, masked or not, and the embeddings are a layer like the encoder's: 13 for BERT-base, N_w = 128 ·
768 · 13 = 1,277,952 and N_a = 128² · 12 · 12 = 2,359,296. t, i and j are places in the text. With
ten sections no text can then add more than 0.1, and a short one adds far less.

By the convention ``reached``, which is this package's own, only neurons that varied on the
reference corpus count, at places that it reaches, in the encoder's layers; or, with a vocabulary,
neurons of its entries instead of places, without those that the masks leave out.

The paper leaves open, and is read here, as follows. Sections are of equal width. λ weighs attention
neurons above and below. A neuron that never varied on the reference corpus, or at a place that no
text of it reaches, has no range to cut and is never covered. Ranges are taken over all tokens,
special and masked ones too, and texts are not padded. (The authors' code pads texts to 128 places
that count, and gives values outside the range two sections of their own.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np

from s2lct.analysis.arrays import Arrays, check_memory
from s2lct.analysis.coverage.criteria import Bits, Coverage, Marks
from s2lct.analysis.coverage.encoder import Activations, EncoderModel, Floats, Text
from s2lct.analysis.coverage.masks import Masks, Vocabulary
from s2lct.errors import AnalysisError

Convention = Literal["paper", "reached"]
LAYERS: Mapping[Convention, str] = {"paper": "embeddings,encoder", "reached": "encoder"}
"""Which layers have neurons; see `parse_layers`."""
BINS = 10
PLACES = 128
_NO_TABLE = np.zeros(0, dtype=np.int64)


class SectionCoverage(Coverage):
    """COVER, or MNCOVER where masks are given; see the module's text for both.

    Settings: ``convention``, ``layers`` (see `parse_layers`), ``bins`` (B, 1 to 64), ``places``
    (that are held: no more than the longest reference text has), ``counted_places`` (of the paper's
    denominators), ``vocabulary`` (pieces, or None for neurons of places), ``attention_weight`` (λ)
    and ``masked`` (the masks' pieces, or None). Constants: ranges, ``words_low`` … of shape
    (layers, n, dim) and ``pairs_low`` … of shape (layers, heads, n, n), where n is the number of
    places or entries, low above high where the corpus had no value; masks; the entry of each token
    id in both vocabularies.
    """

    kind = "sections"

    def __init__(self, model: str, settings: Mapping[str, Any], constants: Arrays) -> None:
        # States that name none were saved before there were two.
        settings = {"convention": "reached", **settings}
        self.bits = np.min_scalar_type(2 ** settings["bins"] - 1)
        parts = ("words", "pairs")
        state = {part: np.zeros(constants[f"{part}_low"].shape, dtype=self.bits) for part in parts}
        super().__init__(model, settings, constants, state)
        self.weights["pairs"] = settings["attention_weight"]
        self.of_words = settings["vocabulary"] is not None
        self.masked = settings["masked"] is not None
        self.name = "MNCOVER" if self.masked else "COVER"

    @classmethod
    def unset(
        cls,
        encoder: EncoderModel,
        texts: Iterable[Text],
        layers: Mapping[str, Any],
        *,
        bins: int = BINS,
        places: int = PLACES,
        vocabulary: Vocabulary | None = None,
        convention: Convention = "paper",
    ) -> SectionCoverage:
        """COVER without ranges yet, for `widen`.

        Its neurons are of the vocabulary's words, or of places; held are those of as many places as
        the longest text has.

        Raises:
            AnalysisError: the layers have no attention, the paper's convention knows no neurons of
                words, or memory cannot hold the neurons.
        """
        if vocabulary is not None and convention == "paper":
            raise AnalysisError(
                "--neurons words: the paper's neurons are of places",
                hint="add --convention reached, or leave out --neurons words",
            )
        counted = places
        config, attentions = encoder.model.config, [n for n in layers["hidden"] if n]
        if layers["pooler"] or not attentions:
            raise AnalysisError(
                "--layers: pooler and embeddings have no attention neurons",
                hint="name encoder layers, such as --layers encoder",
            )
        if vocabulary is None:
            places = size = min(places, max(len(encoder.token_ids(text)) for text in texts))
            pieces, table, axis = None, _NO_TABLE, "places"
            smaller = "a smaller --places or fewer --layers"
        else:
            size, pieces, axis = vocabulary.size, list(vocabulary.pieces), "words"
            table, smaller = (
                vocabulary.table(encoder.tokenizer),
                "a smaller --vocab, or --neurons places",
            )
        shapes = {
            "words": (len(layers["hidden"]), size, int(config.hidden_size)),
            "pairs": (len(attentions), int(config.num_attention_heads), size, size),
        }
        count = sum(int(np.prod(shape)) for shape in shapes.values())
        check_memory(
            count * (8 + np.min_scalar_type(2**bins - 1).itemsize),  # low, high and bits
            f"{count:,} neurons of {size:,} {axis} and their pairs",
            smaller,
        )
        settings: dict[str, Any] = {"convention": convention, "layers": layers, "bins": bins}
        settings |= {"places": places, "vocabulary": pieces}
        if convention == "paper":
            settings["counted_places"] = counted
        ranges = {
            f"{part}_{end}": np.full(shape, worst, dtype=np.float32)
            for part, shape in shapes.items()
            for end, worst in (("low", np.inf), ("high", -np.inf))
        }
        return cls(
            encoder.fingerprint,
            settings | {"attention_weight": 1.0, "masked": None},
            ranges | {"neurons_table": table, "masks_table": _NO_TABLE},
        )

    def weighed(
        self, encoder: EncoderModel, masks: Masks | None, attention_weight: float
    ) -> SectionCoverage:
        """The same neurons and ranges with masks (of the neurons' vocabulary, if any) and λ."""
        settings = {**self.settings, "attention_weight": attention_weight, "masked": None}
        constants = dict(self.constants)
        if masks is not None:
            settings["masked"] = list(masks.vocabulary.pieces)
            constants["masks_table"] = masks.vocabulary.table(encoder.tokenizer)
            constants |= {"mask_words": masks.words, "mask_pairs": masks.pairs}
        return SectionCoverage(self.model, settings, constants)

    def marks(self, one: Activations) -> Marks:
        """The sections that a text lies in."""
        found = {
            part: (where, self._sections(part, where, values))
            for part, (where, values) in self._values(one).items()
        }
        if self.masked:
            words, pairs = found["words"][1], found["pairs"][1]
            tokens = self.constants["masks_table"][one.input_ids[: words.shape[1]]]
            words *= self.constants["mask_words"][tokens][:, None]
            pairs *= self.constants["mask_pairs"][np.ix_(tokens, tokens)]
        return self._together(found, np.bitwise_or)

    def extremes(self, one: Activations, extreme: np.ufunc) -> Marks:
        """Each neuron's least or greatest value in a text."""
        found = self._together(self._values(one), extreme)
        return {f"{part}_": mark for part, mark in found.items()}

    def _values(self, one: Activations) -> Marks:
        """Each token's and each pair's values in a text, of one neuron perhaps several."""
        kept = slice(None if self.of_words else self.settings["places"])
        layers = self.settings["layers"]["hidden"]
        words = np.stack([one.hidden[number][kept] for number in layers])
        pairs = np.stack([one.attentions[n - 1][:, kept, kept] for n in layers if n])
        at: Any = slice(words.shape[1])
        looking = at
        if self.of_words:
            at = self.constants["neurons_table"][one.input_ids]
            looking = at[:, None]
        return {"words": ((slice(None), at), words), "pairs": ((..., looking, at), pairs)}

    def _together(self, marks: Marks, ufunc: np.ufunc) -> Marks:
        """Values of one neuron put together."""
        if not self.of_words:
            return marks
        (_, entries), words = marks["words"]
        order = np.argsort(entries, kind="stable")
        distinct, starts = np.unique(entries[order], return_index=True)

        def grouped(values: Bits, axis: int) -> Bits:
            return np.asarray(ufunc.reduceat(values.take(order, axis), starts, axis))

        pairs = grouped(grouped(marks["pairs"][1], 2), 3)
        return {
            "words": ((slice(None), distinct), grouped(words, 1)),
            "pairs": ((..., distinct[:, None], distinct), pairs),
        }

    def _sections(self, part: str, where: Any, values: Floats) -> Bits:
        """The sections that values lie in, a bit each; none where a value is outside."""
        low, high = (self.constants[f"{part}_{end}"][where] for end in ("low", "high"))
        bins = self.settings["bins"]
        # In double precision: the difference of two floats is then (nearly always) exact.
        span = np.subtract(high, low, dtype=np.float64)
        within = (values >= low) & (values <= high) & (span > 0)
        section = np.subtract(values, low, dtype=np.float64) * bins / np.where(within, span, 1.0)
        numbers = np.where(within, np.minimum(section, bins - 1), 0).astype(np.uint8)
        one_bit = (np.uint64(1) << np.arange(bins, dtype=np.uint64)).astype(self.bits)
        return np.asarray(one_bit[numbers] * within)

    @cached_property
    def total(self) -> float:
        """B (N_w + λ N_a)."""
        count = all_of_places = 0.0
        for part, weight in self.weights.items():
            varying = self.constants[f"{part}_low"] < self.constants[f"{part}_high"]
            if self.settings["convention"] == "paper":
                n, (first, second, *_) = self.settings["counted_places"], varying.shape
                size = first * n * varying.shape[2] if part == "words" else first * second * n * n
                all_of_places += weight * size
            if self.masked and self.of_words:
                mask = self.constants[f"mask_{part}"]
                varying &= mask[:, None] if part == "words" else mask
            count += weight * int(varying.sum())
        if not count:
            raise AnalysisError(
                "no neuron has a range to cut", hint="pass a larger reference corpus, other masks"
            )
        return float(self.settings["bins"] * (all_of_places or count))
