"""COVER and MNCOVER: k-multisection coverage of word-level and attention neurons.

Sekhon, Ji, Dwyer and Qi, White-box Testing of NLP models with Mask Neuron Coverage (Findings of
NAACL 2022), sections 3.1 and 3.2, equations 4 to 7, after Ma et al. 2018 (DeepGauge).

- A word-level neuron is h_{d,t}^l: dimension d of layer l's hidden state at t. An attention neuron
  is α_{ij}^{l,k}: how much j weighs for i in head k of layer l.
- Each neuron's range [low, high] on a reference corpus is cut into B sections of equal width. A
  value v lies in section ⌊(v − low) · B / (high − low)⌋, and high itself in the last one: an inner
  edge belongs to the upper section. A value outside [low, high] covers nothing.
- COVER = (C_w + λ C_a) / (B (N_w + λ N_a)): C counts covered sections, N neurons, of words and of
  attention (eq. 4 to 6).
- MNCOVER (eq. 7) is the same, but the word x_t covers sections only where M_W[x_t] = 1, and the
  pair (x_i, x_j) only where M_A[x_i, x_j] = 1.

The paper's text leaves open, and is read here, as follows. t, i and j are places in the text
(``places``), as in the notation h_{d,t}: memory does not depend on the vocabulary, and masks choose
which occurrences count while the neurons stay the same. In the other reading (``words``) they are
entries of the task vocabulary: the neurons of words and pairs that the masks leave out do not
exist. λ weighs attention neurons in numerator and denominator, so that coverage stays in [0, 1]. A
neuron that never varied on the reference corpus (or was never reached by it: a place behind its
longest text, a word it lacks) has no range to cut: it is counted in neither C nor N. Ranges are
taken over all tokens, masked or not. Special tokens are tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.analysis.arrays import Arrays
from s2lct.analysis.coverage.activations import Activations, Integers
from s2lct.analysis.coverage.criteria import Coverage, Marks, count_bits
from s2lct.analysis.coverage.encoder import EncoderModel
from s2lct.analysis.coverage.masks import Masks
from s2lct.analysis.coverage.section_neurons import SectionNeurons
from s2lct.analysis.coverage.sections import Sections
from s2lct.analysis.coverage.vocabulary import Vocabulary
from s2lct.errors import AnalysisError


class SectionCoverage(Coverage):
    """COVER, or MNCOVER where masks are given; see the module's text for both.

    With neurons of words, the masks' vocabulary has to be theirs. λ is ``attention_weight``;
    ``table`` holds the masks' vocabulary entry of each token id, see `Vocabulary.table`.
    """

    kind = "sections"

    def __init__(
        self,
        model: str,
        sections: Sections,
        masks: Masks | None = None,
        attention_weight: float = 1.0,
        table: Integers | None = None,
    ) -> None:
        neurons = sections.neurons
        state = {
            kind: np.zeros(low.shape, dtype=neurons.bits_type) for kind, low in sections.low.items()
        }
        super().__init__(model, state)
        if not attention_weight >= 0:
            raise AnalysisError(f"λ is {attention_weight}", mend="pass 0 or more")
        if masks is not None and table is None:
            raise AnalysisError("masks without a table of token ids", mend="pass Vocabulary.table")
        if masks and neurons.vocabulary and masks.vocabulary != neurons.vocabulary:
            raise AnalysisError(
                "the masks' vocabulary is not that of the neurons",
                mend="take the neurons' ranges with the masks' vocabulary",
            )
        self.sections, self.masks, self.attention_weight = sections, masks, attention_weight
        self.table = np.zeros(0, dtype=np.int64) if table is None else table

    @classmethod
    def of_model(
        cls,
        encoder: EncoderModel,
        sections: Sections,
        masks: Masks | None = None,
        attention_weight: float = 1.0,
    ) -> SectionCoverage:
        """The metric for a model.

        Raises:
            AnalysisError: masks or λ that do not fit.
        """
        table = masks.vocabulary.table(encoder.tokenizer) if masks else None
        return cls(encoder.fingerprint, sections, masks, attention_weight, table)

    def marks(self, activations: Activations) -> Marks:
        """The sections that one text lies in."""
        text = self.sections.of_text(activations)
        words, pairs = text.words, text.pairs
        if self.masks is not None:
            tokens = self.table[activations.input_ids[0, : words.shape[1]]]
            words = words * self.masks.words[tokens][:, None]
            pairs = pairs * self.masks.pairs[np.ix_(tokens, tokens)]
        return {
            "words": text.at.by_word(words, np.bitwise_or),
            "pairs": text.at.by_pair(pairs, np.bitwise_or),
        }

    @cached_property
    def _sections(self) -> float:
        """B (N_w + λ N_a)."""
        words, pairs = self.sections.varying("words"), self.sections.varying("pairs")
        if self.masks is not None and self.sections.neurons.vocabulary is not None:
            words = words & self.masks.words[:, None]
            pairs = pairs & self.masks.pairs
        count = int(words.sum()) + self.attention_weight * int(pairs.sum())
        if not count:
            raise AnalysisError(
                "no neuron has a range to cut", mend="pass a larger reference corpus, other masks"
            )
        return self.sections.neurons.bins * count

    def weight(self, part: str) -> float:
        """A section's share of all."""
        return (self.attention_weight if part == "pairs" else 1.0) / self._sections

    @property
    def values(self) -> dict[str, float]:
        """COVER or MNCOVER."""
        covered = count_bits(self.state["words"]) + self.attention_weight * count_bits(
            self.state["pairs"]
        )
        return {"COVER" if self.masks is None else "MNCOVER": covered / self._sections}

    def settings(self) -> dict[str, Any]:
        """Which neurons, λ, and the masks' vocabulary."""
        return self.sections.neurons.settings() | {
            "attention_weight": self.attention_weight,
            "masked": None if self.masks is None else list(self.masks.vocabulary.pieces),
        }

    def constants(self) -> Arrays:
        """Ranges, masks and tables."""
        sections = self.sections
        constants: dict[str, npt.NDArray[Any]] = {
            "neurons_table": sections.neurons.table,
            "masks_table": self.table,
            **{f"{kind}_low": low for kind, low in sections.low.items()},
            **{f"{kind}_high": high for kind, high in sections.high.items()},
        }
        if self.masks is not None:
            constants |= {"mask_words": self.masks.words, "mask_pairs": self.masks.pairs}
        return constants

    @classmethod
    def rebuilt(cls, model: str, settings: Mapping[str, Any], constants: Arrays) -> SectionCoverage:
        """See `Coverage.rebuilt`."""
        neurons = SectionNeurons.of_settings(settings, constants["neurons_table"])
        low, high = (
            {kind: constants[f"{kind}_{end}"] for kind in ("words", "pairs")}
            for end in ("low", "high")
        )
        masks = None
        if settings["masked"] is not None:
            vocabulary = Vocabulary(tuple(settings["masked"]))
            masks = Masks(vocabulary, constants["mask_words"], constants["mask_pairs"])
        sections = Sections(neurons, low, high)
        return cls(model, sections, masks, settings["attention_weight"], constants["masks_table"])
