"""The options of `s2lct score`: which models, and what language models among them are asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from s2lct.errors import OptionError, ScoringError
from s2lct.labels import LABELS, TASK
from s2lct.options import (
    CASES,
    RUNNING,
    Argument,
    ChosenCases,
    Count,
    ModelClasses,
    OnDevice,
    OnEngine,
    Option,
    Printed,
)

if TYPE_CHECKING:
    from s2lct.leaderboard.models.classifier import Classifier
    from s2lct.leaderboard.models.endpoint import EndpointModel
    from s2lct.leaderboard.models.language_model import LabelPrompt

LLMS, ENDPOINTS = "Language models", "Models behind an endpoint"
MODEL = (
    "vader, textblob, afinn, embedded-2class, embedded-3class, a folder, or a Hub id "
    "(ID@REVISION pins one); with --base-url what the server calls it."
)
SUITE = (
    "Folder of a suite, Hub id\\[@REVISION], checklist:FILE.jsonl\\[.gz], or csv:FILE?text=COLUMN&…"
)
GIVEN = "Predictions"


class ScoreOptions(ChosenCases, ModelClasses, OnDevice, OnEngine, Printed):
    """Options of `score`."""

    models: Annotated[tuple[str, ...], Argument(MODEL)] = ()
    suite: Annotated[str, Option(SUITE)]
    out: Annotated[Path, Option("Folder for the result files.", path="folder")] = Path("results")
    predictions: Annotated[
        Path | None,
        Option(
            "Instead of a model: what yours said of the cases that `s2lct export SUITE --format "
            "csv` writes. CSV, JSON lines or Parquet with id or text, and label or a probability "
            "a class.",
            GIVEN,
            path="existing file",
        ),
    ] = None
    name: Annotated[
        str | None,
        Option("With --predictions: what the model is called \\[default: as the file].", GIVEN),
    ] = None
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
    generate: Annotated[
        bool,
        Option(
            "With --llm: models answer in words, which are read strictly; for models that end "
            "their answers, such as chat models.",
            LLMS,
        ),
    ] = False
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
        Count,
        Option(
            "With --base-url or --generate: most tokens of an answer; models that think first need "
            "more.",
            ENDPOINTS,
        ),
    ] = 32
    keep_answers: Annotated[
        bool,
        Option(
            "With --base-url: use answers of earlier runs though they are older than a day, or the "
            "server has another model now.",
            ENDPOINTS,
        ),
    ] = False
    dtype: Annotated[
        str, Option("auto (bfloat16 on a GPU), float32, bfloat16 or float16.", RUNNING)
    ] = "auto"
    cache: Annotated[
        bool, Option("Keep what models said; scoring again costs nothing.", RUNNING)
    ] = True


_OF_SERVERS = ("api_key_env", "concurrency", "max_tokens", "keep_answers")


def check_choice(options: ScoreOptions) -> None:
    """Refuse models together with predictions, or neither."""
    given = options.predictions is not None
    if given and options.models:
        raise ScoringError(
            f"--predictions together with the model {options.models[0]}",
            hint="score one of them: predictions stand for a model, which --name names",
        )
    if not given and not options.models:
        raise OptionError(
            "--models: no model to score",
            hint="name one (`s2lct score -h` says how), or give --predictions FILE",
        )
    if options.name is not None and not given:
        raise ScoringError(
            "--name without --predictions", hint="leave it out: a model has its own name"
        )
    if given and options.llm:
        raise ScoringError(
            "--predictions together with --llm", hint="leave --llm out: nothing is asked"
        )


def prompts_of(options: ScoreOptions) -> list[LabelPrompt]:
    """What language models are asked, one prompt after the other.

    Nothing without ``llm`` and ``base_url``.
    """
    from s2lct.leaderboard.models.language_model import LabelPrompt

    server = options.base_url is not None
    if options.llm and server:
        raise ScoringError(
            "--llm with --base-url",
            hint="leave --base-url out to load the models here, or --llm to ask the server",
        )
    fields = ScoreOptions.model_fields
    idle = [name for name in _OF_SERVERS if getattr(options, name) != fields[name].default]
    if options.generate:
        if not options.llm:
            raise ScoringError(
                "--generate without --llm",
                hint="leave it out: what a server's models write is read anyway"
                if server
                else "add --llm to have language models answer in words",
            )
        idle = [name for name in idle if name != "max_tokens"]
    if not server and idle:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in idle)
        hint = "add --base-url URL to ask a server"
        if idle == ["max_tokens"]:
            hint += ", or --llm --generate to have models that are loaded answer in words"
        raise ScoringError(f"{flags} without --base-url", hint=hint)
    if server and options.chat_template != "auto":
        raise ScoringError(
            f"--chat-template {options.chat_template} with --base-url",
            hint="leave it out: the server puts questions in the model's own template",
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
                hint="add --llm to score language models, --base-url URL to ask a server, or leave "
                "it away",
            )
        return []
    words = LABELS
    if options.label_words is not None:
        words = tuple(word.strip() for word in options.label_words.split(","))
    chat_template = None if options.chat_template == "auto" else False
    most_tokens = options.max_tokens if options.generate else None
    own = dict.fromkeys(prompt.replace("\\n", "\n") for prompt in options.prompt)
    return [
        LabelPrompt(prompt, words, chat_template, most_tokens) for prompt in own or TASK.prompts
    ]


def loaded(
    options: ScoreOptions, name: str, prompt: LabelPrompt | None
) -> Classifier | EndpointModel:
    """The model of a name: a server's with ``base_url``, else one that is loaded here."""
    if options.base_url is not None and prompt is not None:
        from s2lct.leaderboard.models.endpoint import EndpointModel, Server
        from s2lct.leaderboard.results.untrusted import faults_of_names

        if fault := next(faults_of_names({"model.name": name}), ""):
            raise ScoringError(f"model {name}: {fault}", hint="give the name that the server knows")
        server = Server(
            options.base_url,
            options.api_key_env,
            options.concurrency,
            options.max_tokens,
            options.keep_answers,
        )
        return EndpointModel(name, prompt, server)
    from s2lct.leaderboard.models.load import load_classifier

    return load_classifier(name, device=options.device, dtype=options.dtype, asks=prompt)
