"""The settings of a build, with defaults filled in, checked once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from s2lct.builder.domains import FILM, NEUTRAL, load_domain
from s2lct.builder.models import EMBEDDED
from s2lct.command import option_error
from s2lct.labels import Label, check_label_map
from s2lct.suite.tables import FormName

SST_URL = "https://nlp.stanford.edu/~socherr/stanfordSentimentTreebank.zip"
NEVER_MASKED = frozenset({"NNP", "NNPS", "UH", "FW"})
"""Tags that no neutral word of a masked language model can fill."""
TAGS_WITHOUT_LETTERS = frozenset({"POS"})
"""Tags that no word of letters has."""
MAX_COUNT = 1_000_000
"""The largest count that an option takes; ``all`` seeds stand for it."""
SUITE_VERSION = "4.0.0"
"""The version of suites of the embedded corpus and of SST; the card says what changed."""
SUBJECTIVITY = "nltk:subjectivity"
"""The neutral sentences beside SST: those of NLTK's subjectivity corpus."""
SHIPPED_ANNOTATIONS = Path(__file__).parent / "data" / "annotations" / "sst.parquet"
"""The annotations of the embedded corpus and of SST that the package ships."""
REFUSED_ANNOTATIONS = SHIPPED_ANNOTATIONS.parent / "refused" / "sst.parquet"
"""Annotations of refused texts; only the repository has them, since no build needs them."""
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]


class BuildConfig(BaseModel):
    """Settings of a build; `s2lct.builder.commands.build` describes each.

    Fields left out take the default of the form (``templates``).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    out: Path
    capabilities: tuple[str, ...] = ()
    capability_files: tuple[Path, ...] = ()
    preset: Literal["paper"] | None = None
    corpus: str = EMBEDDED
    neutral: str
    text_column: str | None = None
    label_column: str | None = None
    label_map: Annotated[dict[str, Label] | None, BeforeValidator(check_label_map)] = None
    domain: str
    templates: FormName = "fluent"
    seeds: Annotated[
        Count, BeforeValidator(lambda given: MAX_COUNT if given == "all" else given)
    ] = 100
    masks: Annotated[int, Field(ge=1, le=10_000)]
    masks_per_sentence: Annotated[
        Annotated[int, Field(ge=1, le=100)] | None,
        BeforeValidator(lambda text: None if text == "any" else text),
    ]
    mask_tags: tuple[str, ...]
    expansions: Count
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    parser: str = EMBEDDED
    mlm: str = EMBEDDED
    tagger: str = EMBEDDED
    annotations: tuple[Path, ...] = ()
    unread: bool = False
    overwrite: bool = False
    engine: Literal["process", "ray"] = "process"

    @classmethod
    def checked(cls, **options: Any) -> BuildConfig:
        """Settings from keyword arguments; invalid ones raise an `OptionError` that names them."""
        try:
            return cls.model_validate(options)
        except ValidationError as error:
            raise option_error(error) from error

    @model_validator(mode="before")
    @classmethod
    def _fill_in_form_defaults(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        stated_options = PRESETS.get(str(data.get("preset")), {}) | data
        form = str(stated_options.get("templates", "fluent"))
        corpus = str(stated_options.get("corpus", EMBEDDED))
        beside_sst = form == "fluent" and corpus.startswith("sst:")
        corpus_defaults = {
            "neutral": SUBJECTIVITY if beside_sst else "none",
            "domain": FILM if corpus == EMBEDDED or corpus.startswith("sst:") else NEUTRAL,
        }
        return corpus_defaults | form_defaults(form) | stated_options

    @model_validator(mode="after")
    def _check_form(self) -> BuildConfig:
        if self.templates == "paper" and (self.annotations or self.unread):
            raise ValueError("--annotations and --unread: nobody annotates the paper form")
        if self.unread and self.annotations:
            raise ValueError("--unread and --annotations: give one of them")
        return self

    @property
    def is_user_corpus(self) -> bool:
        """Whether the corpus is a user's own, neither the embedded one nor SST."""
        return self.corpus != EMBEDDED and not self.corpus.startswith("sst:")

    @property
    def marks_allowed(self) -> int:
        """How many annotators of an accepted text may have wanted a word changed."""
        return int(self.is_user_corpus)

    @property
    def suite_version(self) -> str:
        """The version that is written into the suite; publishing gives it another."""
        beside_sst = self.templates == "fluent" and self.corpus.startswith("sst:")
        return SUITE_VERSION if beside_sst or self.corpus == EMBEDDED else "1.0.0"

    @property
    def annotation_files(self) -> tuple[Path, ...]:
        """The files of annotations that decide which cases are kept; empty without annotators."""
        if self.annotations or self.unread or self.templates == "paper":
            return self.annotations
        has_shipped_annotations = self.domain == FILM and self.neutral in ("none", SUBJECTIVITY)
        return (SHIPPED_ANNOTATIONS,) if has_shipped_annotations and not self.is_user_corpus else ()

    def is_annotated(self, capability: str) -> bool:
        """Whether the annotation files cover a capability; shipped files cover shipped ones."""
        from s2lct.builder.capabilities.files import capability_files

        if self.annotations or not self.annotation_files:
            return bool(self.annotations)
        return capability in capability_files(domain=load_domain(self.domain))

    @property
    def result_options(self) -> dict[str, Any]:
        """The options that decide the built suite, as JSON, without those on how it is built."""
        left_out = {"out", "preset", "overwrite", "annotations", "unread", "engine"}
        options = self.model_dump(mode="json", exclude=left_out)
        return options | {"seeds": "all"} if self.seeds == MAX_COUNT else options


def form_defaults(form: str) -> dict[str, Any]:
    """The defaults that differ between the fluent and the paper's form."""
    from s2lct.builder.language.tags import WORD_TAGS

    if form == "paper":
        mask_tags = WORD_TAGS - NEVER_MASKED - TAGS_WITHOUT_LETTERS
        counts = {"masks": 20, "masks_per_sentence": 1, "expansions": 50}
    else:
        mask_tags = WORD_TAGS - NEVER_MASKED
        counts = {"masks": 24, "masks_per_sentence": 2, "expansions": 7}
    return counts | {"mask_tags": tuple(sorted(mask_tags))}


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "corpus": f"sst:{SST_URL}",
        "templates": "paper",
        "parser": "benepar_en3",
        "tagger": "en_core_web_md",
        "mlm": "bert-base-uncased",
    }
}
"""The options of each preset."""
