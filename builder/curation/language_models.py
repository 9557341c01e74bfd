"""Language models as annotators: any OpenAI-compatible server, at temperature 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from s2lct.builder.curation.sheets import (
    ANSWERS,
    ROUNDS,
    Candidate,
    Round,
    in_reading_order,
    numbered,
    protocol,
    unread,
    with_traps,
)
from s2lct.builder.curation.verdicts import Verdict, VerdictFile, Verdicts
from s2lct.errors import BuildError, require
from s2lct.hub_calls import said_by
from s2lct.progress import bar
from s2lct.suite.annotation import Item

ITEMS_A_REQUEST = 40
TIMES_ASKED = 2
"""Of an item whose answer cannot be read."""
_BETWEEN = r"(?:[^\w\n]|_)"
_LINE = re.compile(
    rf"^{_BETWEEN}*(\d{{1,6}}){_BETWEEN}+(neg|neu|pos|mix)[a-z]*{_BETWEEN}+([012])"
    rf"(?:{_BETWEEN}+([01]))?{_BETWEEN}*$",
    re.MULTILINE | re.IGNORECASE,
)
_RETRIES = 4
_TOKENS_A_LINE, _TOKENS_BESIDE = 20, 1_000
_NO_KEY = "none"
CandidatesOf = Callable[[Round, Verdicts], Sequence[Candidate]]


class Reader(Protocol):
    """Reads items, of which some are traps."""

    @property
    def name(self) -> str:
        """What it is called in verdicts."""

    def read(self, items: Sequence[Item]) -> list[Verdict]:
        """The verdicts on them; items without a readable answer are left out."""


class LanguageModelReader:
    """Reads items through a chat model.

    Args:
        model: its name at the server.
        base_url: of the server, up to ``/v1``.
        api_key: for the server; None where it needs none.
        timeout: seconds for an answer.
    """

    def __init__(
        self, model: str, base_url: str, api_key: str | None = None, timeout: float = 300.0
    ) -> None:
        require("openai")
        from openai import OpenAI

        self.name = model
        self._api_key = api_key
        # Without a key of its own the client would send the one in the environment.
        self._client: Any = OpenAI(
            base_url=base_url, api_key=api_key or _NO_KEY, timeout=timeout, max_retries=_RETRIES
        )

    def read(self, items: Sequence[Item]) -> list[Verdict]:
        """The verdicts; items without a readable answer are left out.

        Raises:
            BuildError: the server does not answer.
        """
        cases = any(item.description for item in items)
        columns = "n label natural relevant" if cases else "n label natural"
        question = (
            f"{protocol(cases=cases)}\nAnswer with one line for each, `{columns}`, and nothing "
            "else.\n\n" + "\n".join(numbered(items))
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
            said = said_by(error).replace(self._api_key or "\0", "…")
            raise BuildError(
                f"--base-url: {self.name} did not answer: {said}",
                hint="check the address, the model's name and the key; what was read is kept, and "
                "the same command goes on",
            ) from None
        return verdicts_in(content, items, self.name)


def verdicts_in(answer: str, items: Sequence[Item], reader: str) -> list[Verdict]:
    """The verdicts that an answer holds, a line each: ``n label natural [relevant]``.

    A case needs all four. Of two lines on one item the later counts.
    """
    found: dict[int, Verdict] = {}
    for number, label, natural, relevant in _LINE.findall(answer):
        place = int(number) - 1
        if not 0 <= place < len(items) or (items[place].description and not relevant):
            continue
        found[place] = Verdict(
            id=items[place].id,
            reader=reader,
            label=ANSWERS[label.lower()],
            natural=int(natural),
            relevant=relevant == "1" if items[place].description else None,
        )
    return [found[place] for place in sorted(found)]


def read_all_rounds(
    candidates_of: CandidatesOf, readers: Sequence[Reader], file: VerdictFile, *, seed: int
) -> None:
    """Have readers read round after round, until there is nothing more that they can.

    The first reads everything, the others what one before them passed. What stands in the file is
    not read again.

    Args:
        candidates_of: the candidates of a round, given what was found so far.
        readers: the readers.
        file: takes their verdicts after every request.
        seed: of the order of items and traps.

    Raises:
        BuildError: a reader does not answer, calls too many traps natural, or gives answers that
            cannot be read.
    """
    for reader in readers:
        file.verdicts.check_care(reader.name)
    without_answer: set[tuple[str, str]] = set()
    for round in ROUNDS:
        is_open = True
        while is_open:
            is_open = False
            candidates = candidates_of(round, file.verdicts)
            for reader in readers:
                items = [
                    item
                    for item in unread(candidates, file.verdicts, reader.name)
                    if (reader is readers[0] or file.verdicts.of(item.id))
                    and (reader.name, item.id) not in without_answer
                ]
                if items:
                    is_open = True
                    left = _read_some(items, round, reader, file, seed=seed)
                    without_answer.update((reader.name, item.id) for item in left)


def _read_some(
    items: Sequence[Item], round: Round, reader: Reader, file: VerdictFile, *, seed: int
) -> list[Item]:
    """Have a reader read items; those without a readable answer."""
    progress = bar(f"{round}: {reader.name}", len(items))
    left = in_reading_order(items, seed)
    for attempt in range(TIMES_ASKED):
        wanted, left = left, []
        for start in range(0, len(wanted), ITEMS_A_REQUEST):
            some = wanted[start : start + ITEMS_A_REQUEST]
            found = reader.read(with_traps(some, seed))
            if not found and attempt == 0:
                raise BuildError(
                    f"{reader.name}: no line of its answer to {len(some)} texts could be read",
                    hint="choose a model that follows instructions; what was read is kept",
                )
            file.append(found)
            file.verdicts.check_care(reader.name)
            answered = {verdict.id for verdict in found}
            left += [item for item in some if item.id not in answered]
            progress(sum(item.id in answered for item in some))
    return left
