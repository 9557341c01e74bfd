"""Scoring models, and comparing two."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from s2lct.errors import BuilderError, S2lctWarning, ScoringError
from s2lct.options import (
    CASES,
    RUNNING,
    Argument,
    ChosenCases,
    Count,
    ModelClasses,
    OnDevice,
    Option,
    Options,
    takes,
)
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.leaderboard.models.classifier import Classifier
    from s2lct.leaderboard.models.endpoint import EndpointModel
    from s2lct.leaderboard.models.language_model import LabelPrompt
    from s2lct.leaderboard.results.comparison import Comparison, SidesCompared
    from s2lct.leaderboard.results.prompts import OverPrompts
    from s2lct.leaderboard.results.record import Result

LLMS, ENDPOINTS = "Language models", "Models behind an endpoint"
MODEL = (
    "vader, textblob, afinn, embedded-2class, embedded-3class, a folder, or a Hub id "
    "(ID@REVISION pins one); with --base-url what the server calls it."
)
SUITE = "Folder of a built suite, or Hub id\\[@REVISION]."


_OF_SERVERS = {"api_key_env", "concurrency", "max_tokens"}


class ScoreOptions(ChosenCases, ModelClasses, OnDevice):
    """Options of `score`."""

    models: Annotated[tuple[str, ...], Argument(MODEL)]
    suite: Annotated[str, Option(SUITE)]
    out: Annotated[Path, Option("Folder for the result files.", path="folder")] = Path("results")
    kind: Annotated[
        Literal["seed", "expansion"] | None, Option("Only seeds, or only expansions.", CASES)
    ] = None
    limit: Annotated[Count | None, Option("Most cases of a capability.", CASES)] = None
    llm: Annotated[
        bool,
        Option(
            "Folders and Hub ids are language models: the likeliest label word behind a prompt "
            "counts, with each of several prompts.",
            LLMS,
        ),
    ] = False
    prompt: Annotated[
        tuple[str, ...],
        Option(
            r"With --llm or --base-url: what is asked, with {text}; \n is a new line. May be given "
            r"again \[default: three wordings].",
            LLMS,
        ),
    ] = ()
    label_words: Annotated[
        str | None,
        Option(
            "With --llm or --base-url: words for negative, neutral and positive, or for negative "
            r"and positive \[default: negative,neutral,positive].",
            LLMS,
        ),
    ] = None
    chat_template: Annotated[
        Literal["auto", "none"],
        Option("With --llm: ask in the tokenizer's chat template, where it has one.", LLMS),
    ] = "auto"
    base_url: Annotated[
        str | None,
        Option(
            "Ask an OpenAI-compatible server, such as http://localhost:8000/v1; what models write "
            "is read strictly.",
            ENDPOINTS,
        ),
    ] = None
    api_key_env: Annotated[
        str,
        Option(
            r"Environment variable with the server's key \[default: OPENAI_API_KEY, if set].",
            ENDPOINTS,
        ),
    ] = ""
    concurrency: Annotated[Count, Option("Most requests at a time.", ENDPOINTS)] = 8
    max_tokens: Annotated[
        Count, Option("Most tokens of an answer; models that think first need more.", ENDPOINTS)
    ] = 32
    dtype: Annotated[
        str, Option("auto (bfloat16 on a GPU), float32, bfloat16 or float16.", RUNNING)
    ] = "auto"
    cache: Annotated[
        bool, Option("Keep what models said; scoring again costs nothing.", RUNNING)
    ] = True


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
    from s2lct.leaderboard.models.endpoint import EndpointModel
    from s2lct.leaderboard.models.language_model import LanguageModel
    from s2lct.leaderboard.results.read import read_result
    from s2lct.leaderboard.results.record import SelectionRecord
    from s2lct.leaderboard.results.write import check_out_folder, write_result
    from s2lct.leaderboard.scoring.score import default_cache
    from s2lct.leaderboard.scoring.score import score as outcomes_of
    from s2lct.suite.cases import load_cases

    label_map = check_label_map(options.label_map)
    prompts = _prompts(options)
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
    names = list(dict.fromkeys(options.models))
    for name in names:
        try:
            first = prompts[0] if prompts else None
            model = _loaded(options, name, first)
            models = [model]
            if isinstance(model, (LanguageModel, EndpointModel)):
                models = [model.asking(asks) for asks in prompts]
            texts = len({case.text for case in chosen.asked})
            advance = bars(name, texts * len(models))
            found = [
                outcomes_of(
                    one,
                    chosen,
                    label_map=label_map,
                    neutral_band=options.neutral_band,
                    cache=default_cache() if options.cache else None,
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


def _loaded(
    options: ScoreOptions, name: str, prompt: LabelPrompt | None
) -> Classifier | EndpointModel:
    """The model of a name: a server's with ``base_url``, else one that is loaded here."""
    if options.base_url is not None and prompt is not None:
        from s2lct.leaderboard.models.endpoint import EndpointModel, Server

        server = Server(
            options.base_url, options.api_key_env, options.concurrency, options.max_tokens
        )
        return EndpointModel(name, prompt, server)
    from s2lct.leaderboard.models.load import load_classifier

    return load_classifier(name, device=options.device, dtype=options.dtype, asks=prompt)


def _why(name: str, error: Exception) -> str:
    if isinstance(error, BuilderError):
        return str(error)
    first = next(iter(str(error).strip().splitlines()), "")
    told = f"model {name}: cannot be scored ({type(error).__name__}: {first})"
    return f"{told}\n  → score it alone to see where it fails"


def _prompts(options: ScoreOptions) -> list[LabelPrompt]:
    """What language models are asked, one prompt after the other.

    Nothing without ``llm`` and ``base_url``.
    """
    from s2lct.labels import LABELS, TASK
    from s2lct.leaderboard.models.language_model import LabelPrompt

    server = options.base_url is not None
    if options.llm and server:
        raise ScoringError(
            "--llm with --base-url",
            mend="leave --base-url out to load the models here, or --llm to ask the server",
        )
    if not server and (idle := options.model_fields_set & _OF_SERVERS):
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in sorted(idle))
        raise ScoringError(f"{flags} without --base-url", mend="add --base-url URL to ask a server")
    if server and options.chat_template != "auto":
        raise ScoringError(
            f"--chat-template {options.chat_template} with --base-url",
            mend="leave it out: the server puts questions in the model's own template",
        )
    given = {
        "--prompt": options.prompt,
        "--label-words": options.label_words,
        "--chat-template": options.chat_template != "auto",
    }
    if not options.llm and not server:
        if alone := [option for option, value in given.items() if value]:
            raise ScoringError(
                f"{' and '.join(alone)} without --llm",
                mend="add --llm to score language models, --base-url URL to ask a server, or leave "
                "it away",
            )
        return []
    words = LABELS
    if options.label_words is not None:
        words = tuple(word.strip() for word in options.label_words.split(","))
    chat_template = None if options.chat_template == "auto" else False
    own = dict.fromkeys(prompt.replace("\\n", "\n") for prompt in options.prompt)
    return [LabelPrompt(prompt, words, chat_template) for prompt in own or TASK.prompts]


class CompareOptions(Options):
    """Options of `compare`."""

    first: Annotated[Path, Argument("A result file.", path="existing file")]
    second: Annotated[Path, Argument("Another, on the same suite.", path="existing file")]


@dataclass(frozen=True)
class Compared:
    """The results of two files, how many cases both have, and a comparison a capability.

    ``both_sides`` has one for each that has counterparts which both models were asked.
    """

    results: tuple[Result, Result]
    cases: int
    by_capability: dict[str, Comparison]
    both_sides: dict[str, SidesCompared]


@takes(CompareOptions)
def compare(options: CompareOptions, bars: Bars) -> Compared:
    """Say which differences between two models are real."""
    from s2lct.leaderboard.results.comparison import compare as compared
    from s2lct.leaderboard.results.comparison import compare_sides, paired
    from s2lct.leaderboard.results.read import read_outcomes, read_result
    from s2lct.leaderboard.site.report import check_same_suite

    paths = (options.first, options.second)
    results = (read_result(paths[0]), read_result(paths[1]))
    check_same_suite(results)
    one, other = map(read_outcomes, paths)
    cases, *failed = paired(one, other)
    if not cases:
        raise ScoringError(
            f"{paths[0]} and {paths[1]} have no case in common",
            mend="score both on the same capabilities and kinds",
        )
    by_capability = compared(cases, *failed)
    return Compared(results, len(cases), by_capability, compare_sides(one, other))
