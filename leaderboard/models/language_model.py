"""Causal language models: which label word is the likeliest behind a prompt.

For each text the prompt is completed with each label word, and the log-likelihoods of the whole
strings are compared. What the strings share cancels out, so only tokens behind their common
beginning are counted: it does not matter where a tokenizer splits prompt and word. Chat templates
are Jinja, which transformers renders in a sandbox: no code of a stranger's is run.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from s2lct.engines import parallel_map
from s2lct.errors import ScoringError
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.models.model import Batch
from s2lct.leaderboard.models.model_checks import check_ids, token_limit
from s2lct.leaderboard.models.network import (
    TransformersModel,
    load_pretrained,
    model_errors,
    model_fingerprint,
    move_model,
    state_sha256,
)

FIXED_DATE = "{% macro strftime_now(format) %}26 Jul 2024{% endmacro %}{{ '' }}"
"""Put in front of a chat template, so that one that tells the date asks the same on any day.

It is the day that Llama's templates tell where they know none.
"""


class _Question(NamedTuple):
    """The tokens of one text's question, completed with each word.

    ``rows`` are what the model reads. ``words`` has for each word, and each of its tokens, the row,
    the place whose prediction counts, and the token.
    """

    number: int
    rows: list[tuple[int, ...]]
    words: list[list[tuple[int, int, int]]]

    @property
    def longest(self) -> int:
        return max(map(len, self.rows))


class LanguageModel(TransformersModel):
    """A causal language model by Hub id or folder, whose classes are the words of a prompt."""

    prompt: LabelPrompt
    tokens_on_gpu = 16_384  # there is a logit for every token of the vocabulary

    def __init__(
        self,
        name: str,
        prompt: LabelPrompt | None = None,
        *,
        revision: str | None = None,
        device: str = "auto",
        dtype: str = "auto",
    ) -> None:
        tokenizer, model, self.revision = load_pretrained(name, revision, is_causal=True)
        self.name, self.tokenizer, self.model = name, tokenizer, model
        with model_errors(f"model {name}: cannot be used"):
            move_model(model, device, dtype)
            self.weights_sha256 = state_sha256(model)
            self._model_fingerprint = model_fingerprint(tokenizer, model, self.weights_sha256)
            self._set_prompt(prompt or LabelPrompt())
        config = model.config.get_text_config()
        self._max_tokens = token_limit(name, tokenizer, config) or 1 << 30
        parameters = inspect.signature(model.forward).parameters
        self._options: dict[str, Any] = {"use_cache": False} if "use_cache" in parameters else {}
        self._can_choose_logits = "logits_to_keep" in parameters

    def with_prompt(self, prompt: LabelPrompt) -> LanguageModel:
        """The same model, which shares the weights, with another prompt."""
        other = copy.copy(self)
        other._set_prompt(prompt)
        return other

    def _set_prompt(self, prompt: LabelPrompt) -> None:
        is_chat = prompt.chat_template
        if is_chat is None:
            is_chat = bool(getattr(self.tokenizer, "chat_template", None))
        self.prompt, self.classes = replace(prompt, chat_template=is_chat), prompt.classes
        template: list[str] = []
        self._before_answer = ""
        if is_chat:
            template = [self._chat_template, self._text_before_answer()]
            self._before_answer = template[1]
        self.fingerprint = fingerprint_of(
            [self._model_fingerprint, prompt.prompt, prompt.words, *template]
        )

    @property
    def _chat_template(self) -> str:
        with self._template_errors():
            return f"{FIXED_DATE}{self.tokenizer.get_chat_template()}"

    def _text_before_answer(self) -> str:
        """What a template puts between its generation prompt and an answer.

        That may be a space, or the marks of an empty thought.
        """
        opening, answer = self._rendered("question"), "answer"
        chat = self._rendered("question", answer)
        start = chat.find(answer, len(opening))
        return chat[len(opening) : start] if chat.startswith(opening) and start >= 0 else ""

    def _rendered(self, question: str, answer: str | None = None) -> str:
        """A chat up to where the model begins its answer, or with an answer."""
        turns = [{"role": "user", "content": question}]
        if answer is not None:
            turns.append({"role": "assistant", "content": answer})
        with self._template_errors():
            chat: str = self.tokenizer.apply_chat_template(
                turns,
                chat_template=self._chat_template,
                tokenize=False,
                add_generation_prompt=answer is None,
                enable_thinking=False,  # as the templates of several families call it
            )
        return chat

    def _template_errors(self) -> Any:
        return model_errors(
            f"model {self.name}: its chat template cannot be used",
            hint="in Python, ask without it: LabelPrompt(chat_template=False)",
        )

    def probabilities(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Softmax over the log-likelihoods of the words, summed over their tokens.

        A text that is longer than the model reads, with its prompt, is a ScoringError.
        """
        on_cpu = self.model.device.type == "cpu"
        with model_errors(f"model {self.name}: does not answer"):
            yield from parallel_map(self._compute, self.batches(texts), on_cpu=on_cpu)

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[_Question]]]:
        """The numbers of texts with their questions, longest first."""
        questions = [self._question(number, text) for number, text in enumerate(texts)]
        questions.sort(key=lambda question: -question.longest)
        batch: list[_Question] = []
        rows = 0
        for question in questions:
            size = (rows + len(question.rows)) * (batch or [question])[0].longest
            if batch and size > self.tokens_per_batch:
                yield [question.number for question in batch], batch
                batch, rows = [], 0
            batch.append(question)
            rows += len(question.rows)
        if batch:
            yield [question.number for question in batch], batch

    def _question(self, number: int, text: str) -> _Question:
        strings = self._completions(text)
        check_ids(self.name, self.model, strings)
        longest = max(map(len, strings))
        if longest > self._max_tokens:
            raise ScoringError(
                f"model {self.name}: reads {self._max_tokens} tokens, and text number {number} "
                f"with its prompt has {longest}",
                hint="shorten --prompt, or choose a model that reads more",
            )
        columns = zip(*strings, strict=False)
        shared = sum(1 for _ in takewhile(lambda tokens: len(set(tokens)) == 1, columns))
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

    def _completions(self, text: str) -> list[tuple[int, ...]]:
        """The tokens of the question about a text, completed with each word."""
        if not self.prompt.chat_template:
            encoded = self.tokenizer(self.prompt.completions(text))["input_ids"]
            return [self._without_end(ids) for ids in encoded]
        opening = self._rendered(self.prompt.render(text)) + self._before_answer
        # The template has written all special tokens: a tokenizer would add a second BOS.
        chats = [f"{opening}{word}" for word in self.prompt.words]
        return list(map(tuple, self.tokenizer(chats, add_special_tokens=False)["input_ids"]))

    def _without_end(self, ids: list[int]) -> tuple[int, ...]:
        """Without the special tokens that end a text."""
        special = set(self.tokenizer.all_special_ids)
        while len(ids) > 1 and ids[-1] in special:
            ids = ids[:-1]
        return tuple(ids)

    def _compute(self, batch: tuple[list[int], Sequence[_Question]]) -> Batch:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        numbers, questions = batch
        device = self.model.device
        wanted: list[tuple[int, int, int]] = []  # row, place, token
        rows: list[torch.Tensor] = []
        lengths: list[int] = []
        for question in questions:
            for word in question.words:
                wanted += [(len(rows) + row, at, token) for row, at, token in word]
                lengths.append(len(word))
            rows += [torch.tensor(row) for row in question.rows]
        # On the right, where no token of a causal model looks. A padding token may lie beyond its
        # embeddings, so 0 fills the rows.
        ids = pad_sequence(rows, batch_first=True, padding_value=0)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        row_of, places, tokens = torch.tensor(wanted, device=device).T
        options = dict(self._options)
        if self._can_choose_logits:
            # Logits of a large vocabulary are computed where they are needed, nowhere else.
            options["logits_to_keep"], places = torch.unique(places, return_inverse=True)
        with torch.inference_mode():
            logits = self.model(
                input_ids=ids.to(device), attention_mask=mask.to(device), **options
            ).logits
            logarithms = torch.log_softmax(logits[row_of, places].double(), dim=-1)
            of_tokens = logarithms.gather(1, tokens[:, None])[:, 0].cpu().numpy()
        of_words = np.split(of_tokens, np.cumsum(lengths)[:-1])
        likelihoods = np.array([part.sum() for part in of_words]).reshape(len(questions), -1)
        odds = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True))
        return numbers, odds / odds.sum(axis=1, keepdims=True)
