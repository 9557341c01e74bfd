"""The Parquet tables that this package computes its language data into."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from s2lct.errors import S2lctError


def read_columns(
    path: Path, names: Sequence[str], *, what: str, refused: type[S2lctError], hint: str
) -> list[list[Any]]:
    """Columns of a table.

    Args:
        path: the file.
        names: of the columns.
        what: the table, in words.
        refused: the error to raise.
        hint: what to do then.

    Raises:
        S2lctError: it is missing, cannot be read, or lacks a column; of the kind asked for.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        return [table.column(name).to_pylist() for name in names]
    except KeyError as error:
        raise refused(f"{path} is not a {what}: {error}", hint=hint) from error
    except FileNotFoundError as error:
        raise refused(f"no {what} at {path}", hint=hint) from error
    except (OSError, pa.ArrowException) as error:
        raise refused(f"cannot read the {what} {path}: {error}", hint=hint) from error
