"""Scoring models, and comparing two."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from s2lct.errors import S2lctError, S2lctWarning
from s2lct.leaderboard.commands.score_options import ScoreOptions, check_choice, loaded, prompts_of
from s2lct.options import (
    takes,
)
from s2lct.progress import Bars

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from s2lct.leaderboard.models.language_model import LabelPrompt
    from s2lct.leaderboard.results.prompts import OverPrompts
    from s2lct.leaderboard.results.record import Result
    from s2lct.suite.cases import SuiteCases


@dataclass(frozen=True)
class Scores:
    """Results that were written, in the order of the models; their files; models without one.

    A language model has one for each prompt, in their order.
    """

    results: tuple[Result, ...]
    files: tuple[Path, ...]
    failed: tuple[str, ...]
    sent: tuple[int | None, ...] = ()
    """Of the requests that a result took, how many this run sent; None without an endpoint."""

    def as_json(self) -> dict[str, Any]:
        """What a program is told; see docs/ci.md."""
        return {
            "suite": self.results[0].suite.model_dump() if self.results else None,
            "results": [
                {
                    "model": result.model.name,
                    "revision": result.model.revision,
                    "prompt": result.model.options.prompt,
                    "partial": result.partial,
                    "overall": result.overall.model_dump(mode="json"),
                    "capabilities": {
                        name: of.model_dump(mode="json") for name, of in result.capabilities.items()
                    },
                    "files": [str(path), str(path.with_name(result.outcomes.path))],
                }
                for path, result in zip(self.files, self.results, strict=True)
            ],
            "failed": list(self.failed),
        }

    @property
    def over_prompts(self) -> list[OverPrompts]:
        """One a model: its figures, of a language model their means and spread over prompts."""
        from s2lct.leaderboard.results.prompts import over_prompts

        return over_prompts(self.results)


@takes(ScoreOptions)
def score(options: ScoreOptions, bars: Bars) -> Scores:
    """Score models: a failure rate for each capability.

    A result file each, with what the model said of every case beside it; of a language model one
    for each prompt. Of several models one that cannot be scored is left out with a warning.
    """
    from s2lct.labels import check_label_map
    from s2lct.leaderboard.results.given import outcomes_of_predictions
    from s2lct.leaderboard.results.read import read_result
    from s2lct.leaderboard.results.record import SelectionRecord
    from s2lct.leaderboard.results.write import check_out_folder, write_result
    from s2lct.leaderboard.scoring.score import default_cache
    from s2lct.leaderboard.scoring.score import score as outcomes_of
    from s2lct.suite.cases import load_cases

    label_map = check_label_map(options.label_map)
    prompts = prompts_of(options)
    check_choice(options)
    check_out_folder(options.out)
    chosen = load_cases(options.suite).select(
        options.capability or None, options.kind, options.limit
    )
    selection = SelectionRecord(
        capabilities=tuple(dict.fromkeys(case.capability for case in chosen.cases))
        if options.capability
        else None,
        kind=options.kind,
        limit=options.limit,
    )
    files: list[Path] = []
    failed: list[str] = []
    sent: list[int | None] = []
    cache = default_cache() if options.cache else None
    if options.predictions is not None:
        given = outcomes_of_predictions(
            options.predictions, chosen, options.name, label_map, options.neutral_band
        )
        files.append(write_result(given, options.out, selection))
        sent.append(None)
    names = list(dict.fromkeys(options.models))
    here = options.engine == "process" or options.base_url is not None
    with ExitStack() as opened:
        answered: Callable[[str], Sequence[Any]] = partial(_loaded_here, options, prompts)
        if names and not here:
            if cache is None:
                cache = Path(opened.enter_context(TemporaryDirectory()), "outcomes.sqlite")
            answered = _spread(options, prompts, chosen, cache, bars)
        for name in names:
            try:
                models = answered(name)
                texts = len({case.text for case in chosen.asked})
                advance = bars(name, texts * len(models)) if here else None
                found = [
                    outcomes_of(
                        one,
                        chosen,
                        label_map=label_map,
                        neutral_band=options.neutral_band,
                        cache=cache,
                        advance=advance,
                    )
                    for one in models
                ]
            except Exception as error:  # somebody's model may fail in any way
                if len(names) == 1:
                    raise
                warnings.warn(_why(name, error), S2lctWarning, stacklevel=2)
                failed.append(name)
            else:
                files += [write_result(outcomes, options.out, selection) for outcomes in found]
                sent += [getattr(one, "sent", None) for one in models]
    results = tuple(map(read_result, files))
    return Scores(results, tuple(files), tuple(failed), tuple(sent))


def _loaded_here(options: ScoreOptions, prompts: Sequence[LabelPrompt], name: str) -> Sequence[Any]:
    """The model of a name, once for each prompt if it takes some."""
    from s2lct.leaderboard.models.endpoint import EndpointModel
    from s2lct.leaderboard.models.language_model import LanguageModel

    model = loaded(options, name, prompts[0] if prompts else None)
    if isinstance(model, (LanguageModel, EndpointModel)):
        return [model.asking(asks) for asks in prompts]
    return [model]


def _spread(
    options: ScoreOptions,
    prompts: Sequence[LabelPrompt],
    chosen: SuiteCases,
    cache: Path,
    bars: Bars,
) -> Callable[[str], Sequence[Any]]:
    """Have workers answer all that models are to be asked: what then gives these by name.

    That raises what kept a model from being loaded or asked.
    """
    from s2lct.leaderboard.models.loaded_models import LoadedModels, Source
    from s2lct.leaderboard.scoring.spread import spread
    from s2lct.ray_engine import engine_of

    sources = [
        Source(name, options.device, options.dtype, tuple(prompts), Path(name).exists())
        for name in dict.fromkeys(options.models)
    ]
    cases = [case.text for case in chosen.asked]
    make = partial(LoadedModels, 1 if options.gpus_per_worker else 2)
    with engine_of(options, make) as engine:
        found = spread(engine, sources, [cases], cache, bars)

    def answered(name: str) -> Sequence[Any]:
        models = found[name]
        if isinstance(models, Exception):
            raise models
        return models

    return answered


def _why(name: str, error: Exception) -> str:
    if isinstance(error, S2lctError):
        return str(error)
    first = next(iter(str(error).strip().splitlines()), "")
    told = f"model {name}: cannot be scored ({type(error).__name__}: {first})"
    return f"{told}\n  → score it alone to see where it fails"
