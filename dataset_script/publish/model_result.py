"""Publish a result in the model's own repository, where the Hub's leaderboards read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import yaml

from s2lct.dataset_script.hub import Hub, Outcome, Publication, require_repo
from s2lct.dataset_script.publish.dataset import CARD
from s2lct.dataset_script.publish.eval_yaml import task_id
from s2lct.dataset_script.publish.results import HUB_ID, whole_result
from s2lct.errors import PublishError, SuiteError
from s2lct.leaderboard.results.record import Result
from s2lct.suite.read import parse_description
from s2lct.suite.tables import ALL, SPLIT, SUITE_FILE

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, EvalResultEntry

EVAL_RESULTS_FILE = ".eval_results/s2lct.yaml"
_MEAN = "mean of the capabilities"


class PublishedSuite(NamedTuple):
    """A released suite that a result is for: its Hub id, its version, the commit of its tag."""

    repo: str
    version: str
    commit: str


def publish_model_result(
    path: Path, hub: Hub, dataset: str | None = None, model_index: bool = False
) -> Outcome:
    """Write ``.eval_results/s2lct.yaml`` into the repository of the model that was scored.

    Args:
        path: a result file of a whole suite.
        hub: where and how.
        dataset: Hub id of the suite; None if the model was scored on ``ORG/s2lct``.
        model_index: write the ``model-index`` of the model's card too, for older tools.

    Raises:
        ScoringError: it is no result file, or a figure does not follow from its cases.
        PublishError: it is a result of an endpoint or of a part of its suite, model or suite are
            not on the Hub, or the Hub refuses.
    """
    result = whole_result(path)
    if (endpoint := result.model.endpoint) is not None:
        raise PublishError(
            f"{path}: the answers are those of {endpoint.url}, and nobody can tell which model "
            "answers there",
            hint="score the model itself, by its Hub id with --llm",
        )
    if dataset:
        require_repo("--dataset", dataset)
    repo = result.model.name

    def publish() -> Outcome:
        state = hub.state(repo, "model") if HUB_ID.fullmatch(repo) else None
        if state is None:
            raise PublishError(
                f"{path}: there is no model {repo} on the Hub, or the token may not see it",
                hint="score the model by its Hub id, as ORG/NAME",
            )
        suite = _suite_of(hub, path, result, dataset)
        known = hub.read(repo, "model", EVAL_RESULTS_FILE, state.commit) or b""
        files = {EVAL_RESULTS_FILE: _eval_results(known, result, suite).encode()}
        if model_index:
            card = hub.read(repo, "model", CARD, state.commit) or b""
            files[CARD] = _with_model_index(card.decode(), result, suite).encode()
        title = f"Add S²LCT {suite.version} results"
        description = f"Failure rates on {suite.repo} at v{suite.version}."
        outcome = hub.publish(Publication(repo, "model", title, files, description), state)
        if not hub.dry_run and (place := _place(hub, repo, suite.repo)):
            outcome.lines.append(f"on the Hub's leaderboard of {suite.repo}: {place}")
        return outcome

    checked = [f"{path}: every figure follows from its cases"]
    return hub.publish_checked(checked, f"whether {repo} and the suite are on the Hub", publish)


def _suite_of(hub: Hub, path: Path, result: Result, dataset: str | None) -> PublishedSuite:
    """The released suite that a result is for.

    Raises:
        PublishError: there is none, its rows are others, or the result is for a part of it.
    """
    named = result.suite.name.partition("@")[0]
    repo = dataset or (named if HUB_ID.fullmatch(named) and not Path(named).exists() else "")
    if not repo:
        raise PublishError(
            f"{path}: it was scored on {result.suite.name}, which names no dataset of the Hub",
            hint="say which one it is with --dataset ORG/s2lct",
        )
    version = result.suite.version.removeprefix("v")
    released = {str(one): commit for one, commit in hub.versions(repo).items()}
    commit = released.get(version)
    if commit is None:
        tags = ", ".join(f"v{one}" for one in released)
        raise PublishError(
            f"{path}: {repo} has released no version {version or '(none is named)'}",
            hint=f"score the model on one of {tags or 'its versions'}, or publish the suite first",
        )
    try:
        described = parse_description(hub.read(repo, "dataset", SUITE_FILE, commit) or b"", repo)
    except SuiteError as error:
        raise PublishError(
            f"{repo}: is no suite ({error.problem})", hint="name the suite's dataset"
        ) from error
    if result.suite.fingerprint not in ("", described["fingerprint"]):
        raise PublishError(
            f"{path}: it was scored on other cases than v{version} of {repo} has",
            hint=f"score the model again with --suite {repo}@v{version}",
        )
    # Of a file's rows some are counterparts, which are no cases.
    counts = (described["counts"][name] for name in described["files"])
    cases = sum(count["seeds"] + count["expansions"] for count in counts)
    if result.overall.cases != cases:
        raise PublishError(
            f"{path}: it covers {result.overall.cases:,} of the suite's {cases:,} cases",
            hint="score the whole suite, without --capability, --kind and --limit",
        )
    return PublishedSuite(repo, version, commit)


def _eval_results(known: bytes, result: Result, suite: PublishedSuite) -> str:
    """The file's new content: what it says of other datasets stays."""
    from huggingface_hub import eval_result_entries_to_yaml

    try:
        entries = yaml.safe_load(known) or []
        kept = [entry for entry in entries if entry["dataset"]["id"] != suite.repo]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise PublishError(
            f"{result.model.name}: its {EVAL_RESULTS_FILE} cannot be read ({type(error).__name__})",
            hint="mend or delete that file",
        ) from error
    kept += eval_result_entries_to_yaml(_eval_result_entries(result, suite))
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=100)


def _eval_result_entries(result: Result, suite: PublishedSuite) -> list[EvalResultEntry]:
    """A result as the Hub's evaluation results: a value for all, and for each capability.

    Values are percent of cases passed, as a run of the task by inspect_ai gives: of all cases, too,
    where the mean of the capabilities stands in the notes alone.
    """
    from huggingface_hub import EvalResultEntry

    def entry(config: str, rate: float, notes: str) -> EvalResultEntry:
        return EvalResultEntry(
            dataset_id=suite.repo,
            task_id=task_id(config),
            value=round(100 * (1 - rate), 2),
            dataset_revision=suite.commit,
            date=result.date,
            notes=notes,
        )

    low, high = result.overall.ci
    notes = (
        f"failure rate {result.overall.failure_rate:.1%} [{low:.1%}, {high:.1%}], "
        f"{_MEAN}; S²LCT {suite.version}; "
        f"model revision {result.model.revision or 'not recorded'}"
    )
    counted = {
        name: (
            record.seed.failures + record.expansion.failures,
            record.seed.cases + record.expansion.cases,
        )
        for name, record in result.capabilities.items()
    }
    every = [sum(column) for column in zip(*counted.values(), strict=True)]
    entries = [entry(ALL, every[0] / every[1], notes)]
    for name, record in result.capabilities.items():
        failures, cases = counted[name]
        notes = (
            f"failure rate of seeds {record.seed.failure_rate:.1%}, of expansions "
            f"{record.expansion.failure_rate:.1%}; pass-to-fail {record.pass_to_fail}"
        )
        if (sides := record.both_sides) is not None:
            notes += f"; {sides.share:.1%} of {sides.pairs} seeds right on both sides"
        entries.append(entry(name, failures / cases if cases else 0.0, notes))
    return entries


def _with_model_index(card: str, result: Result, suite: PublishedSuite) -> str:
    """A model's card with the result in its ``model-index``; what it says besides stays.

    Raises:
        PublishError: the card's own ``model-index`` cannot be read.
    """
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    def entry(config: str, name: str, metric: str, value: float) -> EvalResult:
        return EvalResult(
            task_type="text-classification",
            task_name="Sentiment analysis",
            dataset_type=suite.repo,
            dataset_name=f"S²LCT {suite.version}",
            dataset_config=config,
            dataset_split=SPLIT,
            dataset_revision=suite.commit,
            metric_type=metric,
            metric_name=name,
            metric_value=value,
        )

    if not card.startswith("---"):
        card = f"---\n{{}}\n---\n{card}"
    try:
        read = ModelCard(card)
        data = read.data
        assert isinstance(data, ModelCardData)
        known = data.eval_results or ()
    except (ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise PublishError(
            f"{result.model.name}: the metadata of its card cannot be read "
            f"({str(error).splitlines()[0]})",
            hint="mend its README.md, or leave out --model-index",
        ) from error
    entries = [one for one in known if one.dataset_type != suite.repo]
    rate = result.overall.failure_rate
    entries.append(entry(ALL, "Macro failure rate", "macro_failure_rate", rate))
    for config, of in result.capabilities.items():
        for name, metric, value in (
            ("Failure rate of seeds", "seed_failure_rate", of.seed.failure_rate),
            ("Failure rate of expansions", "expansion_failure_rate", of.expansion.failure_rate),
            ("Pass-to-fail", "pass_to_fail", of.pass_to_fail),
        ):
            entries.append(entry(config, name, metric, value))
    data.model_name = data.model_name or result.model.name.split("/")[-1]
    data.eval_results = entries
    return str(read)


def _place(hub: Hub, model: str, dataset: str) -> str:
    """A model's place on the Hub's leaderboard of a benchmark; empty where it has none."""
    from huggingface_hub.errors import HfHubHTTPError

    with hub.asked_to("read the leaderboard of", dataset, "The result itself is published."):
        try:
            entries = hub.api.get_dataset_leaderboard(dataset, base_model_only=False)
            overall = [one.model_id for one in entries if _MEAN in (one.notes or "")]
        except HfHubHTTPError as error:
            if error.response.status_code in (400, 404, 501):
                return ""
            raise
    ranked = {name: number for number, name in enumerate(overall, 1)}
    return f"place {ranked[model]} of {len(overall)}" if model in ranked else ""
