"""Scoring models, and comparing two."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from s2lct.errors import BuilderError, OptionError, S2lctWarning, ScoringError
from s2lct.options import (
    CASES,
    RUNNING,
    Argument,
    ChosenCases,
    Count,
    ModelClasses,
    OnDevice,
    Option,
    Options,
    takes,
)
from s2lct.progress import Bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from s2lct.leaderboard.models.language_model import LabelPrompt
    from s2lct.leaderboard.results.comparison import Comparison, SidesCompared
    from s2lct.leaderboard.results.record import Result
    from s2lct.leaderboard.scoring.relative import RelativeScore, RelativeScores, RelativeTest
    from s2lct.leaderboard.scoring.score import Outcomes
    from s2lct.suite.cases import SuiteCases

LLMS = "Language models"
MODEL = (
    "vader, textblob, afinn, embedded-2class, embedded-3class, a folder, or a Hub id "
    "(ID@REVISION pins one)."
)
SUITE = (
    "Folder of a suite, Hub id\\[@REVISION], checklist:FILE.jsonl\\[.gz], or csv:FILE?text=COLUMN&…"
)
GIVEN = "Predictions"


class ScoreOptions(ChosenCases, ModelClasses, OnDevice):
    """Options of `score`."""

    models: Annotated[tuple[str, ...], Argument(MODEL)] = ()
    suite: Annotated[str, Option(SUITE)]
    out: Annotated[Path, Option("Folder for the result files.", path="folder")] = Path("results")
    predictions: Annotated[
        Path | None,
        Option(
            "Instead of a model: what yours said of the cases that `s2lct export SUITE --format "
            "csv` writes. CSV, JSON lines or Parquet with id or text, and label or a probability "
            "a class.",
            GIVEN,
            path="existing file",
        ),
    ] = None
    name: Annotated[
        str | None,
        Option("With --predictions: what the model is called \\[default: as the file].", GIVEN),
    ] = None
    kind: Annotated[
        Literal["seed", "expansion"] | None, Option("Only seeds, or only expansions.", CASES)
    ] = None
    limit: Annotated[Count | None, Option("Most cases of a capability.", CASES)] = None
    llm: Annotated[
        bool,
        Option(
            "Folders and Hub ids are language models: the likeliest label word behind a prompt "
            "counts.",
            LLMS,
        ),
    ] = False
    prompt: Annotated[
        str | None, Option(r"With --llm: what is asked, with {text}; \n is a new line.", LLMS)
    ] = None
    label_words: Annotated[
        str | None,
        Option(
            "With --llm: words for negative, neutral and positive, or for negative and positive "
            r"\[default: negative,neutral,positive].",
            LLMS,
        ),
    ] = None
    dtype: Annotated[str, Option("auto (bfloat16 on a GPU), float32 or bfloat16.", RUNNING)] = (
        "auto"
    )
    cache: Annotated[
        bool, Option("Keep what models said; scoring again costs nothing.", RUNNING)
    ] = True


@dataclass(frozen=True)
class Scores:
    """Results that were written, in the order of the models; their files; models without one.

    ``relative`` has the models' scores on CheckList's invariance and directional tests, if the
    suite has some.
    """

    results: tuple[Result, ...]
    files: tuple[Path, ...]
    failed: tuple[str, ...]
    relative: tuple[RelativeScores, ...] = ()


@takes(ScoreOptions)
def score(options: ScoreOptions, bars: Bars) -> Scores:
    """Score models: a failure rate for each capability.

    A result file each, with what the model said of every case beside it. Of several models one
    that cannot be scored is left out with a warning.
    """
    from s2lct.labels import check_label_map
    from s2lct.leaderboard.models.load import load_classifier
    from s2lct.leaderboard.results.read import read_result
    from s2lct.leaderboard.results.record import SelectionRecord
    from s2lct.leaderboard.results.write import check_out_folder, write_result
    from s2lct.leaderboard.scoring.relative import cases_beside, relative_tests, score_relative
    from s2lct.leaderboard.scoring.score import default_cache
    from s2lct.leaderboard.scoring.score import score as outcomes_of

    label_map = check_label_map(options.label_map)
    prompt = _prompt(options)
    _check_what_is_scored(options)
    check_out_folder(options.out)
    tests = relative_tests(options.suite, options.capability, options.kind, options.limit)
    chosen = cases_beside(options.suite, tests, options.capability, options.kind, options.limit)
    selection = SelectionRecord(
        capabilities=tuple(dict.fromkeys(case.capability for case in chosen.cases))
        if options.capability and chosen
        else None,
        kind=options.kind,
        limit=options.limit,
    )
    files: list[Path] = []
    failed: list[str] = []
    relative: list[RelativeScores] = []
    cache = default_cache() if options.cache else None
    if options.predictions is not None:
        given, given_scores = _of_predictions(options, options.predictions, chosen, tests)
        files.append(write_result(given, options.out, selection))
        relative += _written(given.model, given_scores, options.out, files)
    names = list(dict.fromkeys(options.models))
    for name in names:
        try:
            model = load_classifier(name, device=options.device, dtype=options.dtype, asks=prompt)
            outcomes = None
            if chosen is not None:
                outcomes = outcomes_of(
                    model,
                    chosen,
                    label_map=label_map,
                    neutral_band=options.neutral_band,
                    cache=cache,
                    advance=bars(name, len({case.text for case in chosen.asked})),
                )
            scores = score_relative(
                model,
                tests,
                label_map=label_map,
                neutral_band=options.neutral_band,
                cache=cache,
                bar=bars,
            )
        except Exception as error:  # somebody's model may fail in any way
            if len(names) == 1:
                raise
            warnings.warn(_why(name, error), S2lctWarning, stacklevel=2)
            failed.append(name)
        else:
            own = [write_result(outcomes, options.out, selection)] if outcomes else []
            relative += _written(model.name, scores, options.out, own)
            files += own
    return Scores(tuple(map(read_result, files)), tuple(files), tuple(failed), tuple(relative))


def _of_predictions(
    options: ScoreOptions, path: Path, chosen: SuiteCases | None, tests: Sequence[RelativeTest]
) -> tuple[Outcomes, tuple[RelativeScore, ...]]:
    """What a file says that a model said."""
    from s2lct.labels import check_label_map
    from s2lct.leaderboard.answers.given import read_predictions
    from s2lct.leaderboard.results.given import model_name, outcomes_of_predictions
    from s2lct.leaderboard.scoring.relative import scores_of

    name = model_name(options.name, path)
    if chosen is None:
        raise ScoringError(
            f"--predictions on {options.suite}: nothing is asked for that a result can hold",
            mend="name a suite, or capabilities, with minimum-functionality cases",
        )
    label_map, band = check_label_map(options.label_map), options.neutral_band
    texts = [text for test in tests for text in test.texts]
    given = read_predictions(path, chosen, label_map=label_map, neutral_band=band, also=texts)
    outcomes = outcomes_of_predictions(given, name, label_map, band)
    return outcomes, scores_of(name, tests, given.rule, given.by_text)


def _written(
    name: str, scores: Sequence[RelativeScore], out: Path, results: Sequence[Path]
) -> list[RelativeScores]:
    """A model's scores on relative tests, beside its result if it has one; none without scores."""
    from s2lct.leaderboard.results.write import file_name
    from s2lct.leaderboard.scoring.relative import RelativeScores, write_scores

    if not scores:
        return []
    stem = results[-1].stem if results else file_name(name)
    path = out / f"{stem}.relative.csv"
    write_scores(scores, path)
    return [RelativeScores(name, tuple(scores), path)]


def _check_what_is_scored(options: ScoreOptions) -> None:
    """Refuse models together with predictions, or neither."""
    given = options.predictions is not None
    if given and options.models:
        raise ScoringError(
            f"--predictions together with the model {options.models[0]}",
            mend="score one of them: predictions stand for a model, which --name names",
        )
    if not given and not options.models:
        raise OptionError(
            "--models: no model to score", mend=f"name one ({MODEL}), or give --predictions FILE"
        )
    if options.name is not None and not given:
        raise ScoringError(
            "--name without --predictions", mend="leave it out: a model has its own name"
        )
    if given and options.llm:
        raise ScoringError(
            "--predictions together with --llm", mend="leave --llm out: nothing is asked"
        )


def _why(name: str, error: Exception) -> str:
    if isinstance(error, BuilderError):
        return str(error)
    first = next(iter(str(error).strip().splitlines()), "")
    told = f"model {name}: cannot be scored ({type(error).__name__}: {first})"
    return f"{told}\n  → score it alone to see where it fails"


def _prompt(options: ScoreOptions) -> LabelPrompt | None:
    """What language models are asked; None without ``llm``."""
    from s2lct.leaderboard.models.language_model import LabelPrompt

    given = {"--prompt": options.prompt, "--label-words": options.label_words}
    if not options.llm:
        if alone := [option for option, value in given.items() if value is not None]:
            raise ScoringError(
                f"{' and '.join(alone)} without --llm",
                mend="add --llm to score language models, or leave it away",
            )
        return None
    asks, words = LabelPrompt(), options.label_words
    return LabelPrompt(
        asks.prompt if options.prompt is None else options.prompt.replace("\\n", "\n"),
        asks.words if words is None else tuple(word.strip() for word in words.split(",")),
    )


class CompareOptions(Options):
    """Options of `compare`."""

    first: Annotated[Path, Argument("A result file.", path="existing file")]
    second: Annotated[Path, Argument("Another, on the same suite.", path="existing file")]


@dataclass(frozen=True)
class Compared:
    """The results of two files, how many cases both have, and a comparison a capability.

    ``both_sides`` has one for each that has counterparts which both models were asked.
    """

    results: tuple[Result, Result]
    cases: int
    by_capability: dict[str, Comparison]
    both_sides: dict[str, SidesCompared]


@takes(CompareOptions)
def compare(options: CompareOptions, bars: Bars) -> Compared:
    """Say which differences between two models are real."""
    from s2lct.leaderboard.results.comparison import compare as compared
    from s2lct.leaderboard.results.comparison import compare_sides, paired
    from s2lct.leaderboard.results.read import read_outcomes, read_result
    from s2lct.leaderboard.site.report import check_same_suite

    paths = (options.first, options.second)
    results = (read_result(paths[0]), read_result(paths[1]))
    check_same_suite(results)
    one, other = map(read_outcomes, paths)
    cases, *failed = paired(one, other)
    if not cases:
        raise ScoringError(
            f"{paths[0]} and {paths[1]} have no case in common",
            mend="score both on the same capabilities and kinds",
        )
    by_capability = compared(cases, *failed)
    return Compared(results, len(cases), by_capability, compare_sides(one, other))
