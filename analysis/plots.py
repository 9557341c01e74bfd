"""Pictures by matplotlib: how they look, and how they become bytes, the same each time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from s2lct.errors import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#2f81d6", "#d9730d", "#7d8590", "#2da44e", "#8250df", "#bf3989")


@contextmanager
def style(**options: Any) -> Iterator[None]:
    """Text as text, in the page's letters; further options as in matplotlib's rcParams."""
    require("matplotlib")
    import matplotlib

    shared: dict[Any, Any] = {
        "font.family": "sans-serif",
        "font.size": 10,
        "svg.fonttype": "none",
        "svg.hashsalt": "s2lct",
    }
    with matplotlib.rc_context(shared | options):
        yield


def picture(figure: Figure, kind: str, **options: Any) -> bytes:
    """A figure as ``png`` or ``svg``, without a date or a version."""
    metadata = {"png": {"Software": None}, "svg": {"Date": None}}[kind]
    file = io.BytesIO()
    figure.savefig(file, format=kind, metadata=metadata, **options)
    return file.getvalue()
