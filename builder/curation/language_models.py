"""Language models as readers: any OpenAI-compatible server, at temperature 0."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from s2lct.builder.curation.sheets import Item, numbered, protocol
from s2lct.builder.curation.verdicts import PROTOCOL, Answer, Verdict
from s2lct.errors import BuildError
from s2lct.hub_calls import hub_call, said_by

ANSWERS: dict[str, Answer] = {
    "neg": "negative",
    "neu": "neutral",
    "pos": "positive",
    "mix": "mixed",
}
_BETWEEN = r"(?:[^\w\n]|_)"
_LINE = re.compile(
    rf"^{_BETWEEN}*(\d+){_BETWEEN}+(neg|neu|pos|mix)[a-z]*{_BETWEEN}+([012])"
    rf"(?:{_BETWEEN}+([01]))?{_BETWEEN}*$",
    re.MULTILINE | re.IGNORECASE,
)
_BUSY = (429, 502, 503, 504)
_WAITS = (2.0, 10.0, 30.0)
"""Seconds before a server that is busy is asked again."""
_TOKENS_A_LINE, _TOKENS_BESIDE = 20, 1_000
_NO_KEY = "none"
_LONGEST_NUMBER = 6


class LanguageModelReader:
    """Reads items through a chat model.

    Args:
        model: its name at the server.
        base_url: of the server, up to ``/v1``.
        api_key: for the server; None where it asks for none.
        timeout: seconds for an answer.
    """

    def __init__(
        self, model: str, base_url: str, api_key: str | None = None, timeout: float = 300.0
    ) -> None:
        from huggingface_hub import InferenceClient

        self.name = model
        self._api_key = api_key
        # Without a key of its own the client would send the server the Hub's.
        self._client: Any = InferenceClient(
            base_url=base_url, api_key=api_key or _NO_KEY, timeout=timeout
        )

    def read(self, items: Sequence[Item]) -> list[Verdict]:
        """The reader's verdicts; items without a readable answer are left out.

        Raises:
            BuildError: the server does not answer.
        """
        cases = any(item.description for item in items)
        columns = "n label natural relevant" if cases else "n label natural"
        question = (
            f"{protocol(cases=cases)}\nAnswer with one line for each, `{columns}`, and nothing "
            "else.\n\n" + "\n".join(numbered(items))
        )
        return verdicts_in(self._answer(question, len(items)), items, self.name)

    def _answer(self, question: str, lines: int) -> str:
        for wait in (*_WAITS, None):
            try:
                with hub_call():
                    answer = self._client.chat_completion(
                        [{"role": "user", "content": question}],
                        model=self.name,
                        temperature=0.0,
                        seed=0,
                        max_tokens=_TOKENS_A_LINE * lines + _TOKENS_BESIDE,
                    )
                return answer.choices[0].message.content or ""
            except Exception as error:
                status = getattr(getattr(error, "response", None), "status_code", None)
                if wait is not None and status in _BUSY:
                    time.sleep(wait)
                    continue
                raise BuildError(
                    f"--base-url: {self.name} did not answer: {self._without_key(said_by(error))}",
                    hint="check the address, the model's name and the key; what was read is kept, "
                    "and the same command goes on",
                ) from None
        raise AssertionError

    def _without_key(self, text: str) -> str:
        return text.replace(self._api_key, "…") if self._api_key else text


def verdicts_in(answer: str, items: Sequence[Item], reader: str) -> list[Verdict]:
    """The verdicts that an answer holds, a line each: ``n label natural [relevant]``.

    A case needs all four. Of two lines on one item the later counts.
    """
    found: dict[int, Verdict] = {}
    for number, label, natural, relevant in _LINE.findall(answer):
        place = int(number) - 1 if len(number) <= _LONGEST_NUMBER else -1
        if not 0 <= place < len(items) or (items[place].description and not relevant):
            continue
        found[place] = Verdict(
            id=items[place].id,
            reader=reader,
            protocol=PROTOCOL,
            label=ANSWERS[label.lower()],
            natural=int(natural),
            relevant=relevant == "1" if items[place].description else None,
        )
    return [found[place] for place in sorted(found)]
