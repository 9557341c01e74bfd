"""Scoring models, and comparing two."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import Field

from s2lct.command import (
    RUNNING,
    Capabilities,
    Device,
    EngineName,
    LabelMap,
    command,
)
from s2lct.errors import OptionError, S2lctError, S2lctWarning, ScoringError, require
from s2lct.hub_calls import reason_of
from s2lct.labels import ENDS, LABELS, check_label_map
from s2lct.plain_text import ShortRepr
from s2lct.suite.prompts import PROMPTS

if TYPE_CHECKING:
    from s2lct.leaderboard.models.language_model import LabelPrompt
    from s2lct.leaderboard.results.record import Result
    from s2lct.suite.cases import SuiteCases

logger = logging.getLogger(__name__)
LLMS, ENDPOINTS, GIVEN = "Language models", "Models behind an endpoint", "Predictions"


@dataclass(frozen=True, repr=False)
class Scores(ShortRepr):
    """Results that were written, in the order of the models; their files; models without one.

    A language model has one for each prompt, in their order.
    """

    results: tuple[Result, ...]
    files: tuple[Path, ...]
    failed: tuple[str, ...]

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


@command
def score_models(
    models: Annotated[
        list[str],
        typer.Argument(
            help="vader, textblob, afinn, embedded-2class, embedded-3class, a folder (./NAME), or "
            "a Hub id (ID@REVISION pins one); with --base-url what the server calls it."
        ),
    ] = [],  # noqa: B006
    *,
    suite: Annotated[
        str,
        typer.Option(
            help="Folder of a suite, Hub id\\[@REVISION], checklist:FILE.jsonl\\[.gz], or csv:FILE"
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the result files.", file_okay=False)] = Path(
        "results"
    ),
    predictions: Annotated[
        Path | None,
        typer.Option(
            help="Instead of a model: what yours said of the cases that `s2lct export SUITE "
            "--format csv` writes. CSV, JSON lines or Parquet with id or text, and label or a "
            "probability a class.",
            rich_help_panel=GIVEN,
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help=r"What results call the one model \[default: as it is named, or as the file of "
            "predictions]."
        ),
    ] = None,
    capability: Capabilities = [],  # noqa: B006
    limit: Annotated[
        int | None, Field(ge=1), typer.Option(help="Most cases of a capability.")
    ] = None,
    label_map: LabelMap = None,
    llm: Annotated[
        bool,
        typer.Option(
            "--llm",
            help="Folders and Hub ids are language models: the likeliest label word behind a "
            "prompt counts, with each of several prompts. --label-map names other words.",
            rich_help_panel=LLMS,
        ),
    ] = False,
    prompt: Annotated[
        list[str],
        typer.Option(
            help=r"With --llm or --base-url: what is asked, with {text}; \n is a new line. May be "
            r"given again \[default: three wordings].",
            rich_help_panel=LLMS,
        ),
    ] = [],  # noqa: B006
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Ask an OpenAI-compatible server, such as http://localhost:8000/v1, with the key "
            "in OPENAI_API_KEY, if any; what models write is read strictly.",
            rich_help_panel=ENDPOINTS,
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        Field(ge=1),
        typer.Option(
            help="With --base-url: most tokens of an answer; models that think first need more "
            r"\[default: 32].",
            rich_help_panel=ENDPOINTS,
        ),
    ] = None,
    keep_answers: Annotated[
        bool,
        typer.Option(
            "--keep-answers",
            help="With --base-url: use answers of earlier runs though they are older than a day.",
            rich_help_panel=ENDPOINTS,
        ),
    ] = False,
    device: Device = "auto",
    dtype: Annotated[
        str,
        typer.Option(
            help="auto (bfloat16 on a GPU), float32, bfloat16 or float16.", rich_help_panel=RUNNING
        ),
    ] = "auto",
    engine: EngineName = "process",
) -> Scores:
    """Score models: a failure rate for each capability.

    A result file each, with what the model said of every case beside it; of a language model one
    for each prompt. Of several models one that cannot be scored is left out with a warning.
    """
    from s2lct.engines import RayEngine, ray_cluster
    from s2lct.leaderboard.models.built_in import WORD_LISTS
    from s2lct.leaderboard.results.predictions_file import outcomes_of_predictions
    from s2lct.leaderboard.results.read_results import read_result
    from s2lct.leaderboard.results.record import check_own_name
    from s2lct.leaderboard.results.write_results import check_out_folder, write_result
    from s2lct.leaderboard.scoring.score import score, selected
    from s2lct.leaderboard.scoring.spread import ModelWorker, Source, loaded, shared
    from s2lct.suite.cases import load_suite

    if bool(models) == (predictions is not None):
        raise OptionError(
            f"{len(models)} models {'with' if predictions else 'and no'} --predictions",
            hint="name models (`s2lct score -h` says how), or else give --predictions FILE",
        )
    _check_use(
        (predictions or len(set(models)) == 1, "one model", {"--name": name}),
        (llm or base_url, "--llm or --base-url", {"--prompt": prompt}),
        (base_url, "--base-url", {"--max-tokens": max_tokens, "--keep-answers": keep_answers}),
        (not (llm and base_url), "no --base-url", {"--llm": llm}),
        (predictions is None, "no --predictions", {"--llm": llm, "--base-url": base_url}),
    )
    if name is not None:
        check_own_name(name)
    require(
        *(("httpx",) if base_url else ()),
        *(("ray",) if engine == "ray" else ()),
        *(WORD_LISTS[model].package for model in models if model in WORD_LISTS and not base_url),
    )
    meanings = check_label_map(label_map)
    prompts: list[LabelPrompt] = []
    if llm or base_url:
        prompts, meanings = _prompts(prompt, meanings), None
    check_out_folder(out)
    chosen, selection = selected(load_suite(suite), capability or None, None, limit)
    files: list[Path] = []
    failed: list[str] = []
    if predictions is not None:
        outcomes = outcomes_of_predictions(predictions, chosen, name, meanings)
        if selection is not None and chosen.contrasts and not outcomes.suite.contrasts:
            selection = selection.model_copy(update={"contrasts": "none"})
        files.append(write_result(replace(outcomes, selection=selection), out))
    source_of = partial(Source, device=device, dtype=dtype, prompts=tuple(prompts))
    with ExitStack() as stack:
        load: Callable[[str], Sequence[Any]] = lambda name: loaded(source_of(name))  # noqa: E731
        if base_url is not None:
            load = partial(_of_server, base_url, prompts, max_tokens, keep_answers)
            _tell_requests(chosen, len(prompts), len(set(models)))
        elif engine == "ray" and models:
            stack.enter_context(ray_cluster())
            workers = RayEngine(ModelWorker)
            load = lambda name: shared(workers, source_of(name))  # noqa: E731
        for model in dict.fromkeys(models):
            try:
                found = [score(each, chosen, name=name, label_map=meanings) for each in load(model)]
            except Exception as error:  # somebody's model may fail in any way
                if len(set(models)) == 1:
                    raise
                warnings.warn(_why(model, error), S2lctWarning, stacklevel=2)
                failed.append(model)
            else:
                files += [write_result(replace(of, selection=selection), out) for of in found]
    return Scores(tuple(map(read_result, files)), tuple(files), tuple(failed))


def _check_use(*rules: tuple[object, str, Mapping[str, object]]) -> None:
    """Refuse options that go with something that is not given."""
    for goes, what, options in rules:
        if not goes and (idle := [option for option, value in options.items() if value]):
            raise OptionError(
                f"{' and '.join(idle)} go{'es' if len(idle) == 1 else ''} with {what}",
                hint="add that, or leave it out",
            )


def _prompts(prompts: Sequence[str], meanings: Mapping[str, str] | None) -> list[LabelPrompt]:
    """What language models are asked, one prompt after the other."""
    from s2lct.leaderboard.models.language_model import LabelPrompt

    words: tuple[str, ...] = LABELS
    if meanings is not None:
        of_label = {label: word for word, label in meanings.items()}
        words = tuple(of_label[label] for label in LABELS if label in of_label)
        if len(of_label) != len(meanings) or not of_label.keys() >= {*ENDS}:
            raise OptionError(
                f"--label-map: {', '.join(meanings)} are no words of a question",
                hint=f"give one for {' and '.join(ENDS)} each, and one for neutral if at all",
            )
    wordings = dict.fromkeys(wording.replace("\\n", "\n") for wording in prompts) or PROMPTS
    return [LabelPrompt(wording, words) for wording in wordings]


def _tell_requests(suite: SuiteCases, prompts: int, models: int) -> None:
    """Say before a server is asked how many requests that takes."""
    texts = len({case.text for case in suite.with_contrasts})
    counts = f"{texts:,} texts and a trial, {prompts} prompts, {models} models"
    requests = f"{(texts + 1) * prompts * models:,} requests ({counts})"
    logger.warning("At most %s, retries aside; kept answers are not asked again", requests)


def _of_server(
    base_url: str,
    prompts: Sequence[LabelPrompt],
    most_tokens: int | None,
    keeps_answers: bool,
    name: str,
) -> Sequence[Any]:
    """A model behind an endpoint, with each prompt."""
    from s2lct.leaderboard.models.endpoint import MOST_TOKENS, EndpointModel
    from s2lct.leaderboard.results.record import name_fault

    if fault := name_fault(name):
        raise ScoringError(f"model {name}: {fault}", hint="give the name that the server knows")
    most = most_tokens or MOST_TOKENS
    return [
        EndpointModel(name, asks, base_url, most, keeps_answers=keeps_answers) for asks in prompts
    ]


def _why(name: str, error: Exception) -> str:
    if isinstance(error, S2lctError):
        return str(error)
    problem = f"model {name}: cannot be scored ({reason_of(error)})"
    return f"{problem}\n  → score it alone to see where it fails"
