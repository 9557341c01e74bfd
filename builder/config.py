"""What a build is made of: every option, checked once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from s2lct.builder.models import EMBEDDED
from s2lct.errors import BuildError
from s2lct.identity import SEMANTIC_VERSION
from s2lct.labels import Label
from s2lct.suite.exclude import Excluded, read_excluded
from s2lct.suite.records import FormName

SST_URL = "https://nlp.stanford.edu/~socherr/stanfordSentimentTreebank.zip"
FLUENT_MASK_TAGS = ("JJ", "NN", "RB")
"""Parts of speech that become masks in the fluent form.

Prepositions, conjunctions, verbs and pronouns need more than one word beside them, names are not
the masked language model's to invent, and a noun that stands without a determiner does so for a
reason ("in search of"): readers stopped at most of them.
"""
MOST = 1_000_000
_OPTIONS = {"capabilities": "capability", "capability_files": "capabilities"}
Count = Annotated[int, Field(ge=1, le=MOST)]


class BuildConfig(BaseModel):
    """Options of a build. Fields left out take the default of the form (``templates``).

    Attributes:
        out: the folder to write, which must not exist yet.
        corpus: ``embedded``, ``sst:PATH``, ``sst:URL``, ``hf:NAME:SPLIT``, ``csv:PATH``,
            ``jsonl:PATH`` or ``parquet:PATH``.
        text_column, label_column, label_map: how to read a table's columns and labels.
        capabilities: ids to build; empty for all.
        capability_files: YAML files with capabilities of your own.
        templates: ``fluent`` or ``paper``.
        seeds: most seeds of a capability.
        candidates: candidate seeds for each seed kept; those that carry most expansions are kept.
        pairings: most sentences drawn for a slot.
        masks: masked sentences drawn for a seed (the paper's k).
        masks_per_sentence: most masks in a masked sentence.
        mask_order: ``random`` or ``probability``.
        mask_tags: parts of speech that may become masks.
        suggestions: words asked of the masked language model for a mask.
        suggest: ``any``, the model's first words, or ``fitting``, its first among those
            that the lexicon lets stand for the mask's part of speech.
        select: ``score``, ``random`` or ``all``.
        expansions: most expansions of a seed.
        least_score: expansions whose inserted words are less likely than this (mean natural log
            probability) are left out; None takes all.
        fluency_rules: leave out what a fluent writer does not write (`fluency.jars`).
        seed: of every random draw.
        parser, tagger, mlm: ``embedded``, or names of models.
        sentiwordnet: a SentiWordNet file to compute the lexicon from.
        reference_trees: bracketed trees to learn the reference grammar from.
        exclude: a JSON list of cases to leave out, see `exclude.read_excluded`.
        suite_version: semantic version written into the suite.
        batch_size: texts a forward pass; changes no row.
        overwrite: replace the suite that is in ``out``.
        restart: throw away what an interrupted build left.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    out: Path
    corpus: str = EMBEDDED
    text_column: str | None = None
    label_column: str | None = None
    label_map: dict[str, Label] | None = None
    capabilities: tuple[str, ...] = ()
    capability_files: tuple[Path, ...] = ()
    templates: FormName = "fluent"
    seeds: Count = 50
    candidates: Annotated[int, Field(ge=1, le=10_000)]
    pairings: Count = 500
    masks: Annotated[int, Field(ge=1, le=10_000)] = 10
    masks_per_sentence: Annotated[int, Field(ge=1, le=3)] = 2
    mask_order: Literal["random", "probability"]
    mask_tags: tuple[str, ...]
    suggestions: Annotated[int, Field(ge=1, le=1000)] = 30
    suggest: Literal["any", "fitting"]
    select: Literal["score", "random", "all"]
    expansions: Count
    least_score: Annotated[float, Field(allow_inf_nan=False)] | None
    fluency_rules: bool
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 0
    parser: str = EMBEDDED
    tagger: str = EMBEDDED
    mlm: str = EMBEDDED
    sentiwordnet: Path | None = None
    reference_trees: Path | None = None
    exclude: Path | None = None
    suite_version: Annotated[str, Field(pattern=SEMANTIC_VERSION)] = "1.0.0"
    batch_size: Annotated[int, Field(ge=1, le=65_536)] = 32
    overwrite: bool = False
    restart: bool = False

    @model_validator(mode="before")
    @classmethod
    def _fill_in_form_defaults(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        form = str(data.get("templates", "fluent"))
        return form_defaults(form) | {k: v for k, v in data.items() if v is not None}

    @model_validator(mode="after")
    def _check_tags(self) -> BuildConfig:
        from s2lct.builder.language.grammar import WORD_TAGS

        if unknown := set(self.mask_tags) - set(WORD_TAGS):
            raise ValueError(
                f"mask_tags: {', '.join(sorted(unknown))} are no word-level Penn Treebank tags"
            )
        return self

    @classmethod
    def checked(cls, **options: Any) -> BuildConfig:
        """A config from options, with faults told as one `BuildError`."""
        try:
            return cls(**options)
        except ValidationError as error:
            faults = "; ".join(
                f"--{_option(fault['loc'])}: {fault['msg']}" for fault in error.errors()
            )
            raise BuildError(faults, mend="see `s2lct build --help`") from error

    @property
    def excluded(self) -> Excluded:
        """The cases to leave out.

        Raises:
            BuildError: their file cannot be read.
        """
        return Excluded() if self.exclude is None else read_excluded(self.exclude)

    @property
    def result_options(self) -> dict[str, Any]:
        """The options that decide what is built, as JSON, without those that only decide how.

        The ids to leave out stand for the file they were read from.
        """
        without = {"out", "batch_size", "overwrite", "restart", "exclude"}
        options: dict[str, Any] = self.model_dump(mode="json", exclude=without)
        if self.excluded.ids:
            options["exclude"] = sorted(self.excluded.ids)
        return options


def _option(loc: tuple[int | str, ...]) -> str:
    """The command line's name of a field."""
    name, *rest = map(str, loc or ("options",))
    return ".".join([_OPTIONS.get(name, name).replace("_", "-"), *rest])


def form_defaults(form: str) -> dict[str, Any]:
    """Defaults that differ between the fluent and the paper's form."""
    from s2lct.builder.language.grammar import WORD_TAGS

    if form == "paper":
        return {
            "candidates": 1,
            "mask_order": "random",
            "mask_tags": tuple(sorted(WORD_TAGS)),
            "select": "all",
            "expansions": 1_000,
            "least_score": None,
            "fluency_rules": False,
            "suggest": "fitting",
        }
    return {
        "candidates": 10,
        "mask_order": "probability",
        "mask_tags": FLUENT_MASK_TAGS,
        "select": "score",
        "expansions": 12,
        "least_score": -10.0,
        "fluency_rules": True,
        "suggest": "fitting",
    }


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "corpus": f"sst:{SST_URL}",
        "templates": "paper",
        "parser": "benepar_en3",
        "tagger": "en_core_web_md",
        "mlm": "bert-base-uncased",
    }
}
