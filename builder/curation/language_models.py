"""Language models as readers: any OpenAI-compatible server, at temperature 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

from s2lct.builder.curation.sheets import TRAP, Item, numbered
from s2lct.builder.curation.verdicts import PROTOCOL, Answer, Verdict
from s2lct.errors import BuildError

ITEMS_A_REQUEST = 40
MOST_TRAPS_PASSED = 0.1
_ANSWERS: dict[str, Answer] = {
    "neg": "negative",
    "neu": "neutral",
    "pos": "positive",
    "mix": "mixed",
}
_LINE = re.compile(r"^\s*(\d+)\s+(neg|neu|pos|mix)\s+([012])(?:\s+([01]))?\s*$", re.MULTILINE)


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
        self._client: Any = InferenceClient(base_url=base_url, api_key=api_key, timeout=timeout)

    def read(self, items: Sequence[Item]) -> list[Verdict]:
        """The reader's verdicts; items without a readable answer are left out.

        Raises:
            BuildError: the server does not answer.
        """
        cases = bool(items and items[0].description)
        columns = "n label natural relevant" if cases else "n label natural"
        question = (
            f"{protocol(cases=cases)}\nAnswer with one line for each, `{columns}`, and nothing "
            "else.\n\n" + "\n".join(numbered(items))
        )
        try:
            answer = self._client.chat_completion(
                [{"role": "user", "content": question}],
                model=self.name,
                temperature=0.0,
                seed=0,
                max_tokens=20 * len(items) + 200,
            )
        except Exception as error:
            raise BuildError(
                f"--base-url: the server did not answer: {error}",
                mend="check the address and the model's name; what was read is kept",
            ) from error
        return verdicts_in(answer.choices[0].message.content or "", items, self.name)


def protocol(*, cases: bool) -> str:
    """The instructions to readers."""
    name = "protocol_cases.md" if cases else "protocol_sentences.md"
    return resources.files("s2lct.builder.curation").joinpath(name).read_text(encoding="utf-8")


def verdicts_in(answer: str, items: Sequence[Item], reader: str) -> list[Verdict]:
    """The verdicts that an answer holds, a line each: ``n label natural [relevant]``."""
    found: dict[int, Verdict] = {}
    for number, label, natural, relevant in _LINE.findall(answer):
        place = int(number) - 1
        if not 0 <= place < len(items) or items[place].id.startswith(TRAP):
            continue
        found[place] = Verdict(
            id=items[place].id,
            reader=reader,
            protocol=PROTOCOL,
            label=_ANSWERS[label],
            natural=int(natural),
            relevant=None if relevant == "" else relevant == "1",
        )
    return [found[place] for place in sorted(found)]


def traps_passed(answer: str, items: Sequence[Item]) -> tuple[int, int]:
    """How many of the traps among some items an answer calls natural, and how many there are."""
    grades = {int(number) - 1: int(natural) for number, _, natural, _ in _LINE.findall(answer)}
    traps = [place for place, item in enumerate(items) if item.id.startswith(TRAP)]
    return sum(grades.get(place, 0) > 1 for place in traps), len(traps)
