"""What a build is made of: every option, checked once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from s2lct.builder.curation.verdicts import STRICTEST, Grades
from s2lct.builder.models import EMBEDDED
from s2lct.identity import SEMANTIC_VERSION
from s2lct.labels import Label, check_label_map
from s2lct.options import OnEngine, Option, Seed
from s2lct.suite.exclude import Excluded, read_excluded
from s2lct.suite.records import FormName

SST_URL = "https://nlp.stanford.edu/~socherr/stanfordSentimentTreebank.zip"
NEVER_MASKED = frozenset({"NNP", "NNPS", "UH", "FW"})
"""Tags that no neutral word of a masked language model can fill."""
NO_WORD_OF_LETTERS = frozenset({"POS"})
"""Tags that no word of letters has."""
PAPER_ONLY = frozenset({"grammar"})
"""Options that the fluent form does not have."""
MOST = 1_000_000
ALL = 0
"""Seeds of a capability: as many as there are."""
SECOND_SUITE = "2.0.0"
"""Of the suites of the embedded corpus and of SST, since every case of them is read."""
SUBJECTIVITY = "nltk:subjectivity"
SHIPPED_VERDICTS = Path(__file__).parent / "data" / "verdicts"
Count = Annotated[int, Field(ge=1, le=MOST)]
CORPUS, KEPT, MASKED = "Corpus", "What is built", "Expansions"
MODELS, RUNNING = "Models and data", "Running"


def _label_map(value: Any) -> Any:
    """What a command line gives, ``0=negative,1=positive``, as a dict."""
    return check_label_map(value) if isinstance(value, str) else value


def _number_of_seeds(value: Any) -> Any:
    return ALL if value == "all" else value


def _number_of_masks(value: Any) -> Any:
    return None if value == "any" else value


class BuildConfig(OnEngine):
    """Options of a build. Fields left out take the default of the form (``templates``)."""

    out: Annotated[Path, Option("Folder to write; must not exist yet.")]
    capabilities: Annotated[
        tuple[str, ...],
        Option(r"Build this capability; may be repeated \[default: all].", flags="--capability"),
    ] = ()
    capability_files: Annotated[
        tuple[Path, ...],
        Option(
            "YAML file with a capability of your own; may be repeated.",
            flags="--capabilities",
            path="existing file",
        ),
    ] = ()
    preset: Annotated[
        Literal["paper"] | None,
        Option("paper: SST v1, benepar_en3, bert-base-uncased, en_core_web_md, paper form."),
    ] = None
    corpus: Annotated[
        str,
        Option(
            "embedded, sst:PATH, sst:URL, hf:NAME:SPLIT, csv:PATH, jsonl:PATH or parquet:PATH "
            "(files, .gz too, or folders of them).",
            CORPUS,
        ),
    ] = EMBEDDED
    neutral: Annotated[
        str,
        Option(
            "Neutral sentences beside the corpus: nltk:subjectivity, csv:PATH and their like, or "
            r"none \[default: nltk:subjectivity beside sst, else none].",
            CORPUS,
            filled=True,
        ),
    ]
    text_column: Annotated[str | None, Option("Column with the sentences.", CORPUS)] = None
    label_column: Annotated[str | None, Option("Column with the labels.", CORPUS)] = None
    label_map: Annotated[
        dict[str, Label] | None,
        BeforeValidator(_label_map),
        Option("What labels mean: 0=negative,1=positive.", CORPUS, text=True),
    ] = None
    templates: Annotated[FormName, Option("Wording and search rules.", KEPT)] = "fluent"
    seeds: Annotated[
        int,
        Field(ge=ALL, le=MOST),
        BeforeValidator(_number_of_seeds),
        Option("Most seeds of a capability; all: every one that is found.", KEPT, text=True),
    ] = 50
    masks: Annotated[
        int,
        Field(ge=1, le=10_000),
        Option(
            r"Masked sentences drawn for a seed, the paper's k \[default: 24; paper form: 20].",
            MASKED,
            filled=True,
        ),
    ]
    masks_per_sentence: Annotated[
        Annotated[int, Field(ge=1, le=100)] | None,
        BeforeValidator(_number_of_masks),
        Option(
            r"Most masks in one sentence; any: as many as fit \[default: 2; paper form: 1].",
            MASKED,
            text=True,
            filled=True,
        ),
    ]
    mask_tags: Annotated[
        tuple[str, ...],
        Option(
            "Parts of speech that may become masks [default: all that a word can fill].",
            MASKED,
            in_python_only=True,
            filled=True,
        ),
    ]
    expansions: Annotated[
        Count,
        Option(r"Most expansions of a seed \[default: 7; paper form: 50].", MASKED, filled=True),
    ]
    seed: Annotated[Seed, Option("Seed of every random draw.", KEPT)] = 0
    parser: Annotated[
        str, Option("Constituency parser: embedded, benepar model, folder.", MODELS)
    ] = EMBEDDED
    mlm: Annotated[str, Option("Masked language model: embedded, Hub id, folder.", MODELS)] = (
        EMBEDDED
    )
    tagger: Annotated[str, Option("Tagger: embedded, spaCy pipeline, folder.", MODELS)] = EMBEDDED
    grammar: Annotated[
        Literal["reference", "none"],
        Option(
            "none: without the reference grammar, which is the ablation of the paper form; a word "
            "of any part of speech may stand anywhere.",
            MODELS,
        ),
    ] = "reference"
    exclude: Annotated[
        Path | None,
        Option(
            "JSON list of cases to leave out, such as `s2lct study import --disputed` writes.",
            KEPT,
            path="existing file",
        ),
    ] = None
    verdicts: Annotated[
        tuple[Path, ...],
        Option(
            "File of readers' verdicts: only what they passed is kept; may be repeated "
            r"\[default: what the package ships for the embedded corpus and for SST].",
            KEPT,
            path="existing file",
        ),
    ] = ()
    grades: Annotated[
        Grades,
        Option(
            "What the two best grades of naturalness that readers gave must come to: 2 for what a "
            "fluent writer could have written, 1 for what an editor would change.",
            KEPT,
        ),
    ] = STRICTEST
    unread: Annotated[
        bool, Option("Keep what nobody read: use none of the shipped verdicts.", KEPT)
    ] = False
    suite_version: Annotated[
        str,
        Field(pattern=SEMANTIC_VERSION),
        Option(
            r"Semantic version written into the suite \[default: 2.0.0 of the shipped corpora and "
            "SST, else 1.0.0].",
            KEPT,
            filled=True,
        ),
    ]
    batch_size: Annotated[
        int,
        Field(ge=1, le=65_536),
        Option("Texts a forward pass; may change the last digits of scores.", RUNNING),
    ] = 32
    overwrite: Annotated[bool, Option("Replace the suite that is in --out.", RUNNING)] = False
    plan: Annotated[bool, Option("Only say what the build will cost, by a sample.", RUNNING)] = (
        False
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in_form_defaults(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        stated = PRESETS.get(str(data.get("preset")), {}) | data
        form = str(stated.get("templates", "fluent"))
        corpus = str(stated.get("corpus", EMBEDDED))
        beside_sst = form == "fluent" and corpus.startswith("sst:")
        of_corpus = {
            "neutral": SUBJECTIVITY if beside_sst else "none",
            "suite_version": SECOND_SUITE if beside_sst or corpus == EMBEDDED else "1.0.0",
        }
        return of_corpus | form_defaults(form) | stated

    @model_validator(mode="after")
    def _check_tags(self) -> BuildConfig:
        from s2lct.builder.language.grammar import WORD_TAGS

        if unknown := set(self.mask_tags) - set(WORD_TAGS):
            raise ValueError(
                f"mask_tags: {', '.join(sorted(unknown))} are no word-level Penn Treebank tags"
            )
        return self

    @model_validator(mode="after")
    def _check_form(self) -> BuildConfig:
        if self.templates == "fluent" and self.grammar == "none":
            raise ValueError("grammar: only the paper form goes without")
        of_readers = self.verdicts or self.unread or self.grades != STRICTEST
        if self.templates == "paper" and of_readers:
            raise ValueError("verdicts, grades and unread: nobody reads the paper form")
        if self.unread and self.verdicts:
            raise ValueError("unread and verdicts: give one of them")
        if self.grades != STRICTEST and not self.verdict_files:
            raise ValueError("grades: there are no verdicts; give verdicts too")
        return self

    @property
    def takes_all(self) -> bool:
        """Whether every seed is wanted that is found."""
        return self.seeds == ALL

    @property
    def most_seeds(self) -> int:
        """How many seeds of a capability are wanted at most."""
        return MOST if self.takes_all else self.seeds

    @property
    def excluded(self) -> Excluded:
        """The cases to leave out.

        Raises:
            BuildError: their file cannot be read.
        """
        return Excluded() if self.exclude is None else read_excluded(self.exclude)

    @property
    def verdict_files(self) -> tuple[Path, ...]:
        """The files of verdicts that decide what is kept; none where nobody read the corpus."""
        if self.verdicts or self.unread or self.templates == "paper":
            return self.verdicts
        is_read = self.corpus == EMBEDDED or self.corpus.startswith("sst:")
        if not is_read or self.neutral not in ("none", SUBJECTIVITY):
            return ()
        return tuple(sorted(SHIPPED_VERDICTS.glob("*.jsonl")))

    def is_read(self, capability: str) -> bool:
        """Whether the files of verdicts were made for a capability.

        Those that are shipped were made for the shipped capabilities.
        """
        from s2lct.builder.capabilities.files import capability_files

        return bool(self.verdict_files) and (
            bool(self.verdicts) or capability in capability_files()
        )

    @property
    def result_options(self) -> dict[str, Any]:
        """The options that decide what is built, as JSON, without those that only decide how.

        The ids to leave out stand for the file they were read from.
        """
        without = {"out", "preset", "overwrite", "exclude", "verdicts", "unread"}
        without |= {"plan", *OnEngine.model_fields}
        without |= PAPER_ONLY if self.templates == "fluent" else set()
        options: dict[str, Any] = self.model_dump(mode="json", exclude=without)
        if self.excluded.ids:
            options["exclude"] = sorted(self.excluded.ids)
        return options


def form_defaults(form: str) -> dict[str, Any]:
    """Defaults that differ between the fluent and the paper's form."""
    from s2lct.builder.language.grammar import WORD_TAGS

    if form == "paper":
        return {
            "masks": 20,
            "masks_per_sentence": 1,
            "mask_tags": tuple(sorted(set(WORD_TAGS) - NEVER_MASKED - NO_WORD_OF_LETTERS)),
            "expansions": 50,
        }
    return {
        "masks": 24,
        "masks_per_sentence": 2,
        "mask_tags": tuple(sorted(set(WORD_TAGS) - NEVER_MASKED)),
        "expansions": 7,
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
