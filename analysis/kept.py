"""Records that take long to make, kept in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import TypeAdapter

from s2lct.cache import Cache, predictions
from s2lct.identity import fingerprint_of, package_fingerprint

Made = TypeVar("Made")


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
    key = fingerprint_of([source, inputs])
    with Cache() as cache:
        found = predictions(cache, model, [key], lambda _: [(key, adapter.dump_json(make()))])
    return adapter.validate_json(found[key])
