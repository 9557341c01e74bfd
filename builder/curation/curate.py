"""Have annotated what a build would draw, what a suite gains most by first.

Whole cases are read: seeds, and of those that pass expansions and contrasts.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from s2lct.builder.annotations import BEST, AnnotationFile, Annotations
from s2lct.builder.config import BuildConfig
from s2lct.builder.curation.language_models import LanguageModel
from s2lct.builder.curation.sheets import Candidate, read_sheets, take_answers, unread, write_sheets
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.pipeline import check_found, kept_models, read_inputs
from s2lct.builder.records import (
    Expansion,
    Extended,
    Extension,
    Seed,
    sentence_id,
    sources_of,
)
from s2lct.builder.stages import choose
from s2lct.errors import BuildError
from s2lct.files import check_output_folder, output_lock
from s2lct.labels import Label
from s2lct.plain_text import ShortRepr
from s2lct.progress import bar
from s2lct.suite.annotation import Item, in_reading_order, with_traps

ITEMS_A_REQUEST = 40
ITEMS_A_BLOCK = 120
"""Read by one model, and what it passes by the next, before others are read."""
DRAWN_AGAIN = 1.25
"""Texts are drawn again when so many times as many were read as when they were last."""
LIKELY = 0.4
"""Share of texts that an annotator is expected to pass."""
FIRST_HOPES: Mapping[int | None, float] = {None: 0.3, BEST: 0.8, BEST - 1: 0.2}
"""Share that is found good, by what the first reader gave, …"""
LEAST_HOPE = 0.12
"""Of a reading: before one that brings less, texts are drawn again."""
READ_BEFORE = 3
"""… which counts like so many readings."""
CHARACTERS_A_TOKEN, TOKENS_BESIDE = 4, 30
READ_FOR_A_SEED = 7
"""Expansions of a seed that are read: of three about one is kept."""
CONTRAST_OF = (
    "The opposite of a text of the following kind, with no more words changed than had to be, so "
    "that the author's sentiment is another one: {}"
)
"""What a contrast is to show, with what its case shows."""
LIKELIEST_OF_A_SENTENCE = 8
"""Extensions of a sentence that are tried, beside those that passed."""
logger = logging.getLogger(__name__)
TIMES_ASKED = 2
"""Of an item whose answer cannot be read."""


@dataclass(frozen=True, repr=False)
class Curated(ShortRepr):
    """What was annotated and what is left.

    Attributes:
        candidates: what a build of the same options would use if all of it passed.
        annotations: what was found so far.
        sheets: what was written for annotators; none where nothing is left.
        added: how many annotations a file of answers brought.
    """

    candidates: Sequence[Candidate]
    annotations: Annotations
    sheets: tuple[Path, ...]
    added: int | None

    @property
    def left(self) -> list[Item]:
        """What another annotator has still to read."""
        return unread(self.candidates, self.annotations)


def curate(
    config: BuildConfig,
    *,
    models: Sequence[LanguageModel] = (),
    budget: int | None = None,
    answers: Path | None = None,
    annotator: str = "",
) -> Curated:
    """Collect annotations, and write sheets of what is still to be annotated.

    Whatever goes wrong, what was annotated is kept.

    Args:
        config: the options of the build that is to have the annotations. Of its files of
            annotations the first is appended to; ``out`` is the folder for sheets.
        models: language models that annotate now.
        budget: most texts that they read, all of them together; None for no limit.
        answers: a file of answers to earlier sheets.
        annotator: whose answers these are, where they do not say so; without answers, who the
            sheets are for.
    """
    check_output_folder(config.out, "--out")
    path, *others = config.annotations
    with ExitStack() as opened:
        opened.enter_context(output_lock(path, "--annotations"))
        file = AnnotationFile(path, others, int(config.is_of_others))
        for name in (annotator, *(model.name for model in models)):
            file.annotations.check_care(name)
        added = None
        if answers is not None:
            added = take_answers(answers, read_sheets(config.out), annotator, file)
        inputs = read_inputs(config)
        models_kept = opened.enter_context(kept_models(inputs))
        draw = Draw(FluentForm(inputs, inputs.capabilities, models_kept, None))
        draw.forecast(file.annotations)
        if models:
            annotate(draw, models, file, seed=config.seed, budget=budget)
        candidates = draw.candidates(file.annotations)
        sheets: list[Path] = []
        if items := unread(candidates, file.annotations, annotator):
            sheets = write_sheets(items, config.out, seed=config.seed)
    check_found(config, bool(candidates))
    return Curated(candidates, file.annotations, tuple(sheets), added)


class Draw:
    """What a build draws, and what it would draw of texts that are still to be annotated."""

    def __init__(self, form: FluentForm) -> None:
        self._form = form
        self._about = {each.id: each.raters or each.title for each in form.capabilities}

    def candidates(
        self, annotations: Annotations, without: Collection[str] = ()
    ) -> list[Candidate]:
        """Seeds, those that may still pass too, and what is made of those that passed."""
        seeds = self._hoped_for(annotations, without)
        found = self._families(self._seeds(annotations), annotations)
        return self._cases(seeds) + [each for each in found if each.item.id not in without]

    def _hoped_for(self, annotations: Annotations, without: Collection[str] = ()) -> list[Seed]:
        """Seeds that passed, and in place of those that lack, what may; capabilities in turn."""
        passed, hopeful = self._seeds(annotations), self._seeds(_Hopeful(annotations, without))
        most = self._form.inputs.config.seeds
        groups = [
            list({seed.id: seed for seed in (*seeds, *hopeful[id])}.values())[:most]
            for id, seeds in sorted(passed.items(), key=lambda item: len(item[1]))
        ]
        drawn = [seed for turn in zip_longest(*groups) for seed in turn if seed is not None]
        have = {seed.id for seeds in passed.values() for seed in seeds}
        used = Counter(text for seed in drawn if seed.id in have for text in seed.sentences)
        room = replace(self._form, annotations=annotations).most_of_suite
        left: list[Seed] = []
        for seed in drawn:
            # A sentence that is in as many seeds as it may be needs no reading in another.
            if seed.id in have or all(used[text] < room for text in seed.sentences):
                used.update(() if seed.id in have else seed.sentences)
                left.append(seed)
        return left

    def _seeds(self, annotations: Annotations) -> dict[str, list[Seed]]:
        """The seeds of each capability that pass."""
        return replace(self._form, annotations=annotations).compose_all()

    def _cases(self, seeds: Iterable[Seed]) -> list[Candidate]:
        """Whole cases; that of a bare sentence has the sentence's id."""
        found: dict[str, Candidate] = {}
        for seed in seeds:
            sentence = sentence_id(seed.sources[0].text)
            id, inside = (seed.id, sentence) if seed.template else (sentence, "")
            item = Item(id, seed.text, description=self._about[seed.capability], sentence=inside)
            kind = f"{seed.capability}: {seed.template}"
            found.setdefault(id, Candidate(item, seed.labels, kind))
        return list(found.values())

    def _families(
        self, seeds: Mapping[str, Sequence[Seed]], annotations: Annotations
    ) -> list[Candidate]:
        """The expansions of seeds, and contrasts of the seeds and of the expansions that passed."""
        config = self._form.inputs.config.model_copy(update={"expansions": READ_FOR_A_SEED})
        inputs = replace(self._form.inputs, config=config)
        form = replace(self._form, inputs=inputs, annotations=annotations, whole=False)
        expansions = form.expand(seeds, _extended(form, seeds, annotations))
        found: dict[str, Candidate] = {}

        def add(case: Seed | Expansion, shows: str, labels: Sequence[Label]) -> None:
            sentence = case.extension.id if isinstance(case, Expansion) else ""
            item = Item(case.id, case.text, description=shows, sentence=sentence)
            if annotations.state(case.id, labels) != "refused":
                kind = f"{type(case).__name__}: {shows}"
                found.setdefault(case.id, Candidate(item, labels, kind))

        for group in form.choose(seeds, expansions).values():
            for family in group:
                shows = self._about[family.seed.capability]
                for case in family.expansions:
                    add(case, shows, family.seed.labels)
                labels = family.labels_of_contrasts
                for id, contrast in family.contrasts.items():
                    if id == family.seed.id or annotations.passes(id, family.seed.labels):
                        add(contrast, CONTRAST_OF.format(shows), labels)
        return list(found.values())

    def forecast(self, annotations: Annotations) -> None:
        """Tell how much is to be read for about how many cases, and what will be nearly empty."""
        seeds: dict[str, list[Seed]] = {each.id: [] for each in self._form.capabilities}
        for seed in (hoped_for := self._hoped_for(annotations)):
            seeds[seed.capability].append(seed)
        made = self._cases(hoped_for) + self._families(seeds, _Hopeful(annotations, ()))
        items = unread(made, annotations)
        tokens = sum(len(item.text) / CHARACTERS_A_TOKEN + TOKENS_BESIDE for item in items)
        readings, tokens = len(items) * (1 + LIKELY), tokens * (1 + LIKELY)
        told = f"about {readings:,.0f} readings ({tokens:,.0f} tokens of language models)"
        logger.warning("%s for %.0f cases", told, len(made) - len(items) * (1 - LIKELY**2))
        config = self._form.inputs.config
        few = [f"{id} {len(some)}" for id, some in seeds.items() if len(some) < config.seeds / 2]
        if few and config.is_of_others:
            told = f"few sentences fit, for {config.seeds} seeds each: {', '.join(few)}"
            logger.warning("%s; LC1 and LC5 need neutral ones: --neutral csv:FILE", told)


class _Hopeful(Annotations):
    """Annotations by which all passes that is not refused, apart from some ids."""

    is_hopeful = True

    def __init__(self, annotations: Annotations, without: Collection[str]) -> None:
        super().__init__(())
        self._annotations = annotations
        self._without = annotations.in_faulty_cases.union(without)

    def passes(self, id: str, labels: Collection[Label]) -> bool:
        """Whether it may still pass; see `Annotations.passes`."""
        return id not in self._without and self._annotations.state(id, labels) != "refused"


def _extended(
    form: FluentForm, seeds: Mapping[str, Sequence[Seed]], annotations: Annotations
) -> dict[str, list[Extended]]:
    """Extensions of the seeds' sentences: the likeliest, and those that passed."""
    used = sources_of(seeds)

    def is_good(extension: Extension, label: Label) -> bool:
        return not annotations.is_hopeful and annotations.passes(extension.id, {label})

    def tried(extension: Extension, label: Label) -> bool:
        if is_good(extension, label):
            return True
        is_open = annotations.state(extension.id, {label}) == "open"
        return is_open and extension.origin != "phrase" and extension.second is None

    left: dict[str, list[Extended]] = {}
    for confirmed in form.confirmed(list(used.values()), tried):
        labels = {text: used[text].sentence.label for text in confirmed}
        good, others = (
            choose.that_leave_label(
                {
                    text: [each for each in some if is_good(each.extension, labels[text]) == read]
                    for text, some in confirmed.items()
                },
                annotated=read,
                scored=form.models.scores,
            )
            for read in (True, False)
        )
        for text, some in others.items():
            likeliest = sorted(some, key=lambda each: each.extension.likeliest_first)
            likeliest = [*likeliest[:LIKELIEST_OF_A_SENTENCE], *good[text]]
            left[text] = list({each.extension.text: each for each in likeliest}.values())
    return left


def annotate(
    draw: Draw,
    models: Sequence[LanguageModel],
    file: AnnotationFile,
    *,
    seed: int,
    budget: int | None = None,
) -> None:
    """Have models annotate, block after block, what most probably passes, until nothing is left.

    What passes is learned on the way: of each wording, of expansions and of contrasts, and of what
    the first annotator found good or marked. Of a block the first model annotates everything, the
    others what it found good. The file takes their annotations after every request; what stands in
    it is not asked again. The ``budget`` is of all models together, traps aside.
    """
    unanswered: set[str] = set()
    hopes = Hopes()
    left = most = sys.maxsize if budget is None else budget
    names = {model.name for model in models}
    draw_at = 0.0
    while left > 0:
        if is_new := most - left >= draw_at:
            candidates = draw.candidates(file.annotations, unanswered)
            draw_at = DRAWN_AGAIN * (most - left) or 1
        open_ones = [
            each
            for each in candidates
            if file.annotations.state(each.item.id, each.labels) == "open"
            and each.item.id not in unanswered
            and names - {one.annotator for one in file.annotations.of(each.item.id)}
        ]
        if not open_ones and is_new:
            return
        open_ones.sort(key=lambda each: -hopes.of(each, file.annotations))
        worth = [each for each in open_ones if hopes.of(each, file.annotations) >= LEAST_HOPE]
        if not worth and not is_new:
            draw_at = 0  # what passed meanwhile may be worth more
            continue
        block = (worth or open_ones)[: min(ITEMS_A_BLOCK, max(1, left // len(models)))]
        marked = [each for each in block if _grade(each, file.annotations) == BEST - 1]
        for model in models:
            before = file.annotations
            if model is not models[0]:
                block = [each for each in block if _grade(each, before) == BEST] + marked
            if items := unread(block, before, model.name)[:left]:
                left -= len(items)
                unanswered |= _ask(items, model, file, seed=seed)
                hopes.learn(block, before, file.annotations)


class Hopes:
    """How probably a text passes, learned from those of its kind that were read before."""

    def __init__(self) -> None:
        self._read: Counter[tuple[str, int | None]] = Counter()
        self._good: Counter[tuple[str, int | None]] = Counter()

    def of(self, candidate: Candidate, annotations: Annotations) -> float:
        """What a reading of a candidate brings: the share of a case, about."""
        kind = candidate.kind, _grade(candidate, annotations)
        known = FIRST_HOPES[kind[1]] * READ_BEFORE
        share = (self._good[kind] + known) / (self._read[kind] + READ_BEFORE)
        return share if kind[1] is not None else share / (1 + share)

    def learn(
        self, candidates: Iterable[Candidate], before: Annotations, after: Annotations
    ) -> None:
        """Take in what readers found of candidates; the first of two counts if it is the best."""
        for each in candidates:
            if len(after.of(each.item.id)) > len(before.of(each.item.id)):
                kind = each.kind, _grade(each, before)
                self._read[kind] += 1
                is_good = after.state(each.item.id, each.labels) != "refused"
                is_best = kind[1] is not None or _grade(each, after) == BEST
                self._good[kind] += is_good and is_best


def _grade(candidate: Candidate, annotations: Annotations) -> int | None:
    """The worst grade of a candidate; None if nobody has read it."""
    return min((one.natural for one in annotations.of(candidate.item.id)), default=None)


def _ask(
    items: Sequence[Item], model: LanguageModel, file: AnnotationFile, *, seed: int
) -> set[str]:
    """Have a model annotate items; the ids of those without a readable answer."""
    progress = bar(model.name, len(items))
    left = in_reading_order(items, seed)
    for _ in range(TIMES_ASKED):
        wanted, left = left, []
        for start in range(0, len(wanted), ITEMS_A_REQUEST):
            batch = wanted[start : start + ITEMS_A_REQUEST]
            found = model.annotate(with_traps(batch, seed))
            if not found and not any(each.annotator == model.name for each in file.all):
                raise BuildError(
                    f"{model.name}: no line of its answer to {len(batch)} texts could be read",
                    hint="choose a model that follows instructions; what was read is kept",
                )
            file.append(found)
            file.annotations.check_care(model.name)
            answered = {each.id for each in found}
            left += [item for item in batch if item.id not in answered]
            progress(sum(item.id in answered for item in batch))
    return {item.id for item in left}
