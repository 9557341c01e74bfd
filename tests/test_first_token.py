"""Classifiers whose last layer computes what the head reads, and no more."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from s2lct.leaderboard.models.first_token import first_token_only

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
SMALL |= {"intermediate_size": 48, "initializer_range": 0.5}
DISTILBERT = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48, "initializer_range": 0.5}


def classifier(kind: str, **config: Any) -> Any:
    import transformers

    torch.manual_seed(0)
    made = getattr(transformers, f"{kind}Config")(vocab_size=50, num_labels=3, **config)
    return getattr(transformers, f"{kind}ForSequenceClassification")(made).eval()


def said(model: Any, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Logits, and how many tokens went through the last feed-forward network."""
    rows: list[int] = []
    last = [one for one in model.modules() if isinstance(one, torch.nn.Linear)]
    wide = [one for one in last if one.out_features == 48][-1]
    hook = wide.register_forward_pre_hook(lambda _, given: rows.append(given[0].shape[1]))
    with torch.inference_mode():
        logits = model(input_ids=ids, attention_mask=mask).logits
    hook.remove()
    return logits, rows[-1]


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "Electra", "DistilBert"])
def test_the_last_layer_goes_on_with_the_first_token_and_says_the_same(kind: str) -> None:
    model = classifier(kind, **(DISTILBERT if kind == "DistilBert" else SMALL))
    ids, mask = torch.randint(3, 50, (6, 9)), torch.ones(6, 9, dtype=torch.long)
    mask[3:, 5:] = 0
    whole, tokens = said(model, ids, mask)
    assert tokens == 9
    with first_token_only(model):
        cut, tokens = said(model, ids, mask)
    assert tokens == 1
    assert torch.allclose(whole, cut, atol=1e-5)
    assert whole.std() > 0.1
    assert said(model, ids, mask)[1] == 9  # left as it was


def test_a_head_that_reads_other_tokens_is_left_alone() -> None:
    model = classifier("Bert", **SMALL)
    model.bert.pooler.forward = lambda states: torch.tanh(model.bert.pooler.dense(states.mean(1)))
    ids, mask = torch.randint(3, 50, (6, 9)), torch.ones(6, 9, dtype=torch.long)
    whole, _ = said(model, ids, mask)
    with first_token_only(model):
        same, tokens = said(model, ids, mask)
    assert tokens == 9
    assert torch.equal(whole, same)


def test_a_model_that_is_built_otherwise_is_left_alone() -> None:
    model = classifier("Albert", embedding_size=32, **SMALL)
    ids, mask = torch.randint(3, 50, (6, 9)), torch.ones(6, 9, dtype=torch.long)
    whole, _ = said(model, ids, mask)
    with first_token_only(model):
        same, tokens = said(model, ids, mask)
    assert tokens == 9
    assert torch.equal(whole, same)
