"""Language models that are loaded here and answer in words, which `text_answers` reads.

They write greedily, whatever else their generation_config.json suggests: the likeliest token comes
next until the model ends its answer. Questions are answered with others of exactly their length, so
that no padding stands in any of them and an answer does not depend on what else is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from s2lct.errors import ScoringError
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.answers.text_answers import TextAnswer
from s2lct.leaderboard.models.language_model import MOST_TOKENS, LabelPrompt, LanguageModel


class Written(NamedTuple):
    """What a model wrote to the text of a number.

    ``margin`` is by how much the logit of a token that it wrote was above the next, at the least:
    an answer with a tiny one may be another where a machine rounds otherwise.
    """

    number: int
    answer: TextAnswer
    margin: float


class GeneratingModel(LanguageModel):
    """A causal language model of transformers as a `TextModel`; for arguments see `LanguageModel`.

    Raises:
        ScoringError: it cannot be loaded or label words are alike.
    """

    def __init__(self, name: str, asks: LabelPrompt | None = None, **loading: Any) -> None:
        super().__init__(name, asks, **loading)
        from transformers import GenerationConfig

        # Penalties, sampling and searches that the model's own file names would change answers.
        filler = next(iter([*self._known([self.tokenizer.pad_token_id]), *self._ends]), 0)
        self.model.generation_config = GenerationConfig(
            eos_token_id=self._ends or None, pad_token_id=filler
        )

    def _ask(self, asks: LabelPrompt) -> None:
        super()._ask(asks)
        self._longest = asks.most_tokens or MOST_TOKENS
        self.asks = replace(self.asks, most_tokens=self._longest)
        # Chat models end what they say with another token than a text ends with.
        ends = self.model.generation_config.eos_token_id
        several = ends if isinstance(ends, list) else [ends]
        self._ends = self._known([self.tokenizer.eos_token_id, *several])
        # The words are no part of it: what is read out of an answer asks nothing again.
        described = [self._continues, "writes", asks.prompt, self._longest, self._ends]
        self.fingerprint = fingerprint_of([*described, *self._described])

    def _known(self, tokens: Sequence[Any]) -> list[int]:
        """Those that are tokens of the model, sorted."""
        most = self.model.config.get_text_config().vocab_size
        return sorted({token for token in tokens if isinstance(token, int) and 0 <= token < most})

    @property
    def label_rule(self) -> str:
        """How its answers become labels."""
        return str(self.asks)

    def answers(self, texts: Sequence[str]) -> Iterator[tuple[int, TextAnswer]]:
        """Answer texts, the longest first; see `TextModel`.

        Raises:
            ScoringError: a text is longer than the model reads, or its logits are no numbers.
        """
        for number, answer, _ in self.written(texts):
            yield number, answer

    def written(self, texts: Sequence[str]) -> Iterator[Written]:
        """`answers` with their margins."""
        for numbers, tokens in self.batches(texts):
            answered = zip(numbers, self._continued(tokens), strict=True)
            yield from (Written(number, *answer) for number, answer in answered)

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        """Texts whose questions have as many tokens, the longest first, with these tokens."""
        questions = [(number, self._opening(number, text)) for number, text in enumerate(texts)]
        questions.sort(key=lambda question: -len(question[1]))
        most = self.tokens_a_batch
        for length, group in groupby(questions, key=lambda question: len(question[1])):
            alike = list(group)
            rows = max(1, most // (length + self._longest))
            for start in range(0, len(alike), rows):
                numbers, tokens = zip(*alike[start : start + rows], strict=True)
                yield list(numbers), tokens

    def _opening(self, number: int, text: str) -> tuple[int, ...]:
        """The tokens of the question about a text."""
        question = self.asks.about(text)
        if self.asks.chat_template:
            (tokens,) = self._tokens_of([self._rendered(question)])
        else:
            tokens = self._without_end(self.tokenizer(question)["input_ids"])
        if not 0 < len(tokens) <= self._most_tokens - self._longest:
            raise ScoringError(
                f"model {self.name}: reads {self._most_tokens} tokens, and text number {number} "
                f"with its prompt has {len(tokens)} and its answer up to {self._longest}",
                hint="shorten --prompt, lower --max-tokens, or choose a model that reads more",
            )
        return tokens

    def _continued(self, tokens: Sequence[tuple[int, ...]]) -> Iterator[tuple[TextAnswer, float]]:
        """The answers to questions of one length, and their margins."""
        import torch
        from transformers import LogitsProcessorList

        questions = torch.tensor(tokens, device=self.model.device)
        margins: list[Any] = []

        def watched(_: Any, logits: Any) -> Any:
            best = logits.double().topk(2).values
            if not torch.isfinite(best[:, 0]).all():
                raise ScoringError(
                    f"model {self.name}: its output is not a number (NaN or infinite)",
                    hint="check the model's weights; in half precision try --dtype float32",
                )
            margins.append(best[:, 0] - best[:, 1])
            return logits

        with torch.inference_mode():
            whole = self.model.generate(
                questions,
                attention_mask=torch.ones_like(questions),
                do_sample=False,
                num_beams=1,
                max_new_tokens=self._longest,
                logits_processor=LogitsProcessorList([watched]),
            )
        length = len(tokens[0])
        apart = torch.stack(margins, 1).tolist()
        for row, steps in zip(whole[:, length:].tolist(), apart, strict=True):
            end = next((place for place, token in enumerate(row) if token in self._ends), None)
            taken = len(row) if end is None else end + 1
            answer = TextAnswer(
                text=self.tokenizer.decode(row[:end], skip_special_tokens=True),
                finish="length" if end is None else "stop",
                prompt_tokens=length,
                completion_tokens=taken,
            )
            yield answer, min(steps[:taken])
