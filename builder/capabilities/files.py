"""Read capability files: the shipped ones in this folder, and those of a user."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from s2lct.builder.capabilities.schema import Capability
from s2lct.builder.domains import Domain
from s2lct.errors import CapabilityError
from s2lct.plain_text import did_you_mean, plain
from s2lct.suite.capability_ids import in_known_spelling
from s2lct.suite.other_suites import CheckListCase
from s2lct.yaml_files import read_yaml

_NEUTRAL = Domain()
_TYPE_NAME = re.compile(r"\[|^str$")


def read_capability(path: Path, domain: Domain = _NEUTRAL) -> Capability:
    """Read a capability from a YAML file, with the wordings of a domain.

    Raises:
        CapabilityError: the file cannot be read, or fields are wrong; the message names them.
    """
    hint = "mend it; `s2lct capabilities --show LC4` prints a file that fits"
    try:
        data = read_yaml(path)
    except (OSError, ValueError) as error:
        reason = plain(str(error), 300)
        raise CapabilityError(f"{path}: cannot be read as YAML: {reason}", hint=hint) from error
    try:
        return Capability.model_validate(data, context=domain)
    except ValidationError as error:
        faults = dict.fromkeys(map(_describe_error, error.errors(include_url=False)))
        raise CapabilityError(f"{path}: {plain('; '.join(faults), 1_000)}", hint=hint) from error


def _describe_error(error: Mapping[str, Any]) -> str:
    """A validation error with the name of its field, without pydantic's names of types."""
    field = ".".join(str(part) for part in error["loc"] if not _TYPE_NAME.search(str(part)))
    return f"{field or 'file'}: {error['msg']}"


def capability_files(
    extra_files: Sequence[Path] = (), domain: Domain = _NEUTRAL
) -> dict[str, tuple[Capability, Path]]:
    """The shipped capabilities and those of ``extra_files`` with their files, by id, in order."""
    extra_entries = ((read_capability(path, domain), path) for path in extra_files)
    return _by_id(itertools.chain(_shipped(domain).values(), extra_entries))


@cache
def _shipped(domain: Domain) -> Mapping[str, tuple[Capability, Path]]:
    folder = Path(str(resources.files(__package__)))
    return _by_id((read_capability(path, domain), path) for path in sorted(folder.glob("*.yaml")))


def _by_id(entries: Iterable[tuple[Capability, Path]]) -> dict[str, tuple[Capability, Path]]:
    entry_by_id: dict[str, tuple[Capability, Path]] = {}
    for capability, path in entries:
        if capability.id.casefold() in entry_by_id:
            raise CapabilityError(
                f"{path}: there is a capability {capability.id} already",
                hint="give the capability another id",
            )
        entry_by_id[capability.id.casefold()] = capability, path
    ordered = sorted(
        entry_by_id.values(),
        key=lambda entry: math.inf if entry[0].order is None else entry[0].order,
    )
    return {capability.id: (capability, path) for capability, path in ordered}


def load_capabilities(
    names: Sequence[str] = (), extra_files: Sequence[Path] = (), domain: Domain = _NEUTRAL
) -> tuple[Capability, ...]:
    """The shipped capabilities and those of ``extra_files``.

    Args:
        names: ids of the capabilities to return, in upper or lower case; empty for all.
        extra_files: a user's own capability files.
        domain: the domain whose wordings are chosen.

    Raises:
        CapabilityError: a name is unknown, a file is wrong, or two capabilities have one id.
    """
    files = capability_files(extra_files, domain)
    by_id = {id: capability for id, (capability, _) in files.items()}
    ids = in_known_spelling(names, by_id) if names else by_id
    for name in ids:
        if name not in by_id:
            raise CapabilityError(
                f"--capability {plain(name, 60)}: unknown",
                hint=f"{did_you_mean(name, by_id)}there are {', '.join(by_id)}",
            )
    return tuple(by_id[name] for name in ids)


def comparable_cases(cases: list[CheckListCase], capability: str) -> list[CheckListCase]:
    """The cases of the CheckList test that a capability is modelled on; all cases without one.

    A test may be divided between capabilities by the labels that pass.
    """
    test = next(
        (shipped.checklist for shipped in load_capabilities() if shipped.id == capability), None
    )
    if test is None:
        return cases
    matching = [case for case in cases if case.test == test.test and test.covers(case.passes)]
    return matching or cases
