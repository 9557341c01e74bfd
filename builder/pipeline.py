"""From corpus to suite: select, shorten, compose, extend, confirm, choose, write."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from s2lct.builder import write
from s2lct.builder.annotations import Annotations
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.config import BuildConfig
from s2lct.builder.corpus.collect import with_distinct_names, without_conflicts
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.domains import load_domain
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.inputs import Inputs
from s2lct.builder.kept_models import KeptModels, LoadedModels
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.models import EMBEDDED, parsed_sentences
from s2lct.builder.neutral import read_neutral
from s2lct.builder.records import Expansion, Family, Seed, sources_of
from s2lct.builder.stages import choose, compose, confirm, search
from s2lct.builder.stages.compose import PAIRINGS
from s2lct.builder.stages.mask import fill, mask
from s2lct.cache import Cache
from s2lct.engines import Engine, InProcess, RayEngine, ray_cluster
from s2lct.errors import BuildError, SuiteError
from s2lct.files import (
    atomic_folder,
    check_output_folder,
    finish_interrupted,
    output_lock,
    refuse_foreign_files,
    sha256_of,
)
from s2lct.identity import fingerprint_of, package_fingerprint
from s2lct.progress import bar
from s2lct.suite.read import read_suite
from s2lct.suite.tables import SUITE_FILE
from s2lct.suite.write import files_of_suite

Rows = dict[str, list[dict[str, Any]]]
SEEDS_AT_ONCE = 100
"""Of the paper's form: few enough that their fillings fit into memory."""


def build_suite(config: BuildConfig) -> dict[str, dict[str, int]]:
    """Build a suite and write it to ``config.out``; the counts of the closing table.

    Interrupted at any moment, the same call is fast as far as it was, and writes the same bytes
    on this machine; other processors change last digits of the column ``score`` alone.

    Raises:
        S2lctError: something that the caller can mend; nothing is half written.
    """
    check_output_folder(config.out, "--out", replaced=True)
    out = Path(os.path.realpath(config.out))
    finish_interrupted(out)
    if config.overwrite or not (out / SUITE_FILE).is_file():
        refuse_foreign_files(out, files_of_suite(out), option="--out")
    inputs = read_inputs(config)
    annotations = {"annotations": [sha256_of(path) for path in config.annotation_files]}
    inputs = replace(inputs, recorded=inputs.recorded | annotations)
    with output_lock(out):
        if (described := _built_before(inputs.config, out, inputs.recorded)) is not None:
            # JSON keeps names in alphabetical order, the table in that of the capabilities.
            rows = {each.id: described["counts"][each.id] for each in inputs.capabilities}
            return {id: {name: row[name] for name in write.COLUMNS} for id, row in rows.items()}
        counted: dict[str, Counter[str]] = defaultdict(Counter)
        with kept_models(inputs) as models:
            if config.templates == "paper":
                families = paper_families(inputs, models, counted)
                rows = {id: list(write.rows(group)) for id, group in families.items()}
            else:
                rows = _fluent_rows(inputs, models, counted)
        check_found(config, any(rows.values()))
        counts = write.all_counts(rows, counted)
        with atomic_folder(out, ours=files_of_suite(out)) as folder:
            write.write_suite(inputs, rows, counts, folder)
    return counts


def read_inputs(config: BuildConfig) -> Inputs:
    """Read what a build is made of.

    Raises:
        S2lctError: something of it cannot be read or loaded.
    """
    domain = load_domain(config.domain)
    capabilities = load_capabilities(config.capabilities, config.capability_files, domain)
    if config.capabilities:
        config = config.model_copy(update={"capabilities": tuple(c.id for c in capabilities)})
    options = config.result_options | {"domain": domain.name}
    lexicon = Lexicon.load()
    grammar = ReferenceGrammar.load()
    progress = bar("corpus", 1)
    columns: Any = {
        "text_column": config.text_column,
        "label_column": config.label_column,
        "label_map": config.label_map,
    }
    # First what may be missing: reading the corpus can take long.
    neutral = read_neutral(config.neutral, **columns)
    loaded = LoadedModels(config.tagger, config.parser, config.mlm)
    corpus = read_corpus(
        config.corpus,
        **columns,
        cleaned=config.templates == "fluent",
    )
    corpora = [corpus]
    if neutral:
        corpora = without_conflicts(with_distinct_names([corpus, neutral]))
    progress(1, f"{sum(len(each.sentences) for each in corpora):,} sentences")
    recorded_inputs = {
        "options": options,
        "capabilities": fingerprint_of([each.model_dump(mode="json") for each in capabilities]),
        "domain": fingerprint_of(domain.model_dump(mode="json")),
        "corpus": corpus.fingerprint,
        "neutral": neutral.fingerprint if neutral else "",
        "tagger": loaded.fingerprint("tagger"),
        "parser": loaded.fingerprint("parser"),
        "mlm": loaded.fingerprint("mlm"),
        "versions": write.package_versions(),
        "package": package_fingerprint(),
    }
    return Inputs(config, domain, capabilities, corpora, lexicon, grammar, loaded, recorded_inputs)


def check_found(config: BuildConfig, found: bool) -> None:
    """Refuse a corpus of which nothing can be built.

    Raises:
        BuildError: nothing was found.
    """
    if not found:
        raise BuildError(
            f"--corpus {config.corpus}: no capability's search found a sentence",
            hint="use a larger corpus; `s2lct capabilities --show LC2` says what is looked for",
        )


@contextmanager
def kept_models(inputs: Inputs) -> Iterator[KeptModels]:
    """The models of a build within the block, with what they predicted before.

    This process asks those that it has loaded, or workers theirs.
    """
    config = inputs.config
    with ExitStack() as opened:
        engine: Engine[LoadedModels] = InProcess(inputs.loaded)
        if config.engine == "ray":
            make = partial(LoadedModels, config.tagger, config.parser, config.mlm)
            opened.enter_context(ray_cluster())
            engine = RayEngine(make)
        yield KeptModels(inputs.loaded, engine, opened.enter_context(Cache()))


def _built_before(
    config: BuildConfig, out: Path, inputs: Mapping[str, Any]
) -> dict[str, Any] | None:
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


def _fluent_rows(inputs: Inputs, models: KeptModels, counted: Mapping[str, Counter[str]]) -> Rows:
    config = inputs.config
    annotations = None
    if config.annotation_files:
        annotations = Annotations.read(config.annotation_files, int(config.is_of_others))
        if {config.tagger, config.parser, config.mlm} != {EMBEDDED}:
            annotations.reached = None  # other models make other things of it
    rows: Rows = {capability.id: [] for capability in inputs.capabilities}
    # What nobody annotated is made by itself: it changes nothing of what was annotated.
    for annotated in (True, False):
        chosen = [each for each in inputs.capabilities if config.is_annotated(each.id) == annotated]
        if not chosen:
            continue
        read = annotations if annotated else None
        kept_as = fingerprint_of([_of_sentences(inputs.recorded), annotated])
        made_of = replace(inputs, unread=read is None)
        form = FluentForm(made_of, chosen, models, read, counted, kept_as=kept_as)
        families = fluent_families(form)
        rows |= {id: list(write.rows(group, form.annotations)) for id, group in families.items()}
    return rows


def _of_sentences(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """What of a build decides about sentences, whatever seeds are made of them."""
    of_seeds = {"capabilities", "capability_files", "seeds", "expansions"}
    options = {name: one for name, one in recorded["options"].items() if name not in of_seeds}
    return {**recorded, "options": options, "capabilities": ""}


def fluent_families(form: FluentForm) -> dict[str, list[Family]]:
    """The families of each capability."""
    seeds = form.compose_all()
    extended = form.extend(list(sources_of(seeds).values()))
    return form.choose(seeds, form.expand(seeds, extended))


def paper_families(
    inputs: Inputs, models: KeptModels, counted: Mapping[str, Counter[str]]
) -> dict[str, list[Family]]:
    """The families of each capability in the paper's form.

    ``counted`` takes how many sentences were found and expansions tried.
    """
    config, capabilities, sentences = inputs.config, inputs.capabilities, inputs.sentences
    forms = {capability.id: capability.form("paper") for capability in capabilities}
    seeds: list[Seed] = []
    progress = bar("transform", len(capabilities))
    for capability in capabilities:
        found = {
            slot: search.draw(
                sentences,
                rules,
                models.tagger,
                models.parser,
                inputs.lexicon,
                most=max(config.seeds, PAIRINGS),
                seed=config.seed,
            )
            for slot, rules in forms[capability.id].search.items()
        }
        counted[capability.id]["sentences_found"] = sum(map(len, found.values()))
        seeds += compose.seeds_in_paper_form(
            capability.id,
            forms[capability.id],
            found,
            most=config.seeds,
            seed=config.seed,
        )
        progress(1)
    chosen: dict[str, list[Expansion]] = {}
    progress = bar("expand", len(seeds))
    for start in range(0, len(seeds), SEEDS_AT_ONCE):
        batch = seeds[start : start + SEEDS_AT_ONCE]
        parsed = parsed_sentences([seed.text for seed in batch], models.tagger, models.parser)
        masked = [
            (seed, each)
            for seed, sentence in zip(batch, parsed, strict=True)
            if sentence is not None
            for each in mask(
                seed.id,
                sentence,
                inputs.grammar,
                most=config.masks,
                masks_per_sentence=config.masks_per_sentence,
                tags=config.mask_tags,
                seed=config.seed,
                paper=True,
            )
        ]
        found_words = fill([each for _, each in masked], models.mlm)
        filled = [(*both, words) for both, words in zip(masked, found_words, strict=True)]
        for seed, _, words in filled:
            counted[seed.capability]["expansions_tried"] += len(words)
        passed = confirm.confirmed_in_paper_form(filled, forms, models.tagger, inputs.lexicon)
        chosen |= choose.choose_in_paper_form(
            batch, passed, per_seed=config.expansions, seed=config.seed
        )
        progress(len(batch))
    return {
        capability.id: _without_duplicates(
            [seed for seed in seeds if seed.capability == capability.id], chosen
        )
        for capability in capabilities
    }


def _without_duplicates(
    seeds: Sequence[Seed], expansions: Mapping[str, Sequence[Expansion]]
) -> list[Family]:
    """The families of a capability, without expansions whose text is there already."""
    seen = {seed.text for seed in seeds}
    families: list[Family] = []
    for seed in seeds:
        distinct = [expansion for expansion in expansions[seed.id] if expansion.text not in seen]
        seen.update(expansion.text for expansion in distinct)
        families.append(Family(seed, tuple(distinct)))
    return families
