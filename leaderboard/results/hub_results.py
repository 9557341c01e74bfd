"""Results and suites on the Hub, as folders here; what fails is a `ScoringError`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from s2lct.errors import ScoringError
from s2lct.hub_calls import reason_of, repository_meant
from s2lct.suite.cases import SuiteCases, load_suite
from s2lct.suite.versions import Version

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def hub_api() -> HfApi:
    """The client for the Hub that HF_ENDPOINT names, with its own login."""
    from huggingface_hub import HfApi

    return HfApi(library_name="s2lct")


@contextmanager
def named_hub_errors(name: str) -> Iterator[None]:
    """Turn whatever the Hub's client raises into one `ScoringError`, in which no token stands."""
    try:
        yield
    except ScoringError:
        raise
    except Exception as error:  # whatever the client's HTTP library raises
        raise ScoringError(
            f"{name}: cannot be fetched ({reason_of(error)})",
            hint="check the name and the network; a private repository needs `hf auth login`",
        ) from None


def snapshot(name: str) -> Path:
    """The result files of a dataset ``ORG/NAME[@REVISION]``."""
    if not (meant := repository_meant(name)):
        raise ScoringError(
            f"{name}: neither a folder nor a Hub dataset",
            hint="name a folder of result files, or ORG/NAME",
        )
    repo, _, revision = meant.partition("@")
    patterns = ["*.json", "*.parquet"]
    with named_hub_errors(name):
        return Path(
            hub_api().snapshot_download(
                repo, repo_type="dataset", revision=revision or None, allow_patterns=patterns
            )
        )


def on_hub(name: str) -> bool:
    """Whether a name is that of a dataset on the Hub; see `repository_meant`."""
    return bool(repository_meant(name))


def name_without_place(suite: str) -> str:
    """What a suite is called where strangers read it: a Hub id, or the last part of a path."""
    return suite if on_hub(suite) else PurePosixPath(suite.replace("\\", "/")).name or suite


def suites_named(names: Sequence[str]) -> list[SuiteCases]:
    """The suites that an operator names.

    Args:
        names: folders, ``ORG/NAME@REVISION``, or ``ORG/NAME`` for every released version.
    """
    places: list[str] = []
    for name in names:
        tags: list[str] = []
        if on_hub(name) and "@" not in name:
            with named_hub_errors(f"--suite {name}"):
                refs = hub_api().list_repo_refs(repository_meant(name), repo_type="dataset")
            tags = [tag.name for tag in refs.tags if Version.of_tag(tag.name)]
        places += [f"{name}@{tag}" for tag in tags] or [name]
    return list(map(load_suite, places))
