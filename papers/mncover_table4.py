"""Table 4 of MNCOVER: test accuracy after augmentation, guided by coverage or at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import common
import numpy as np
from augmentation import embedding_similarity, guided_texts, random_texts
from scipy import stats

from s2lct.analysis.corpus_parts import split_corpus
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.analysis.training import Example, fine_tuned
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.records import Sentence
from s2lct.errors import AnalysisError
from s2lct.identity import shuffle_key
from s2lct.labels import LABELS, check_label_map
from s2lct.progress import bar

TRAININGS = 3
"""The number of trainings, with different random seeds, on each training set."""
COLUMNS = (
    *("augmentation", "texts added", "accuracy %", "± 95 %"),
    *("difference", "± 95 %, paired", "paper"),
)
# Accuracy of BERT-base on SST-2, in percent.
PRINTED = {"without": 90.22, "random, as many": 90.45, "Algorithm 1 as printed": 90.41}


def main(
    model: common.Models,
    reference: common.ReferenceCorpus,
    reference_cases: common.ReferenceCases = None,
    masks: common.MasksFile = None,
    limit: common.Limit = None,
    seed: common.Seed = 0,
    label_map: common.LabelMap = None,
    device: common.Device = "auto",
) -> None:
    """Print accuracy without and with augmentation, from at most --limit random originals."""
    for name in model:
        measured = common.measured_model(name, reference, reference_cases, masks, seed, device)
        classifier = LabelledClassifier.from_classifier(
            measured.encoder, check_label_map(label_map)
        )
        labels = {LABELS[meaning] for meaning in classifier.rule.meanings}
        parts = split_corpus(read_corpus(reference), seed)
        train, test = ([s for s in part if s.label in labels] for part in (parts.train, parts.test))
        originals = sorted(train, key=lambda s: shuffle_key(seed, "limit", s.id, s.text))[:limit]
        if not originals or not test:
            raise AnalysisError(
                f"no sentence to train on or to test is {' or '.join(sorted(labels))}",
                hint="pass a --reference with sentences of the model's labels",
            )
        similarity, criterion = embedding_similarity(), measured.criteria["mncover"]
        guided = guided_texts(originals, similarity, measured.encoder, criterion, seed)
        random = random_texts(originals, similarity, len(guided), seed)
        added = dict(zip(PRINTED, ([], random, guided), strict=True))
        training_sets = {method: [*train, *sentences] for method, sentences in added.items()}
        accuracies_by_method = accuracies(
            classifier, training_sets, test, range(seed, seed + TRAININGS)
        )
        rows: list[list[common.Cell]] = []
        for method, values in accuracies_by_method.items():
            row: list[common.Cell] = [method, len(added[method])]
            differences = np.subtract(values, accuracies_by_method["without"]).tolist()
            for figures in (values, differences) if added[method] else (values,):
                row += [100 * float(np.mean(figures)), half_interval(figures)]
            rows.append([*row, *[None] * (len(COLUMNS) - 1 - len(row)), PRINTED[method]])
        notes = [
            *measured.notes,
            f"From {len(originals):,} originals of {len(train):,} sentences to train on, by the "
            f"ten of the paper's sixteen transformations that are rules; {TRAININGS} trainings of "
            "each, one epoch from the model's weights. The paper added 6,541 texts to BERT-base on "
            "SST-2, once, without a spread; its bounds of similarity and failures are not said.",
        ]
        title = f"Table 4 of MNCOVER with {name}: accuracy after augmentation"
        common.print_table(title, COLUMNS, rows, notes, digits=2)


def accuracies(
    classifier: LabelledClassifier,
    training_sets: Mapping[str, Sequence[Sentence]],
    test: Sequence[Sentence],
    random_seeds: Sequence[int],
) -> dict[str, list[float]]:
    """Accuracies on the test sentences, by training set; one accuracy for each random seed."""
    texts, labels = [s.text for s in test], [LABELS.index(s.label) for s in test]
    advance = bar("training", len(training_sets) * len(random_seeds))
    by_set: dict[str, list[float]] = {name: [] for name in training_sets}
    for name, sentences in training_sets.items():
        examples = [Example(s.text, LABELS.index(s.label)) for s in sentences]
        for random_seed in random_seeds:
            predicted = fine_tuned(classifier, examples, random_seed=random_seed).likeliest_labels(
                texts
            )
            by_set[name].append(float(np.mean(predicted == labels)))
            advance(1)
    return by_set


def half_interval(values: Sequence[float]) -> float | None:
    """Half the width of a mean's 95 % t-interval, in percent; None for fewer than two values."""
    if len(values) < 2:
        return None
    return float(100 * stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))


if __name__ == "__main__":
    common.run(main)
