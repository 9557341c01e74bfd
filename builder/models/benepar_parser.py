"""Constituency parsing by benepar: the embedded head on MiniLM, or a published model.

Benepar 0.2.0 cannot load its published models (``benepar_en3``, …) safely with transformers 5: it
needs `build_inputs_with_special_tokens`, which is gone, and unpickles weights. The subclasses here
read special tokens off an encoded word, and load weights as tensors only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import nltk
import torch
from benepar import InputSentence, nkutil, parse_chart, retokenization
from torch import nn
from transformers import AutoModel, AutoTokenizer

from s2lct.builder.models import EMBEDDED
from s2lct.builder.models.shipped import verified_weights
from s2lct.builder.records import Token
from s2lct.errors import ModelError
from s2lct.files import is_folder, sha256_of
from s2lct.hub_calls import config_without_kernels, error_summary
from s2lct.plain_text import did_you_mean, plain

WEIGHTS = Path(__file__).parent / "weights" / "parser.safetensors"
_BATCH_TOKENS = 2048
_HINT = "name a benepar model such as benepar_en3, or use --parser embedded"
_PUBLISHED_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")


class BeneparParser:
    """A chart parser whose trees have token numbers as leaves."""

    def __init__(self, parser: Any, weights: Path) -> None:
        self._parser = parser  # has parse(sentences of words, whether a space follows each word)
        self._weights = weights

    @classmethod
    def load(cls, name: str) -> BeneparParser:
        """Load the embedded parser, a benepar model such as ``benepar_en3``, or a folder."""
        if name == EMBEDDED:
            from s2lct.builder.models.chart_parser import ChartConstituencyParser

            return cls(ChartConstituencyParser(verified_weights(WEIGHTS)), WEIGHTS)
        folder = model_folder(name)
        return cls(PublishedBenepar(folder), folder / "benepar_model.bin")

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights' file."""
        return sha256_of(self._weights)

    def parse(self, sentences: Sequence[Sequence[Token]]) -> list[str | None]:
        """Bracketed trees over token numbers; see `ConstituencyParser.parse`."""
        words = [[token.text for token in sentence] for sentence in sentences]
        spaces = [
            [left.end < right.start for left, right in pairwise(sentence)]
            + [False] * bool(sentence)
            for sentence in sentences
        ]
        trees = self._parser.parse(words, spaces)
        return [None if tree is None else _bracketed(tree, count()) for tree in trees]


def _bracketed(node: nltk.Tree | str, numbers: count[int]) -> str:
    """A tree in brackets, with a number in place of each word."""
    if isinstance(node, str):
        return str(next(numbers))
    return f"({node.label() or 'TOP'} {' '.join(_bracketed(child, numbers) for child in node)})"


class SpecialTokenRetokenizer(retokenization.Retokenizer):  # type: ignore[misc]
    """Benepar's retokenizer, with start and stop tokens read off an encoded word."""

    def __init__(self, folder: str) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        self.retain_start_stop = True
        model_type = config_without_kernels(folder).model_type
        self.is_t5 = model_type in ("t5", "mt5")
        self.is_gpt2 = False
        special_mask = self.tokenizer("a", return_special_tokens_mask=True)["special_tokens_mask"]
        # T5 reads the decoder's output, whose inputs are shifted by one start token.
        prefix = int(self.is_t5) + (special_mask.index(0) if 0 in special_mask else 0)
        suffix = special_mask[::-1].index(0) if 0 in special_mask else 0
        if prefix + suffix == 0:
            raise ModelError(f"{folder}: its tokenizer adds no start or stop token", hint=_HINT)
        self.start_token_idx = prefix - 1 if prefix else -1
        self.stop_token_idx = -suffix if suffix else 0


class PublishedChartParser(parse_chart.ChartParser):  # type: ignore[misc]
    """Benepar's chart parser, built on `SpecialTokenRetokenizer`."""

    def __init__(
        self,
        tag_vocab: dict[str, int],
        label_vocab: dict[str, int],
        char_vocab: dict[str, int],
        hparams: nkutil.HParams,
        pretrained_model_path: str,
    ) -> None:
        with_characters = nkutil.HParams(**hparams.to_dict() | {"use_pretrained": False})
        super().__init__(tag_vocab, label_vocab, char_vocab, with_characters)
        self.retokenizer = SpecialTokenRetokenizer(pretrained_model_path)
        self.pretrained_model = AutoModel.from_config(
            config_without_kernels(pretrained_model_path),
            trust_remote_code=False,
        )
        width = hparams.d_model // 2 if hparams.use_encoder else hparams.d_model
        self.project_pretrained = nn.Linear(
            self.pretrained_model.config.hidden_size, width, bias=False
        )


class PublishedBenepar:
    """A published benepar model that parses words."""

    def __init__(self, folder: Path) -> None:
        """Load a folder that benepar published; a `ModelError` if it holds no benepar model."""
        try:
            config = dict(config_without_kernels(folder).benepar)
            tensors = torch.load(
                folder / "benepar_model.bin", map_location="cpu", weights_only=True
            )
            hparams = {"force_root_constituent": True} | config["hparams"]
            self._parser = PublishedChartParser(
                config["tag_vocab"],
                config["label_vocab"],
                config["char_vocab"],
                nkutil.HParams(**hparams),
                str(folder),
            )
            # Strict: weights that are missing or of another shape are refused.
            self._parser.load_state_dict(tensors)
        except ModelError:
            raise
        except Exception as error:  # pickles, configurations and tensors fail in many classes
            raise ModelError(
                f"{folder}: no benepar model ({error_summary(error)})", hint=_HINT
            ) from error
        self._parser.eval()
        self._max_words = self._parser.add_timing.timing_table.shape[0] - 2

    def parse(
        self, sentences: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool]]
    ) -> list[nltk.Tree | None]:
        """A tree for each sentence; None for one that is empty or too long."""
        results: list[nltk.Tree | None] = [None] * len(sentences)
        examples: dict[int, InputSentence] = {}
        for index, (words, space_after) in enumerate(zip(sentences, spaces, strict=True)):
            if 0 < len(words) <= self._max_words:
                example = InputSentence([*words], [*space_after], escaped_words=[*words])
                with suppress(ValueError):  # more word pieces than the pretrained encoder takes
                    self._parser.encode(example)
                    examples[index] = example
        trees = self._parser.parse(list(examples.values()), subbatch_max_tokens=_BATCH_TOKENS)
        for index, tree in zip(examples, trees, strict=True):
            results[index] = tree[0] if len(tree) == 1 else tree
        return results


def model_folder(name: str) -> Path:
    """The folder of a benepar model, by its path or by its name in NLTK's data folders."""
    if _PUBLISHED_NAME.fullmatch(name) is None:
        if name and is_folder(Path(name)):
            return Path(name)
        raise ModelError(f"--parser {plain(name, 200)}: no folder and no benepar model", hint=_HINT)
    if is_folder(Path(name)):
        raise ModelError(
            f"--parser {name}: may be a model of benepar's, and a folder of that name is here, too",
            hint=f"for the folder write ./{name}; for benepar's, rename the folder",
        )
    try:
        return Path(str(nltk.data.find(f"models/{name}")))
    except LookupError as error:
        raise ModelError(
            f"--parser {name}: is not in NLTK's data folders",
            hint=f'{did_you_mean(name, [EMBEDDED])}fetch it: python -c "import benepar; '
            f"benepar.download('{name}')\"; or use --parser embedded",
        ) from error
