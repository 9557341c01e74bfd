"""`s2lct score`: score models on a suite."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
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
from s2lct.hub_calls import error_summary
from s2lct.labels import LABELS, POLAR_LABELS, check_label_map
from s2lct.plain_text import ShortRepr
from s2lct.suite.prompts import PROMPTS

if TYPE_CHECKING:
    from s2lct.leaderboard.models.label_prompt import LabelPrompt
    from s2lct.leaderboard.models.model import Model
    from s2lct.leaderboard.results.record import Result
    from s2lct.suite.cases import SuiteCases

logger = logging.getLogger(__name__)
LLM_PANEL, ENDPOINT_PANEL = "Language models", "Models behind an endpoint"
PREDICTIONS_PANEL = "Predictions"


@dataclass(frozen=True, repr=False)
class Scores(ShortRepr):
    """The results that were written, their files, and the names of models that failed.

    Results are in the order of the models; a language model has one result for each prompt.
    """

    results: tuple[Result, ...]
    files: tuple[Path, ...]
    failed: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The results as a JSON object, see docs/ci.md."""
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
                        name: figures.model_dump(mode="json")
                        for name, figures in result.capabilities.items()
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
            rich_help_panel=PREDICTIONS_PANEL,
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
            rich_help_panel=LLM_PANEL,
        ),
    ] = False,
    prompt: Annotated[
        list[str],
        typer.Option(
            help=r"With --llm or --base-url: what is asked, with {text}; \n is a new line. May be "
            r"given again \[default: three wordings].",
            rich_help_panel=LLM_PANEL,
        ),
    ] = [],  # noqa: B006
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Ask an OpenAI-compatible server, such as http://localhost:8000/v1, with the key "
            "in OPENAI_API_KEY, if any; what models write is read strictly.",
            rich_help_panel=ENDPOINT_PANEL,
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        Field(ge=1),
        typer.Option(
            help="With --base-url: most tokens of an answer; models that think first need more "
            r"\[default: 32].",
            rich_help_panel=ENDPOINT_PANEL,
        ),
    ] = None,
    keep_answers: Annotated[
        bool,
        typer.Option(
            "--keep-answers",
            help="With --base-url: use answers of earlier runs though they are older than a day.",
            rich_help_panel=ENDPOINT_PANEL,
        ),
    ] = False,
    device: Device = "auto",
    dtype: Annotated[
        str,
        typer.Option(
            help="auto (bfloat16 on a GPU), float32, bfloat16 or float16.",
            rich_help_panel=RUNNING,
        ),
    ] = "auto",
    engine: EngineName = "process",
) -> Scores:
    """Score models: a failure rate for each capability.

    A result file each, with what the model said of every case beside it; of a language model one
    for each prompt. Of several models one that cannot be scored is left out with a warning.
    """
    from s2lct.engines import ray_cluster
    from s2lct.leaderboard.models.built_in import WORD_LISTS
    from s2lct.leaderboard.results.predictions_file import outcomes_of_predictions
    from s2lct.leaderboard.results.record import check_name_of_own_model
    from s2lct.leaderboard.results.write_results import check_out_folder, save_result
    from s2lct.leaderboard.scoring.ray_scoring import (
        ModelSource,
        load_on_workers,
        load_with_prompts,
    )
    from s2lct.leaderboard.scoring.score import score, select_cases
    from s2lct.suite.cases import load_suite

    names = list(dict.fromkeys(models))
    if bool(models) == (predictions is not None):
        raise OptionError(
            f"{len(models)} models {'with' if predictions else 'and no'} --predictions",
            hint="name models (`s2lct score -h` says how), or else give --predictions FILE",
        )
    _check_requirements(
        (predictions or len(names) == 1, "one model", {"--name": name}),
        (llm or base_url, "--llm or --base-url", {"--prompt": prompt}),
        (base_url, "--base-url", {"--max-tokens": max_tokens, "--keep-answers": keep_answers}),
        (not (llm and base_url), "no --base-url", {"--llm": llm}),
        (predictions is None, "no --predictions", {"--llm": llm, "--base-url": base_url}),
    )
    if name is not None:
        check_name_of_own_model(name)
    require(
        *(("httpx",) if base_url else ()),
        *(("ray",) if engine == "ray" else ()),
        *(WORD_LISTS[model].package for model in names if model in WORD_LISTS and not base_url),
    )
    class_map = check_label_map(label_map)
    prompts: list[LabelPrompt] = []
    if llm or base_url:  # whose label map names label words
        prompts, class_map = _prompts(prompt, class_map), None
    check_out_folder(out)
    part, selection = select_cases(load_suite(suite), capability or None, None, limit)
    saved: list[tuple[Path, Result]] = []
    failed: list[str] = []
    if predictions is not None:
        outcomes = outcomes_of_predictions(predictions, part, name, class_map)
        if selection is not None and part.contrasts and not outcomes.suite.contrasts:
            selection = selection.model_copy(update={"contrasts": "none"})
        saved.append(save_result(replace(outcomes, selection=selection), out))

    def load(model: str) -> Sequence[Model]:
        if base_url is not None:
            return _load_endpoint(model, prompts, base_url, max_tokens, keep_answers)
        source = ModelSource(model, device, dtype, tuple(prompts))
        return load_on_workers(source) if engine == "ray" else load_with_prompts(source)

    if base_url is not None:
        _log_requests(part, len(prompts), len(names))
    with ray_cluster() if engine == "ray" and models else nullcontext():
        for model in names:
            try:
                with ExitStack() as stack:
                    variants = [stack.enter_context(closing(variant)) for variant in load(model)]
                    scores = [
                        score(variant, part, name=name, label_map=class_map) for variant in variants
                    ]
            except Exception as error:  # somebody's model may fail in any way
                if len(names) == 1:
                    raise
                warnings.warn(_failure_reason(model, error), S2lctWarning, stacklevel=2)
                failed.append(model)
            else:
                saved += [
                    save_result(replace(outcomes, selection=selection), out) for outcomes in scores
                ]
    return Scores(
        tuple(result for _, result in saved), tuple(path for path, _ in saved), tuple(failed)
    )


def _check_requirements(*rules: tuple[object, str, Mapping[str, object]]) -> None:
    """Refuse options of rules (is met, requirement, options) whose requirement is not met."""
    for is_met, requirement, options in rules:
        if not is_met and (wrong := [option for option, value in options.items() if value]):
            raise OptionError(
                f"{' and '.join(wrong)} go{'es' if len(wrong) == 1 else ''} with {requirement}",
                hint="add that, or leave it out",
            )


def _prompts(prompts: Sequence[str], word_map: Mapping[str, str] | None) -> list[LabelPrompt]:
    """The prompts of a language model; ``word_map`` maps label words to labels."""
    from s2lct.leaderboard.models.label_prompt import LabelPrompt

    words: tuple[str, ...] = LABELS
    if word_map is not None:
        word_of = {label: word for word, label in word_map.items()}
        words = tuple(word_of[label] for label in LABELS if label in word_of)
        if len(word_of) != len(word_map) or not word_of.keys() >= {*POLAR_LABELS}:
            raise OptionError(
                f"--label-map: {', '.join(word_map)} are no words of a question",
                hint=f"give one for {' and '.join(POLAR_LABELS)} each, and one for neutral if at "
                "all",
            )
    wordings = dict.fromkeys(wording.replace("\\n", "\n") for wording in prompts) or PROMPTS
    return [LabelPrompt(wording, words) for wording in wordings]


def _log_requests(suite: SuiteCases, prompt_count: int, model_count: int) -> None:
    """Log, before a server is asked, how many requests that takes."""
    text_count = len({case.text for case in suite.with_contrasts})
    counts = f"{text_count:,} texts and a trial, {prompt_count} prompts, {model_count} models"
    requests = f"{(text_count + 1) * prompt_count * model_count:,} requests ({counts})"
    logger.warning("At most %s, retries aside; kept answers are not asked again", requests)


def _load_endpoint(
    name: str,
    prompts: Sequence[LabelPrompt],
    base_url: str,
    max_tokens: int | None,
    keep_answers: bool,
) -> Sequence[Model]:
    """The models for a name at an endpoint, one for each prompt."""
    from s2lct.leaderboard.models.endpoint import MAX_ANSWER_TOKENS, EndpointModel
    from s2lct.leaderboard.results.record import name_fault

    if fault := name_fault(name):
        raise ScoringError(f"model {name}: {fault}", hint="give the name that the server knows")
    tokens = max_tokens or MAX_ANSWER_TOKENS
    return [
        EndpointModel(name, prompt, base_url, tokens, keeps_answers=keep_answers)
        for prompt in prompts
    ]


def _failure_reason(name: str, error: Exception) -> str:
    """The reason why a model is left out, in words."""
    if isinstance(error, S2lctError):
        return str(error)
    problem = f"model {name}: cannot be scored ({error_summary(error)})"
    return f"{problem}\n  → score it alone to see where it fails"
