"""The contribution of each word of a text to a model's prediction.

For networks: integrated gradients on the word embeddings (Sundararajan et al. 2017). For all other
models: the drop of the label's score when the word is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2lct.analysis.explain.words import replace_words, words_of
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.errors import require
from s2lct.labels import NEUTRAL, NEUTRAL_BAND, POSITIVE
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.network import Network

INTEGRATION_STEPS = 20
"""Points between the baseline and the text (captum's ``n_steps``)."""


def supports_integrated_gradients(model: LabelledClassifier) -> bool:
    """Whether a model is a network whose tokenizer gives the offsets of word pieces."""
    return isinstance(model.classifier, Network) and bool(model.classifier.tokenizer.is_fast)


def check_packages(model: LabelledClassifier) -> None:
    """Raise a `MissingPackageError` unless `word_contributions` has its packages for the model."""
    if supports_integrated_gradients(model):
        require("captum")


def attribution_method_name(model: LabelledClassifier) -> str:
    """The name of the method that `word_contributions` uses for a model."""
    return (
        "integrated gradients" if supports_integrated_gradients(model) else "leaving out each word"
    )


def word_contributions(model: LabelledClassifier, text: str, label: int) -> Array:
    """The contribution of each word to a label, shape (words,); `words_of` gives the words.

    With gradients, contributions are shares of the label's log probability. Otherwise, they are the
    drop of the label's score when the word is left out.
    """
    if supports_integrated_gradients(model):
        return _integrated_gradients(model, text, label)
    n_words = len(words_of(text))
    shortened = [replace_words(text, {index: None}).strip() for index in range(n_words)]
    full_score, *shortened_scores = model.label_scores([text, *shortened])[:, label]
    return np.array([full_score - score for score in shortened_scores])


def _integrated_gradients(model: LabelledClassifier, text: str, label: int) -> Array:
    """Integrated gradients of the log probability, from the fully masked text to the text."""
    import torch
    from captum.attr import LayerIntegratedGradients

    network, label_rule = model.classifier, model.rule
    assert isinstance(network, Network)
    tokenizer, torch_model = network.tokenizer, network.model
    label_of_class = torch.tensor(label_rule.meanings, device=torch_model.device)

    def label_log_probability(ids: Any) -> Any:
        logits = torch_model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.float()
        log_probabilities = torch.log_softmax(logits, dim=-1)
        if label == NEUTRAL and not label_rule.has_neutral:
            positive = log_probabilities.exp()[:, label_of_class == POSITIVE].sum(dim=-1)
            return torch.log1p(-(positive - sum(NEUTRAL_BAND) / 2).abs())
        return torch.logsumexp(log_probabilities[:, label_of_class == label], dim=-1)

    candidates = (tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id, 0)
    baseline_id = next(token_id for token_id in candidates if token_id is not None)
    torch_model.eval()
    encoded = tokenizer(
        text,
        truncation=True,
        max_length=network.max_tokens,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )
    ids, special_mask = (
        torch.tensor([encoded[name]], device=torch_model.device)
        for name in ("input_ids", "special_tokens_mask")
    )
    gradients = LayerIntegratedGradients(label_log_probability, torch_model.get_input_embeddings())
    attributions = gradients.attribute(
        ids, baselines=torch.where(special_mask == 1, ids, baseline_id), n_steps=INTEGRATION_STEPS
    )
    words = words_of(text)
    contributions = np.zeros(len(words))
    piece_attributions = attributions[0].sum(dim=-1).double().cpu().tolist()
    for attribution, (start, end) in zip(
        piece_attributions, encoded["offset_mapping"], strict=True
    ):
        # Several words overlapped by a piece get equal shares of its attribution.
        overlapped = [i for i, word in enumerate(words) if word.start < end and start < word.end]
        contributions[overlapped] += attribution / max(1, len(overlapped))
    return contributions
