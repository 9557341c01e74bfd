"""Errors of publishing and installing, and the Hub's own told in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from s2lct.errors import BuilderError, PublishError, UnreachableError
from s2lct.hub_calls import causes_of, hub_call

_LONGEST = 200
REPEAT = "Nothing was published; the same command can be given again."


@contextmanager
def told_hub_errors(action: str, repo: str, state: str = REPEAT) -> Iterator[None]:
    """Turn what the Hub's client raises into one error with a mend.

    Args:
        action: what was being done, as in "cannot ACTION REPO".
        repo: the repository.
        state: what is published and what is not if this fails.

    Raises:
        PublishError: for a refusal, a missing repository, a lost connection or a refused card.
    """
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    # The HTTP library's own base class: httpx or httpx2, as the client's version has it.
    connection_errors = (HfHubHTTPError.__bases__[0], ConnectionError, TimeoutError)
    try:
        with hub_call():
            yield
    except BuilderError:
        raise
    except Exception as error:
        causes = list(causes_of(error))
        answer = next((one for one in causes if isinstance(one, HfHubHTTPError)), None)
        invalid = next((one for one in causes if isinstance(one, HFValidationError)), None)
        # A lost connection may be told as offline mode, which is one of these too.
        lost = next(
            (
                one
                for one in causes
                if isinstance(one, connection_errors) and not isinstance(one, OfflineModeIsEnabled)
            ),
            None,
        )
        offline = lost is None and any(isinstance(one, OfflineModeIsEnabled) for one in causes)
        kind = PublishError
        if invalid is not None:
            reason, mend = str(invalid), "a repository is named ORG/NAME"
        elif offline:
            kind, reason, mend = UnreachableError, "HF_HUB_OFFLINE is set", "unset it"
        elif answer is not None:
            reason, mend = _refusal(answer, repo)
        elif lost is not None:
            reason = f"the connection to {_endpoint()} failed ({_first_line(lost)})"
            kind, mend = UnreachableError, "check the network and HF_ENDPOINT"
        elif isinstance(error, ValueError) and "metadata" in str(error).lower():
            said = " ".join(str(error).split())[:_LONGEST]
            reason, mend = f"the Hub refuses the card ({said})", "mend what it names"
        else:
            raise
        raise kind(f"cannot {action} {repo}: {reason}. {state}", mend=mend) from None


def _refusal(error: OSError, repo: str) -> tuple[str, str]:
    """Reason and mend for an HTTP status."""
    from huggingface_hub import get_token

    response = error.response  # type: ignore[attr-defined]
    status: int = response.status_code
    said = getattr(error, "server_message", None) or ""
    owner = repo.split("/")[0]
    again = "give the same command again"
    if status == 401 and get_token() is None:
        return "not logged in (401)", "log in with `hf auth login`, or set HF_TOKEN"
    wait = response.headers.get("Retry-After")
    refusals = {
        401: (
            "the Hub does not know the token (401)",
            "make a new one in the Hub's settings and log in again with `hf auth login`",
        ),
        403: (
            f"the token may not write to {owner} (403)",
            f"log in with a token that may write to {owner}, or propose it with --create-pr",
        ),
        404: (
            "there is no such repository, or the token may not see it (404)",
            "check its name, and `hf auth whoami`",
        ),
        429: (
            "too many requests (429)",
            f"wait {f'{wait} seconds' if wait else 'some minutes'} and {again}",
        ),
    }
    if status in refusals:
        return refusals[status]
    told = f"({status}{_in_brackets(said)})"
    if status in (409, 412):
        return f"somebody else changed it at the same time {told}", f"{again}; it compares anew"
    if status >= 500:
        return f"the Hub failed {told}", f"see https://status.huggingface.co and {again}"
    return f"the Hub refused it {told}", "mend what it names"


def _in_brackets(said: str) -> str:
    return f": {' '.join(said.split())[:_LONGEST]}" if said else ""


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:_LONGEST] if lines else type(error).__name__


def _endpoint() -> str:
    from huggingface_hub.constants import ENDPOINT

    return ENDPOINT
