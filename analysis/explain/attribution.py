"""How much each whole word of a text contributes to what a model says of it.

Networks are asked by integrated gradients on their word embeddings (Sundararajan et al. 2017),
everything else by Kernel SHAP (Lundberg and Lee 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from s2lct.analysis.explain.words import respelled, words_of
from s2lct.analysis.judge import Judge
from s2lct.identity import rng_for
from s2lct.leaderboard.answers.label_rules import NEUTRAL, POSITIVE
from s2lct.leaderboard.answers.predictions import Array
from s2lct.leaderboard.models.network import Network

STEPS = 20
"""Points on the way from the baseline to the text (captum's ``n_steps``)."""
ROWS_A_PASS = 64
SHAP_SAMPLES = 256


def has_gradients(judge: Judge) -> bool:
    """Whether a model is a network whose tokenizer tells where word pieces stand."""
    return isinstance(judge.model, Network) and bool(judge.model.tokenizer.is_fast)


def method_of(judge: Judge) -> str:
    """How contributions to what a model says are told."""
    return "integrated gradients" if has_gradients(judge) else "Kernel SHAP"


def attribute(
    judge: Judge, texts: Sequence[str], labels: Sequence[int], *, seed: int = 0
) -> list[Array]:
    """How much each whole word of a text speaks for the text's label.

    Returns:
        For each text an array over `words.words_of`: the share of the label's log probability
        (gradients) or of its `Judge.support` (Kernel SHAP).
    """
    if has_gradients(judge):
        return _integrated_gradients(judge, texts, labels)
    return [
        _kernel_shap(judge, text, label, seed) for text, label in zip(texts, labels, strict=True)
    ]


def _integrated_gradients(judge: Judge, texts: Sequence[str], labels: Sequence[int]) -> list[Array]:
    """Log probability, from the fully masked text to the text, in the word embeddings."""
    import torch
    from captum.attr import LayerIntegratedGradients

    network, rule = judge.model, judge.rule
    assert isinstance(network, Network)
    tokenizer, model = network.tokenizer, network.model
    meanings = torch.tensor(rule.meanings, device=model.device)
    middle = sum(rule.neutral_band) / 2

    def held(ids: Any, mask: Any, wanted: Any) -> Any:
        logarithms = torch.log_softmax(
            model(input_ids=ids, attention_mask=mask).logits.float(), dim=-1
        )
        unnamed = (wanted == NEUTRAL)[:, None] & (not rule.has_neutral)
        # Any finite value will do where no class is neutral: it is not the one taken.
        chosen = ((meanings[None] == wanted[:, None]) | unnamed).float().log()
        of_label = torch.logsumexp(logarithms + chosen, dim=-1)
        positive = (logarithms.exp() * (meanings == POSITIVE)).sum(dim=-1)
        return torch.where(unnamed[:, 0], torch.log1p(-(positive - middle).abs()), of_label)

    tokens = (tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id, 0)
    blank = next(token for token in tokens if token is not None)
    gradients = LayerIntegratedGradients(held, model.get_input_embeddings())
    model.eval()
    encoded = tokenizer(
        list(texts),
        truncation=True,
        max_length=network.most_tokens,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )
    by_length: dict[int, list[int]] = {}
    for number, ids in enumerate(encoded["input_ids"]):
        by_length.setdefault(len(ids), []).append(number)
    results: list[Array] = [np.zeros(0)] * len(texts)
    for numbers in by_length.values():
        ids, special, wanted = (
            torch.tensor([values[n] for n in numbers], device=model.device)
            for values in (encoded["input_ids"], encoded["special_tokens_mask"], labels)
        )
        shares = gradients.attribute(
            ids,
            baselines=torch.where(special == 1, ids, blank),
            additional_forward_args=(torch.ones_like(ids), wanted),
            n_steps=STEPS,
            internal_batch_size=max(ROWS_A_PASS, len(numbers)),
        )
        of_pieces = shares.sum(dim=-1).double().cpu().numpy()
        for number, pieces in zip(numbers, of_pieces, strict=True):
            results[number] = _summed(pieces, encoded["offset_mapping"][number], texts[number])
    return results


def _summed(pieces: Array, offsets: Sequence[tuple[int, int]], text: str) -> Array:
    """Word pieces' contributions summed to whole words, shared where a piece spans several."""
    words = words_of(text)
    sums = np.zeros(len(words))
    for value, (start, end) in zip(pieces, offsets, strict=True):
        touched = [n for n, word in enumerate(words) if word.start < end and start < word.end]
        sums[touched] += value / max(1, len(touched))
    return sums


def _without(text: str, absent: Iterable[int]) -> str:
    """A text without some of its words; the spaces in front of them go too."""
    return respelled(text, dict.fromkeys(absent)).strip()


def _kernel_shap(judge: Judge, text: str, label: int, seed: int) -> Array:
    """Kernel SHAP over the words' presence; absent words are left out of the text."""
    import torch
    from captum.attr import KernelShap

    count = len(words_of(text))
    if count < 2:
        return np.ones(count)

    def held(present: Any) -> Any:
        rows = [_without(text, np.flatnonzero(row == 0).tolist()) for row in present.numpy()]
        return torch.from_numpy(judge.support(rows, [label] * len(rows)))

    samples = SHAP_SAMPLES + 2 * count
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(rng_for(seed, "shap", text).getrandbits(63))
        shares = KernelShap(held).attribute(
            torch.ones(1, count),
            baselines=torch.zeros(1, count),
            n_samples=samples,
            perturbations_per_eval=samples,
        )
    return np.asarray(shares[0].double().numpy())
