"""Publishing and installing: a function a command, which takes the command's options by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from s2lct.options import Argument, Option, Options, takes
from s2lct.progress import Bars

if TYPE_CHECKING:
    from s2lct.dataset_script.hub import Hub, Outcome
    from s2lct.dataset_script.install import Installed


class HubOptions(Options):
    """How something gets onto the Hub."""

    create_pr: Annotated[bool, Option("Propose it in a pull request instead of committing.")] = (
        False
    )
    dry_run: Annotated[bool, Option("Only say what would be done; needs no token.")] = False

    def hub(self) -> Hub:
        """Where and how it gets there."""
        from s2lct.dataset_script.hub import Hub

        return Hub(getattr(self, "private", False), self.create_pr, self.dry_run)


class RepoOptions(HubOptions):
    """Where on the Hub something is put."""

    repo: Annotated[str, Option("Repository, as ORG/NAME; made if there is none.")]
    private: Annotated[bool, Option("Make a new repository private.")] = False


class DatasetOptions(RepoOptions):
    """Options of `publish_dataset`."""

    suite: Annotated[Path, Argument("A suite that `s2lct build` wrote.", metavar="DIR")]
    version: Annotated[
        str | None,
        Option(r"Semantic version, as 1.0.0 \[default: the one that follows from what changed]."),
    ] = None


@takes(DatasetOptions)
def publish_dataset(options: DatasetOptions, bars: Bars) -> Outcome:
    """Publish a suite: one commit, one tag, a changelog."""
    from s2lct.dataset_script.publish.dataset import publish_dataset as publish

    return publish(options.suite, options.repo, options.hub(), options.version)


class MetricOptions(RepoOptions):
    """Options of `publish_metric`."""

    dataset: Annotated[
        str | None,
        Option(r"Suite that the app scores on \[default: the dataset of --repo's name]."),
    ] = None


@takes(MetricOptions)
def publish_metric(options: MetricOptions, bars: Bars) -> Outcome:
    """Publish the Space that `evaluate.load("ORG/s2lct")` reads."""
    from s2lct.dataset_script.publish.space import publish_metric as publish

    return publish(options.repo, options.hub(), options.dataset)


class LeaderboardOptions(RepoOptions):
    """Options of `publish_leaderboard`."""

    results: Annotated[str, Option("Dataset with the results, as ORG/NAME.")]
    dataset: Annotated[str | None, Option("The suite's dataset, named in the card.")] = None


@takes(LeaderboardOptions)
def publish_leaderboard(options: LeaderboardOptions, bars: Bars) -> Outcome:
    """Publish the leaderboard as a Space."""
    from s2lct.dataset_script.publish.space import publish_leaderboard as publish

    return publish(options.repo, options.results, options.hub(), options.dataset)


class ResultsOptions(HubOptions):
    """Options of `publish_results`."""

    files: Annotated[
        tuple[Path, ...],
        Argument("Result files that `s2lct score` wrote.", path="existing file"),
    ]
    to: Annotated[str, Option("Dataset of results, as ORG/NAME.")]
    private: Annotated[bool, Option("Make a new repository private.")] = False


@takes(ResultsOptions)
def publish_results(options: ResultsOptions, bars: Bars) -> Outcome:
    """Publish result files, each checked against its cases."""
    from s2lct.dataset_script.publish.results import publish_results as publish

    return publish(options.files, options.to, options.hub())


class ModelResultOptions(HubOptions):
    """Options of `publish_model_result`."""

    result: Annotated[Path, Argument("A result file of a model of the Hub.", path="existing file")]
    dataset: Annotated[
        str | None, Option(r"The suite's dataset \[default: the one it was scored on].")
    ] = None
    model_index: Annotated[bool, Option("Write the card's model-index too, for older tools.")] = (
        False
    )


@takes(ModelResultOptions)
def publish_model_result(options: ModelResultOptions, bars: Bars) -> Outcome:
    """Publish a result in the model's own repository.

    As .eval_results/s2lct.yaml.
    """
    from s2lct.dataset_script.publish.model_result import publish_model_result as publish

    return publish(options.result, options.hub(), options.dataset, options.model_index)


class InstallOptions(Options):
    """Options of `install`."""

    suite: Annotated[
        str,
        Argument("A suite that `s2lct build` wrote, or a published one.", metavar="DIR|ORG/NAME"),
    ]
    version: Annotated[
        str | None, Option("The version, as 1.0.0; of a repository, else the newest.")
    ] = None


@takes(InstallOptions)
def install(options: InstallOptions, bars: Bars) -> Installed:
    """Make load_dataset("s2lct") and evaluate.load("s2lct") work.

    From any directory, offline too.
    """
    from s2lct.dataset_script.install import install as install_suite

    bar = bars("install", None)
    return install_suite(options.suite, options.version, advance=lambda step: bar(1, step))
