"""Language models as annotators: any OpenAI-compatible server, at temperature 0."""

from __future__ import annotations

import re
from collections.abc import Sequence

from s2lct.builder.annotations import Annotation
from s2lct.builder.curation.sheets import SENTIMENTS, protocol
from s2lct.chat_client import SECONDS, ChatClient, ChatServerError
from s2lct.errors import BuildError
from s2lct.suite.annotation import Item

_SEPARATOR = r"(?:[^\w\n]|_)"
_LINE = re.compile(
    rf"^{_SEPARATOR}*(\d{{1,6}}){_SEPARATOR}+(neg|neu|pos|mix)[a-z]*{_SEPARATOR}+([012])"
    rf"(?:{_SEPARATOR}+([01]))?{_SEPARATOR}*$",
    re.MULTILINE | re.IGNORECASE,
)
_OPTIONS = {"temperature": 0.0, "seed": 0, "max_tokens": 2_000}
"""Options of a request; an answer has one line of about a dozen tokens per text."""
_MAX_ANSWER_CHARACTERS = 20_000


class LanguageModel:
    """Annotates items through a chat model at a server, whose address ends in ``/v1``."""

    def __init__(
        self, name: str, base_url: str, api_key: str | None = None, *, seconds: float = SECONDS
    ) -> None:
        self.name = name
        self._chat = ChatClient(base_url, name, _OPTIONS, api_key or "", seconds=seconds)

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
            content = self._chat.ask(question).text
        except ChatServerError as error:
            raise BuildError(
                f"--base-url: {self.name} did not answer: {error}",
                hint="check the address, the model's name and the key; what was read is kept, and "
                "the same command goes on",
            ) from error
        return annotations_in(content, items, self.name)


def annotations_in(answer: str, items: Sequence[Item], annotator: str) -> list[Annotation]:
    """The annotations in an answer, one per line: ``n label natural [relevant]``.

    A case needs all four values. The last line about an item counts.
    """
    annotations: dict[int, Annotation] = {}
    for number, label, natural, relevant in _LINE.findall(answer[:_MAX_ANSWER_CHARACTERS]):
        index = int(number) - 1
        if not 0 <= index < len(items) or (items[index].description and not relevant):
            continue
        annotations[index] = Annotation(
            id=items[index].id,
            annotator=annotator,
            label=SENTIMENTS[label.lower()],
            natural=int(natural),
            relevant=relevant == "1" if items[index].description else None,
            sentence=items[index].sentence or None,
        )
    return [annotations[index] for index in sorted(annotations)]
