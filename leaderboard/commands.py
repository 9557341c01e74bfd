"""What is done with models and results: score, report, compare, and the leaderboard.

Each function here has a command of its name, takes that command's options by name, and returns
what the command shows. Importing this module pulls no model library.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from s2lct.errors import BuilderError, S2lctWarning, ScoringError
from s2lct.options import (
    CASES,
    RUNNING,
    Argument,
    ChosenCases,
    Count,
    ModelClasses,
    Number,
    OnDevice,
    Option,
    Options,
    Seed,
    takes,
)
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.leaderboard.models.language_model import LabelPrompt
    from s2lct.leaderboard.results.comparison import Comparison
    from s2lct.leaderboard.results.record import Result
    from s2lct.leaderboard.results.scored import Collection
    from s2lct.leaderboard.results.standings import SuiteStandings
    from s2lct.leaderboard.submission.changes import Answer, ChangesVerdict
    from s2lct.leaderboard.submission.check import Verdict
    from s2lct.leaderboard.submission.rescoring import Limits

LLMS = "Language models"
MODEL = (
    "vader, textblob, afinn, embedded-2class, embedded-3class, a folder, or a Hub id "
    "(ID@REVISION pins one)."
)
SUITE = "Folder of a built suite, or Hub id\\[@REVISION]."


class ScoreOptions(ChosenCases, ModelClasses, OnDevice):
    """Options of `score`."""

    models: Annotated[tuple[str, ...], Argument(MODEL)]
    suite: Annotated[str, Option(SUITE)]
    out: Annotated[Path, Option("Folder for the result files.", path="folder")] = Path("results")
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
    """Results that were written.

    Attributes:
        results: in the order of the models.
        files: the file of each.
        failed: models of which there is none.
    """

    results: tuple[Result, ...]
    files: tuple[Path, ...]
    failed: tuple[str, ...]


@takes(ScoreOptions)
def score(options: ScoreOptions, bars: Bars) -> Scores:
    """Score models: a failure rate for each capability.

    A result file each, with what the model said of every case beside it. Of several models one
    that cannot be scored is left out with a warning.
    """
    from s2lct.leaderboard.answers.label_rules import check_label_map
    from s2lct.leaderboard.models.load import load_classifier
    from s2lct.leaderboard.results.read import read_result
    from s2lct.leaderboard.results.record import SelectionRecord
    from s2lct.leaderboard.results.write import check_out_folder, write_result
    from s2lct.leaderboard.scoring.score import default_cache
    from s2lct.leaderboard.scoring.score import score as outcomes_of
    from s2lct.suite.cases import load_cases

    label_map = check_label_map(options.label_map)
    prompt = _prompt(options)
    check_out_folder(options.out)
    chosen = load_cases(options.suite).select(
        options.capability or None, options.kind, options.limit
    )
    selection = SelectionRecord(
        capabilities=tuple(dict.fromkeys(case.capability for case in chosen.cases))
        if options.capability
        else None,
        kind=options.kind,
        limit=options.limit,
    )
    files: list[Path] = []
    failed: list[str] = []
    names = list(dict.fromkeys(options.models))
    for name in names:
        try:
            outcomes = outcomes_of(
                load_classifier(name, device=options.device, dtype=options.dtype, asks=prompt),
                chosen,
                label_map=label_map,
                neutral_band=options.neutral_band,
                cache=default_cache() if options.cache else None,
                advance=bars(name, len({case.text for case in chosen.cases})),
            )
        except Exception as error:  # somebody's model may fail in any way
            if len(names) == 1:
                raise
            warnings.warn(_why(name, error), S2lctWarning, stacklevel=2)
            failed.append(name)
        else:
            files.append(write_result(outcomes, options.out, selection))
    return Scores(tuple(map(read_result, files)), tuple(files), tuple(failed))


def _why(name: str, error: Exception) -> str:
    if isinstance(error, BuilderError):
        return str(error)
    lines = str(error).strip().splitlines()
    return (
        f"model {name}: cannot be scored ({type(error).__name__}: {lines[0] if lines else ''})\n"
        "  → score it alone to see where it fails"
    )


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
    asked: dict[str, Any] = {}
    if options.prompt is not None:
        asked["prompt"] = options.prompt.replace("\\n", "\n")
    if options.label_words is not None:
        asked["words"] = tuple(word.strip() for word in options.label_words.split(","))
    return LabelPrompt(**asked)


class CompareOptions(Options):
    """Options of `compare`."""

    first: Annotated[Path, Argument("A result file.", path="existing file")]
    second: Annotated[Path, Argument("Another, on the same suite.", path="existing file")]


@dataclass(frozen=True)
class Compared:
    """Two models on the cases that both results have.

    Attributes:
        results: of the two files, in their order.
        cases: so many have an answer in both.
        by_capability: a comparison a capability, and of all.
    """

    results: tuple[Result, Result]
    cases: int
    by_capability: dict[str, Comparison]


@takes(CompareOptions)
def compare(options: CompareOptions, bars: Bars) -> Compared:
    """Say which differences between two models are real."""
    from s2lct.leaderboard.results.comparison import compare as compared
    from s2lct.leaderboard.results.read import read_outcomes, read_result
    from s2lct.leaderboard.site.report import check_same_suite, paired

    paths = (options.first, options.second)
    results = (read_result(paths[0]), read_result(paths[1]))
    check_same_suite(results)
    cases, *failed = paired(*map(read_outcomes, paths))
    if not cases:
        raise ScoringError(
            f"{paths[0]} and {paths[1]} have no case in common",
            mend="score both on the same capabilities and kinds",
        )
    return Compared(results, len(cases), compared(cases, *failed))


class CollectionOptions(Options):
    """Which results a leaderboard is made of."""

    results: Annotated[
        str,
        Argument(
            "Folder of result files, Hub dataset ORG/NAME\\[@REVISION], or an outcomes.parquet."
        ),
    ]
    suite: Annotated[
        tuple[str, ...],
        Option(
            "The suite that the leaderboard is for: folder, Hub id@REVISION, or Hub id for all its "
            "versions; may be given again. Results on others stand below, marked unofficial."
        ),
    ] = ()


_SHOWN = 20


def collected(options: CollectionOptions, bars: Bars) -> Collection:
    """The results of a leaderboard; of what is left out a warning tells why."""
    from s2lct.leaderboard.results.collection import collect
    from s2lct.leaderboard.results.hub_results import official_suites

    bar, read = None, 0

    def advance(done: int, total: int) -> None:
        nonlocal bar, read
        bar = bar or bars("reading results", total)
        bar(done - read)
        read = done

    official = official_suites(list(options.suite)) if options.suite else None
    collection = collect(options.results, advance, official=official)
    lines = [f"left out {line}" for line in collection.skipped[:_SHOWN]]
    if len(collection.skipped) > _SHOWN:
        lines.append(f"left out {len(collection.skipped) - _SHOWN} more")
    first = collection.suites[0]
    if first.official is None and len(collection.suites) > 1:
        lines.append(
            f"No --suite says which suite is meant: {first.version or '?'} "
            f"({first.fingerprint[:12] or '?'}) comes first, because it has most verified results, "
            "or most results where none or as many are verified"
        )
    elif first.official is False:
        lines.append(f"No result is on {', '.join(options.suite)}: all are unofficial")
    for line in lines:
        warnings.warn(line, S2lctWarning, stacklevel=2)
    return collection


class BuildOptions(CollectionOptions):
    """Options of `build_leaderboard`."""

    out: Annotated[Path, Option("Folder for the page and its data.", path="folder")] = Path("site")


@takes(BuildOptions)
def build_leaderboard(options: BuildOptions, bars: Bars) -> list[SuiteStandings]:
    """Build a page that works from a file, and its data beside it."""
    from s2lct.leaderboard.site.site import build_site

    return build_site(collected(options, bars), options.out)


class ServeOptions(CollectionOptions):
    """Options of `serve_leaderboard`."""

    host: Annotated[str, Option("Address; this machine alone by default.")] = "127.0.0.1"
    port: Annotated[
        int | None,
        Field(ge=1, le=65_535),
        Option("Port; the first free one by default."),
    ] = None


@takes(ServeOptions)
def serve_leaderboard(options: ServeOptions, bars: Bars) -> None:
    """Serve the same page; it is built again when the results change."""
    from s2lct.leaderboard.site.server import serve

    serve(
        options.results,
        lambda: collected(options, bars),
        host=options.host,
        port=options.port,
        announce=lambda address: print(f"Leaderboard at {address}", flush=True),
    )


class CheckLimits(Options):
    """What scoring again may cost."""

    suite: Annotated[
        str,
        Option("The suite, from a source you trust: folder or Hub id\\[@REVISION]."),
    ] = "s2lct"
    rescore: Annotated[bool, Option("Load the models and ask them all cases again.")] = False
    minutes: Annotated[
        Number, Field(ge=0.1), Option("With --rescore: for all models together.")
    ] = 30
    memory: Annotated[Number, Field(ge=1), Option("With --rescore: GiB for a model.")] = 16
    download: Annotated[Number, Field(ge=0), Option("With --rescore: GiB of a model's files.")] = 20

    def limits(self) -> Limits:
        """In bytes and seconds."""
        from s2lct.leaderboard.submission.rescoring import Limits

        return Limits(
            download=int(self.download * 2**30),
            memory=int(self.memory * 2**30),
            seconds=int(60 * self.minutes),
        )


class CheckOptions(CheckLimits):
    """Options of `check`."""

    files: Annotated[
        tuple[Path, ...], Argument("Result files; each with its Parquet file beside it.")
    ]
    first_look: Annotated[bool, Option("Ask a random 2 % of the cases only; verifies nothing.")] = (
        False
    )
    seed: Annotated[
        Seed | None, Option(r"With --first-look: which cases \[default: nobody can know].")
    ] = None
    record: Annotated[bool, Option("With --rescore: note what is verified in verified.json.")] = (
        False
    )
    as_json: Annotated[
        bool, Option("Answer with a line of JSON for each file.", flags="--json")
    ] = False

    @model_validator(mode="after")
    def _check_together(self) -> CheckOptions:
        if self.seed is not None and not self.first_look:
            raise ValueError("--seed without --first-look: add --first-look")
        if self.rescore and self.first_look:
            raise ValueError("--rescore and --first-look: give one, all cases or a sample of them")
        if self.record and not self.rescore:
            raise ValueError(
                "--record without --rescore: add --rescore, only what said the same of all cases "
                "again is verified"
            )
        return self


@takes(CheckOptions)
def check(options: CheckOptions, bars: Bars) -> Iterator[Verdict]:
    """Accept or refuse submitted results, with reasons, a file at a time."""
    from s2lct.leaderboard.submission.check import check as verdict_on
    from s2lct.leaderboard.submission.check import record
    from s2lct.suite.cases import load_cases

    cases = load_cases(options.suite)
    limits = options.limits()
    deadline = time.monotonic() + limits.seconds
    for file in options.files:
        verdict = verdict_on(
            file,
            cases,
            rescore=options.rescore,
            first_look=options.first_look,
            seed=options.seed,
            limits=replace(limits, seconds=max(1, int(deadline - time.monotonic()))),
        )
        yield verdict
        if options.record and verdict.verified:
            record(file, verdict)


class ChangesOptions(CheckLimits):
    """Options of `check_changes`."""

    base: Annotated[str, Argument("What is to take the change: main, or a commit.")]
    head: Annotated[str, Argument("The change: refs/pr/3 on the Hub, or a commit.")]
    repo: Annotated[str | None, Option("Dataset of results on the Hub, as ORG/NAME.")] = None
    git: Annotated[Path | None, Option("Or a git clone of it, with the history of both.")] = None
    record: Annotated[
        Path | None, Option("With --rescore: note in this file what is verified.")
    ] = None


@takes(ChangesOptions)
def check_changes(options: ChangesOptions, bars: Bars) -> ChangesVerdict:
    """Accept or refuse a change to a repository of results.

    It may add pairs of new JSON and Parquet files where `s2lct publish results` puts them, and
    change nothing else.
    """
    from s2lct.leaderboard.submission.changes import between_commits, between_revisions
    from s2lct.leaderboard.submission.changes import check_changes as verdict_on
    from s2lct.suite.cases import load_cases

    if options.repo is not None and options.git is None:
        difference = between_revisions(options.base, options.head, options.repo)
    elif options.git is not None and options.repo is None:
        difference = between_commits(options.base, options.head, options.git)
    else:
        raise ScoringError(
            "--repo or --git", mend="say where the change lies: --repo ORG/NAME or --git DIR"
        )
    verdict = verdict_on(
        difference, load_cases(options.suite), rescore=options.rescore, limits=options.limits()
    )
    _record(verdict, options.record)
    return verdict


class PullsOptions(CheckLimits):
    """Options of `check_pulls`."""

    repo: Annotated[str, Argument("Dataset of results on the Hub, as ORG/NAME.")]
    record: Annotated[
        Path | None, Option("With --rescore: note in this file what is verified.")
    ] = None
    dry_run: Annotated[bool, Option("Comment nothing.")] = False


@takes(PullsOptions)
def check_pulls(options: PullsOptions, bars: Bars) -> Iterator[Answer]:
    """Check every open pull request of a dataset of results, and comment on each what came out."""
    from s2lct.leaderboard.submission.changes import answer_pulls
    from s2lct.suite.cases import load_cases

    for answer in answer_pulls(
        options.repo,
        load_cases(options.suite),
        rescore=options.rescore,
        limits=options.limits(),
        dry_run=options.dry_run,
    ):
        if answer.verdict is not None:
            _record(answer.verdict, options.record)
        yield answer


def _record(verdict: ChangesVerdict, file: Path | None) -> None:
    from s2lct.leaderboard.submission.check import record

    for one in verdict.verdicts if file and verdict.accepted else ():
        if one.verified:
            record(Path(one.file), one, file)
