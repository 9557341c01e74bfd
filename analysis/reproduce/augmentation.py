"""Table 4 of MNCOVER: is a model better for texts that coverage guided, or for as many others?"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from s2lct.analysis.augment.accuracy import Accuracies, accuracies
from s2lct.analysis.augment.search import AugmentedText, Augmenter, embedding_similarity
from s2lct.analysis.augment.transformations import NAMES, load_transformations
from s2lct.analysis.corpus_parts import parts_of_corpus
from s2lct.analysis.reproduce import mncover_figures as paper
from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.neurons import COUNTED, MNCOVER, neurons_of
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable
from s2lct.analysis.reproduce.suite_inputs import needed_models
from s2lct.builder.corpus.read import read_corpus
from s2lct.errors import AnalysisError, S2lctWarning
from s2lct.identity import shuffle_key
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.label_rules import rule_for
from s2lct.suite.records import Sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bars

WITHOUT, RANDOM, PRINTED = "without", "random, as many", "Algorithm 1 as printed"
_PAPER = {WITHOUT: "without", RANDOM: "random", PRINTED: "MNCOVER"}
_COLUMNS = (
    *("augmentation", "texts added", "accuracy %", "± 95 %"),
    *("difference", "± 95 %, paired", "paper"),
)


def table4(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """Table 4: test accuracy without more texts and with three kinds of them.

    ``limit`` is the most originals, drawn at random from the training set; ``seeds`` the trainings.
    """
    tables: list[PaperTable] = []
    verdicts: list[str] = []
    for model in needed_models(options):
        assert options.reference is not None
        neurons = neurons_of(model, options, steps, bars)
        encoder = neurons.encoder
        rule = rule_for(encoder.classes, model=model)
        labels = {LABELS[meaning] for meaning in rule.meanings}
        parts = parts_of_corpus(read_corpus(options.reference), options.seed)
        train, test = (
            [one for one in part if one.label in labels] for part in (parts.train, parts.test)
        )
        seed = options.seed
        originals = sorted(train, key=lambda one: shuffle_key(seed, "limit", one.id, one.text))
        originals = originals[: options.limit]
        transformations, skipped = load_transformations(NAMES)
        for name, why in skipped.items():
            warnings.warn(f"{name} is left out: {why}", S2lctWarning, stacklevel=2)
        augmenter = Augmenter(originals, transformations, embedding_similarity(), seed=seed)
        metric = neurons.metrics[MNCOVER]
        printed = augmenter.search(encoder, metric)
        if not printed:
            raise AnalysisError(
                f"{options.name}: no text made coverage grow", hint="give more originals: --limit"
            )
        at_random = augmenter.at_random(len(printed))
        added: dict[str, Sequence[AugmentedText]] = {
            WITHOUT: (),
            RANDOM: at_random,
            PRINTED: printed,
        }
        known = _pairs(train)
        found = accuracies(
            model,
            {
                name: known + [(one.text, one.original.label) for one in more]
                for name, more in added.items()
            },
            _pairs(test),
            [seed + number for number in range(options.seeds)],
            device=options.device,
        )
        notes = (
            COUNTED,
            neurons.about_masks,
            f"From {len(originals):,} originals of {len(train):,} sentences to train on; "
            f"{options.seeds} trainings of each, one epoch from the model's weights. "
            "The paper added 6,541 texts to BERT-base on SST-2, once, without a spread; its bounds "
            "of similarity and failures are not said.",
        )
        title = f"Table 4 of MNCOVER with {model}: accuracy after augmentation"
        digits = dict.fromkeys(_COLUMNS[2:], 2)
        tables.append(PaperTable(title, _COLUMNS, rows_of(found), notes, digits))
        verdicts.append(f"{model}: {verdict_of(found)}")
    return Reproduction(tables, "\n\n".join(verdicts))


def _pairs(sentences: Sequence[Sentence]) -> list[tuple[str, str]]:
    return [(one.text, one.label) for one in sentences]


def rows_of(found: dict[str, Accuracies]) -> list[list[Cell]]:
    """A row a training set, in percent."""
    base = found[WITHOUT]
    rows: list[list[Cell]] = []
    for name, one in found.items():
        other = None if one is base else 100 * (one.mean - base.mean)
        rows.append(
            [
                name,
                one.texts - base.texts,
                100 * one.mean,
                _reach(one.interval()),
                other,
                None if one is base else _reach(one.interval(base)),
                paper.TABLE_4.get(_PAPER.get(name, "")),
            ]
        )
    return rows


def _reach(interval: tuple[float, float] | None) -> float | None:
    return None if interval is None else 50 * (interval[1] - interval[0])


def verdict_of(found: dict[str, Accuracies]) -> str:
    """Whether guidance is worth more than chance."""
    against = found[PRINTED].interval(found[RANDOM])
    points = 100 * (found[PRINTED].mean - found[RANDOM].mean)
    if against is None:
        return f"Algorithm 1 against as many random texts: {points:+.2f} points, of one training."
    told = f"{points:+.2f} points, 95 % {100 * against[0]:+.2f} to {100 * against[1]:+.2f}"
    if against[0] <= 0 <= against[1]:
        return (
            f"Algorithm 1 against as many random texts: {told}: no difference, as in the paper, "
            "where random texts are ahead on SST-2."
        )
    better = "better" if points > 0 else "worse"
    return f"Algorithm 1 against as many random texts: {told}: guided texts are {better}."
