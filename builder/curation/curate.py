"""Have annotated what a build would draw, in three rounds.

First the sentences, whole and shortened; then the cases made of sentences that passed; then whole
cases with something inserted, and contrasts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from s2lct.builder.annotations import AnnotationFile, Annotations
from s2lct.builder.config import BuildConfig
from s2lct.builder.curation.families import families
from s2lct.builder.curation.language_models import LanguageModel
from s2lct.builder.curation.sheets import (
    ROUNDS,
    Candidate,
    Round,
    in_reading_order,
    read_sheets,
    take_answers,
    unread,
    with_traps,
    write_sheets,
)
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.pipeline import check_found, kept_models, read_inputs
from s2lct.builder.records import Seed, sentence_id
from s2lct.errors import BuildError
from s2lct.files import check_folder_out, locked
from s2lct.labels import Label
from s2lct.progress import bar
from s2lct.suite.annotation import Item

SPARE = 2
"""Seeds whose parts are handed out, for each that a build still lacks: some are refused."""
ITEMS_A_REQUEST = 40
TIMES_ASKED = 2
"""Of an item whose answer cannot be read."""


@dataclass(frozen=True)
class DrawnRound:
    """The texts of a round that are not refused.

    Attributes:
        round: which.
        candidates: what a build of the same options would use if all of it passed; unless it did,
            also what takes the place of what is refused.
        annotations: what was found so far.
    """

    round: Round
    candidates: Sequence[Candidate]
    annotations: Annotations

    def left(self, annotator: str = "") -> list[Item]:
        """What another annotator, or a certain one, has still to read."""
        return unread(self.candidates, self.annotations, annotator)

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to annotate."""
        return not self.left()


@dataclass(frozen=True)
class Curated:
    """What was annotated and what is left.

    Attributes:
        rounds: up to the first that is not finished; the later ones are of what passes it.
        sheets: what was written for annotators; none where nothing is left.
        added: how many annotations a file of answers brought.
    """

    rounds: tuple[DrawnRound, ...]
    sheets: tuple[Path, ...]
    added: int | None

    @property
    def is_finished(self) -> bool:
        """Whether every round is."""
        return len(self.rounds) == len(ROUNDS) and self.rounds[-1].is_finished


def curate(
    config: BuildConfig,
    *,
    models: Sequence[LanguageModel] = (),
    answers: Path | None = None,
    annotator: str = "",
) -> Curated:
    """Collect annotations, and write sheets of what is still to be annotated.

    Args:
        config: the options of the build that is to have the annotations. Of its files of
            annotations the first is appended to; ``out`` is the folder for sheets.
        models: language models that annotate now.
        answers: a file of answers to earlier sheets.
        annotator: whose answers these are; without answers, who the sheets are for.

    Raises:
        S2lctError: something that the caller can mend; what was annotated is kept.
    """
    check_folder_out(config.out, "--out")
    path, *others = config.annotations
    with ExitStack() as opened:
        opened.enter_context(locked(path, "--annotations"))
        file = AnnotationFile(path, others)
        for name in (annotator, *(model.name for model in models)):
            file.annotations.check_care(name)
        added = None
        if answers is not None:
            added = take_answers(answers, read_sheets(config.out), annotator, file)
        inputs = read_inputs(config)
        models_kept = opened.enter_context(kept_models(inputs))
        draw = Draw(FluentForm(inputs, inputs.capabilities, models_kept, None))
        if models:
            annotate(draw, models, file, seed=config.seed)
        rounds = tuple(draw.rounds(file.annotations))
        sheets: list[Path] = []
        if items := rounds[-1].left(annotator):
            sheets = write_sheets(items, config.out, round=rounds[-1].round, seed=config.seed)
    check_found(config, any(each.candidates for each in rounds))
    return Curated(rounds, tuple(sheets), added)


class Draw:
    """What a build draws, and what it would draw of texts that are still to be annotated.

    Args:
        form: makes the families of a build; it has no annotations.
    """

    def __init__(self, form: FluentForm) -> None:
        self._form = form

    def rounds(
        self, annotations: Annotations, without: Collection[str] = ()
    ) -> Iterator[DrawnRound]:
        """The rounds up to the first that is not finished.

        Args:
            annotations: what was found so far.
            without: ids of texts that are not drawn.
        """
        needed: list[Seed] = []
        spare: list[Seed] = []
        wanted = self._form.inputs.config.seeds
        passed = self._seeds(annotations, wanted)
        hopeful = self._seeds(_Hopeful(annotations, without), SPARE * wanted)
        for capability, seeds in passed.items():
            missing = wanted - len(seeds)
            ids = {seed.id for seed in seeds}
            others = [seed for seed in hopeful[capability] if seed.id not in ids]
            needed += [*seeds, *others[:missing]]
            spare += others[missing : SPARE * missing]
        about = {each.id: each.raters or each.title for each in self._form.capabilities}
        makers: dict[Round, Callable[[Sequence[Seed]], list[Candidate]]] = {
            "sentences": _sentences,
            "cases": lambda seeds: _cases(seeds, about),
            "families": lambda seeds: [
                each
                for each in families(self._form, passed, annotations)
                if each.item.id not in without
            ],
        }
        for round, made_of in makers.items():
            candidates = made_of(needed)
            is_finished = not unread(candidates, annotations)
            if not is_finished and round in ("sentences", "cases"):
                candidates = made_of([*needed, *spare])
            yield DrawnRound(round, candidates, annotations)
            if not is_finished:
                return

    def _seeds(self, annotations: Annotations, most: int) -> dict[str, list[Seed]]:
        """Up to so many seeds of each capability that pass."""
        inputs = self._form.inputs
        inputs = replace(inputs, config=inputs.config.model_copy(update={"seeds": most}))
        form = replace(self._form, inputs=inputs, annotations=annotations)
        return {each.id: form.compose(each) for each in form.capabilities}


class _Hopeful(Annotations):
    """Annotations by which all passes that is not refused, apart from some ids."""

    def __init__(self, annotations: Annotations, without: Collection[str]) -> None:
        self._annotations, self._without = annotations, without
        self.in_cases = annotations.in_cases

    def passes(self, id: str, labels: Collection[Label]) -> bool:
        """Whether it may still pass; see `Annotations.passes`."""
        return id not in self._without and self._annotations.state(id, labels) != "refused"


def _sentence(text: str, label: Label) -> Candidate:
    return Candidate(Item(id=sentence_id(text), text=text), frozenset({label}))


def _sentences(seeds: Iterable[Seed]) -> list[Candidate]:
    sources = {source.text: source for seed in seeds for source in seed.sources}
    return [_sentence(text, source.sentence.label) for text, source in sources.items()]


def _cases(seeds: Iterable[Seed], about: Mapping[str, str]) -> list[Candidate]:
    """Those of seeds that are more than a sentence."""
    return [
        Candidate(Item(seed.id, seed.text, description=about[seed.capability]), seed.labels)
        for seed in seeds
        if seed.template
    ]


def annotate(
    draw: Draw, models: Sequence[LanguageModel], file: AnnotationFile, *, seed: int
) -> None:
    """Have models annotate round after round, until there is nothing more that they can.

    The first annotates everything, the others what one before them passed. What stands in the file
    is not asked again.

    Args:
        draw: says what is to be annotated.
        models: the models.
        file: takes their annotations after every request.
        seed: of the order of items and traps.

    Raises:
        BuildError: a model does not answer, calls too many traps natural, or gives answers that
            cannot be read.
    """
    unanswered: set[str] = set()
    is_open = True
    while is_open:
        is_open = False
        *_, drawn = draw.rounds(file.annotations, unanswered)
        for model in models:
            items = [
                item
                for item in unread(drawn.candidates, file.annotations, model.name)
                if model is models[0] or file.annotations.of(item.id)
            ]
            if items:
                is_open = True
                unanswered |= _ask(items, drawn.round, model, file, seed=seed)


def _ask(
    items: Sequence[Item], round: Round, model: LanguageModel, file: AnnotationFile, *, seed: int
) -> set[str]:
    """Have a model annotate items; the ids of those without a readable answer."""
    progress = bar(f"{round}: {model.name}", len(items))
    left = in_reading_order(items, seed)
    for attempt in range(TIMES_ASKED):
        wanted, left = left, []
        for start in range(0, len(wanted), ITEMS_A_REQUEST):
            batch = wanted[start : start + ITEMS_A_REQUEST]
            found = model.annotate(with_traps(batch, seed))
            if not found and attempt == 0:
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
