"""Pickles of strangers, read without running anything that they name.

A pickle names classes and functions, and has them called. Here each name stands for an inert
stand-in, whatever is called; only numbers, texts, lists, tuples, dicts and sets are made as they
are. Nothing is imported, looked up or executed, and what could claim much memory is refused.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from s2lct.errors import SuiteError
from s2lct.plain_text import plain

_SHOWN = 200
_REFUSED = (
    *(pickle.NEXT_BUFFER, pickle.READONLY_BUFFER),
    *(pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.PERSID, pickle.BINPERSID),
)
"""What no release has: objects from elsewhere."""


class StandIn:
    """What stands for an object of a class, or for what a function gives.

    What it is called with is dropped, and nothing is copied: a short pickle stays a small thing.

    Attributes:
        named: the class or function, as ``module.name``.
        state: what the object's attributes were set to.
        items: what was set by key.
    """

    named = ""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """Make one, whatever it is called with."""
        made = super().__new__(cls)
        made.state, made.items = {}, {}
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        self.state: dict[str, Any]
        self.items: dict[Any, Any]

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        self.state = next((part for part in parts if isinstance(part, dict)), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def __call__(self, *_: Any) -> StandIn:
        """What is called comes to another stand-in."""
        return StandIn()

    def append(self, value: Any) -> None:
        """Nothing is kept of what a sequence of an unknown class holds."""

    def extend(self, values: Any) -> None:
        """See `append`."""

    def add(self, value: Any) -> None:
        """See `append`."""


class _Rebuilt(StandIn):
    """What `copyreg` calls to make an object of the class that it is given first."""

    def __new__(cls, *given: Any, **_: Any) -> Any:
        kind = given[0] if given else StandIn
        return kind() if isinstance(kind, type) and issubclass(kind, StandIn) else StandIn()


_REBUILT = ("copyreg.__newobj__", "copyreg._reconstructor", "copy_reg._reconstructor")


class _Inert(pickle._Unpickler):
    """Python's own reader, for which no name has anything behind it."""

    read: Callable[[int], bytes]
    append: Callable[[Any], None]
    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        operation: own
        for operation, own in pickle._Unpickler.dispatch.items()
        if bytes([operation]) not in _REFUSED
    }

    def _load_bytes(self) -> None:
        """Bytes instead of an array of bytes, which would claim its room before it is filled."""
        (size,) = struct.unpack("<Q", self.read(8))
        self.append(self.read(size))

    dispatch[pickle.BYTEARRAY8[0]] = _load_bytes

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="latin-1")
        self._classes: dict[str, type[StandIn]] = {}

    def find_class(self, module_name: str, global_name: str) -> type[StandIn]:
        """A class of stand-ins of its own; never what the name stands for."""
        name = f"{module_name}.{global_name}"
        if name not in self._classes:
            base = _Rebuilt if name in _REBUILT else StandIn
            self._classes[name] = type("StandIn", (base,), {"named": name})
        return self._classes[name]


def read_inert(content: bytes, told: str) -> Any:
    """What a pickle holds, with stand-ins for all but numbers, texts and plain containers.

    Args:
        content: the pickle.
        told: what it is called in messages.

    Raises:
        SuiteError: it is no pickle, a broken one, or holds what nothing stands for.
    """
    try:
        return _Inert(content).load()
    except (
        pickle.UnpicklingError, EOFError, KeyError, IndexError, ValueError, TypeError,
        AttributeError, OverflowError, MemoryError, RecursionError, AssertionError, struct.error,
    ) as error:  # fmt: skip
        raise SuiteError(
            f"{told}: is no pickle that can be read ({plain(str(error), _SHOWN) or 'cut off'})",
            hint="fetch it again: release_data.tar.gz of https://github.com/marcotcr/checklist",
        ) from error


def attributes(thing: Any) -> dict[str, Any]:
    """What a stand-in's attributes were set to; none of anything else."""
    return thing.state if isinstance(thing, StandIn) else {}


def entries(thing: Any) -> Iterator[tuple[Any, Any]]:
    """The items of a mapping, or of what stands for one."""
    found = thing.items if isinstance(thing, StandIn) else thing
    yield from found.items() if isinstance(found, dict) else ()
