"""Cache results that take long to compute from a model."""

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


def cached_result(
    model: str, inputs: Any, adapter: TypeAdapter[Result], compute: Callable[[], Result]
) -> Result:
    """Return the result of ``compute``, from the cache if an earlier call stored it there.

    Args:
        model: the model's fingerprint; without one nothing is cached.
        inputs: everything else that the result depends on, as JSON values.
        adapter: converts the result to JSON and back.
        compute: computes the result.
    """
    content = _cached_bytes(model, inputs, lambda: adapter.dump_json(compute()))
    return adapter.validate_json(content)


def cached_arrays(model: str, inputs: Any, compute: Callable[[], Arrays]) -> Arrays:
    """Return the named arrays that ``compute`` computes; see `cached_result`."""
    return load(_cached_bytes(model, inputs, lambda: save(dict(compute()))))


def _cached_bytes(model: str, inputs: Any, compute: Callable[[], bytes]) -> bytes:
    if not model:
        return compute()
    code = package_fingerprint("s2lct.analysis", "s2lct.leaderboard")
    key = fingerprint_of([code, inputs, predicting_versions(), current_device()])
    with Cache() as cache:
        return predictions(cache, model, [key], lambda _: [(key, compute())])[key]
