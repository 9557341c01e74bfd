"""Building a suite, and looking at one: a function a command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import BeforeValidator, Field

from s2lct.builder.config import BuildConfig
from s2lct.command import Capabilities, Count, EngineName, RandomSeed, command
from s2lct.errors import OptionError
from s2lct.labels import PROMPTS

if TYPE_CHECKING:
    from s2lct.builder.capabilities.schema import Capability
    from s2lct.builder.curation.curate import Curated

CORPUS, KEPT, MASKED = "Corpus", "What is built", "Expansions"
MODELS, ANNOTATING = "Models", "Who annotates"


def _as_text(value: Any) -> Any:
    """What a command line would give: a number, or a mapping, as text."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={label}" for name, label in value.items())
    return str(value) if isinstance(value, int) else value


Name = Annotated[str, Field(min_length=1, max_length=100)]
Suite = Annotated[Path, typer.Argument(help="Folder of a built suite.")]
Corpus = Annotated[
    str,
    typer.Option(
        help="embedded, sst:PATH, sst:URL, hf:NAME:SPLIT, csv:PATH, jsonl:PATH or parquet:PATH.",
        rich_help_panel=CORPUS,
    ),
]
Neutral = Annotated[
    str | None,
    typer.Option(
        help="Neutral sentences beside the corpus: nltk:subjectivity, csv:PATH and their like, or "
        r"none \[default: nltk:subjectivity beside sst, else none].",
        rich_help_panel=CORPUS,
    ),
]
TextColumn = Annotated[
    str | None, typer.Option(help="Column with the sentences.", rich_help_panel=CORPUS)
]
LabelColumn = Annotated[
    str | None, typer.Option(help="Column with the labels.", rich_help_panel=CORPUS)
]
LabelMap = Annotated[
    str | None,
    BeforeValidator(_as_text),
    typer.Option(help="What labels mean: 0=negative,1=positive.", rich_help_panel=CORPUS),
]
OwnCapabilities = Annotated[
    list[Path],
    typer.Option(
        "--capabilities",
        exists=True,
        dir_okay=False,
        help="YAML file with a capability of your own; may be given again.",
    ),
]
Seeds = Annotated[
    str,
    BeforeValidator(_as_text),
    typer.Option(
        help="Most seeds of a capability; all: every one that is found.", rich_help_panel=KEPT
    ),
]


@dataclass(frozen=True)
class Built:
    """A suite that was written.

    Attributes:
        config: its settings, those that were not given filled in.
        counts: what happened to each capability on the way.
    """

    config: BuildConfig
    counts: dict[str, dict[str, int]]

    @property
    def unread(self) -> list[str]:
        """The capabilities whose cases no annotators chose."""
        return [name for name in self.counts if not self.config.is_read(name)]


@command
def build(
    *,
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist yet.")],
    capability: Annotated[
        list[str],
        typer.Option(
            help="Build this capability, an id or a YAML file with one of your own; may be given "
            r"again \[default: all].",
        ),
    ] = [],  # noqa: B006
    preset: Annotated[
        Literal["paper"] | None,
        typer.Option(
            help="paper: SST v1, benepar_en3, bert-base-uncased, en_core_web_md, paper form."
        ),
    ] = None,
    corpus: Corpus | None = None,
    neutral: Neutral = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    label_map: LabelMap = None,
    templates: Annotated[
        Literal["fluent", "paper"] | None,
        typer.Option(help=r"Wording and search rules \[default: fluent].", rich_help_panel=KEPT),
    ] = None,
    seeds: Seeds = "50",
    annotations: Annotated[
        list[Path],
        typer.Option(
            exists=True,
            dir_okay=False,
            help="File of annotations: only what annotators passed is kept; may be given again "
            r"\[default: those that the package ships for the embedded corpus and for SST].",
            rich_help_panel=KEPT,
        ),
    ] = [],  # noqa: B006
    unread: Annotated[
        bool,
        typer.Option(
            "--unread",
            help="Keep what nobody annotated: use none of the shipped annotations.",
            rich_help_panel=KEPT,
        ),
    ] = False,
    seed: Annotated[
        RandomSeed, typer.Option(help="Seed of every random draw.", rich_help_panel=KEPT)
    ] = 0,
    masks: Annotated[
        Count | None,
        typer.Option(
            help="Masked sentences drawn for a seed, the paper's k "
            r"\[default: 24; paper form: 20].",
            rich_help_panel=MASKED,
        ),
    ] = None,
    masks_per_sentence: Annotated[
        str | None,
        BeforeValidator(_as_text),
        typer.Option(
            help="Most masks in one sentence; any: as many as fit "
            r"\[default: 2; paper form: 1].",
            rich_help_panel=MASKED,
        ),
    ] = None,
    expansions: Annotated[
        Count | None,
        typer.Option(
            help=r"Most expansions of a seed \[default: 7; paper form: 50].",
            rich_help_panel=MASKED,
        ),
    ] = None,
    parser: Annotated[
        str | None,
        typer.Option(
            help=r"Constituency parser: embedded, benepar model, folder \[default: embedded].",
            rich_help_panel=MODELS,
        ),
    ] = None,
    mlm: Annotated[
        str | None,
        typer.Option(
            help=r"Masked language model: embedded, Hub id, folder \[default: embedded].",
            rich_help_panel=MODELS,
        ),
    ] = None,
    tagger: Annotated[
        str | None,
        typer.Option(
            help=r"Tagger: embedded, spaCy pipeline, folder \[default: embedded].",
            rich_help_panel=MODELS,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the suite that is in --out.")
    ] = False,
    engine: EngineName = "process",
) -> Built:
    """Build a suite of linked seeds and expansions.

    It is a Hugging Face dataset. Interrupted, the same command is fast as far as it was.
    """
    given = dict(locals())
    from s2lct.builder.capabilities.files import capability_files
    from s2lct.builder.pipeline import build_suite

    names = given.pop("capability")
    files = tuple(Path(name) for name in names if name.endswith((".yaml", ".yml")))
    ids = [name for name in names if not name.endswith((".yaml", ".yml"))]
    if files:
        known = capability_files(files).items()
        ids += [id for id, (_, path) in known if path in files and id not in ids]
    # What is not given has defaults that depend on what is.
    stated = {name: value for name, value in given.items() if value is not None}
    config = BuildConfig.checked(**stated, capabilities=ids, capability_files=files)
    return Built(config, build_suite(config))


@command
def curate(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the sheets; may hold earlier ones.")],
    annotations: Annotated[
        list[Path],
        typer.Option(
            help="File that annotations are appended to; given again, others that are only read."
        ),
    ],
    capability: Capabilities = [],  # noqa: B006
    capabilities: OwnCapabilities = [],  # noqa: B006
    corpus: Corpus = "embedded",
    neutral: Neutral = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    label_map: LabelMap = None,
    seeds: Seeds = "50",
    base_url: Annotated[
        str,
        typer.Option(
            help="OpenAI-compatible server of language models that annotate, up to /v1.",
            rich_help_panel=ANNOTATING,
        ),
    ] = "",
    model: Annotated[
        list[Name],
        Field(max_length=2),
        typer.Option(
            help="Model at --base-url; given again, a second that annotates what it passes.",
            rich_help_panel=ANNOTATING,
        ),
    ] = [],  # noqa: B006
    api_key_env: Annotated[
        str,
        typer.Option(
            help="Environment variable that holds the server's key.", rich_help_panel=ANNOTATING
        ),
    ] = "",
    answers: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Filled sheet, CSV or JSON lines: id, label, natural, relevant.",
            rich_help_panel=ANNOTATING,
        ),
    ] = None,
    annotator: Annotated[
        Name | None,
        typer.Option(
            help="Who gave the --answers; without them, who the sheets are for.",
            rich_help_panel=ANNOTATING,
        ),
    ] = None,
) -> Curated:
    """Have people or models annotate what a build draws.

    People fill the sheets that it writes; language models annotate at once.
    `build --annotations` keeps what two annotators passed.
    """
    given = dict(locals())
    from s2lct.builder.curation.curate import curate as curate_corpus
    from s2lct.builder.curation.language_models import LanguageModel

    faults = {
        "--annotations: name a file to append to": not annotations,
        "--base-url and --model: give both or neither": bool(base_url) != bool(model),
        "--model: give two different models": len(set(model)) < len(model),
        "--answers: give --annotator too, who gave them": bool(answers and not annotator),
        f"--api-key-env {api_key_env}: the environment has no such variable": bool(api_key_env)
        and not os.environ.get(api_key_env),
    }
    for fault, is_there in faults.items():
        if is_there:
            raise OptionError(fault, hint="s2lct curate --help says what goes together")
    del given["capability"], given["capabilities"]
    settings = {name: given[name] for name in BuildConfig.model_fields if given.get(name)}
    config = BuildConfig.checked(**settings, capabilities=capability, capability_files=capabilities)
    key = os.environ[api_key_env] if api_key_env else None
    return curate_corpus(
        config,
        models=[LanguageModel(name, base_url, key) for name in model],
        answers=answers,
        annotator=annotator or "",
    )


@command
def capabilities(
    *,
    show: Annotated[
        str | None, typer.Option(help="Print this capability's whole specification.")
    ] = None,
    capabilities: OwnCapabilities = [],  # noqa: B006
) -> list[tuple[Capability, Path]]:
    """List the capabilities, or print what one is."""
    from s2lct.builder.capabilities.files import capability_files, load_capabilities

    chosen = load_capabilities(() if show is None else (show,), capabilities)
    files = capability_files(capabilities)
    return [files[capability.id] for capability in chosen]


@command
def inspect(
    suite: Suite,
    *,
    capability: Capabilities = [],  # noqa: B006
    n: Annotated[Count, typer.Option("--n", help="Seeds of each capability.")] = 5,
) -> dict[str, list[list[dict[str, Any]]]]:
    """Show seeds with their expansions, inserted words marked."""
    from s2lct.suite.export import families

    return families(suite, capability, n)


@command
def verify(
    suite: Suite,
) -> list[str]:
    """Check that a built suite keeps every invariant.

    The exit status is 1, with a list, where it breaks one.
    """
    from s2lct.builder.verify import verify_suite

    return verify_suite(suite)


@command
def export(
    suite: Annotated[
        Path, typer.Argument(help="Folder of a built suite; for lm-eval, or a Hub id.")
    ],
    *,
    out: Annotated[Path, typer.Option(help="File to write; for lm-eval, a folder.")],
    format: Annotated[
        Literal["jsonl", "csv", "checklist", "lm-eval"],
        typer.Option(
            help="jsonl, csv, checklist (its test cases as JSON), or lm-eval (tasks of "
            "lm-evaluation-harness)."
        ),
    ] = "jsonl",
    prompt: Annotated[
        str | None,
        typer.Option(help=r"With lm-eval: what is asked, with {text}; \n is a new line."),
    ] = None,
) -> int:
    """Write a suite as one file, or as lm-evaluation-harness tasks."""
    from s2lct.files import check_file_out
    from s2lct.suite.export import export_suite

    if format == "lm-eval":
        from s2lct.suite.harness import export_lm_eval

        return export_lm_eval(suite, out, PROMPTS[0] if prompt is None else prompt)
    check_file_out(out, "--out")
    if prompt is not None:
        raise OptionError(f"--prompt: --format {format} asks nothing", hint="leave it out")
    return export_suite(suite, out, format)
