"""Results and suites on the Hub, as folders here; what fails is a `ScoringError`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from s2lct.errors import ScoringError
from s2lct.hub_calls import hub_call, is_hub_id, said_by
from s2lct.leaderboard.results.untrusted import RefusedError
from s2lct.suite.cases import SuiteCases, load_cases
from s2lct.suite.tables import SUITE_FILE
from s2lct.suite.versions import Version

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MOST_VERSIONS = 50


def hub_api() -> HfApi:
    """The client for the Hub that HF_ENDPOINT names, with its own login."""
    from huggingface_hub import HfApi

    return HfApi(library_name="s2lct")


@contextmanager
def told_hub_errors(name: str) -> Iterator[None]:
    """Turn whatever the Hub's client raises into one `ScoringError`, in which no token stands."""
    try:
        with hub_call():
            yield
    except (ScoringError, RefusedError):
        raise
    except Exception as error:  # whatever the client's HTTP library raises
        raise ScoringError(
            f"{name}: cannot be fetched ({said_by(error)})",
            hint="check the name and the network; a private repository needs `hf auth login`",
        ) from None


def snapshot(name: str, patterns: Sequence[str] = ("*.json", "*.parquet")) -> Path:
    """Files of a dataset ``ORG/NAME[@REVISION]``."""
    if not is_hub_id(name):
        raise ScoringError(
            f"{name}: neither a folder nor a Parquet file nor a Hub dataset",
            hint="name a folder of result files, or ORG/NAME",
        )
    repo, _, revision = name.partition("@")
    with told_hub_errors(name):
        return Path(
            hub_api().snapshot_download(
                repo, repo_type="dataset", revision=revision or None, allow_patterns=list(patterns)
            )
        )


def newest_commit(name: str) -> str:
    """The commit that a dataset ``ORG/NAME[@REVISION]`` is at now."""
    repo, _, revision = name.partition("@")
    with told_hub_errors(name):
        return str(hub_api().repo_info(repo, repo_type="dataset", revision=revision or None).sha)


def official_suites(names: Sequence[str]) -> list[SuiteCases]:
    """The suites that an operator names, each once.

    Args:
        names: folders, ``ORG/NAME@REVISION``, or ``ORG/NAME`` for every released version.
    """
    found: dict[str, SuiteCases] = {}
    for name in names:
        for suite in _suites_named(name):
            if not suite.fingerprint:
                raise ScoringError(
                    f"--suite {name}: has no fingerprint", hint="name a suite of `s2lct build`"
                )
            found.setdefault(suite.fingerprint, suite)
    return list(found.values())


def _suites_named(name: str) -> Iterator[SuiteCases]:
    if Path(name).is_dir() or not is_hub_id(name):
        yield load_cases(name)
        return
    repo, _, revision = name.partition("@")
    revisions = [revision]
    if not revision:
        with told_hub_errors(f"--suite {name}"):
            refs = hub_api().list_repo_refs(repo, repo_type="dataset")
        versions = filter(None, (Version.of_tag(tag.name) for tag in refs.tags))
        newest = sorted(versions, reverse=True)[:MOST_VERSIONS]
        revisions = [version.tag for version in newest] or ["main"]
    for one in (f"{repo}@{revision}" for revision in revisions):
        # Read from its files, as a folder is: that needs no library but the Hub's client.
        yield replace(load_cases(snapshot(one, [SUITE_FILE, "*.parquet"])), name=one)
