"""Benepar's published models (``benepar_en3``, …) on today's `transformers`.

Benepar 0.2.0 asks the tokenizer for `build_inputs_with_special_tokens`, which transformers 5 has
no more, and loads weights as a pickle. Both are replaced here by subclasses: special tokens are
read off an encoded word, and weights are loaded as tensors only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import nltk
import torch
from benepar import nkutil, parse_chart, retokenization
from benepar.parse_base import BaseInputExample
from torch import nn
from transformers import AutoConfig, AutoModel, AutoTokenizer

from s2lct.errors import ModelError
from s2lct.files import is_folder
from s2lct.hub_calls import reason_of
from s2lct.plain_text import plain

_BATCH_TOKENS = 2048
_MEND = "name a benepar model such as benepar_en3"
_PUBLISHED_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")


class SpecialTokenRetokenizer(retokenization.Retokenizer):  # type: ignore[misc]
    """Benepar's retokenizer, with start and stop tokens read off an encoded word."""

    def __init__(self, folder: str, retain_start_stop: bool = False) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        self.retain_start_stop = retain_start_stop
        kind = AutoConfig.from_pretrained(folder, trust_remote_code=False).model_type
        self.is_t5 = kind in ("t5", "mt5")
        self.is_gpt2 = kind == "gpt2"
        if self.is_gpt2:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        marked = self.tokenizer("a", return_special_tokens_mask=True)["special_tokens_mask"]
        # T5 reads the decoder's output, whose inputs are shifted by one start token.
        prefix = int(self.is_t5) + (marked.index(0) if 0 in marked else 0)
        suffix = int(self.is_gpt2) + (marked[::-1].index(0) if 0 in marked else 0)
        if prefix + suffix == 0:
            raise ModelError(f"{folder}: its tokenizer adds no start or stop token", hint=_MEND)
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
        self.retokenizer = SpecialTokenRetokenizer(pretrained_model_path, retain_start_stop=True)
        self.pretrained_model = AutoModel.from_config(
            AutoConfig.from_pretrained(pretrained_model_path, trust_remote_code=False),
            trust_remote_code=False,
        )
        width = hparams.d_model // 2 if hparams.use_encoder else hparams.d_model
        self.project_pretrained = nn.Linear(
            self.pretrained_model.config.hidden_size, width, bias=False
        )


class PublishedBenepar:
    """A published benepar model that parses words."""

    def __init__(self, folder: Path) -> None:
        """Load a folder as benepar publishes it; a `ModelError` if it holds no benepar model."""
        try:
            config = dict(AutoConfig.from_pretrained(folder, trust_remote_code=False).benepar)
            state = torch.load(folder / "benepar_model.bin", map_location="cpu", weights_only=True)
            hparams = {"force_root_constituent": True} | config["hparams"]
            self._parser = PublishedChartParser(
                config["tag_vocab"],
                config["label_vocab"],
                config["char_vocab"],
                nkutil.HParams(**hparams),
                str(folder),
            )
            # Strict: weights that are missing or of another shape are refused.
            self._parser.load_state_dict(state)
        except ModelError:
            raise
        except Exception as error:  # pickles, configurations and tensors fail in many classes
            raise ModelError(
                f"{folder}: no benepar model ({reason_of(error)})", hint=_MEND
            ) from error
        self._parser.eval()
        self._most_words = self._parser.add_timing.timing_table.shape[0] - 2

    def parse(
        self, sentences: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool]]
    ) -> list[nltk.Tree | None]:
        """A tree for each sentence, None for an empty one and for one that is too long."""
        results: list[nltk.Tree | None] = [None] * len(sentences)
        examples: dict[int, BaseInputExample] = {}
        for number, (words, space_after) in enumerate(zip(sentences, spaces, strict=True)):
            if 0 < len(words) <= self._most_words:
                example = _WordsExample(list(words), list(space_after))
                with suppress(ValueError):  # more word pieces than the pretrained encoder takes
                    self._parser.encode(example)
                    examples[number] = example
        trees = self._parser.parse(list(examples.values()), subbatch_max_tokens=_BATCH_TOKENS)
        for number, tree in zip(examples, trees, strict=True):
            results[number] = tree[0] if len(tree) == 1 else tree
        return results


class _WordsExample(BaseInputExample):  # type: ignore[misc]
    """Words without tags or tree, as benepar takes them."""

    def __init__(self, words: list[str], space_after: list[bool]) -> None:
        self.words = words
        self.space_after = space_after
        self.tree = None

    def leaves(self) -> list[str]:
        """The words."""
        return self.words

    def pos(self) -> list[tuple[str, str]]:
        """The words with a tag that the parser replaces."""
        return [(word, "UNK") for word in self.words]


def model_folder(name: str) -> Path:
    """Folder of a benepar model: a path, or the name of one in NLTK's data folders.

    Raises:
        ModelError: it is not here.
    """
    if name and is_folder(Path(name)):
        return Path(name)
    if _PUBLISHED_NAME.fullmatch(name) is None:
        raise ModelError(
            f"--parser {plain(name, 200)}: no such folder, and no name that benepar publishes",
            hint="name a benepar model such as benepar_en3, or use --parser embedded",
        )
    try:
        return Path(str(nltk.data.find(f"models/{name}")))
    except LookupError as error:
        raise ModelError(
            f"--parser {name}: is not in NLTK's data folders",
            hint=f"fetch it: python -c \"import benepar; benepar.download('{name}')\"; or use "
            "--parser embedded",
        ) from error
