"""Causal language models, which label a text by the likeliest label word after a prompt.

For each text the prompt is completed with each label word, and the log-likelihoods of these
completions are compared. Their common beginning cancels out, so only the tokens after it are
computed: it does not matter where a tokenizer splits prompt and word. Chat templates are Jinja,
which transformers renders in a sandbox: no code of a model's author is run.
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
"""Jinja code that fixes the date which a chat template states; it is Llama's own fallback."""


class _Question(NamedTuple):
    """The tokens of one text's question, completed with each label word.

    ``rows`` are the token ids that the model reads. ``words`` has, for each word, a triple for
    each of its tokens: the row, the position whose logits predict the token, and the token id.
    """

    number: int
    rows: list[tuple[int, ...]]
    words: list[list[tuple[int, int, int]]]

    @property
    def longest(self) -> int:
        return max(map(len, self.rows))


class LanguageModel(TransformersModel):
    """A causal language model by Hub id or folder; its classes are those of its prompt."""

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
        """The same model with another prompt; both share the weights."""
        other = copy.copy(self)
        other._set_prompt(prompt)
        return other

    def _set_prompt(self, prompt: LabelPrompt) -> None:
        is_chat = prompt.chat_template
        if is_chat is None:
            is_chat = bool(getattr(self.tokenizer, "chat_template", None))
        self.prompt, self.classes = replace(prompt, chat_template=is_chat), prompt.classes
        template: list[str] = []
        self._answer_prefix = ""
        if is_chat:
            template = [self._chat_template, self._find_answer_prefix()]
            self._answer_prefix = template[1]
        self.fingerprint = fingerprint_of(
            [self._model_fingerprint, prompt.prompt, prompt.words, *template]
        )

    @property
    def _chat_template(self) -> str:
        with self._template_errors():
            return f"{FIXED_DATE}{self.tokenizer.get_chat_template()}"

    def _find_answer_prefix(self) -> str:
        """The text that a template puts between its generation prompt and an answer.

        It may be a space, or an empty thought.
        """
        opening, answer = self._render_chat("question"), "answer"
        chat = self._render_chat("question", answer)
        start = chat.find(answer, len(opening))
        return chat[len(opening) : start] if chat.startswith(opening) and start >= 0 else ""

    def _render_chat(self, question: str, answer: str | None = None) -> str:
        """A chat with the answer or, without one, up to where the model's answer begins."""
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

        If a text with its prompt is longer than the model reads, it is a ScoringError.
        """
        on_cpu = self.model.device.type == "cpu"
        with model_errors(f"model {self.name}: does not answer"):
            yield from parallel_map(self._compute, self.batches(texts), on_cpu=on_cpu)

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[_Question]]]:
        """Batches of text numbers and questions, the longest question first."""
        questions = [self._question(number, text) for number, text in enumerate(texts)]
        questions.sort(key=lambda question: -question.longest)
        batch: list[_Question] = []
        row_count = 0
        for question in questions:
            size = (row_count + len(question.rows)) * (batch or [question])[0].longest
            if batch and size > self.tokens_per_batch:
                yield [question.number for question in batch], batch
                batch, row_count = [], 0
            batch.append(question)
            row_count += len(question.rows)
        if batch:
            yield [question.number for question in batch], batch

    def _question(self, number: int, text: str) -> _Question:
        completions = self._completion_ids(text)
        check_ids(self.name, self.model, completions)
        longest = max(map(len, completions))
        if longest > self._max_tokens:
            raise ScoringError(
                f"model {self.name}: reads {self._max_tokens} tokens, and text number {number} "
                f"with its prompt has {longest}",
                hint="shorten --prompt, or choose a model that reads more",
            )
        columns = zip(*completions, strict=False)
        shared_length = sum(1 for _ in takewhile(lambda ids: len(set(ids)) == 1, columns))
        if not 0 < shared_length < min(map(len, completions)):
            raise ScoringError(
                f"model {self.name}: its tokenizer cannot tell the strings for {text[:40]!r} apart "
                "or finds nothing that they share",
                hint="write a prompt with words before {text}, or choose other label words",
            )
        # The model need not read the last token: no prediction of the token after it is used.
        rows = list(dict.fromkeys(ids[:-1] for ids in completions))
        words = [
            [(rows.index(ids[:-1]), n - 1, ids[n]) for n in range(shared_length, len(ids))]
            for ids in completions
        ]
        return _Question(number, rows, words)

    def _completion_ids(self, text: str) -> list[tuple[int, ...]]:
        """The token ids of the question about a text, completed with each word."""
        if not self.prompt.chat_template:
            encoded = self.tokenizer(self.prompt.completions(text))["input_ids"]
            return [self._without_end(ids) for ids in encoded]
        opening = self._render_chat(self.prompt.render(text)) + self._answer_prefix
        # The template has added all special tokens: the tokenizer would add a second BOS.
        chats = [f"{opening}{word}" for word in self.prompt.words]
        return list(map(tuple, self.tokenizer(chats, add_special_tokens=False)["input_ids"]))

    def _without_end(self, ids: list[int]) -> tuple[int, ...]:
        """Token ids without the special tokens at their end."""
        special = set(self.tokenizer.all_special_ids)
        while len(ids) > 1 and ids[-1] in special:
            ids = ids[:-1]
        return tuple(ids)

    def _compute(self, batch: tuple[list[int], Sequence[_Question]]) -> Batch:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        numbers, questions = batch
        device = self.model.device
        targets: list[tuple[int, int, int]] = []  # row, position, token id
        rows: list[torch.Tensor] = []
        word_lengths: list[int] = []
        for question in questions:
            for word in question.words:
                targets += [(len(rows) + row, position, token) for row, position, token in word]
                word_lengths.append(len(word))
            rows += [torch.tensor(row) for row in question.rows]
        # Rows are padded on the right, where a causal model does not look, and with 0, because the
        # id of a padding token may have no embedding.
        ids = pad_sequence(rows, batch_first=True, padding_value=0)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        row_numbers, positions, tokens = torch.tensor(targets, device=device).T
        options = dict(self._options)
        if self._can_choose_logits:
            # Logits of a large vocabulary are computed where they are needed, nowhere else.
            options["logits_to_keep"], positions = torch.unique(positions, return_inverse=True)
        with torch.inference_mode():
            logits = self.model(
                input_ids=ids.to(device), attention_mask=mask.to(device), **options
            ).logits
            log_softmax = torch.log_softmax(logits[row_numbers, positions].double(), dim=-1)
            log_probabilities = log_softmax.gather(1, tokens[:, None])[:, 0].cpu().numpy()
        words = np.split(log_probabilities, np.cumsum(word_lengths)[:-1])
        log_likelihoods = np.array([word.sum() for word in words]).reshape(len(questions), -1)
        odds = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
        return numbers, odds / odds.sum(axis=1, keepdims=True)
