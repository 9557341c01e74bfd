"""Results that take long to compute from a model, kept in the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy.typing as npt
from pydantic import TypeAdapter
from safetensors.numpy import load, save

from s2lct.cache import Cache, predictions
from s2lct.engines import current_device
from s2lct.identity import fingerprint_of, package_fingerprint, predicting_versions

Result = TypeVar("Result")
Arrays = Mapping[str, npt.NDArray[Any]]


def kept(
    model: str, inputs: Any, adapter: TypeAdapter[Result], compute: Callable[[], Result]
) -> Result:
    """What ``compute`` returns, computed once.

    Args:
        model: the model's fingerprint; without one nothing is kept.
        inputs: everything else that the result depends on, as JSON.
        adapter: writes and reads the result.
        compute: computes it.
    """
    written = _kept(model, inputs, lambda: adapter.dump_json(compute()))
    return adapter.validate_json(written)


def kept_arrays(model: str, inputs: Any, compute: Callable[[], Arrays]) -> Arrays:
    """Arrays by name that ``compute`` returns, computed once; see `kept`."""
    return load(_kept(model, inputs, lambda: save(dict(compute()))))


def _kept(model: str, inputs: Any, compute: Callable[[], bytes]) -> bytes:
    if not model:
        return compute()
    code = package_fingerprint("s2lct.analysis", "s2lct.leaderboard")
    key = fingerprint_of([code, inputs, predicting_versions(), current_device()])
    with Cache() as cache:
        return predictions(cache, model, [key], lambda _: [(key, compute())])[key]
