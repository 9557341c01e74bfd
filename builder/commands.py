"""Building a suite, and looking at one: a function a command, which takes its options by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from s2lct.builder.config import BuildConfig
from s2lct.options import Argument, Count, Option, Options, takes
from s2lct.progress import Bars, Progress

if TYPE_CHECKING:
    from s2lct.builder.built import CapabilityCounts
    from s2lct.builder.capabilities.schema import Capability
    from s2lct.builder.curate import Curated
    from s2lct.builder.curation.agreement import Agreement
    from s2lct.builder.models.inventory import ModelEntry
    from s2lct.builder.plan import Plan

SUITE = "Folder of a built suite."


@dataclass(frozen=True)
class Built:
    """A suite that was written, or planned.

    Attributes:
        config: its options, those that were not given filled in.
        counts: what happened to each capability on the way; empty if the suite was only planned.
        plan: what it will cost, if that alone was asked for (``config.plan``).
    """

    config: BuildConfig
    counts: dict[str, CapabilityCounts]
    plan: Plan | None = None

    @property
    def unread(self) -> list[str]:
        """The capabilities whose cases no readers' verdicts chose."""
        return [name for name in self.counts if not self.config.is_read(name)]

    @property
    def tried(self) -> int:
        """How many extensions there were to choose from."""
        return sum(count.suggestions for count in self.counts.values())

    @property
    def unlikely(self) -> int:
        """How many of them nobody read and were too unlikely."""
        return sum(count.rejected_unlikely for count in self.counts.values())

    @property
    def moving(self) -> int:
        """How many of them moved the sentiment."""
        return sum(count.rejected_sentiment for count in self.counts.values())

    @property
    def left_out(self) -> int:
        """How many cases of ``config.exclude`` were met."""
        return sum(count.excluded for count in self.counts.values())


@takes(BuildConfig)
def build(config: BuildConfig, bars: Bars) -> Built:
    """Build a suite of linked seeds and expansions.

    It is a Hugging Face dataset. Interrupted, the same command goes on where it stopped.
    """
    if config.plan:
        from s2lct.builder.plan import plan_of

        return Built(config, {}, plan_of(config, Progress(bars)))
    from s2lct.builder.pipeline import build_suite

    return Built(config, build_suite(config, Progress(bars)))


READERS = "Who reads"
LONGEST_NAME = 100


OF_A_BUILD = Option("Of a build alone.", in_python_only=True)


class CurateOptions(BuildConfig):
    """Options of `curate`: those of the build that is to have the verdicts, and who reads."""

    out: Annotated[Path, Option("Folder for the sheets; may hold earlier ones.")]
    verdicts: Annotated[
        tuple[Path, ...],
        Field(min_length=1),
        Option("File that verdicts are appended to; given again, others that are only read."),
    ]
    plan: Annotated[Literal[False], OF_A_BUILD] = False
    engine: Annotated[Literal["process"], OF_A_BUILD] = "process"
    address: Annotated[None, OF_A_BUILD] = None
    workers: Annotated[None, OF_A_BUILD] = None
    gpus_per_worker: Annotated[Literal[0], OF_A_BUILD] = 0
    base_url: Annotated[
        str,
        Field(pattern=r"^(https?://.+)?$"),
        Option("OpenAI-compatible server of language models that read, up to /v1.", READERS),
    ] = ""
    model: Annotated[
        tuple[str, ...],
        Field(max_length=2),
        Option("Model at --base-url; given again, a second that reads what it passes.", READERS),
    ] = ()
    api_key_env: Annotated[
        str, Option("Environment variable that holds the server's key.", READERS)
    ] = ""
    answers: Annotated[
        Path | None,
        Option("Filled sheet, CSV or JSON lines: id, label, natural, relevant.", READERS),
    ] = None
    reader: Annotated[
        str,
        Field(max_length=LONGEST_NAME),
        Option("Who gave the --answers; without them, who the sheets are for.", READERS),
    ] = ""

    @model_validator(mode="after")
    def _check_readers(self) -> CurateOptions:
        if self.templates != "fluent":
            raise ValueError("templates: only the fluent form is curated")
        if bool(self.base_url) != bool(self.model):
            raise ValueError("base_url and model: give both or neither")
        if self.api_key_env and not self.base_url:
            raise ValueError("api_key_env: give base_url and model too")
        if any(not 0 < len(name) <= LONGEST_NAME for name in self.model):
            raise ValueError(f"model: a name has 1 to {LONGEST_NAME} characters")
        if len(set(self.model)) < len(self.model):
            raise ValueError("model: two readers must be two models")
        if self.answers is not None and not self.reader:
            raise ValueError("answers: give reader too, who gave them")
        if self.base_url and self.reader:
            raise ValueError("reader: give it without base_url; a model is called as it is")
        return self

    @property
    def build_config(self) -> BuildConfig:
        """The options that it shares with a build."""
        return BuildConfig.model_construct(
            **{name: getattr(self, name) for name in BuildConfig.model_fields}
        )


@takes(CurateOptions)
def curate(options: CurateOptions, bars: Bars) -> Curated:
    """Have people or language models read what a build would draw.

    People fill the sheets that it writes; language models read at once.
    `build --verdicts` keeps what two readers passed.
    """
    from s2lct.builder.curate import LanguageModels
    from s2lct.builder.curate import curate as curate_corpus

    models = None
    if options.base_url:
        models = LanguageModels(options.base_url, options.model, options.api_key_env)
    return curate_corpus(
        options.build_config,
        models=models,
        answers=options.answers,
        reader=options.reader,
        bars=bars,
    )


class AgreementOptions(Options):
    """Options of `agreement`."""

    verdicts: Annotated[
        tuple[Path, ...], Argument("Files of readers' verdicts.", path="existing file")
    ]


@takes(AgreementOptions)
def agreement(options: AgreementOptions, bars: Bars) -> Agreement:
    """Say how far readers of a suite's sentences and cases agree.

    Labels and grades of naturalness, with Krippendorff's α.
    """
    from s2lct.builder.curation.agreement import agreement as agreement_of
    from s2lct.builder.curation.verdicts import Verdicts
    from s2lct.extras import require

    require("krippendorff")
    return agreement_of(Verdicts.read(options.verdicts))


class CapabilitiesOptions(Options):
    """Options of `capabilities`."""

    show: Annotated[str | None, Option("Print this capability's whole specification.")] = None
    yaml: Annotated[bool, Option("With --show: print the file, to start your own from.")] = False
    files: Annotated[
        tuple[Path, ...],
        Option(
            "YAML file with a capability of your own; may be repeated.",
            flags="--capabilities",
            path="existing file",
        ),
    ] = ()


@takes(CapabilitiesOptions)
def capabilities(options: CapabilitiesOptions, bars: Bars) -> list[tuple[Capability, Path]]:
    """List the capabilities, or print what one is."""
    from s2lct.builder.capabilities.files import capability_files, load_capabilities

    chosen = load_capabilities(() if options.show is None else (options.show,), options.files)
    files = capability_files(options.files)
    return [files[capability.id] for capability in chosen]


class InspectOptions(Options):
    """Options of `inspect`."""

    suite: Annotated[Path, Argument(SUITE)]
    capability: Annotated[tuple[str, ...], Option("Only this capability; may be repeated.")] = ()
    n: Annotated[Count, Option("Seeds of each capability.", flags="--n")] = 5


@takes(InspectOptions)
def inspect(options: InspectOptions, bars: Bars) -> dict[str, list[list[dict[str, Any]]]]:
    """Show seeds with their expansions, inserted words marked."""
    from s2lct.suite.inspect import families

    return families(options.suite, options.capability, options.n)


class VerifyOptions(Options):
    """Options of `verify`."""

    suite: Annotated[Path, Argument(SUITE)]


@takes(VerifyOptions)
def verify(options: VerifyOptions, bars: Bars) -> list[str]:
    """Check that a built suite keeps every invariant.

    The exit status is 1, with a list, where it breaks one.
    """
    from s2lct.builder.verify import verify_suite

    return verify_suite(options.suite)


class ExportOptions(Options):
    """Options of `export`."""

    suite: Annotated[Path, Argument("Folder of a built suite; for lm-eval, or a Hub id.")]
    out: Annotated[Path, Option("File to write; for lm-eval, a folder.")]
    format: Annotated[
        Literal["jsonl", "csv", "checklist", "lm-eval"],
        Option(
            "jsonl, csv, checklist (its test cases as JSON), or lm-eval (tasks of "
            "lm-evaluation-harness)."
        ),
    ] = "jsonl"
    prompt: Annotated[
        str | None,
        Option(r"With lm-eval: what is asked, with {text}; \n is a new line."),
    ] = None

    @model_validator(mode="after")
    def _check_out(self) -> ExportOptions:
        if self.format != "lm-eval" and self.out.is_dir():
            raise ValueError(f"--out {self.out}: is a folder; name a file")
        if self.format != "lm-eval" and self.prompt is not None:
            raise ValueError(f"--prompt: --format {self.format} asks nothing; leave it out")
        return self


@takes(ExportOptions)
def export(options: ExportOptions, bars: Bars) -> int:
    """Write a suite as one file, or as lm-evaluation-harness tasks."""
    from s2lct.labels import TASK
    from s2lct.suite.export import export_suite

    if options.format == "lm-eval":
        from s2lct.suite.harness import export_lm_eval

        prompt = TASK.prompt if options.prompt is None else options.prompt
        return export_lm_eval(options.suite, options.out, prompt)
    return export_suite(options.suite, options.out, options.format)


class ModelsOptions(Options):
    """`models` has none."""


@takes(ModelsOptions)
def models(options: ModelsOptions, bars: Bars) -> list[ModelEntry]:
    """List the models that suites are built with.

    With sizes, sources, licences and figures.
    """
    from s2lct.builder.models.inventory import inventory

    return inventory()
