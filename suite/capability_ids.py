"""Ids of capabilities: valid ids, and the spelling of ids that users type, ``LC4`` for ``lc4``."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence

from s2lct.errors import ScoringError
from s2lct.plain_text import did_you_mean, plain, words

ID_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,30}$"
_MAX_CHARACTERS, _HASH_DIGITS = 31, 6
_RESERVED_SUFFIXES = ("_ci_low", "_ci_high", "_seeds", "_expansions", "_consistency")
_RESERVED = words(
    "all answered_failure_rate_macro consistency consistency_macro consistency_micro "
    "best_constant consistency_pairs consistency_right capability cases chance "
    "chance-corrected chance_corrected ci_high ci_low endpoint refusals unreadable "
    "date failure_rate failure_rate_macro failure_rate_micro failures "
    "interval kind label_rule licence macro mean micro model note one_answer one_answer_share "
    "obtained options overall parameters pass-to-fail pass_to_fail passing_expansions "
    "prompt prompts prompts_high prompts_low prompts_mean prompts_pass_to_fail "
    "rank rank_high rank_low result_sha256 revision size suite suite_fingerprint suite_official "
    "suite_version weights weights_sha256"
)
"""Names that no capability may have, in upper or lower case: columns of tables that also have a
column for each capability, or names for all capabilities."""


def is_capability_id(name: str) -> bool:
    """Whether a name is a valid id of a capability, which becomes a config and a table column."""
    is_reserved = name.lower() in _RESERVED or name.lower().endswith(_RESERVED_SUFFIXES)
    return re.fullmatch(ID_PATTERN, name) is not None and not is_reserved


def capability_id_of(name: str) -> str:
    """The id of a capability, from its name in a suite of others.

    A valid id is kept. In other names hyphens replace invalid characters; a name that is too long
    or reserved is truncated and gets digits of its hash.

    >>> capability_id_of("simple negations: not negative")
    'simple-negations-not-negative'
    """
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    hyphened = re.sub(r"[^A-Za-z0-9_-]+", "-", ascii_name).strip("-_")
    if is_capability_id(hyphened):
        return hyphened
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    start = re.sub(r"^[^A-Za-z]+", "", hyphened)[: _MAX_CHARACTERS - _HASH_DIGITS - 1].rstrip("-_")
    return f"{start or 'test'}-{digits}"


def in_known_spelling(ids: Iterable[str], known_ids: Iterable[str]) -> tuple[str, ...]:
    """Distinct ids in the spelling of the known ids; unknown ids are kept.

    >>> in_known_spelling(["lc4", "LC4", "lc77"], ["LC4", "LC5"])
    ('LC4', 'lc77')
    """
    spelling = {id.casefold(): id for id in known_ids}
    exact = set(spelling.values())
    return tuple(
        dict.fromkeys(id if id in exact else spelling.get(id.casefold(), id) for id in ids)
    )


def chosen_capabilities(
    ids: Iterable[str], known_ids: Sequence[str], suite_name: str
) -> tuple[str, ...]:
    """The chosen capabilities of a suite, in the suite's spelling.

    Args:
        ids: the ids of the chosen capabilities, in upper or lower case.
        known_ids: the suite's capabilities.
        suite_name: the name of the suite, for the error.

    Raises:
        ScoringError: no id is given, or the suite lacks one.
    """
    capabilities = in_known_spelling(map(str, ids), known_ids)
    unknown = [plain(id, 80) for id in capabilities if id not in known_ids]
    if unknown or not capabilities:
        raise ScoringError(
            f"suite {suite_name}: has no capability {', '.join(unknown) or 'without a name'}",
            hint=f"{did_you_mean((unknown or [''])[0], known_ids)}choose among "
            f"{', '.join(known_ids)}, or leave it out to take all",
        )
    return capabilities


def natural_order(capability: str) -> tuple[str, int]:
    """A sort key for ids of capabilities, which sorts LC2 before LC10."""
    letters = capability.rstrip("0123456789")
    return letters, int(capability[len(letters) :] or 0)
