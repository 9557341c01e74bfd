"""Records and arrays that take long to make, kept in the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy.typing as npt
from pydantic import TypeAdapter
from safetensors.numpy import load, save

from s2lct.cache import Cache, predictions
from s2lct.engines import current_device
from s2lct.identity import fingerprint_of, package_fingerprint, predicting_versions

Made = TypeVar("Made")
Array = npt.NDArray[Any]


def kept(model: str, inputs: Any, adapter: TypeAdapter[Made], make: Callable[[], Made]) -> Made:
    """What is made of a model, made once.

    Args:
        model: its fingerprint; where it has none, nothing is kept.
        inputs: everything else that it depends on, as JSON.
        adapter: writes and reads it.
        make: makes it.
    """
    if not model:
        return make()
    source = package_fingerprint("s2lct.analysis", "s2lct.leaderboard")
    key = fingerprint_of([source, inputs, predicting_versions(), current_device()])
    with Cache() as cache:
        found = predictions(cache, model, [key], lambda _: [(key, adapter.dump_json(make()))])
    return adapter.validate_json(found[key])


def kept_arrays(model: str, what: str, make: Callable[[], Mapping[str, Array]]) -> dict[str, Array]:
    """Arrays that take long to make of a model, made once.

    Args:
        model: its fingerprint.
        what: everything else that they depend on, apart from the code.
        make: makes them.
    """
    source = package_fingerprint("s2lct.analysis")
    key = f"{what} {source} {predicting_versions()} {current_device()}"
    with Cache() as cache:
        found = predictions(cache, model, [key], lambda _: [(key, save(dict(make())))])
    return load(found[key])
