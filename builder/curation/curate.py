"""Curation: collect annotations of the seeds of a build, then of the cases of accepted seeds."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from s2lct.builder.annotations import AnnotationFile, Annotations
from s2lct.builder.config import BuildConfig
from s2lct.builder.curation.language_models import LanguageModel
from s2lct.builder.curation.sheets import (
    Candidate,
    import_answers,
    items_to_annotate,
    read_sheets,
    write_sheets,
)
from s2lct.builder.inputs import Inputs, check_not_empty, read_inputs
from s2lct.builder.kept_models import CachedModels
from s2lct.builder.pipeline import draw_seeds, extend_batches, kept_models, slots_with_candidates
from s2lct.builder.records import Case, Expansion, Seed, sentence_id
from s2lct.builder.rules import BuildRules, curation_rules, rules_with_annotators, with_annotations
from s2lct.builder.stages.choose import choose
from s2lct.builder.stages.contrast import contrast
from s2lct.builder.stages.expand import expand
from s2lct.builder.stages.extend import sources_of
from s2lct.builder.stages.keep import families_of
from s2lct.errors import BuildError
from s2lct.files import check_output_folder, output_lock
from s2lct.labels import Label
from s2lct.plain_text import ShortRepr
from s2lct.progress import bar
from s2lct.suite.annotation import Item, shuffled, with_traps

ITEMS_PER_REQUEST = 40
CASES_PER_ROUND = 400
"""The number of texts that all models annotate before further texts are drawn."""
SHARE_ACCEPTED = 0.4
"""The share of texts that an annotator is expected to accept."""
CHARACTERS_PER_TOKEN, TOKENS_PER_TEXT = 4, 30
"""For a price estimate: the length of a token, and the tokens of a question beside its text."""
EXPANSIONS_READ_PER_SEED = 7
"""The number of expansions to annotate per seed, of which about a third is accepted."""
ATTEMPTS_PER_ITEM = 2
"""How often a model is asked about an item if its answers cannot be read."""
CONTRAST_OF = (
    "The opposite of a text of the following kind, with no more words changed than had to be, so "
    "that the author's sentiment is another one: {}"
)
"""The description of a contrast, with the description of its case for ``{}``."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Curated(ShortRepr):
    """The result of curation: all annotations, and the items that still need some.

    Attributes:
        candidates: the texts that a build would use if annotators accepted all of them.
        annotations: all annotations so far.
        sheets: the sheets that were written for annotators; empty if nothing is left.
        added: the number of annotations that a file of answers added; None without a file.
    """

    candidates: Sequence[Candidate]
    annotations: Annotations
    sheets: tuple[Path, ...]
    added: int | None

    @property
    def left(self) -> list[Item]:
        """The items that still need an annotation."""
        return items_to_annotate(self.candidates, self.annotations)


def curate(
    config: BuildConfig,
    *,
    models: Sequence[LanguageModel] = (),
    budget: int | None = None,
    answers: Path | None = None,
    annotator: str = "",
) -> Curated:
    """Collect annotations, and write sheets of the items that still need some.

    After any error, all annotations so far are in the file.

    Args:
        config: the options of the build that will use the annotations. New ones are appended to
            its first file of annotations; ``out`` is the folder for sheets.
        models: language models that annotate now.
        budget: the maximum number of texts for all models together; None for no limit.
        answers: a file of answers to earlier sheets.
        annotator: the annotator of answers that name none; without answers, the annotator for
            whom the sheets are.
    """
    check_output_folder(config.out, "--out")
    path, *others = config.annotations
    with ExitStack() as opened:
        opened.enter_context(output_lock(path, "--annotations"))
        file = AnnotationFile(path, others, config.marks_allowed)
        for name in (annotator, *(model.name for model in models)):
            file.annotations.check_care(name)
        added = None
        if answers is not None:
            added = import_answers(answers, read_sheets(config.out), annotator, file)
        inputs = read_inputs(config)
        draw = Draw(inputs, opened.enter_context(kept_models(inputs)))
        draw.tell_price(file)
        if models:
            annotate(draw, models, file, seed=config.seed, budget=budget)
        candidates = draw.candidates(file)
        sheets: list[Path] = []
        if items := items_to_annotate(candidates, file.annotations, annotator):
            sheets = write_sheets(items, config.out, seed=config.seed)
    check_not_empty(config, is_empty=not candidates)
    return Curated(candidates, file.annotations, tuple(sheets), added)


class Draw:
    """Draws the cases of a build in which annotators accept all texts that are still open."""

    def __init__(self, inputs: Inputs, models: CachedModels) -> None:
        self._inputs, self._models = inputs, models
        self._forms = {each.id: each.form("fluent") for each in inputs.capabilities}
        self._shows = {each.id: each.raters or each.title for each in inputs.capabilities}
        of_build = inputs.config, inputs.domain, inputs.sentences
        self._rules = rules_with_annotators(*of_build, Annotations())

    def candidates(
        self, file: AnnotationFile, unanswered: Collection[str] = frozenset()
    ) -> list[Candidate]:
        """Accepted and open seeds, and the cases of accepted seeds.

        Args:
            file: the annotations.
            unanswered: ids of texts for which models gave no readable answer.
        """
        rules = self._curation_rules(file, unanswered)
        accepted = self._accepted_seeds(file)
        seeds = self._with_undecided(accepted, rules)
        cases = self._cases(accepted, rules, file.annotations)
        return self._of_seeds(seeds) + [each for each in cases if each.item.id not in unanswered]

    def tell_price(self, file: AnnotationFile) -> None:
        """Log the estimated number of annotations and cases, and capabilities with few seeds."""
        rules, config = self._curation_rules(file), self._inputs.config
        seeds = self._with_undecided(self._accepted_seeds(file), rules)
        by_capability: dict[str, list[Seed]] = {id: [] for id in self._forms}
        for seed in seeds:
            by_capability[seed.capability].append(seed)
        candidates = self._of_seeds(seeds) + self._cases(by_capability, rules, rules.annotations)
        items = items_to_annotate(candidates, file.annotations)
        tokens = sum(len(item.text) / CHARACTERS_PER_TOKEN + TOKENS_PER_TEXT for item in items)
        logger.warning(
            "about %s readings (%s tokens of language models) for %.0f cases",
            f"{len(items) * (1 + SHARE_ACCEPTED):,.0f}",
            f"{tokens * (1 + SHARE_ACCEPTED):,.0f}",
            len(candidates) - len(items) * (1 - SHARE_ACCEPTED**2),
        )
        few = [f"{id} {len(of)}" for id, of in by_capability.items() if len(of) < config.seeds / 2]
        if few and config.is_user_corpus:
            logger.warning(
                "few sentences fit, for %s seeds each: %s; LC1 and LC5 need neutral ones: "
                "--neutral csv:FILE",
                config.seeds,
                ", ".join(few),
            )

    def _curation_rules(
        self, file: AnnotationFile, unanswered: Collection[str] = frozenset()
    ) -> BuildRules:
        config = self._inputs.config
        annotations = Annotations(
            file.all,
            config.marks_allowed,
            accepts_undecided=True,
            left_out=file.annotations.in_faulty_cases.union(unanswered),
        )
        rules = with_annotations(self._rules, file.annotations)
        rules = replace(rules, expansions=EXPANSIONS_READ_PER_SEED)
        return curation_rules(rules, annotations, is_user_corpus=config.is_user_corpus)

    def _accepted_seeds(self, file: AnnotationFile) -> dict[str, list[Seed]]:
        return self._seeds(with_annotations(self._rules, file.annotations))

    def _seeds(self, rules: BuildRules) -> dict[str, list[Seed]]:
        capabilities = self._inputs.capabilities
        slots = slots_with_candidates(self._inputs.sentences, capabilities, rules)
        return draw_seeds(slots, capabilities, self._models, rules)

    def _with_undecided(
        self, accepted: Mapping[str, Sequence[Seed]], rules: BuildRules
    ) -> list[Seed]:
        """Accepted seeds, filled up with open seeds; the capabilities take turns."""
        undecided_seeds = self._seeds(rules)
        groups = [
            list({seed.id: seed for seed in (*seeds, *undecided_seeds[id])}.values())[: rules.seeds]
            for id, seeds in sorted(accepted.items(), key=lambda item: len(item[1]))
        ]
        drawn = [seed for turn in zip_longest(*groups) for seed in turn if seed is not None]
        accepted_ids = {seed.id for seeds in accepted.values() for seed in seeds}
        used = Counter(text for seed in drawn if seed.id in accepted_ids for text in seed.sentences)
        seeds: list[Seed] = []
        for seed in drawn:
            if seed.id not in accepted_ids:
                # A sentence that is in as many seeds as it may be needs no reading in another.
                if any(used[text] >= rules.max_seeds_of_sentence for text in seed.sentences):
                    continue
                used.update(seed.sentences)
            seeds.append(seed)
        return seeds

    def _of_seeds(self, seeds: Iterable[Seed]) -> list[Candidate]:
        """Candidates for seeds; a seed that is a bare sentence has the id of the sentence."""
        candidates: dict[str, Candidate] = {}
        for seed in seeds:
            sentence = sentence_id(seed.sources[0].text)
            id, inside = (seed.id, sentence) if seed.template else (sentence, "")
            item = Item(id, seed.text, description=self._shows[seed.capability], sentence=inside)
            candidates.setdefault(id, Candidate(item, seed.labels))
        return list(candidates.values())

    def _cases(
        self, seeds: Mapping[str, Sequence[Seed]], rules: BuildRules, accepted: Annotations
    ) -> list[Candidate]:
        """Candidates for expansions that nobody refused, and for contrasts of accepted cases."""
        models, sources = self._models, sources_of(seeds)
        extended = {
            sources[number].text: extensions
            for number, (_, extensions) in extend_batches(sources, models, rules)
        }
        expansions = expand(seeds, extended, self._forms, rules)
        chosen = choose(
            [[seed.id for seed in group] for group in seeds.values()], expansions, rules
        )
        contrasts = contrast(seeds, chosen, self._forms, self._inputs.sentences, models, rules)
        candidates: dict[str, Candidate] = {}

        def add(case: Case, shows: str, labels: Sequence[Label]) -> None:
            sentence = case.extension.id if isinstance(case, Expansion) else ""
            item = Item(case.id, case.text, description=shows, sentence=sentence)
            if rules.annotations.state(case.id, labels) != "refused":
                candidates.setdefault(case.id, Candidate(item, labels))

        for id, group in seeds.items():
            shows = self._shows[id]
            for family in families_of(group, chosen, contrasts, rules.annotations):
                for case in family.expansions:
                    add(case, shows, family.seed.labels)
                for case_id, opposite in family.contrasts.items():
                    if case_id == family.seed.id or accepted.accepts(case_id, family.seed.labels):
                        add(opposite, CONTRAST_OF.format(shows), family.labels_of_contrasts)
        return list(candidates.values())


def annotate(
    draw: Draw,
    models: Sequence[LanguageModel],
    file: AnnotationFile,
    *,
    seed: int,
    budget: int | None = None,
) -> None:
    """Have models annotate in rounds until no item is open; refused items are not annotated again.

    Annotations are appended to the file after every request, and no item is annotated twice by one
    model. The ``budget`` is for all models together, without traps.
    """
    unanswered: set[str] = set()
    budget_left = sys.maxsize if budget is None else budget
    while budget_left > 0:
        candidates = [
            each
            for each in draw.candidates(file, unanswered)
            if any(items_to_annotate([each], file.annotations, model.name) for model in models)
        ]
        if not candidates:
            return
        drawn = candidates[: min(CASES_PER_ROUND, max(1, budget_left // len(models)))]
        for model in models:
            drawn = [each for each in drawn if each.item.id not in unanswered]
            if items := items_to_annotate(drawn, file.annotations, model.name)[:budget_left]:
                budget_left -= len(items)
                unanswered |= _ask(items, model, file, seed=seed)


def _ask(
    items: Sequence[Item], model: LanguageModel, file: AnnotationFile, *, seed: int
) -> set[str]:
    """Have a model annotate items; return the ids of those without a readable answer."""
    progress = bar(model.name, len(items))
    waiting = shuffled(items, seed)
    for _ in range(ATTEMPTS_PER_ITEM):
        requested, waiting = waiting, []
        for start in range(0, len(requested), ITEMS_PER_REQUEST):
            batch = requested[start : start + ITEMS_PER_REQUEST]
            annotations = model.annotate(with_traps(batch, seed))
            if not annotations and not any(each.annotator == model.name for each in file.all):
                raise BuildError(
                    f"{model.name}: no line of its answer to {len(batch)} texts could be read",
                    hint="choose a model that follows instructions; what was read is kept",
                )
            file.append(annotations)
            file.annotations.check_care(model.name)
            answered = {each.id for each in annotations}
            waiting += [item for item in batch if item.id not in answered]
            progress(sum(item.id in answered for item in batch))
    return {item.id for item in waiting}
