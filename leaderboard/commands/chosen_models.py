"""Which models `s2lct score` is to score, and what language models among them are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from s2lct.errors import OptionError, ScoringError
from s2lct.labels import LABELS, TASK

if TYPE_CHECKING:
    from s2lct.leaderboard.commands.score_models import ScoreOptions
    from s2lct.leaderboard.models.classifier import Classifier
    from s2lct.leaderboard.models.endpoint import EndpointModel
    from s2lct.leaderboard.models.language_model import LabelPrompt

_OF_SERVERS = {"api_key_env", "concurrency", "max_tokens"}


def check_choice(options: ScoreOptions) -> None:
    """Refuse models together with predictions, or neither."""
    given = options.predictions is not None
    if given and options.models:
        raise ScoringError(
            f"--predictions together with the model {options.models[0]}",
            mend="score one of them: predictions stand for a model, which --name names",
        )
    if not given and not options.models:
        raise OptionError(
            "--models: no model to score",
            mend="name one (`s2lct score -h` says how), or give --predictions FILE",
        )
    if options.name is not None and not given:
        raise ScoringError(
            "--name without --predictions", mend="leave it out: a model has its own name"
        )
    if given and options.llm:
        raise ScoringError(
            "--predictions together with --llm", mend="leave --llm out: nothing is asked"
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


def loaded(
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
