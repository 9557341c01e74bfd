"""From corpus to dataset: the stages of a build, one after the other.

This cuts the work into shards, keeps a checkpoint behind every stage, counts and reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2lct.builder import write
from s2lct.builder.build_stages import LeftOut, Models, Stages, stages_of
from s2lct.builder.built import CapabilityCounts, Suite
from s2lct.builder.capabilities.files import load_capabilities, recorded
from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.checkpoint import Checkpoints, build_folder, locked
from s2lct.builder.config import BuildConfig
from s2lct.builder.corpus.collect import Corpus, without_conflicts
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.curation.verdicts import Verdicts
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.fluent_stages import FluentStages
from s2lct.builder.language.grammar import AnyWordAnywhere, ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.sentiment_scorers import SCORERS
from s2lct.builder.neutral import read_neutral
from s2lct.builder.paper_form import PaperForm
from s2lct.builder.place import place_of
from s2lct.builder.stages import select
from s2lct.engines import Engine
from s2lct.errors import BuildError, SuiteError
from s2lct.files import sha256_of, whole_folder
from s2lct.identity import fingerprint_of, package_fingerprint
from s2lct.progress import Progress
from s2lct.ray_engine import engine_of
from s2lct.suite.read import load_suite, read_suite
from s2lct.suite.records import Family, Seed, Sentence
from s2lct.suite.tables import SUITE_FILE
from s2lct.suite.write import files_of_suite

if TYPE_CHECKING:
    from datasets import DatasetDict


def build(config: BuildConfig, progress: Progress | None = None) -> dict[str, DatasetDict]:
    """Build a suite and write it to ``config.out``.

    Interrupted at any moment, the same call goes on where it stopped and writes the same bytes.

    Args:
        config: what to build.
        progress: told how far it is.

    Returns:
        The suite, a `datasets.DatasetDict` for each config (a capability's id, or ``all``).

    Raises:
        S2lctError: something that the caller can mend; nothing is half written.
    """
    build_suite(config, progress)
    return load_suite(config.out)


def build_suite(
    config: BuildConfig, progress: Progress | None = None
) -> dict[str, CapabilityCounts]:
    """Build a suite and write it to ``config.out``; the counts of the closing table."""
    progress = progress or Progress()
    out = place_of(config.out, overwrite=config.overwrite)
    made_of = read_inputs(config, progress)
    config = made_of.config
    inputs = with_verdicts(made_of)
    files = config.verdict_files
    verdicts = Verdicts.read(files, config.grades) if files else None
    with locked(out):
        if (described := built_there(config, out, inputs)) is not None:
            return _counts_in(described)
        work = build_folder(inputs | {"out": str(out)})
        checkpoints = Checkpoints.open(work, inputs)
        suite = _made(made_of, verdicts, checkpoints, progress)
        progress.start("write", 1)
        with whole_folder(out, ours=files_of_suite(out), last=SUITE_FILE) as folder:
            write.write_suite(config, suite, made_of.corpora, inputs, folder)
        checkpoints.discard()
        progress.advance("write", note=str(config.out))
    return suite.counts


@dataclass(frozen=True)
class Inputs:
    """What a build is made of, readers' verdicts apart.

    Attributes:
        config: its options, the capabilities' ids as their files write them.
        corpora: the corpus, and the neutral sentences beside it.
        recorded: what decides what is built, as JSON: options, fingerprints, versions.
    """

    config: BuildConfig
    capabilities: Sequence[Capability]
    corpora: Sequence[Corpus]
    lexicon: Lexicon
    grammar: ReferenceGrammar
    models: Models
    recorded: dict[str, Any]

    @property
    def sentences(self) -> Sequence[Sentence]:
        """The sentences of all corpora."""
        return [sentence for corpus in self.corpora for sentence in corpus.sentences]

    @property
    def make_stages(self) -> Callable[[], Stages]:
        """Makes the stages of the paper form; it can be sent to workers, without the corpus."""
        return partial(
            stages_of, self.config, self.capabilities, self.lexicon, self.grammar, self.models
        )

    def make_fluent_stages(
        self, verdicts: Verdicts | None, capabilities: Sequence[Capability] | None = None
    ) -> Callable[[], FluentStages]:
        """Makes the stages of the fluent form; it can be sent to workers, without the corpus.

        Args:
            verdicts: of readers.
            capabilities: those to make; by default all.
        """
        return partial(
            FluentStages,
            self.config,
            self.capabilities if capabilities is None else capabilities,
            self.lexicon,
            self.grammar,
            self.models,
            verdicts,
        )


def read_inputs(config: BuildConfig, progress: Progress, models: Models | None = None) -> Inputs:
    """Read what a build is made of.

    Args:
        config: its options.
        progress: told how far it is.
        models: of these options, where the caller has them.

    Raises:
        S2lctError: something of it cannot be read or loaded.
    """
    capabilities = load_capabilities(config.capabilities, config.capability_files)
    if config.capabilities:
        config = config.model_copy(update={"capabilities": tuple(c.id for c in capabilities)})
    options = config.result_options
    lexicon = Lexicon.load()
    if config.grammar == "none":
        grammar: ReferenceGrammar = AnyWordAnywhere()
    else:
        grammar = ReferenceGrammar.load()
    progress.start("corpus", 1)
    # First what may be missing: reading the corpus can take long.
    neutral = read_neutral(
        config.neutral,
        text_column=config.text_column,
        label_column=config.label_column,
        label_map=config.label_map,
    )
    corpus = read_corpus(
        config.corpus,
        text_column=config.text_column,
        label_column=config.label_column,
        label_map=config.label_map,
    )
    corpora = without_conflicts(corpus, neutral) if neutral else [corpus]
    number = sum(len(one.sentences) for one in corpora)
    progress.advance("corpus", note=f"{number:,} sentences")
    models = models or Models(config)
    found = {
        "options": options,
        "capabilities": fingerprint_of(list(map(recorded, capabilities))),
        "corpus": corpus.fingerprint,
        "neutral": neutral.fingerprint if neutral else "",
        "lexicon": lexicon.fingerprint,
        "grammar": grammar.fingerprint,
        "scorers": [one.described for one in SCORERS.values() if config.templates == "fluent"],
        "tagger": models.tagger.fingerprint,
        "parser": models.parser.fingerprint,
        "mlm": models.mlm.fingerprint,
        "versions": write.package_versions(),
        "package": package_fingerprint(),
    }
    return Inputs(config, capabilities, corpora, lexicon, grammar, models, found)


def with_verdicts(made_of: Inputs) -> dict[str, Any]:
    """What decides what is built, readers' verdicts and all."""
    verdicts = [sha256_of(path) for path in made_of.config.verdict_files]
    return made_of.recorded | {"verdicts": verdicts}


def built_there(config: BuildConfig, out: Path, inputs: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the suite in ``out`` says of itself if it is this very build; None if there is none.

    Raises:
        BuildError: something else is there, and is not to be replaced.
    """
    if config.overwrite or not (out / SUITE_FILE).is_file():
        return None
    try:
        described = read_suite(out).described
    except SuiteError:
        described = {}
    if described.get("build_fingerprint") != fingerprint_of(inputs):
        raise BuildError(
            f"--out {config.out}: is there already, and is not this build",
            hint="choose another folder, or add --overwrite to replace it",
        )
    return described


def _counts_in(described: Mapping[str, Any]) -> dict[str, CapabilityCounts]:
    """The counts of the closing table, as a suite has them."""
    return {
        one["id"]: _counts(described["counts"][one["id"]])
        for one in described["capabilities"]
        if one["id"] in described["counts"]
    }


def _counts(counted: Mapping[str, int]) -> CapabilityCounts:
    columns = [one.name for one in fields(CapabilityCounts)]
    return CapabilityCounts(**{column: counted.get(column, 0) for column in columns})


def _made(
    inputs: Inputs, verdicts: Verdicts | None, checkpoints: Checkpoints, progress: Progress
) -> Suite:
    """Every stage up to select, and the choice of the families to publish."""
    capabilities = tuple(inputs.capabilities)
    counted: dict[str, Counter[str]] = {one.id: Counter() for one in capabilities}
    if inputs.config.templates == "paper":
        with engine_of(inputs.config, inputs.make_stages) as engine:
            return _made_in_paper_form(inputs, engine, checkpoints, progress, counted)
    rows: dict[str, list[dict[str, Any]]] = {one.id: [] for one in capabilities}
    # What nobody read is made by itself: it changes nothing of what was read.
    for name, read in (("read", verdicts), ("unread", None)):
        own = [one for one in capabilities if inputs.config.is_read(one.id) == (name == "read")]
        if not own:
            continue
        make = inputs.make_fluent_stages(read, own)
        with engine_of(inputs.config, make) as engine:
            form = FluentForm(make(), engine, checkpoints.within(name), progress)
            composed = form.families(inputs.sentences, counted)
        rows |= {id: list(write.composed_rows(some, read)) for id, some in composed.items()}
    if not any(rows.values()):
        raise _nothing_found(inputs.config)
    return Suite(capabilities, rows, _counts_of(counted))


def _made_in_paper_form(
    inputs: Inputs,
    engine: Engine[Stages],
    checkpoints: Checkpoints,
    progress: Progress,
    counted: dict[str, Counter[str]],
) -> Suite:
    capabilities = inputs.capabilities
    form = PaperForm(inputs.make_stages(), engine, checkpoints, progress)
    left_out: set[LeftOut] = set()
    found = form.found(inputs.sentences, capabilities)
    for name, one in found.items():
        counted[name]["found"] = sum(map(len, one.sentences.values()))
    seeds: list[Seed] = []
    for transformed in form.transformed(found):
        seeds += transformed.seeds
        left_out.update(transformed.left_out)
    if not seeds:
        raise _nothing_found(inputs.config)
    families: dict[str, list[Family]] = {one.id: [] for one in capabilities}
    for some, filled, validated, selected in form.expanded(seeds):
        capability_of = {one.parsed.seed.id: one.parsed.seed.capability for one in some}
        for sentence in filled:
            counts = counted[capability_of[sentence.masked.seed_id]]
            counts.update(masked=1, suggestions=len(sentence.suggestions))
        for rejected in validated.rejected:
            reason = f"rejected_{rejected.reason.name.lower()}"
            counted[rejected.capability][reason] += rejected.number
        left_out.update(validated.left_out)
        for family in selected.families:
            families[family.seed.seed.capability].append(family)

    for case in left_out:
        counted[case.capability]["excluded"] += 1
    for name, group in families.items():
        families[name], duplicates = select.without_duplicates(group)
        counted[name].update(
            duplicates=duplicates.total(),
            seeds=len(families[name]),
            expansions=sum(len(family.expansions) for family in families[name]),
        )
    rows = {name: list(write.rows(group)) for name, group in families.items()}
    return Suite(tuple(capabilities), rows, _counts_of(counted))


def _counts_of(counted: Mapping[str, Counter[str]]) -> dict[str, CapabilityCounts]:
    return {name: _counts(counts) for name, counts in counted.items()}


def _nothing_found(config: BuildConfig) -> BuildError:
    return BuildError(
        f"--corpus {config.corpus}: no capability's search found a sentence",
        hint="use a larger corpus; `s2lct capabilities --show LC2` says what is looked for",
    )
