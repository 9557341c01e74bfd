"""Regular expressions of capability files: matched for a moment, never for ever."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import regex

from s2lct.errors import CapabilityError
from s2lct.plain_text import plain

SECONDS = 1.0
MOST_CHARACTERS = 2_000
MOST_REPETITIONS = 100_000
_REPETITIONS = re.compile(r"\{(\d+)(?:,\d*)?\}")


def check_pattern(pattern: str) -> None:
    """Refuse what is no regular expression of Python's `re`, or is too large a one.

    Raises:
        ValueError: it is so.
    """
    if len(pattern) > MOST_CHARACTERS:
        raise ValueError(f"a regular expression of more than {MOST_CHARACTERS:,} characters")
    # What has to be repeated is written out when a pattern is compiled.
    if math.prod(max(int(least), 1) for least in _REPETITIONS.findall(pattern)) > MOST_REPETITIONS:
        raise ValueError(f"a regular expression with over {MOST_REPETITIONS:,} repetitions")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
            regex.compile(pattern)
    except (re.error, regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"not a regular expression: {error}") from None


def check_replacement(pattern: str, replacement: str) -> None:
    r"""Refuse a replacement with groups (``\1``) that its pattern does not have.

    Raises:
        ValueError: it is one.
    """
    try:
        # `re` looks at the replacement even where nothing is replaced.
        re.sub(pattern, replacement, "")
    except (re.error, IndexError) as error:
        raise ValueError(f"{replacement!r} does not go with {pattern!r}: {error}") from None


def searched(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text.

    Raises:
        CapabilityError: finding it takes too long.
    """
    return _timed(regex.search, pattern, text) is not None


def matched(pattern: str, text: str) -> Any:
    """The match of a pattern at the start of a text, if any.

    Raises:
        CapabilityError: finding it takes too long.
    """
    return _timed(regex.match, pattern, text)


@contextmanager
def named_in_errors(name: str) -> Iterator[None]:
    """Put a name before what goes wrong with a capability, such as ``LC12, slot P``."""
    try:
        yield
    except CapabilityError as error:
        raise CapabilityError(f"{name}, {error.problem}", hint=error.hint) from error


def _timed(find: Any, pattern: str, text: str) -> Any:
    try:
        return find(pattern, text, timeout=SECONDS)
    except TimeoutError:
        raise CapabilityError(
            f"the regular expression {plain(pattern, 200)!r} takes longer than {SECONDS:g} s on "
            f"the sentence {plain(text, 200)!r}",
            hint="write it without a repetition inside a repetition, such as (a+)+",
        ) from None
