"""Language models as annotators: any OpenAI-compatible server, at temperature 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from s2lct.builder.annotations import Annotation
from s2lct.builder.curation.sheets import ANSWERS, protocol
from s2lct.errors import BuildError
from s2lct.hub_calls import reason_of
from s2lct.suite.annotation import Item

_BETWEEN = r"(?:[^\w\n]|_)"
_LINE = re.compile(
    rf"^{_BETWEEN}*(\d{{1,6}}){_BETWEEN}+(neg|neu|pos|mix)[a-z]*{_BETWEEN}+([012])"
    rf"(?:{_BETWEEN}+([01]))?{_BETWEEN}*$",
    re.MULTILINE | re.IGNORECASE,
)
_RETRIES = 4
_SECONDS = 300.0
_TOKENS_A_LINE, _TOKENS_BESIDE = 20, 1_000
_NO_KEY = "none"


class LanguageModel:
    """Annotates items through a chat model at a server, whose address ends in ``/v1``."""

    def __init__(self, name: str, base_url: str, api_key: str | None = None) -> None:
        from openai import OpenAI

        self.name = name
        self._api_key = api_key
        # Without a key of its own the client would send the one in the environment.
        self._client: Any = OpenAI(
            base_url=base_url, api_key=api_key or _NO_KEY, timeout=_SECONDS, max_retries=_RETRIES
        )

    def annotate(self, items: Sequence[Item]) -> list[Annotation]:
        """Annotations of items; those without a readable answer are left out."""
        lines = [
            f"{number} [{item.description}] {' '.join(item.text.split())}"
            for number, item in enumerate(items, start=1)
        ]
        question = (
            f"{protocol()}\nAnswer with one line for each, `n label natural relevant`, and nothing "
            "else.\n\n" + "\n".join(lines)
        )
        try:
            answer = self._client.chat.completions.create(
                messages=[{"role": "user", "content": question}],
                model=self.name,
                temperature=0.0,
                seed=0,
                max_tokens=_TOKENS_A_LINE * len(items) + _TOKENS_BESIDE,
            )
            content = answer.choices[0].message.content or ""
        except Exception as error:  # whatever the server answers
            why = reason_of(error).replace(self._api_key or "\0", "…")
            raise BuildError(
                f"--base-url: {self.name} did not answer: {why}",
                hint="check the address, the model's name and the key; what was read is kept, and "
                "the same command goes on",
            ) from None
        return annotations_in(content, items, self.name)


def annotations_in(answer: str, items: Sequence[Item], annotator: str) -> list[Annotation]:
    """The annotations that an answer holds, a line each: ``n label natural [relevant]``.

    A case needs all four. Of two lines on one item the later counts.
    """
    found: dict[int, Annotation] = {}
    for number, label, natural, relevant in _LINE.findall(answer):
        place = int(number) - 1
        if not 0 <= place < len(items) or (items[place].description and not relevant):
            continue
        found[place] = Annotation(
            id=items[place].id,
            annotator=annotator,
            label=ANSWERS[label.lower()],
            natural=int(natural),
            relevant=relevant == "1" if items[place].description else None,
            sentence=items[place].sentence or None,
        )
    return [found[place] for place in sorted(found)]
