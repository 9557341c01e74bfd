"""Capability files: those that are shipped in this folder, and those that a person writes."""

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
from s2lct.suite.capability_ids import spelled
from s2lct.suite.other_suites import CheckListCase
from s2lct.yaml_files import read_yaml

_NEUTRAL = Domain()
_TYPE_NAME = re.compile(r"\[|^str$")


def read_capability(path: Path, domain: Domain = _NEUTRAL) -> Capability:
    """Read one capability from a YAML file, worded for a domain.

    A `CapabilityError` names the file, and the fields that do not fit.
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
        faults = dict.fromkeys(map(_fault_in_words, error.errors(include_url=False)))
        raise CapabilityError(f"{path}: {plain('; '.join(faults), 1_000)}", hint=hint) from error


def _fault_in_words(fault: Mapping[str, Any]) -> str:
    """A fault with its field, without pydantic's names of types."""
    field = ".".join(str(part) for part in fault["loc"] if not _TYPE_NAME.search(str(part)))
    return f"{field or 'file'}: {fault['msg']}"


def capability_files(
    extra_files: Sequence[Path] = (), domain: Domain = _NEUTRAL
) -> dict[str, tuple[Capability, Path]]:
    """Shipped capabilities and those of ``extra_files`` by id and in order, with their files."""
    added = ((read_capability(path, domain), path) for path in extra_files)
    return _by_id(itertools.chain(_shipped(domain).values(), added))


@cache
def _shipped(domain: Domain) -> Mapping[str, tuple[Capability, Path]]:
    folder = Path(str(resources.files(__package__)))
    return _by_id((read_capability(path, domain), path) for path in sorted(folder.glob("*.yaml")))


def _by_id(read: Iterable[tuple[Capability, Path]]) -> dict[str, tuple[Capability, Path]]:
    known: dict[str, tuple[Capability, Path]] = {}
    for capability, path in read:
        if capability.id.casefold() in known:
            raise CapabilityError(
                f"{path}: there is a capability {capability.id} already",
                hint="give the capability another id",
            )
        known[capability.id.casefold()] = capability, path
    ordered = sorted(
        known.values(), key=lambda both: math.inf if both[0].order is None else both[0].order
    )
    return {capability.id: (capability, path) for capability, path in ordered}


def load_capabilities(
    names: Sequence[str] = (), extra_files: Sequence[Path] = (), domain: Domain = _NEUTRAL
) -> tuple[Capability, ...]:
    """Shipped capabilities and those of ``extra_files``; all of them, or those named in any case.

    A `CapabilityError` says that a name is unknown, or that two capabilities have one id.
    """
    files = capability_files(extra_files, domain)
    known = {name: capability for name, (capability, _) in files.items()}
    chosen = spelled(names, known) if names else known
    for name in chosen:
        if name not in known:
            raise CapabilityError(
                f"--capability {plain(name, 60)}: unknown",
                hint=f"{did_you_mean(name, known)}there are {', '.join(known)}",
            )
    return tuple(known[name] for name in chosen)


def cases_beside(cases: list[CheckListCase], capability: str) -> list[CheckListCase]:
    """Cases of the CheckList test that a capability stands beside; all where its file names none.

    Two capabilities may divide a test's cases by the labels that pass.
    """
    test = next((one.checklist for one in load_capabilities() if one.id == capability), None)
    if test is None:
        return cases
    found = [case for case in cases if case.test == test.test and test.covers(case.passes)]
    return found or cases
