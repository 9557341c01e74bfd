"""Publish a result in the model's own repository, where the Hub's leaderboards read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from s2lct.dataset_script.errors import told_hub_errors
from s2lct.dataset_script.hub import Hub, Outcome, Publication, dry_run_without_hub, require_repo
from s2lct.dataset_script.publish.eval_yaml import task_id
from s2lct.dataset_script.publish.results import HUB_ID, refuse_partial
from s2lct.errors import PublishError, SuiteError
from s2lct.leaderboard.results.read import recompute
from s2lct.leaderboard.results.record import Result
from s2lct.suite.read import parse_description
from s2lct.suite.tables import ALL, SPLIT, SUITE_FILE

if TYPE_CHECKING:
    from huggingface_hub import DatasetLeaderboardEntry, EvalResult, EvalResultEntry

EVAL_RESULTS_FILE = ".eval_results/s2lct.yaml"
CARD = "README.md"
_TASK = "text-classification"


@dataclass(frozen=True)
class PublishedSuite:
    """A released suite that a result is for.

    Attributes:
        repo: the dataset's Hub id.
        version: its version.
        commit: the commit that its tag names.
    """

    repo: str
    version: str
    commit: str


def publish_model_result(
    path: Path,
    *,
    dataset: str | None = None,
    model_index: bool = False,
    create_pr: bool = False,
    dry_run: bool = False,
    hub: Hub | None = None,
) -> Outcome:
    """Write ``.eval_results/s2lct.yaml`` into the repository of the model that was scored.

    Args:
        path: a result file of a whole suite.
        dataset: Hub id of the suite; None if the model was scored on ``ORG/s2lct``.
        model_index: write the ``model-index`` of the model's card too, for older tools.
        create_pr: propose it in a pull request instead of committing.
        dry_run: only say what would be done; needs no token.
        hub: the Hub to publish to.

    Raises:
        ScoringError: it is no result file, or a figure does not follow from its cases.
        PublishError: it is a result of a part of its suite, model or suite are not on the Hub, or
            the Hub refuses.
    """
    result = recompute(path)
    refuse_partial(path, result)
    repo = result.model.name
    if dataset:
        require_repo("--dataset", dataset)
    checked = [f"{path}: every figure follows from its cases"]
    unknown = f"whether {repo} and the suite are on the Hub"
    with dry_run_without_hub(checked, unknown, dry_run=dry_run) as outcomes:
        outcomes.append(
            _published(
                hub or Hub(),
                path,
                result,
                dataset,
                model_index=model_index,
                create_pr=create_pr,
                dry_run=dry_run,
            )
        )
    return outcomes[0]


def _published(
    hub: Hub,
    path: Path,
    result: Result,
    dataset: str | None,
    *,
    model_index: bool,
    create_pr: bool,
    dry_run: bool,
) -> Outcome:
    repo = result.model.name
    state = hub.state(repo, "model") if HUB_ID.fullmatch(repo) else None
    if state is None:
        raise PublishError(
            f"{path}: there is no model {repo} on the Hub, or the token may not see it",
            mend="score the model by its Hub id, as ORG/NAME",
        )
    suite = find_suite(hub, path, result, dataset)
    files = {EVAL_RESULTS_FILE: _eval_results(hub, repo, state.commit, result, suite).encode()}
    if model_index:
        card = hub.read(repo, "model", CARD, state.commit) or b""
        files[CARD] = with_model_index(card.decode(), result, suite).encode()
    publication = Publication(
        repo=repo,
        kind="model",
        title=f"Add S²LCT {suite.version} results",
        description=f"Failure rates on {suite.repo} at v{suite.version}.",
        files=files,
    )
    outcome = hub.publish(publication, state, create_pr=create_pr, dry_run=dry_run)
    if not dry_run and (place := place_of(repo, hub_leaderboard(hub, suite.repo))):
        outcome.lines.append(f"on the Hub's leaderboard of {suite.repo}: {place}")
    return outcome


def find_suite(hub: Hub, path: Path, result: Result, dataset: str | None) -> PublishedSuite:
    """The released suite that a result is for.

    Raises:
        PublishError: there is none, its rows are others, or the result is for a part of it.
    """
    named = result.suite.name.partition("@")[0]
    repo = dataset or (named if HUB_ID.fullmatch(named) and not Path(named).exists() else "")
    if not repo:
        raise PublishError(
            f"{path}: it was scored on {result.suite.name}, which names no dataset of the Hub",
            mend="say which one it is with --dataset ORG/s2lct",
        )
    version = result.suite.version.removeprefix("v")
    tags = hub.tags(repo, "dataset")
    commit = tags.get(f"v{version}")
    if commit is None:
        raise PublishError(
            f"{path}: {repo} has released no version {version or '(none is named)'}",
            mend=f"score the model on one of {', '.join(sorted(tags)) or 'its versions'}, or "
            "publish the suite first",
        )
    described = _described(hub, repo, commit)
    if result.suite.fingerprint not in ("", described["fingerprint"]):
        raise PublishError(
            f"{path}: it was scored on other cases than v{version} of {repo} has",
            mend=f"score the model again with --suite {repo}@v{version}",
        )
    cases = sum(file["rows"] for file in described["files"].values())
    if result.overall.cases != cases:
        raise PublishError(
            f"{path}: it covers {result.overall.cases:,} of the suite's {cases:,} cases",
            mend="score the whole suite, without --capability, --kind and --limit",
        )
    return PublishedSuite(repo, version, commit)


def _described(hub: Hub, repo: str, commit: str) -> dict[str, Any]:
    content = hub.read(repo, "dataset", SUITE_FILE, commit)
    try:
        return parse_description(content or b"", repo)
    except SuiteError as error:
        raise PublishError(
            f"{repo}: is no suite ({error.problem})", mend="name the suite's dataset"
        ) from error


def eval_result_entries(result: Result, suite: PublishedSuite) -> list[EvalResultEntry]:
    """A result as the Hub's evaluation results: a value for all, and for each capability.

    Values are percent of cases passed, because the Hub ranks the highest first.
    """
    from huggingface_hub import EvalResultEntry

    low, high = result.overall.ci
    notes = {
        ALL: f"failure rate {result.overall.failure_rate:.1%} [{low:.1%}, {high:.1%}], "
        f"mean of the capabilities; S²LCT {suite.version}; "
        f"model revision {result.model.revision or 'not recorded'}"
    }
    rates = {ALL: result.overall.failure_rate}
    for name, record in result.capabilities.items():
        failures = record.seed.failures + record.expansion.failures
        cases = record.seed.cases + record.expansion.cases
        rates[name] = failures / cases if cases else 0.0
        notes[name] = (
            f"failure rate of seeds {record.seed.failure_rate:.1%}, of expansions "
            f"{record.expansion.failure_rate:.1%}; pass-to-fail {record.pass_to_fail}"
        )
    return [
        EvalResultEntry(
            dataset_id=suite.repo,
            task_id=task_id(name),
            value=round(100 * (1 - rate), 2),
            dataset_revision=suite.commit,
            date=result.date,
            notes=notes[name],
        )
        for name, rate in rates.items()
    ]


def _eval_results(hub: Hub, repo: str, commit: str, result: Result, suite: PublishedSuite) -> str:
    """The file's new content: what it says of other datasets stays."""
    from huggingface_hub import eval_result_entries_to_yaml

    try:
        known = yaml.safe_load(hub.read(repo, "model", EVAL_RESULTS_FILE, commit) or b"") or []
        kept = [entry for entry in known if entry["dataset"]["id"] != suite.repo]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise PublishError(
            f"{repo}: its {EVAL_RESULTS_FILE} cannot be read ({type(error).__name__})",
            mend="mend or delete that file",
        ) from error
    entries = eval_result_entries_to_yaml(eval_result_entries(result, suite))
    return yaml.safe_dump([*kept, *entries], sort_keys=False, allow_unicode=True, width=100)


def model_index(result: Result, suite: PublishedSuite) -> list[EvalResult]:
    """A result as entries of ``model-index``: failure rates in [0, 1]."""
    from huggingface_hub import EvalResult

    def entry(config: str, name: str, metric: str, value: float) -> EvalResult:
        return EvalResult(
            task_type=_TASK,
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

    entries = [entry(ALL, "Macro failure rate", "macro_failure_rate", result.overall.failure_rate)]
    for name, record in result.capabilities.items():
        entries += [
            entry(name, "Failure rate of seeds", "seed_failure_rate", record.seed.failure_rate),
            entry(
                name,
                "Failure rate of expansions",
                "expansion_failure_rate",
                record.expansion.failure_rate,
            ),
            entry(name, "Pass-to-fail", "pass_to_fail", record.pass_to_fail),
        ]
    return entries


def with_model_index(card: str, result: Result, suite: PublishedSuite) -> str:
    """A model's card with the result in its ``model-index``; what it says besides stays.

    Raises:
        PublishError: the card's own ``model-index`` cannot be read.
    """
    from huggingface_hub import ModelCard, ModelCardData

    if not card.startswith("---"):
        card = f"---\n{{}}\n---\n{card}"
    try:
        read = ModelCard(card)
        data = read.data
        assert isinstance(data, ModelCardData)
        known: Sequence[EvalResult] = data.eval_results or ()
    except (ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise PublishError(
            f"{result.model.name}: the metadata of its card cannot be read "
            f"({str(error).splitlines()[0]})",
            mend="mend its README.md, or leave out --model-index",
        ) from error
    kept = [one for one in known if one.dataset_type != suite.repo]
    data.model_name = data.model_name or result.model.name.split("/")[-1]
    data.eval_results = [*kept, *model_index(result, suite)]
    return str(read)


def hub_leaderboard(hub: Hub, dataset: str) -> list[DatasetLeaderboardEntry]:
    """The Hub's own leaderboard of a benchmark; empty where the server has none."""
    from huggingface_hub.errors import HfHubHTTPError

    with told_hub_errors("read the leaderboard of", dataset, "The result itself is published."):
        try:
            return list(hub.api.get_dataset_leaderboard(dataset, base_model_only=False))
        except HfHubHTTPError as error:
            if error.response.status_code in (400, 404, 501):
                return []
            raise


def place_of(model: str, leaderboard: Sequence[DatasetLeaderboardEntry]) -> str:
    """Where a model stands in words; empty if it is not there."""
    overall = [one for one in leaderboard if "mean of the capabilities" in (one.notes or "")]
    ranked: Mapping[str, int] = {one.model_id: number for number, one in enumerate(overall, 1)}
    return f"place {ranked[model]} of {len(overall)}" if model in ranked else ""
