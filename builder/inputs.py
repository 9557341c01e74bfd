"""The inputs of a build, read and checked before its first step."""

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
from s2lct.builder.kept_models import LazyModels
from s2lct.builder.neutral import read_neutral
from s2lct.builder.records import Sentence
from s2lct.errors import BuildError
from s2lct.identity import fingerprint_of, package_fingerprint, predicting_versions
from s2lct.progress import bar


@dataclass(frozen=True)
class Inputs:
    """The inputs of a build, without its annotations.

    Attributes:
        config: the options of the build, with the capabilities' ids as their files write them.
        domain: the domain of the corpus.
        capabilities: the capabilities that are built.
        corpora: the corpus, and the neutral sentences beside it.
        models: tagger, parser and masked language model.
        recorded: everything that decides the built suite, as JSON: options, fingerprints, versions.
    """

    config: BuildConfig
    domain: Domain
    capabilities: Sequence[Capability]
    corpora: Sequence[Corpus]
    models: LazyModels
    recorded: dict[str, Any]

    @property
    def sentences(self) -> Sequence[Sentence]:
        """The sentences of all corpora."""
        return [sentence for corpus in self.corpora for sentence in corpus.sentences]

    @property
    def extension_settings(self) -> dict[str, Any]:
        """The part of `recorded` that decides the extensions of sentences, in whatever seeds."""
        seed_options = {"capabilities", "capability_files", "seeds", "expansions"}
        options = {
            name: value
            for name, value in self.recorded["options"].items()
            if name not in seed_options
        }
        return {**self.recorded, "options": options, "capabilities": ""}


def read_inputs(config: BuildConfig) -> Inputs:
    """Read the inputs of a build.

    Raises:
        S2lctError: one of them cannot be read or loaded.
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
    # Inputs that may be missing come first, since reading the corpus can take long.
    neutral = read_neutral(config.neutral, **columns)
    models = LazyModels(config.tagger, config.parser, config.mlm)
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
    """Refuse a corpus from which nothing can be built.

    Raises:
        BuildError: nothing was built.
    """
    if is_empty:
        raise BuildError(
            f"--corpus {config.corpus}: no capability's search found a sentence",
            hint="use a larger corpus; `s2lct capabilities --show LC2` says what is looked for",
        )


def package_versions() -> dict[str, str]:
    """The versions of the installed packages that decide the built suite."""
    return {name: version(name) for name in ("s2lct", "datasets")} | predicting_versions()
