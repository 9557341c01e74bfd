"""Download results and suites from the Hub; every failure becomes one error with a hint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from packaging.version import Version

from s2lct.errors import S2lctError, ScoringError
from s2lct.hub_calls import causes_of, error_summary, repository_of
from s2lct.plain_text import MAX_TEXT_CHARACTERS, plain
from s2lct.suite.cases import SuiteCases, load_suite
from s2lct.suite.versions import tag_of, version_of_tag

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_RETRY = "give the same command again"
_CHANGED_MEANWHILE = f"somebody else changed it at the same time: {_RETRY}; it compares anew"
_HINT_BY_STATUS = {
    401: "log in with `hf auth login`, or set HF_TOKEN to a token that the Hub knows",
    403: "log in with a token that has the right to do this, or propose it with --create-pr",
    404: "check the repository's name, and `hf auth whoami`: the token may not see it",
    409: _CHANGED_MEANWHILE,
    412: _CHANGED_MEANWHILE,
    429: f"wait {{wait}} and {_RETRY}",
    500: f"see https://status.huggingface.co and {_RETRY}",
}


def hub_api() -> HfApi:
    """The client for the Hub at HF_ENDPOINT, with the user's login."""
    from huggingface_hub import HfApi

    return HfApi(library_name="s2lct")


@contextmanager
def hub_errors(
    action: str, error_class: type[S2lctError] = ScoringError, consequence: str = ""
) -> Iterator[None]:
    """Turn any error of the Hub's client into one of ours, which never contains a token.

    Args:
        action: the action for the message "cannot ACTION", such as "fetch ORG/NAME".
        error_class: the class of the error raised.
        consequence: a last sentence for the message.
    """
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except S2lctError:
        raise
    except Exception as error:  # the client's HTTP library has errors of its own
        reason = error_summary(error)
        hint = "check the name, the network, HF_ENDPOINT and HF_HUB_OFFLINE"
        for cause in causes_of(error):
            if isinstance(cause, HfHubHTTPError):
                status, wait = cause.response.status_code, cause.response.headers.get("Retry-After")
                message = plain(cause.server_message or "", MAX_TEXT_CHARACTERS)
                reason = f"the Hub answered {status} {message}".rstrip()
                hint = _HINT_BY_STATUS.get(min(status, 500), "mend what the message names")
                hint = hint.format(wait=f"{wait} seconds" if wait else "some minutes")
                break
        message = f"cannot {action}: {reason.rstrip('.')}. {consequence}"
        raise error_class(message.rstrip(), hint=hint) from None


def download_results(name: str) -> Path:
    """Download the result files of a dataset ``ORG/NAME[@REVISION]``, and return their folder."""
    if not (repository := repository_of(name)):
        raise ScoringError(
            f"{name}: neither a folder nor a Hub dataset",
            hint="name a folder of result files, or ORG/NAME",
        )
    repo, _, revision = repository.partition("@")
    patterns = ["*.json", "*.parquet"]
    with hub_errors(f"fetch {name}"):
        return Path(
            hub_api().snapshot_download(
                repo, repo_type="dataset", revision=revision or None, allow_patterns=patterns
            )
        )


def is_on_hub(name: str) -> bool:
    """Whether a name means a dataset on the Hub; see `repository_of`."""
    return bool(repository_of(name))


def public_suite_name(name: str) -> str:
    """A suite's name for publication: a Hub id, or the last part of a path."""
    return name if is_on_hub(name) else PurePosixPath(name.replace("\\", "/")).name or name


def released_versions(repo: str) -> list[Version]:
    """The versions of a dataset that have a tag, the oldest first."""
    with hub_errors(f"read the tags of {repo}"):
        tags = hub_api().list_repo_refs(repo, repo_type="dataset").tags
    return sorted(version for tag in tags if (version := version_of_tag(tag.name)))


def load_suites(names: Sequence[str]) -> list[SuiteCases]:
    """Load folders, ``ORG/NAME@REVISION``, or every released version of ``ORG/NAME``."""
    suites: list[SuiteCases] = []
    for name in names:
        is_unpinned = is_on_hub(name) and "@" not in name
        versions = released_versions(repository_of(name)) if is_unpinned else []
        pinned_names = [f"{name}@{tag_of(version)}" for version in versions]
        suites += map(load_suite, pinned_names or [name])
    return suites
