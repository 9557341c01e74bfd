"""How much each word of a text contributes to what a model predicts.

Networks: integrated gradients on the word embeddings (Sundararajan et al. 2017). Everything else:
leaving out each word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2lct.analysis.explain.words import replaced, words_of
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.errors import require
from s2lct.labels import NEUTRAL, NEUTRAL_BAND, POSITIVE
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.network import Network

INTEGRATION_STEPS = 20
"""Points between the baseline and the text (captum's ``n_steps``)."""


def has_gradients(model: LabelledClassifier) -> bool:
    """Whether a model is a network whose tokenizer tells where word pieces stand."""
    return isinstance(model.classifier, Network) and bool(model.classifier.tokenizer.is_fast)


def check_packages(model: LabelledClassifier) -> None:
    """Raise a `MissingPackageError` unless what `attribute` needs is installed."""
    if has_gradients(model):
        require("captum")


def method_of(model: LabelledClassifier) -> str:
    """The name of the method by which `attribute` looks at a model."""
    return "integrated gradients" if has_gradients(model) else "leaving out each word"


def attribute(model: LabelledClassifier, text: str, label: int) -> Array:
    """How much each of `words_of` a text speaks for a label, shape (words,).

    By gradients: shares of the label's log probability. Else: by how much the label's score falls
    without the word.
    """
    if has_gradients(model):
        return _integrated_gradients(model, text, label)
    without = [replaced(text, {number: None}).strip() for number in range(len(words_of(text)))]
    whole, *others = model.label_scores([text, *without])[:, label]
    return np.array([whole - score for score in others])


def _integrated_gradients(model: LabelledClassifier, text: str, label: int) -> Array:
    """Integrated gradients of the log probability, from the fully masked text to the text."""
    import torch
    from captum.attr import LayerIntegratedGradients

    network, rule = model.classifier, model.rule
    assert isinstance(network, Network)
    tokenizer, torch_model = network.tokenizer, network.model
    meanings = torch.tensor(rule.meanings, device=torch_model.device)

    def log_probability(ids: Any) -> Any:
        logits = torch_model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.float()
        logarithms = torch.log_softmax(logits, dim=-1)
        if label == NEUTRAL and not rule.has_neutral:
            positive = logarithms.exp()[:, meanings == POSITIVE].sum(dim=-1)
            return torch.log1p(-(positive - sum(NEUTRAL_BAND) / 2).abs())
        return torch.logsumexp(logarithms[:, meanings == label], dim=-1)

    tokens = (tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id, 0)
    blank = next(token for token in tokens if token is not None)
    torch_model.eval()
    encoded = tokenizer(
        text,
        truncation=True,
        max_length=network.max_tokens,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )
    ids, special = (
        torch.tensor([encoded[name]], device=torch_model.device)
        for name in ("input_ids", "special_tokens_mask")
    )
    gradients = LayerIntegratedGradients(log_probability, torch_model.get_input_embeddings())
    shares = gradients.attribute(
        ids, baselines=torch.where(special == 1, ids, blank), n_steps=INTEGRATION_STEPS
    )
    words = words_of(text)
    sums = np.zeros(len(words))
    piece_shares = shares[0].sum(dim=-1).double().cpu().tolist()
    for share, (start, end) in zip(piece_shares, encoded["offset_mapping"], strict=True):
        # A piece that spans several words is shared among them.
        touched = [n for n, word in enumerate(words) if word.start < end and start < word.end]
        sums[touched] += share / max(1, len(touched))
    return sums
