"""How much each whole word of a text contributes to what a model predicts.

Of networks by integrated gradients on their word embeddings (Sundararajan et al. 2017), of
everything else by leaving out each word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2lct.analysis.explain.words import respelled, words_of
from s2lct.analysis.judge import Judge
from s2lct.errors import require
from s2lct.labels import NEUTRAL, NEUTRAL_BAND, POSITIVE
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.network import Network

STEPS = 20
"""Points on the way from the baseline to the text (captum's ``n_steps``)."""


def has_gradients(judge: Judge) -> bool:
    """Whether a model is a network whose tokenizer tells where word pieces stand."""
    return isinstance(judge.model, Network) and bool(judge.model.tokenizer.is_fast)


def check_packages(judge: Judge) -> None:
    """Raise a `MissingPackageError` unless what `attribute` needs is installed."""
    if has_gradients(judge):
        require("captum")


def method_of(judge: Judge) -> str:
    """What the contributions of a model's words are."""
    return "integrated gradients" if has_gradients(judge) else "leaving out each word"


def attribute(judge: Judge, text: str, label: int) -> Array:
    """How much each of `words.words_of` a text speaks for a label.

    Returns:
        The words' shares of the label's log probability (gradients), or by how much its
        `Judge.support` falls without them.
    """
    if has_gradients(judge):
        return _integrated_gradients(judge, text, label)
    without = [respelled(text, {number: None}).strip() for number in range(len(words_of(text)))]
    whole, *others = judge.support([text, *without], [label] * (len(without) + 1))
    return np.array([whole - support for support in others])


def _integrated_gradients(judge: Judge, text: str, label: int) -> Array:
    """Log probability, from the fully masked text to the text, in the word embeddings."""
    import torch
    from captum.attr import LayerIntegratedGradients

    network, rule = judge.model, judge.rule
    assert isinstance(network, Network)
    tokenizer, model = network.tokenizer, network.model
    meanings = torch.tensor(rule.meanings, device=model.device)

    def log_probability(ids: Any) -> Any:
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.float()
        logarithms = torch.log_softmax(logits, dim=-1)
        if label == NEUTRAL and not rule.has_neutral:
            positive = logarithms.exp()[:, meanings == POSITIVE].sum(dim=-1)
            return torch.log1p(-(positive - sum(NEUTRAL_BAND) / 2).abs())
        return torch.logsumexp(logarithms[:, meanings == label], dim=-1)

    tokens = (tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id, 0)
    blank = next(token for token in tokens if token is not None)
    model.eval()
    encoded = tokenizer(
        text,
        truncation=True,
        max_length=network.most_tokens,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )
    ids, special = (
        torch.tensor([encoded[name]], device=model.device)
        for name in ("input_ids", "special_tokens_mask")
    )
    shares = LayerIntegratedGradients(log_probability, model.get_input_embeddings()).attribute(
        ids, baselines=torch.where(special == 1, ids, blank), n_steps=STEPS
    )
    words = words_of(text)
    sums = np.zeros(len(words))
    of_pieces = shares[0].sum(dim=-1).double().cpu().tolist()
    for value, (start, end) in zip(of_pieces, encoded["offset_mapping"], strict=True):
        # A piece that spans several words is shared among them.
        touched = [n for n, word in enumerate(words) if word.start < end and start < word.end]
        sums[touched] += value / max(1, len(touched))
    return sums
