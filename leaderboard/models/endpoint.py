"""Chat models of an OpenAI-compatible server: vLLM, llama.cpp, Ollama, LM Studio, a provider."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from s2lct.cache import Cache, predictions
from s2lct.chat_client import SECONDS, ChatClient, ChatServerError, address_of, api_key_in
from s2lct.errors import ScoringError
from s2lct.identity import fingerprint_of
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.predictions import Predictions
from s2lct.leaderboard.answers.text_answers import TextAnswer, label_of
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.models.model import Model
from s2lct.progress import bar

API_KEY_VARIABLE = "OPENAI_API_KEY"
TEMPERATURE, SEED = 0.0, 0
CONCURRENT_REQUESTS = 8
MAX_ANSWER_TOKENS = 32
_MAX_AGE_OF_CACHED_ANSWERS = timedelta(days=1)
_DAY_PATTERN = r"^(\d{4}-\d\d-\d\d)?$"
_MAX_COUNT = 1 << 53
_ANSWER_JSON = TypeAdapter(TextAnswer)


class EndpointUse(BaseModel):
    """The record of a server's answers, because nobody can ask the same model again.

    ``model_reported`` and ``system_fingerprint`` are the server's names of the model.
    ``temperature`` and ``seed`` are None if the server does not take these options. ``requests``
    and tokens include cached answers; the days are those of the first and of the last answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Annotated[str, AfterValidator(address_of)]
    model_reported: str
    system_fingerprint: str = ""
    temperature: float | None = Field(allow_inf_nan=False)
    seed: int | None = Field(gt=-_MAX_COUNT, lt=_MAX_COUNT)
    max_tokens: int = Field(ge=1, lt=_MAX_COUNT)
    requests: int = Field(ge=0, lt=_MAX_COUNT)
    prompt_tokens: int = Field(ge=0, lt=_MAX_COUNT)
    completion_tokens: int = Field(ge=0, lt=_MAX_COUNT)
    first_day: str = Field(pattern=_DAY_PATTERN)
    last_day: str = Field(pattern=_DAY_PATTERN)


class EndpointModel(Model):
    """A chat model of a server, which answers one question about each text in words.

    A first request shows whether the server answers, which options it takes, and its name of the
    model. A cached answer is asked again if it is older than a day or of another model.

    Args:
        name: the name by which the server knows the model.
        prompt: the question about a text.
        url: the address of the server, mostly up to ``/v1``.
        max_tokens: the most tokens of an answer.
        keeps_answers: use cached answers of the model however old they are.
        seconds: the most seconds that a response may take.

    Raises:
        OptionError: the address or the API key is malformed.
        ScoringError: the server does not answer.
    """

    prompt: LabelPrompt

    def __init__(
        self,
        name: str,
        prompt: LabelPrompt,
        url: str,
        max_tokens: int = MAX_ANSWER_TOKENS,
        *,
        keeps_answers: bool = False,
        seconds: float = SECONDS,
    ) -> None:
        options = {"temperature": TEMPERATURE, "seed": SEED, "max_tokens": max_tokens}
        self._chat = ChatClient(url, name, options, api_key_in(API_KEY_VARIABLE), seconds=seconds)
        self.url = self._chat.url
        self.name, self.prompt, self.max_tokens = name, prompt, max_tokens
        self._keeps_answers = keeps_answers
        try:
            self._first_answer = self._ask("")
        except ScoringError:
            self.close()
            raise
        # The key has no part for how answers are read: after a change there nothing is asked again.
        answer_fields = [field.name for field in fields(TextAnswer)]
        options = self._chat.options  # those that the server takes
        self._cache_key = fingerprint_of(
            [answer_fields, self.url, prompt.prompt, name, *options.values()]
        )

    def close(self) -> None:
        """Close the connections to the server."""
        self._chat.close()

    def predict(
        self,
        texts: Sequence[str],
        label_map: Mapping[str, str] | None = None,
        cache: Path | None = None,
    ) -> Predictions:
        """See `Model.predict`; a ScoringError if the server changes its model meanwhile."""
        if label_map is not None:
            raise ScoringError(
                f"model {self.name}: answers in words, which no label map is for",
                hint="leave it out: its label words say what its answers mean",
            )
        answers = self._answers(texts, cache)
        meanings = [LABELS.index(label) for label in self.prompt.classes]
        label_of_text = {
            text: label_of(answer, self.prompt.words, meanings) for text, answer in answers.items()
        }
        words, prompt = (
            json.dumps(part, ensure_ascii=False) for part in (self.prompt.words, self.prompt.prompt)
        )
        return Predictions(
            np.array([label_of_text[text] for text in texts], dtype=np.int64),
            f"answers in words (at most {self.max_tokens} tokens); the one of the words {words} "
            f"that it answers the prompt {prompt} with",
            endpoint=self._endpoint_use(list(answers.values())),
        )

    def _answers(self, texts: Sequence[str], cache: Path | None) -> dict[str, TextAnswer]:
        if cache is None:
            return dict(self._ask_all(list(dict.fromkeys(texts))))

        def ask_missing(missing: Sequence[str]) -> Iterator[tuple[str, bytes]]:
            for text, answer in self._ask_all(missing):
                yield text, _ANSWER_JSON.dump_json(answer)

        with Cache(cache) as opened_cache:
            # An answer takes long, and may cost money: each is kept as it comes.
            json_of_text = predictions(
                opened_cache,
                self._cache_key,
                texts,
                ask_missing,
                batch_size=1,
                is_valid=lambda answer: self._is_current(_ANSWER_JSON.validate_json(answer)),
            )
        return {text: _ANSWER_JSON.validate_json(answer) for text, answer in json_of_text.items()}

    def _is_current(self, answer: TextAnswer) -> bool:
        """Whether a cached answer is recent enough and of the model that answers now."""
        first_answer = self._first_answer
        if self._keeps_answers or answer.model != first_answer.model:
            return answer.model == first_answer.model
        age = datetime.now(timezone.utc) - datetime.fromisoformat(answer.time)
        is_recent = age <= _MAX_AGE_OF_CACHED_ANSWERS
        return answer.system_fingerprint == first_answer.system_fingerprint and is_recent

    def _endpoint_use(self, answers: Sequence[TextAnswer]) -> EndpointUse:
        sorted_answers = sorted(answers, key=lambda answer: answer.time) or [TextAnswer("")]
        return EndpointUse(
            url=self.url,
            model_reported=sorted_answers[-1].model,
            system_fingerprint=sorted_answers[-1].system_fingerprint,
            temperature=self._chat.options.get("temperature"),
            seed=self._chat.options.get("seed"),
            max_tokens=self.max_tokens,
            requests=len(sorted_answers),
            prompt_tokens=sum(answer.prompt_tokens for answer in sorted_answers),
            completion_tokens=sum(answer.completion_tokens for answer in sorted_answers),
            first_day=sorted_answers[0].time[:10],
            last_day=sorted_answers[-1].time[:10],
        )

    def _ask_all(self, texts: Sequence[str]) -> Iterator[tuple[str, TextAnswer]]:
        """Ask about several texts at a time; yield (text, answer) in any order."""
        advance = bar(self.name, len(texts))
        with ThreadPoolExecutor(CONCURRENT_REQUESTS) as pool:
            text_of_future = {pool.submit(self._ask, text): text for text in texts}
            try:
                for finished in as_completed(text_of_future):
                    answer = finished.result()
                    if answer.model != self._first_answer.model:  # no result is of two models
                        raise self._error(
                            f"it now answers as {answer.model!r}, earlier as "
                            f"{self._first_answer.model!r}"
                        )
                    yield text_of_future[finished], answer
                    advance(1)
            finally:
                for future in text_of_future:
                    future.cancel()

    def _ask(self, text: str) -> TextAnswer:
        try:
            answer = self._chat.ask(self.prompt.render(text))
        except ChatServerError as error:
            raise self._error(str(error)) from error
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return TextAnswer(**asdict(answer), time=now)

    def _error(self, reason: str) -> ScoringError:
        return ScoringError(
            f"model {self.name} at {self.url}: {reason}",
            hint="check address (mostly up to /v1), model and key, which is exported as "
            f"{API_KEY_VARIABLE}; what was answered is kept, and the same command goes on",
        )
