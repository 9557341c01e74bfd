"""Have workers answer what models are to be asked: models and suites are spread over them.

Workers load models and answer; the cache is read and written here alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from s2lct.engines import Engine
from s2lct.leaderboard.models.loaded_models import (
    Answers,
    Asked,
    Described,
    LoadedModels,
    Numbers,
    Source,
)
from s2lct.leaderboard.models.spread_model import (
    SpreadClassifier,
    SpreadTextModel,
    spread_model,
)
from s2lct.leaderboard.scoring.ask import Kept, said_of_batch
from s2lct.leaderboard.scoring.written import KeptWords
from s2lct.progress import Bars

Spread = tuple[SpreadClassifier | SpreadTextModel, ...]


@dataclass
class _Asking:
    """A model with the prompt of a number, the texts it has not answered yet, and their pieces."""

    source: Source
    prompt: int
    model: SpreadClassifier | SpreadTextModel
    texts: list[str]
    pieces: Sequence[Numbers]

    def of(self, texts: Sequence[str]) -> Asked:
        """Some texts for the model."""
        return Asked(self.source, self.prompt, self.model.fingerprint, tuple(texts))


def spread(
    engine: Engine[LoadedModels],
    sources: Sequence[Source],
    groups: Sequence[Sequence[str]],
    cache: Path,
    bars: Bars,
) -> Mapping[str, Spread | Exception]:
    """Have workers answer groups of texts with models, and keep what is not kept yet.

    Args:
        engine: has the workers.
        sources: the models.
        groups: what each is asked; batches are made within a group. Models that answer in words
            are asked the first group alone.
        cache: where answers are kept; who scores the models reads them there.
        bars: shows how far this is.

    Returns:
        By a source's name its models, one for each prompt, or why it cannot be asked.

    Raises:
        S2lctError: the engine or the cache failed.
    """
    seen: set[str] = set()
    distinct: list[list[str]] = []
    for texts in groups:
        distinct.append([text for text in dict.fromkeys(texts) if text not in seen])
        seen.update(distinct[-1])
    found: dict[str, Spread | Exception] = {}
    of_source: dict[str, tuple[Described, ...]] = {}
    loading = bars("Loading models", len(sources))
    given = ((source, distinct) for source in sources)
    for number, described in engine.map(LoadedModels.describe, given):
        name = sources[number].name
        if isinstance(described, Exception):
            found[name] = described
        else:
            found[name] = tuple(spread_model(one.facts) for one in described)
            of_source[name] = described
        loading(1)
    askings: list[_Asking] = []
    for source in sources:
        models = found[source.name]
        if not isinstance(models, Exception):
            described = of_source[source.name]
            for prompt, (model, one) in enumerate(zip(models, described, strict=True)):
                askings += _unanswered(source, prompt, model, one, distinct, cache)
    _cut_anew(engine, [one for one in askings if not one.pieces], found)
    _answer(engine, askings, found, cache, bars)
    return found


def _unanswered(
    source: Source,
    prompt: int,
    model: SpreadClassifier | SpreadTextModel,
    described: Described,
    groups: Sequence[Sequence[str]],
    cache: Path,
) -> Iterator[_Asking]:
    """What a model is still to be asked of each group; without pieces where some is known."""
    writes = isinstance(model, SpreadTextModel)
    for number, texts in enumerate(groups[:1] if writes else groups):
        with closing(_kept(cache, model)) as kept:
            known = kept.read(texts)
        if missing := [text for text in texts if text not in known]:
            pieces = () if known else described.pieces[number]
            yield _Asking(source, prompt, model, missing, pieces)


def _cut_anew(
    engine: Engine[LoadedModels], askings: Sequence[_Asking], found: dict[str, Spread | Exception]
) -> None:
    """Have what is left of groups cut into pieces."""
    given = (one.of(one.texts) for one in askings)
    for number, pieces in engine.map(LoadedModels.cut, given):
        if isinstance(pieces, Exception):
            found[askings[number].source.name] = pieces
        else:
            askings[number].pieces = pieces


def _answer(
    engine: Engine[LoadedModels],
    askings: Sequence[_Asking],
    found: dict[str, Spread | Exception],
    cache: Path,
    bars: Bars,
) -> None:
    """Have pieces answered, model after model, and keep what comes."""
    if not askings:
        return
    advance = bars("Answers of models", sum(len(one.texts) for one in askings))
    under_way: dict[int, tuple[_Asking, Asked]] = {}

    def pieces() -> Iterator[Asked]:
        number = count()
        for one in askings:
            for numbers in one.pieces:
                if isinstance(found[one.source.name], Exception):
                    break
                asked = one.of([one.texts[place] for place in numbers.tolist()])
                under_way[next(number)] = (one, asked)
                yield asked

    for number, answers in engine.map(LoadedModels.answer, pieces()):
        one, asked = under_way.pop(number)
        try:
            if isinstance(answers, Exception):
                raise answers
            _keep(one.model, asked.texts, answers, cache)
        except Exception as error:  # somebody's model may fail in any way; the others go on
            found[one.source.name] = error
        advance(len(asked.texts), one.source.name)


def _keep(
    model: SpreadClassifier | SpreadTextModel, texts: Sequence[str], answers: Answers, cache: Path
) -> None:
    if isinstance(model, SpreadTextModel):
        with closing(KeptWords(cache, model)) as words:
            for number, answer in answers.written:
                words.write(texts[number], answer)
        return
    with closing(Kept(cache, model)) as kept:
        for numbers, batch in answers.batches:
            kept.write(said_of_batch(model, texts, numbers, batch))


def _kept(cache: Path, model: SpreadClassifier | SpreadTextModel) -> Kept | KeptWords:
    return KeptWords(cache, model) if isinstance(model, SpreadTextModel) else Kept(cache, model)
