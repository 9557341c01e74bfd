"""A tiny language model that answers whatever it is asked with one of three words, and ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_WIDTH, _AFTER_ANSWER, _ALWAYS = 32, 0, 1
"""How many numbers it thinks in; which of them tells that it has answered, and which is one."""


def save_tiny_sayer(folder: Path, answers: Sequence[str], asked: Iterable[str]) -> Path:
    """Save a GPT-2 with random weights, which its last layer turns into an answer.

    Its tokenizer knows the words of what it is asked. It has a chat template, by which a message is
    its content and nothing else.
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    splits = pre_tokenizers.Whitespace()
    words = sorted({word for text in asked for word, _ in splits.pre_tokenize_str(text)})
    known = dict.fromkeys(["<end>", "<unknown>", *answers, *words])
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(known)}, "<unknown>"))
    made.pre_tokenizer = splits
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<end>", unk_token="<unknown>"
    )
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    torch.manual_seed(0)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=_WIDTH,
            n_layer=2,
            n_head=4,
            n_positions=128,
            initializer_range=0.5,
            tie_word_embeddings=False,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    numbers = tokenizer.convert_tokens_to_ids(list(answers))
    with torch.no_grad():
        norm, read, say = model.transformer.ln_f, model.transformer.wte.weight, model.lm_head.weight
        norm.weight[_ALWAYS], norm.bias[_ALWAYS] = 0, 1
        read[:, _AFTER_ANSWER] = 0
        read[numbers, _AFTER_ANSWER] = 1_000
        chosen = torch.randn(len(numbers), _WIDTH)
        say.zero_()
        say[numbers] = chosen
        say[numbers, _AFTER_ANSWER] = 0
        say[numbers, _ALWAYS] = 30
        say[tokenizer.eos_token_id, _AFTER_ANSWER] = 8
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
