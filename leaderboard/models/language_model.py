"""Language models: what they are asked, and which label word is the likeliest behind a prompt.

For each text the prompt is completed with each label word, and the log-likelihoods of the whole
strings are compared. What the strings have in common cancels out, so only tokens behind their
common beginning are counted: no assumption is needed on where a tokenizer splits prompt and word.
Chat templates are Jinja, which transformers renders in a sandbox: none of a stranger's code is run.
"""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, takewhile
from typing import Any, NamedTuple

import numpy as np

from s2lct.engines import parallel_map
from s2lct.errors import ScoringError
from s2lct.hub_calls import reason_of
from s2lct.identity import fingerprint_of
from s2lct.labels import ENDS, LABELS
from s2lct.leaderboard.answers.label_rules import Array
from s2lct.leaderboard.models.classifier import (
    ModelFacts,
    card_licence,
    network_facts,
)
from s2lct.leaderboard.models.model_checks import check_ids, positions_of
from s2lct.leaderboard.models.network import (
    TOKENS_A_BATCH,
    load_pretrained,
    model_errors,
    model_fingerprint,
    place,
    state_sha256,
)
from s2lct.suite.prompts import PROMPTS, SLOT, checked_prompt, space_behind

PROMPT = PROMPTS[0]
TOKENS_A_BATCH_ON_GPU = 16_384
"""Fewer than a classifier takes: there is a logit for each word that it knows."""
ON_ANY_DAY = "{% macro strftime_now(format) %}26 Jul 2024{% endmacro %}{{ '' }}"
"""In front of a template: one that tells a model the date asks the same question on any day.

It is the day that Llama's templates tell where they know none.
"""


@dataclass(frozen=True, slots=True)
class LabelPrompt:
    """What a language model is asked: a prompt with ``{text}``, and the words it chooses among.

    They stand for negative, neutral and positive; or two for negative and positive, and neutral
    where it is undecided (see `LabelRule`). Words that cannot be told apart are a ScoringError.
    ``chat_template`` says whether the prompt is asked in the tokenizer's chat template; None where
    there is one.
    """

    prompt: str = PROMPT
    words: tuple[str, ...] = LABELS
    chat_template: bool | None = None

    def __post_init__(self) -> None:
        checked_prompt(self.prompt)
        words = ",".join(self.words)
        if len(self.words) not in (2, 3) or not all(word.strip() for word in self.words):
            raise ScoringError(
                f"label words {words}: {len(self.words)} words",
                hint="give three, for negative, neutral and positive, or two, for negative and "
                "positive",
            )
        for word, other in permutations(map(str.casefold, self.words), 2):
            if other.startswith(word):
                raise ScoringError(
                    f"label words {words}: {other!r} begins with {word!r}, which is never "
                    "the less likely of the two",
                    hint="choose words none of which begins with another, in capitals or not",
                )

    @property
    def classes(self) -> tuple[str, ...]:
        """What the words mean, in their order."""
        return LABELS if len(self.words) == len(LABELS) else ENDS

    def about(self, text: str) -> str:
        """The prompt with a text."""
        return self.prompt.replace(SLOT, text)

    def completed(self, text: str) -> list[str]:
        """The prompt with a text, completed with each word, outside of any chat template."""
        question = self.about(text)
        space = space_behind(question)
        return [f"{question}{space}{word}" for word in self.words]

    def __str__(self) -> str:
        """How what a model predicts becomes a label, as recorded with a result."""
        words, prompt = (json.dumps(part, ensure_ascii=False) for part in (self.words, self.prompt))
        template = " in the chat template of its tokenizer" if self.chat_template else ""
        return f"the likeliest of the words {words} behind the prompt {prompt}{template}"


class _Question(NamedTuple):
    """One text's number, the rows of tokens that the model reads, and for each word what counts.

    Of each of a word's tokens: row, place whose prediction counts, token.
    """

    number: int
    rows: list[tuple[int, ...]]
    words: list[list[tuple[int, int, int]]]

    @property
    def longest(self) -> int:
        return max(map(len, self.rows))


class LanguageModel:
    """A causal language model of transformers, by Hub id or folder, as a `Classifier`.

    Its fingerprint covers prompt, words and chat template, so that kept outcomes are those of this
    question.
    """

    asks: LabelPrompt
    classes: tuple[str, ...]
    fingerprint: str

    def __init__(
        self,
        name: str,
        asks: LabelPrompt | None = None,
        *,
        revision: str | None = None,
        device: str = "auto",
        dtype: str = "auto",
    ) -> None:
        tokenizer, model, self.revision = load_pretrained(name, revision, continues=True)
        self.name, self.tokenizer, self.model = name, tokenizer, model
        with model_errors(f"model {name}: cannot be used"):
            place(model, device, dtype)
            self.weights_sha256 = state_sha256(model)
            self._continues = model_fingerprint(tokenizer, model, self.weights_sha256)
            self._ask(asks or LabelPrompt())
        self._most_tokens = positions_of(name, tokenizer, model.config.get_text_config()) or 1 << 30
        known = inspect.signature(model.forward).parameters
        self._options: dict[str, Any] = {"use_cache": False} if "use_cache" in known else {}
        self._keeps_places = "logits_to_keep" in known

    def asking(self, asks: LabelPrompt) -> LanguageModel:
        """The same model, which shares the weights, with another question."""
        other = copy.copy(self)
        other._ask(asks)
        return other

    def _ask(self, asks: LabelPrompt) -> None:
        chats = asks.chat_template
        if chats is None:
            chats = bool(getattr(self.tokenizer, "chat_template", None))
        self.asks, self.classes = replace(asks, chat_template=chats), asks.classes
        self._described = self._chat_described() if chats else []
        described = [self._continues, asks.prompt, asks.words, *self._described]
        self.fingerprint = fingerprint_of(described)

    def _chat_described(self) -> list[str]:
        """The template, and what stands in it between its generation prompt and an answer.

        That may be a space, or the marks of thoughts that are none.
        """
        opening, answer = self._rendered("question"), "answer"
        whole = self._rendered("question", answer)
        place = whole.find(answer, len(opening))
        joins = whole.startswith(opening) and place >= 0
        return [self._template, whole[len(opening) : place] if joins else ""]

    @property
    def _template(self) -> str:
        with self._usable():
            return f"{ON_ANY_DAY}{self.tokenizer.get_chat_template()}"

    def _rendered(self, question: str, answer: str | None = None) -> str:
        """A question up to where a model begins its answer, or with one behind it."""
        turns = [{"role": "user", "content": question}]
        if answer is not None:
            turns.append({"role": "assistant", "content": answer})
        with self._usable():
            rendered: str = self.tokenizer.apply_chat_template(
                turns,
                chat_template=self._template,
                tokenize=False,
                add_generation_prompt=answer is None,
                enable_thinking=False,  # as the templates of several families call it
            )
        return rendered

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except ScoringError:
            raise
        except Exception as error:  # a template may raise whatever it likes
            raise ScoringError(
                f"model {self.name}: its chat template cannot be used ({reason_of(error)})",
                hint="in Python, ask without it: LabelPrompt(chat_template=False)",
            ) from error

    @cached_property
    def facts(self) -> ModelFacts:
        """Size, licence, and in what it computes."""
        size, licence = f"{self.tokens_a_batch} tokens", card_licence(self.name, self.revision)
        return network_facts(self.model, batch_size=size, licence=licence)

    def probabilities(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Array]]:
        """Softmax over the log-likelihoods of the words, summed over their tokens.

        Tokens are padded on the right, where no token of a causal model looks. A text longer than
        the model reads is a ScoringError.
        """
        on_cpu = self.model.device.type == "cpu"
        with model_errors(f"model {self.name}: does not answer"):
            yield from parallel_map(self._answers, self.batches(texts), on_cpu=on_cpu)

    @property
    def tokens_a_batch(self) -> int:
        """How many tokens it reads at once."""
        return TOKENS_A_BATCH_ON_GPU if self.model.device.type == "cuda" else TOKENS_A_BATCH

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        """Texts of like lengths, longest first, as what the model is asked of them."""
        questions = [self._question(number, text) for number, text in enumerate(texts)]
        questions.sort(key=lambda question: -question.longest)
        most = self.tokens_a_batch
        batch: list[_Question] = []
        rows = 0
        for question in questions:
            if batch and (rows + len(question.rows)) * batch[0].longest > most:
                yield [question.number for question in batch], batch
                batch, rows = [], 0
            batch.append(question)
            rows += len(question.rows)
        if batch:
            yield [question.number for question in batch], batch

    def _question(self, number: int, text: str) -> _Question:
        strings = self._strings(text)
        check_ids(self.name, self.model, strings)
        longest = max(map(len, strings))
        if longest > self._most_tokens:
            raise ScoringError(
                f"model {self.name}: reads {self._most_tokens} tokens, and text number {number} "
                f"with its prompt has {longest}",
                hint="shorten --prompt, or choose a model that reads more",
            )
        together = zip(*strings, strict=False)
        shared = sum(1 for _ in takewhile(lambda tokens: len(set(tokens)) == 1, together))
        if not 0 < shared < min(map(len, strings)):
            raise ScoringError(
                f"model {self.name}: its tokenizer cannot tell the strings for {text[:40]!r} apart "
                "or finds nothing that they share",
                hint="write a prompt with words before {text}, or choose other label words",
            )
        # The last token is never read: nothing is asked of what follows it.
        rows = list(dict.fromkeys(string[:-1] for string in strings))
        words = [
            [(rows.index(string[:-1]), at - 1, string[at]) for at in range(shared, len(string))]
            for string in strings
        ]
        return _Question(number, rows, words)

    def _strings(self, text: str) -> list[tuple[int, ...]]:
        """The tokens of the question about a text, answered with each word."""
        if not self.asks.chat_template:
            encoded = self.tokenizer(self.asks.completed(text))["input_ids"]
            return [self._without_end(ids) for ids in encoded]
        opening = self._rendered(self.asks.about(text)) + self._described[1]
        return self._tokens_of([f"{opening}{word}" for word in self.asks.words])

    def _tokens_of(self, rendered: list[str]) -> list[tuple[int, ...]]:
        """Tokens of chats; a template has written all special ones: a tokenizer would add a BOS."""
        return list(map(tuple, self.tokenizer(rendered, add_special_tokens=False)["input_ids"]))

    def _without_end(self, ids: list[int]) -> tuple[int, ...]:
        """Without the tokens that end a text."""
        special = set(self.tokenizer.all_special_ids)
        while len(ids) > 1 and ids[-1] in special:
            ids = ids[:-1]
        return tuple(ids)

    def _answers(self, given: tuple[list[int], Sequence[_Question]]) -> tuple[list[int], Array]:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        numbers, batch = given
        device = self.model.device
        wanted: list[tuple[int, int, int]] = []  # row, place, token
        rows: list[torch.Tensor] = []
        lengths: list[int] = []
        for question in batch:
            for word in question.words:
                wanted += [(len(rows) + row, at, token) for row, at, token in word]
                lengths.append(len(word))
            rows += [torch.tensor(row) for row in question.rows]
        # No token looks at what fills the rows, which a padding token added later would be beyond.
        ids = pad_sequence(rows, batch_first=True, padding_value=0)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        at_rows, places, tokens = torch.tensor(wanted, device=device).T
        options = dict(self._options)
        if self._keeps_places:
            # Logits of a large vocabulary are computed where they are looked at, nowhere else.
            options["logits_to_keep"], places = torch.unique(places, return_inverse=True)
        with torch.inference_mode():
            logits = self.model(
                input_ids=ids.to(device), attention_mask=mask.to(device), **options
            ).logits
            there = torch.log_softmax(logits[at_rows, places].double(), dim=-1)
            chosen = there.gather(1, tokens[:, None])[:, 0].cpu().numpy()
        parts = np.split(chosen, np.cumsum(lengths)[:-1])
        likelihoods = np.array([part.sum() for part in parts]).reshape(len(batch), -1)
        odds = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True))
        return numbers, odds / odds.sum(axis=1, keepdims=True)
