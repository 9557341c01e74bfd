"""How much each whole word of a text contributes to what a model says of it.

Networks are asked by integrated gradients on their word embeddings (Sundararajan et al. 2017),
everything else by Kernel SHAP (Lundberg and Lee 2017) or by leaving words out one at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Sequence
from typing import Any, Literal

import numpy as np

from s2lct.analysis.explain.words import Word, respelled, words_of
from s2lct.analysis.judge import Judge
from s2lct.errors import AnalysisError
from s2lct.identity import rng_for
from s2lct.leaderboard.answers.label_rules import NEUTRAL, POSITIVE
from s2lct.leaderboard.answers.predictions import Array
from s2lct.leaderboard.models.network import Network

Method = Literal["gradients", "shap", "occlusion"]
METHODS: tuple[Method, ...] = ("gradients", "shap", "occlusion")
STEPS = 20
"""Points on the way from the baseline to the text (captum's ``n_steps``)."""
ROWS_A_PASS = 64
SHAP_SAMPLES = 256


def default_method(judge: Judge) -> Method:
    """Gradients where the model has them, else Kernel SHAP."""
    return "gradients" if isinstance(judge.model, Network) else "shap"


def attribute(
    judge: Judge,
    texts: Sequence[str],
    labels: Sequence[int],
    *,
    method: Method | None = None,
    seed: int = 0,
) -> list[Array]:
    """How much each whole word of a text speaks for the text's label.

    Returns:
        For each text an array over `words.words_of`: the share of the label's log probability
        (gradients) or of its `Judge.support` (the others).

    Raises:
        AnalysisError: gradients of a model that has none.
    """
    chosen = method or default_method(judge)
    if chosen == "gradients":
        return _integrated_gradients(judge, texts, labels)
    if chosen == "occlusion":
        return _occlusion(judge, texts, labels)
    return [
        _kernel_shap(judge, text, label, seed) for text, label in zip(texts, labels, strict=True)
    ]


def _integrated_gradients(judge: Judge, texts: Sequence[str], labels: Sequence[int]) -> list[Array]:
    """Log probability, from the fully masked text to the text, in the word embeddings."""
    import torch
    from captum.attr import LayerIntegratedGradients

    network, rule = judge.model, judge.rule
    if not isinstance(network, Network) or rule is None:
        raise AnalysisError(
            f"model {network.name}: has no gradients",
            mend="choose --attribution shap or occlusion",
        )
    tokenizer, model = network.tokenizer, network.model
    if not tokenizer.is_fast:
        raise AnalysisError(
            f"model {network.name}: its tokenizer does not tell where word pieces stand",
            mend="choose --attribution occlusion, or save a fast tokenizer beside the model",
        )
    meanings = torch.tensor(rule.meanings, device=model.device)
    middle = sum(rule.neutral_band) / 2

    def held(ids: Any, mask: Any, wanted: Any) -> Any:
        logits = model(input_ids=ids, attention_mask=mask).logits.float()
        logarithms = torch.log_softmax(logits, dim=-1)
        unnamed = (wanted == NEUTRAL)[:, None] & (not rule.has_neutral)
        # Any finite value will do where no class is neutral: it is not the one taken.
        chosen = ((meanings[None] == wanted[:, None]) | unnamed).float().log()
        of_label = torch.logsumexp(logarithms + chosen, dim=-1)
        positive = (logarithms.exp() * (meanings == POSITIVE)).sum(dim=-1)
        between = torch.log1p(-(positive - middle).abs())
        return torch.where(unnamed[:, 0], between, of_label)

    blank = next(
        token
        for token in (tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id, 0)
        if token is not None
    )
    gradients = LayerIntegratedGradients(held, model.get_input_embeddings())
    model.eval()
    results: list[Array] = [np.zeros(0)] * len(texts)
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
    for numbers in by_length.values():
        ids = torch.tensor([encoded["input_ids"][n] for n in numbers], device=model.device)
        special = torch.tensor(
            [encoded["special_tokens_mask"][n] for n in numbers], device=model.device
        )
        shares = gradients.attribute(
            ids,
            baselines=torch.where(special == 1, ids, blank),
            additional_forward_args=(
                torch.ones_like(ids),
                torch.tensor([int(labels[n]) for n in numbers], device=model.device),
            ),
            n_steps=STEPS,
            internal_batch_size=max(ROWS_A_PASS, len(numbers)),
        )
        of_pieces = shares.sum(dim=-1).double().cpu().numpy()
        for row, number in enumerate(numbers):
            results[number] = _summed(
                of_pieces[row], encoded["offset_mapping"][number], words_of(texts[number])
            )
    return results


def _summed(pieces: Array, offsets: Sequence[tuple[int, int]], words: Sequence[Word]) -> Array:
    """Word pieces' contributions summed to whole words, shared where a piece spans several."""
    sums = np.zeros(len(words))
    for value, (start, end) in zip(pieces, offsets, strict=True):
        touched = [n for n, word in enumerate(words) if word.start < end and start < word.end]
        for number in touched:
            sums[number] += value / len(touched)
    return sums


def _without(text: str, words: Sequence[Word], absent: Container[int]) -> str:
    """A text without some of its words; the spaces in front of them go too."""
    pieces = [None if number in absent else word.text for number, word in enumerate(words)]
    return respelled(text, words, pieces).strip()


def _occlusion(judge: Judge, texts: Sequence[str], labels: Sequence[int]) -> list[Array]:
    words = [words_of(text) for text in texts]
    asked = [
        [text, *(_without(text, own, [number]) for number in range(len(own)))]
        for text, own in zip(texts, words, strict=True)
    ]
    wanted = np.repeat(labels, [len(own) for own in asked])
    support = judge.support(list(itertools.chain(*asked)), wanted)
    parts = np.split(support, np.cumsum([len(own) for own in asked])[:-1])
    return [own[0] - own[1:] for own in parts]


def _kernel_shap(judge: Judge, text: str, label: int, seed: int) -> Array:
    """Kernel SHAP over the words' presence; absent words are left out of the text."""
    import torch
    from captum.attr import KernelShap

    words = words_of(text)
    if len(words) < 2:
        return np.ones(len(words))

    def held(present: Any) -> Any:
        rows = [
            _without(text, words, [n for n, one in enumerate(row) if not one])
            for row in present.bool().tolist()
        ]
        return torch.from_numpy(judge.support(rows, [label] * len(rows)))

    samples = SHAP_SAMPLES + 2 * len(words)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(rng_for(seed, "shap", text).getrandbits(63))
        shares = KernelShap(held).attribute(
            torch.ones(1, len(words)),
            baselines=torch.zeros(1, len(words)),
            n_samples=samples,
            perturbations_per_eval=samples,
        )
    return np.asarray(shares[0].double().numpy())
