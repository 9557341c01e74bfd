"""Arrays in files that say what made them, and in the cache; and the memory that they take."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from s2lct.cache import Cache, predictions
from s2lct.errors import AnalysisError
from s2lct.files import write_bytes
from s2lct.identity import package_fingerprint

Arrays = Mapping[str, npt.NDArray[Any]]


def save_arrays(path: Path, kind: str, arrays: Arrays, described: Mapping[str, Any]) -> None:
    """Write arrays and plain JSON values, whole or not at all; equal ones give equal bytes."""
    # One entry: safetensors writes several in an order of its own each time.
    metadata = {f"s2lct {kind}": json.dumps(described, ensure_ascii=False, sort_keys=True)}
    written = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_bytes(path, save(written, metadata))


def load_arrays(path: Path, kind: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read what `save_arrays` wrote; to be called within `unreadable`."""
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
        if f"s2lct {kind}" not in metadata:
            raise ValueError(f"it holds no {kind}")
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return arrays, json.loads(metadata[f"s2lct {kind}"])


@contextmanager
def unreadable(problem: str, hint: str) -> Iterator[None]:
    """Tell what is wrong with a file in an `AnalysisError`."""
    try:
        yield
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise AnalysisError(f"{problem} ({error})", hint=hint) from error


def kept_arrays(model: str, what: str, make: Callable[[], Arrays]) -> dict[str, npt.NDArray[Any]]:
    """Arrays that take long to make of a model, made once and kept in the cache.

    Args:
        model: its fingerprint.
        what: everything else that they depend on, apart from the code.
        make: makes them.
    """
    what = f"{what} {package_fingerprint('s2lct.analysis')}"
    with Cache() as cache:
        found = predictions(cache, model, [what], lambda _: [(what, save(dict(make())))])
    return load(found[what])


def check_memory(needed: int, what: str, instead: str) -> None:
    """Refuse what needs more bytes than half of the machine's memory.

    Raises:
        AnalysisError: it does; names what it is, and what to pass instead.
    """
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if needed > room:
        raise AnalysisError(
            f"{what}: need {needed / 1e9:,.1f} GB, half of this machine's memory is "
            f"{room / 1e9:,.1f} GB",
            hint=f"pass {instead}",
        )
