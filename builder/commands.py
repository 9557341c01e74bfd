"""The commands that build a suite and look at one: one function for each command."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import BeforeValidator, Field, SkipValidation

from s2lct.command import Capabilities, Count, EngineName, RandomSeed, command
from s2lct.errors import OptionError, require
from s2lct.suite.prompts import PROMPTS

if TYPE_CHECKING:
    from s2lct.builder.capabilities.schema import Capability
    from s2lct.builder.config import BuildConfig
    from s2lct.builder.curation.curate import Curated

corpus_option = partial(typer.Option, rich_help_panel="Corpus")
content_option = partial(typer.Option, rich_help_panel="What is built")
expansion_option = partial(typer.Option, rich_help_panel="Expansions")
model_option = partial(typer.Option, rich_help_panel="Models")
annotator_option = partial(typer.Option, rich_help_panel="Who annotates")


Name = Annotated[str, Field(min_length=1, max_length=100)]
Suite = Annotated[Path, typer.Argument(help="Folder of a built suite.")]
Corpus = Annotated[
    str,
    corpus_option(
        help="embedded, sst:PATH, sst:URL, hf:NAME:SPLIT, csv:PATH, jsonl:PATH or parquet:PATH."
    ),
]
Neutral = Annotated[
    str | None,
    corpus_option(
        help="Neutral sentences beside the corpus: nltk:subjectivity, csv:PATH and their like, or "
        r"none \[default: nltk:subjectivity beside sst, else none]."
    ),
]
TextColumn = Annotated[str | None, corpus_option(help="Column with the sentences.")]
LabelColumn = Annotated[str | None, corpus_option(help="Column with the labels.")]
LabelMap = Annotated[
    str | None, SkipValidation, corpus_option(help="What labels mean: 0=negative,1=positive.")
]
DomainName = Annotated[
    str | None,
    corpus_option(
        help="What the corpus speaks of, and so the wordings: film, product, restaurant, app, "
        r"neutral, or a YAML file of your own \[default: film for embedded and sst, else neutral]."
    ),
]
BuiltCapabilities = Annotated[
    list[str],
    typer.Option(
        "--capability",
        help="Take this capability, an id or a YAML file with one of your own; may be given "
        r"again \[default: all].",
    ),
]
Seeds = Annotated[
    str,
    SkipValidation,
    content_option(help="Most seeds of a capability; all: every one that is found."),
]


@dataclass(frozen=True)
class Built:
    """A suite that was written.

    Attributes:
        config: the settings of the suite, with defaults filled in.
        counts: for each capability, the numbers of corpus sentences found, of expansions tried, and
            of seeds, expansions and contrasts.
    """

    config: BuildConfig
    counts: dict[str, dict[str, int]]

    @property
    def unread(self) -> list[str]:
        """The capabilities whose cases no annotators chose."""
        return [name for name in self.counts if not self.config.is_annotated(name)]


@command
def build(
    *,
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist yet.")],
    capability: BuiltCapabilities = [],  # noqa: B006
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
    domain: DomainName = None,
    templates: Annotated[
        Literal["fluent", "paper"] | None,
        content_option(help=r"Wording and search rules \[default: fluent]."),
    ] = None,
    seeds: Seeds = "100",
    annotations: Annotated[
        list[Path],
        content_option(
            exists=True,
            dir_okay=False,
            help="File of annotations: only what annotators passed is kept; may be given again "
            r"\[default: those that the package ships for the embedded corpus and for SST].",
        ),
    ] = [],  # noqa: B006
    unread: Annotated[
        bool,
        content_option(
            "--unread", help="Keep what nobody annotated: use none of the shipped annotations."
        ),
    ] = False,
    seed: Annotated[RandomSeed, content_option(help="Seed of every random draw.")] = 0,
    masks: Annotated[
        Count | None,
        expansion_option(
            help="Masked sentences drawn for a seed, the paper's k "
            r"\[default: 24; paper form: 20]."
        ),
    ] = None,
    masks_per_sentence: Annotated[
        str | None,
        SkipValidation,
        expansion_option(
            help="Most masks in one sentence; any: as many as fit "
            r"\[default: 2; paper form: 1]."
        ),
    ] = None,
    expansions: Annotated[
        Count | None,
        expansion_option(help=r"Most expansions of a seed \[default: 7; paper form: 50]."),
    ] = None,
    parser: Annotated[
        str | None,
        model_option(
            help=r"Constituency parser: embedded, benepar model, folder \[default: embedded]."
        ),
    ] = None,
    mlm: Annotated[
        str | None,
        model_option(help=r"Masked language model: embedded, Hub id, folder \[default: embedded]."),
    ] = None,
    tagger: Annotated[
        str | None,
        model_option(help=r"Tagger: embedded, spaCy pipeline, folder \[default: embedded]."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the suite that is in --out.")
    ] = False,
    engine: EngineName = "process",
) -> Built:
    """Build a suite of linked seeds and expansions.

    It is a Hugging Face dataset. Interrupted, the same command is fast as far as it was.
    """
    options = dict(locals())
    from s2lct.builder.pipeline import build_suite

    require(*(("ray",) if engine == "ray" else ()))
    config = _config(options)
    return Built(config, build_suite(config))


def _config(options: dict[str, Any]) -> BuildConfig:
    """The settings of a build; the defaults of options left out depend on the options given."""
    from s2lct.builder.capabilities.files import capability_files
    from s2lct.builder.config import BuildConfig

    names = options.pop("capability")
    files = tuple(Path(name) for name in names if name.endswith((".yaml", ".yml")))
    ids = [name for name in names if not name.endswith((".yaml", ".yml"))]
    if files:
        shipped = capability_files(files).items()
        ids += [id for id, (_, path) in shipped if path in files and id not in ids]
    stated_options = {name: value for name, value in options.items() if value is not None}
    return BuildConfig.checked(**stated_options, capabilities=ids, capability_files=files)


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
    capability: BuiltCapabilities = [],  # noqa: B006
    corpus: Corpus = "embedded",
    neutral: Neutral = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    label_map: LabelMap = None,
    domain: DomainName = None,
    seeds: Seeds = "100",
    base_url: Annotated[
        str,
        annotator_option(
            help="OpenAI-compatible server of language models that annotate, up to /v1."
        ),
    ] = "",
    model: Annotated[
        list[Name],
        Field(max_length=2),
        annotator_option(
            help="Model at --base-url; given again, a second that annotates what it passes."
        ),
    ] = [],  # noqa: B006
    api_key_env: Annotated[
        str, annotator_option(help="Environment variable that holds the server's key.")
    ] = "",
    budget: Annotated[
        Count | None, annotator_option(help="Most texts that --model reads; what was read is kept.")
    ] = None,
    answers: Annotated[
        Path | None,
        annotator_option(
            exists=True,
            dir_okay=False,
            help="Filled sheet, CSV or JSON lines (.jsonl): id, label, natural, relevant.",
        ),
    ] = None,
    annotator: Annotated[
        Name | None,
        annotator_option(
            help="Who gave the --answers, where their rows do not say so in a column annotator; "
            "without answers, who the sheets are for."
        ),
    ] = None,
) -> Curated:
    """Have people or models annotate what a build draws.

    People fill the sheets that it writes; language models annotate at once.
    `build --annotations` keeps what two annotators passed.
    """
    options = dict(locals())
    from s2lct.builder.curation.curate import curate as curate_corpus
    from s2lct.builder.curation.language_models import LanguageModel

    faults = {
        "--annotations: name a file to append to": not annotations,
        "--base-url and --model: give both or neither": bool(base_url) != bool(model),
        "--model: give two different models": len(set(model)) < len(model),
        f"--api-key-env {api_key_env}: the environment has no such variable": bool(api_key_env)
        and not os.environ.get(api_key_env),
    }
    for fault, is_present in faults.items():
        if is_present:
            raise OptionError(fault, hint="s2lct curate --help says what goes together")
    for name in ("base_url", "model", "api_key_env", "budget", "answers", "annotator"):
        del options[name]
    config = _config(options)
    require(*(("httpx",) if model else ()))
    key = os.environ[api_key_env] if api_key_env else None
    return curate_corpus(
        config,
        models=[LanguageModel(name, base_url, key) for name in model],
        budget=budget,
        answers=answers,
        annotator=annotator or "",
    )


@command
def capabilities(
    *,
    show: Annotated[
        str | None, typer.Option(help="Print this capability's whole specification.")
    ] = None,
    capabilities: Annotated[
        list[Path],
        typer.Option(
            exists=True,
            dir_okay=False,
            help="YAML file with a capability of your own; may be given again.",
        ),
    ] = [],  # noqa: B006
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
def verify(suite: Suite) -> list[str]:
    """Check that a built suite keeps every invariant.

    The exit status is 1, with a list, where it breaks one.
    """
    from s2lct.builder.verify import verify_suite

    return verify_suite(suite)


@command
def export(
    suite: Annotated[
        str,
        BeforeValidator(str),
        typer.Argument(help="Folder of a built suite; for lm-eval, or a Hub id."),
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
    from s2lct.files import check_output_file
    from s2lct.suite.export import export_suite

    if format == "lm-eval":
        from s2lct.suite.harness import export_lm_eval

        return export_lm_eval(suite, out, PROMPTS[0] if prompt is None else prompt)
    check_output_file(out, "--out")
    if prompt is not None:
        raise OptionError(f"--prompt: --format {format} asks nothing", hint="leave it out")
    return export_suite(Path(suite), out, format)
