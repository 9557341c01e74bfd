"""Curation: what readers have still to read of a corpus, and what they found of it.

It goes the way of a build up to where readers decide (`s2lct.builder.unread`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from s2lct.builder.config import BuildConfig
from s2lct.builder.curation.language_models import LanguageModelReader, read_all_rounds
from s2lct.builder.curation.sheets import (
    ROUNDS,
    Answered,
    Candidate,
    Round,
    read_sheets,
    take_answers,
    unread,
    write_sheets,
)
from s2lct.builder.curation.verdicts import VerdictFile, Verdicts
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.pipeline import kept_models, read_inputs
from s2lct.builder.unread import CandidatesOfABuild
from s2lct.errors import BuildError, OptionError
from s2lct.files import check_folder_out, locked


@dataclass(frozen=True)
class RoundState:
    """How far a round is.

    Attributes:
        round: which.
        passed: what two readers passed.
        refused: what a reader refused, or two found not natural enough.
        first: what nobody read.
        second: what one reader passed, and another is to read.
        left: what each reader has still to read.
    """

    round: Round
    passed: int
    refused: int
    first: int
    second: int
    left: dict[str, int]

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to read."""
        return not self.first and not self.second


@dataclass(frozen=True)
class Curated:
    """What was read and what is left.

    Attributes:
        rounds: up to the first that is not finished; the later ones are of what passes it.
        sheets: what was written for readers; none where nothing is left to read.
        answered: what came of a file of answers.
    """

    rounds: tuple[RoundState, ...]
    sheets: tuple[Path, ...]
    answered: Answered | None

    @property
    def is_finished(self) -> bool:
        """Whether every round is."""
        return len(self.rounds) == len(ROUNDS) and self.rounds[-1].is_finished


@dataclass(frozen=True)
class LanguageModels:
    """Language models behind a server.

    Attributes:
        base_url: of the server, up to ``/v1``.
        names: of one or two models.
        api_key_env: the environment variable that holds the key; empty where none is needed.
    """

    base_url: str
    names: tuple[str, ...]
    api_key_env: str = ""

    def readers(self) -> list[LanguageModelReader]:
        """The readers.

        Raises:
            OptionError: the environment holds no key.
        """
        key = os.environ.get(self.api_key_env) if self.api_key_env else None
        if self.api_key_env and not key:
            raise OptionError(
                f"--api-key-env {self.api_key_env}: the environment has no such variable",
                hint=f"export {self.api_key_env}=…, or leave the option out",
            )
        return [LanguageModelReader(name, self.base_url, key) for name in self.names]


def curate(
    config: BuildConfig,
    *,
    models: LanguageModels | None = None,
    answers: Path | None = None,
    reader: str = "",
) -> Curated:
    """Collect verdicts, and write sheets of what is still unread.

    Args:
        config: the options of the build that is to have the verdicts. ``verdicts`` are files of
            verdicts, of which the first is appended to; ``out`` is the folder for sheets.
        models: language models that read now.
        answers: a file of answers to earlier sheets.
        reader: whose answers these are; without answers, who the sheets are for.

    Raises:
        S2lctError: something that the caller can mend; what was read is kept.
    """
    check_folder_out(config.out, "--out")
    own, *others = config.verdicts
    readers = models.readers() if models else []
    rounds: list[RoundState] = []
    sheets: list[Path] = []
    with ExitStack() as opened:
        opened.enter_context(locked(own, by="s2lct curate", option="--verdicts"))
        file = VerdictFile(own, others)
        for name in filter(None, [reader, *(one.name for one in readers)]):
            file.verdicts.check_care(name)
        answered = None
        if answers is not None:
            answered = take_answers(answers, read_sheets(config.out), reader, file)
        inputs = read_inputs(config)
        form = FluentForm(
            inputs.config,
            inputs.capabilities,
            inputs.lexicon,
            inputs.grammar,
            opened.enter_context(kept_models(inputs)),
            None,
        )
        candidates = CandidatesOfABuild(form, inputs.sentences)
        if readers:
            read_all_rounds(candidates.of, readers, file, seed=config.seed)
        verdicts = file.verdicts
        names = {*verdicts.care, *(one.name for one in readers), *filter(None, [reader])}
        for round in ROUNDS:
            found = candidates.of(round, verdicts)
            rounds.append(_state(round, found, verdicts, sorted(names - {*verdicts.careless})))
            if not rounds[-1].is_finished:
                if items := unread(found, verdicts, reader):
                    sheets = write_sheets(items, config.out, round=round, seed=config.seed)
                break
    if not any(sum((one.passed, one.refused, one.first, one.second)) for one in rounds):
        raise BuildError(
            f"--corpus {config.corpus}: no capability's search found a sentence",
            hint="use a larger corpus; `s2lct capabilities --show LC2` says what is looked for",
        )
    return Curated(tuple(rounds), tuple(sheets), answered)


def _state(
    round: Round, candidates: Sequence[Candidate], verdicts: Verdicts, readers: Sequence[str]
) -> RoundState:
    states = [verdicts.state(one.item.id, one.labels) for one in candidates]
    open_ones = unread(candidates, verdicts)
    second = sum(bool(verdicts.of(item.id)) for item in open_ones)
    return RoundState(
        round,
        passed=states.count("passed"),
        refused=states.count("refused"),
        first=len(open_ones) - second,
        second=second,
        left={reader: len(unread(candidates, verdicts, reader)) for reader in readers},
    )
