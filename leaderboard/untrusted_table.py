"""Reads a stranger's Parquet file in a process of its own, with little memory and time.

This file is run as a script by `submission`: Parquet on standard input, JSON on standard output,
either ``{"columns": {name: values}}`` or ``{"problem": text}``. It imports nothing of the package,
so that Python's isolated mode keeps the working directory out of what is imported.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MOST_ROW_GROUPS = 1_000
MOST_VALUES_A_ROW = 1_000
_LIST_TYPES = ("list<element: ", "list<item: ")


class UnfitError(Exception):
    """The file is not what it should be."""


def read(data: bytes, limits: dict[str, Any]) -> dict[str, list[Any]]:
    """The columns of a Parquet file.

    Args:
        data: the file.
        limits: ``types`` (column → the types it may have), ``rows`` (exactly), ``bytes`` (most
            memory for decoded columns) and ``characters`` (of the longest text).

    Raises:
        UnfitError: it is another table, or larger than it may be.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file = pq.ParquetFile(
        pa.BufferReader(data),
        thrift_string_size_limit=1 << 20,
        thrift_container_size_limit=100_000,
        pre_buffer=False,
    )
    # What the file says of itself comes first: nothing is decoded before.
    described = file.metadata
    if described.num_rows != limits["rows"]:
        raise UnfitError(f"has {described.num_rows} rows for {limits['rows']} cases")
    if described.num_row_groups > MOST_ROW_GROUPS:
        raise UnfitError(f"has {described.num_row_groups} row groups, at most {MOST_ROW_GROUPS}")
    schema = file.schema_arrow
    if sorted(schema.names) != sorted(limits["types"]):
        missing = sorted(set(limits["types"]) - set(schema.names))
        other = [name for name in schema.names if name not in limits["types"]]
        raise UnfitError(
            f"has other columns than `s2lct score` writes ({len(other)} too many, "
            f"{len(missing)} missing, {len(schema.names) - len(set(schema.names))} twice)"
        )
    for field in schema:
        if _plain(str(field.type)) not in limits["types"][field.name]:
            raise UnfitError(f"column {field.name} is of type {str(field.type)[:60]}")
    size = values = 0
    for group in range(described.num_row_groups):
        for column in range(described.num_columns):
            chunk = described.row_group(group).column(column)
            size += max(chunk.total_uncompressed_size, 0)
            values = max(values, chunk.num_values)
    if size > limits["bytes"]:
        raise UnfitError(f"holds {size} bytes uncompressed, at most {limits['bytes']}")
    if values > MOST_VALUES_A_ROW * max(limits["rows"], 1):
        raise UnfitError(f"holds a column of {values} values for {limits['rows']} rows")
    table = file.read(use_threads=False)
    table.validate(full=True)
    if table.num_rows != limits["rows"] or table.nbytes > limits["bytes"]:
        raise UnfitError(f"decodes to {table.num_rows} rows and {table.nbytes} bytes")
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_list(column.type):
            column = column.flatten()
        if pa.types.is_string(column.type):
            longest = pc.max(pc.binary_length(column)).as_py() or 0
            if longest > limits["characters"]:
                raise UnfitError(f"column {name} holds a text of {longest} bytes")
    return {name: table[name].to_pylist() for name in table.column_names}


def _plain(type_name: str) -> str:
    for prefix in _LIST_TYPES:
        if type_name.startswith(prefix):
            return f"list<{type_name[len(prefix) :]}"
    return type_name


def limit_resources(memory: int, seconds: int) -> None:
    """Let this process use so many bytes more than it does now, and so many seconds."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return  # elsewhere a limit of address space says little of memory
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))


def main() -> None:
    """Read, and answer."""
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet

    limits = json.loads(sys.argv[1])
    answer: dict[str, Any]
    try:
        data = sys.stdin.buffer.read()
        limit_resources(limits["memory"], limits["seconds"])
        answer = {"columns": read(data, limits)}
    except UnfitError as error:
        answer = {"problem": str(error)}
    except (MemoryError, pa.ArrowMemoryError):
        answer = {"problem": f"needs more than {limits['memory'] >> 20} MiB to be read"}
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        lines = str(error).splitlines() or [""]
        answer = {"problem": f"is no Parquet file that can be read ({lines[0][:120]})"}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
