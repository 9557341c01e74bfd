"""Tiny BERT classifiers and Llamas with random weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

CLASSES = ("negative", "neutral", "positive")
SENTENCES = [
    "A dull film.",
    "The young actors give wonderful performances in this beautiful drama, and so does the dog.",
    "Is it bad? Yes.",
    "I don't think it is {text} or naïve… 😀",
    "x",
    "The story takes place in the winter of 1962.",
]


def tiny_classifier(classes: Sequence[str] = CLASSES, *, seed: int = 0, **config: Any) -> Any:
    """A tokenizer and a model; ``config`` overrides its `transformers.BertConfig`."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from s2lct.builder.models.shipped import encoder_path

    tokenizer = AutoTokenizer.from_pretrained(encoder_path())
    small = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 128,
        "initializer_range": 0.5,
        "vocab_size": len(tokenizer),
    }
    torch.manual_seed(seed)
    model = BertForSequenceClassification(
        BertConfig(
            id2label=dict(enumerate(classes)),
            label2id={name: number for number, name in enumerate(classes)},
            **(small | config),
        )
    )
    return tokenizer, model


def save_tiny_classifier(folder: Path, classes: Sequence[str] = CLASSES, **config: Any) -> Path:
    """Save one as `transformers` does; see `tiny_classifier`."""
    tokenizer, model = tiny_classifier(classes, **config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def trained_tokenizer(template: str | None, **special: str) -> Any:
    """A byte-pair tokenizer trained on a few sentences; words take one to several tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    named = ["<s>", "</s>", "<pad>"]
    tokenizer.train_from_iterator(
        SENTENCES + ["Review: Sentiment (negative, neutral or positive): negative negative"] * 3,
        trainers.BpeTrainer(
            vocab_size=330,
            special_tokens=named,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    if template:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[(name, named.index(name)) for name in named[:2]]
        )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def save_tiny_llama(
    folder: Path,
    *,
    framed: str = "<s> $A </s>",
    chat_template: str | None = None,
    seed: int = 0,
) -> Path:
    """Save a language model whose tokenizer pads, and begins and ends texts as ``framed`` says."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = trained_tokenizer(framed, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    tokenizer.chat_template = chat_template
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=0.3,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_tiny_gpt2(folder: Path, *, seed: int = 0) -> Path:
    """Save a language model with absolute positions, whose tokenizer cannot pad."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = trained_tokenizer(None, eos_token="</s>")
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=256,
        initializer_range=0.3,
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
