"""What a build is made of, read and checked before its first step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.config import BuildConfig
from s2lct.builder.corpus.collect import Corpus, with_distinct_names, without_conflicts
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.domains import Domain, load_domain
from s2lct.builder.kept_models import LoadedModels
from s2lct.builder.neutral import read_neutral
from s2lct.builder.records import Sentence
from s2lct.errors import BuildError
from s2lct.identity import fingerprint_of, package_fingerprint, predicting_versions
from s2lct.progress import bar


@dataclass(frozen=True)
class Inputs:
    """What a build is made of, annotations apart.

    Attributes:
        config: its options, the capabilities' ids as their files write them.
        domain: what it speaks of.
        capabilities: what is built.
        corpora: the corpus, and the neutral sentences beside it.
        models: tagger, parser and masked language model.
        recorded: what decides what is built, as JSON: options, fingerprints, versions.
    """

    config: BuildConfig
    domain: Domain
    capabilities: Sequence[Capability]
    corpora: Sequence[Corpus]
    models: LoadedModels
    recorded: dict[str, Any]

    @property
    def sentences(self) -> Sequence[Sentence]:
        """The sentences of all corpora."""
        return [sentence for corpus in self.corpora for sentence in corpus.sentences]

    @property
    def decides_extensions(self) -> dict[str, Any]:
        """What of `recorded` decides how sentences are extended, whatever seeds they are in."""
        of_seeds = {"capabilities", "capability_files", "seeds", "expansions"}
        options = {n: v for n, v in self.recorded["options"].items() if n not in of_seeds}
        return {**self.recorded, "options": options, "capabilities": ""}


def read_inputs(config: BuildConfig) -> Inputs:
    """Read what a build is made of.

    Raises:
        S2lctError: a part of it cannot be read or loaded.
    """
    domain = load_domain(config.domain)
    capabilities = load_capabilities(config.capabilities, config.capability_files, domain)
    if config.capabilities:
        config = config.model_copy(update={"capabilities": tuple(c.id for c in capabilities)})
    progress = bar("corpus", 1)
    columns: Any = {
        "text_column": config.text_column,
        "label_column": config.label_column,
        "label_map": config.label_map,
    }
    # First what may be missing: reading the corpus can take long.
    neutral = read_neutral(config.neutral, **columns)
    models = LoadedModels(config.tagger, config.parser, config.mlm)
    corpus = read_corpus(config.corpus, **columns, cleaned=config.templates == "fluent")
    corpora = [corpus]
    if neutral:
        corpora = without_conflicts(with_distinct_names([corpus, neutral]))
    progress(1, f"{sum(len(each.sentences) for each in corpora):,} sentences")
    recorded = {
        "options": config.result_options | {"domain": domain.name},
        "capabilities": fingerprint_of([each.model_dump(mode="json") for each in capabilities]),
        "domain": fingerprint_of(domain.model_dump(mode="json")),
        "corpus": corpus.fingerprint,
        "neutral": neutral.fingerprint if neutral else "",
        "tagger": models.fingerprint("tagger"),
        "parser": models.fingerprint("parser"),
        "mlm": models.fingerprint("mlm"),
        "versions": package_versions(),
        "package": package_fingerprint(),
    }
    return Inputs(config, domain, capabilities, corpora, models, recorded)


def check_not_empty(config: BuildConfig, *, is_empty: bool) -> None:
    """Refuse a corpus of which nothing can be built.

    Raises:
        BuildError: it is empty.
    """
    if is_empty:
        raise BuildError(
            f"--corpus {config.corpus}: no capability's search found a sentence",
            hint="use a larger corpus; `s2lct capabilities --show LC2` says what is looked for",
        )


def package_versions() -> dict[str, str]:
    """Versions of the packages that decide what is built, as far as they are installed."""
    return {name: version(name) for name in ("s2lct", "datasets")} | predicting_versions()
