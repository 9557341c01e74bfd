"""Retraining, Table 2 of an older S²LCT draft: on the suite, tested on CheckList, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from s2lct.analysis.judge import Judge, load_model
from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable
from s2lct.analysis.reproduce.s2lct_figures import PAPER_MODELS, RETRAINING
from s2lct.analysis.reproduce.suite_inputs import (
    beside,
    needed_checklist,
    needed_models,
    needed_suite,
    of_families,
)
from s2lct.analysis.retrain.records import Change, Matrix, Row, TrainOptions
from s2lct.analysis.retrain.report import plots
from s2lct.analysis.retrain.train import Retrainer
from s2lct.analysis.suite_rows import SuiteRow, SuiteRows, load_rows
from s2lct.builder.corpus.read import read_corpus
from s2lct.extras import require
from s2lct.identity import fingerprint_of
from s2lct.labels import check_label_map
from s2lct.suite.cases import Case

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.builder.corpus.collect import Corpus
    from s2lct.progress import Bars

SUITE, CHECKLIST = "S²LCT", "CheckList"
MARK = "*"
"""Behind a capability's name: CheckList's cases of the test that it stands beside."""
ALL = "all"
COUNTS = (
    "cases",
    "fail-to-pass",
    "pass-to-fail",
    "fail before",
    "pass before",
    "fail after",
    "pass after",
)
COLUMNS = ("model", "trained on", "tested on", *COUNTS)


@dataclass(frozen=True)
class Outcome:
    """What a training changed on cases that it did not see; both by name, see `MARK`."""

    trained_on: str
    tested_on: str
    change: Change

    @property
    def same(self) -> bool:
        """Whether they are one capability, of one suite or of both."""
        return self.trained_on.removesuffix(MARK) == self.tested_on.removesuffix(MARK)


def tables(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """Fail-to-pass and pass-to-fail of trainings on a capability of the suite, or of CheckList.

    Each training is tested on every capability of both, on cases that share no sentence with
    those trained on. So are trainings on all capabilities of either. What each training did is a
    step; where a reference corpus is given, accuracy on its test split is told too.

    Raises:
        AnalysisError: models, a suite or CheckList's cases are missing, or a model has no weights.
    """
    require("accelerate", "matplotlib")
    models = needed_models(options)
    suite = both_suites(options)
    corpus = None if options.reference is None else read_corpus(options.reference)
    found = {model: _retrained(options, model, suite, corpus) for model in models}
    outcomes = {model: list(_outcomes(matrix.rows)) for model, matrix in found.items()}
    problems = [
        f"{model}, trained on {row.name}: {row.problem}"
        for model, matrix in found.items()
        for row in matrix.rows
        if row.problem
    ]
    limit = options.limit
    splits = f"{options.seeds} split{'s' * (options.seeds > 1)}"
    some = f"At most {limit} cases of a capability and of a CheckList test. " if limit else ""
    settings = TrainOptions()
    notes = [
        f"{some}{MARK}: CheckList's cases of the test that the capability stands beside. Each "
        f"training: 8:1:1 by seed family, {settings.epochs:g} epoch, batches of "
        f"{settings.batch_size}, learning rate {settings.lr:g}; tested on cases whose sentences "
        f"it did not see, over {splits}. Cases that pass as positive and as "
        "neutral are trained as positive.",
        "The paper's rows are of an older draft, whose names are garbled: the test is told from "
        "its number of cases, what was trained on from nothing; pass-to-fail follows from the "
        "other counts. Its counts after training are mostly those of a model that says neutral to "
        "everything.",
        *problems,
    ]
    crossed = [
        _row(model, one.trained_on, one.tested_on, [one.change])
        for model, own in outcomes.items()
        for one in own
        if one.same and one.trained_on != one.tested_on and one.trained_on.strip(MARK) != ALL
    ]
    first = PaperTable(
        "Retrained on a capability, tested on that of the other suite",
        COLUMNS,
        [*crossed, *_printed()],
        notes,
    )
    pooled = PaperTable(
        "The same, capabilities together",
        COLUMNS,
        [_row(model, *part) for model, own in outcomes.items() for part in _pooled(own)],
        _accuracies(found),
    )
    every = PaperTable(
        "Every training on every test",
        COLUMNS,
        [
            _row(model, one.trained_on, one.tested_on, [one.change])
            for model, own in outcomes.items()
            for one in own
        ],
        in_page=False,
    )
    pictures = {
        f"s2lct-retraining{f'-{number}' if number else ''}.png": plots(matrix)["retrain.png"]
        for number, matrix in enumerate(found.values())
    }
    return Reproduction([first, pooled, every], _verdict(outcomes), pictures)


def both_suites(options: ReproduceOptions) -> SuiteRows:
    """The suite's cases and CheckList's beside them, as one suite to train and test on."""
    suite = load_rows(needed_suite(options))
    kept = {
        case.id
        for case in of_families([row.case for row in suite.rows], options.limit, options.seed)
    }
    rows = [row for row in suite.rows if row.case.id in kept]
    capabilities = tuple(dict.fromkeys(row.case.capability for row in rows))
    found = beside(needed_checklist(options), capabilities, options.limit, options.seed)
    others = [_trainable(case) for own in found.values() for case in own]
    described = [[row.case.id, row.case.text, row.label] for row in [*rows, *others]]
    return replace(suite, rows=(*rows, *others), fingerprint=fingerprint_of(described))


def _trainable(case: Case) -> SuiteRow:
    """A case of CheckList's, with the label that suites give cases of several."""
    marked = replace(case, capability=case.capability + MARK)
    return SuiteRow(marked, max(case.passes), "", (), ())


def _retrained(
    options: ReproduceOptions, model: str, suite: SuiteRows, corpus: Corpus | None
) -> Matrix:
    judge = Judge(
        load_model(model, device=options.device),
        label_map=check_label_map(options.label_map),
        neutral_band=options.neutral_band,
    )
    names = suite.capabilities
    trainings: dict[str, Sequence[str]] = {name: (name,) for name in names}
    trainings[ALL] = [name for name in names if not name.endswith(MARK)]
    trainings[ALL + MARK] = [name for name in names if name.endswith(MARK)]
    return Retrainer(judge, suite, corpus, TrainOptions()).matrix(trainings, options.seeds)


def _outcomes(rows: Iterable[Row]) -> Iterator[Outcome]:
    for row in rows:
        if row.name.strip(MARK) == ALL:
            for marked in (True, False):
                changes = [of for to, of in row.unseen.items() if to.endswith(MARK) == marked]
                if changes:
                    yield Outcome(row.name, ALL + MARK * marked, together(changes))
        else:
            for name, change in row.unseen.items():
                yield Outcome(row.name, name, change)


def together(changes: Sequence[Change]) -> Change:
    """Counts of several, at least one, added up; the interval says nothing then."""
    cases = sum(one.cases for one in changes)
    before = sum(one.failures_before for one in changes)
    after = sum(one.failures_after for one in changes)
    return Change(
        cases=cases,
        families=sum(one.families for one in changes),
        failures_before=before,
        failures_after=after,
        fail_to_pass=sum(one.fail_to_pass for one in changes),
        pass_to_fail=sum(one.pass_to_fail for one in changes),
        change=(after - before) / cases,
        ci=(-1.0, 1.0),
    )


def _pooled(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, str, list[Change]]]:
    """What trainings on one capability, and on all of a suite, changed: names, and the changes."""
    parts: dict[tuple[str, str], list[Change]] = {}
    for one in outcomes:
        names = (one.trained_on, one.tested_on)
        on, to = (CHECKLIST if name.endswith(MARK) else SUITE for name in names)
        if one.trained_on.strip(MARK) == ALL:
            key = (f"{on}: all capabilities", f"{to}: all capabilities")
        else:
            key = (f"{on}: each capability", f"{to}: {'the same' if one.same else 'the others'}")
        parts.setdefault(key, []).append(one.change)
    for (trained, tested), changes in sorted(parts.items(), reverse=True):
        yield trained, tested, changes


def _row(model: str, trained: str, tested: str, changes: Sequence[Change]) -> list[Cell]:
    one = together(changes)
    return [
        model,
        trained,
        tested,
        one.cases,
        one.fail_to_pass,
        one.pass_to_fail,
        one.failures_before,
        one.cases - one.failures_before,
        one.failures_after,
        one.cases - one.failures_after,
    ]


def _printed() -> Iterator[list[Cell]]:
    """The paper's rows."""
    for name, row in RETRAINING.items():
        turned = row.after[0] - row.before[0] + row.fail_to_pass
        counts = (row.fail_to_pass, turned, *row.before, *row.after)
        yield [PAPER_MODELS[0], None, name + MARK, sum(row.before), *counts]


def _accuracies(found: Mapping[str, Matrix]) -> list[str]:
    """What trainings on all capabilities did to accuracy on the corpus's test split."""
    return [
        f"{model}, trained on {row.name}: {100 * row.corpus.before:.1f} % of "
        f"{row.corpus.sentences:,} test sentences of {matrix.corpus} right before, "
        f"{100 * row.corpus.after:.1f} % after."
        for model, matrix in found.items()
        for row in matrix.rows
        if row.corpus is not None and row.name.strip(MARK) == ALL
    ]


def _verdict(outcomes: Mapping[str, Sequence[Outcome]]) -> str:
    """Whether tests after training are failed as a whole or passed as a whole, as the paper's."""
    crossed = [
        one.change
        for own in outcomes.values()
        for one in own
        if one.same and one.trained_on.strip(MARK) != ALL and one.trained_on != one.tested_on
    ]
    if not crossed:
        return "Cannot be compared: nothing could be trained and tested on the other suite."
    apart = together(
        [
            one.change
            for own in outcomes.values()
            for one in own
            if not one.same and one.trained_on.strip(MARK) != ALL
        ]
    )
    extreme = sum(one.failures_after in (0, one.cases) for one in crossed)
    printed = sum(0 in row.after for row in RETRAINING.values())
    total = together(crossed)
    share = extreme / len(crossed)
    comes = "Comes back" if share > 1 / 2 else "Does not come back"
    return (
        f"{comes}: after training on a capability the same capability of the other suite is passed "
        f"or failed as a whole in {extreme} of {len(crossed)} tests (the paper's rows: {printed} "
        f"of {len(RETRAINING)}). Of {total.cases:,} cases {total.failures_before:,} failed before "
        f"and {total.failures_after:,} after; {total.fail_to_pass:,} turned from fail to pass, "
        f"{total.pass_to_fail:,} from pass to fail; on the other capabilities of both "
        f"{apart.fail_to_pass:,} and {apart.pass_to_fail:,}. The counts cannot be compared: the "
        "paper's names of what was trained on are lost."
    )
