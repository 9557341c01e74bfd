"""Reads strangers' Parquet files in a process of its own, with little memory and time.

This file is run as a script by `decoder`. Standard input holds requests, each a line of JSON with
the file's bytes behind it; each is answered by a line of JSON on standard output. It imports
nothing of the package, so that Python's isolated mode keeps the working directory out of what is
imported.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any

MOST_ROW_GROUPS = 1_000
MOST_VALUES_A_ROW = 1_000
_LIST_TYPES = ("list<element: ", "list<item: ")


class UnfitError(Exception):
    """The file is not what it should be."""


def read(data: bytes, limits: dict[str, Any]) -> Any:
    """A Parquet file as a table.

    Args:
        data: the file.
        limits: ``types`` (column → the types it may have), ``rows`` (exactly), ``bytes`` (most
            memory for decoded columns) and ``characters`` (bytes of the longest text).

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
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            longest = pc.max(pc.binary_length(column)).as_py() or 0
            if longest > limits["characters"]:
                raise UnfitError(f"column {name} holds a text of {longest} bytes")
    return table


def weigh(data: bytes, limits: dict[str, Any]) -> None:
    """Decode a file whose texts stay dictionaries, as `collection_file` will, and throw it away.

    Args:
        data: the file.
        limits: ``rows`` and ``bytes``, at most.

    Raises:
        UnfitError: it is larger than it may be.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = pa.BufferReader(data)
    described = pq.read_metadata(source)
    if described.num_rows > limits["rows"]:
        raise UnfitError(f"has {described.num_rows} rows, at most {limits['rows']}")
    leaves = [described.schema.column(number) for number in range(described.num_columns)]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    table = pq.read_table(source, read_dictionary=texts)
    if table.nbytes > limits["bytes"]:
        raise UnfitError(f"decodes to {table.nbytes} bytes, at most {limits['bytes']}")


def _plain(type_name: str) -> str:
    for prefix in _LIST_TYPES:
        if type_name.startswith(prefix):
            return f"list<{type_name[len(prefix) :]}"
    return type_name


def _digest(table: Any) -> str:
    """Equal for equal tables that were written alike."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def limit_memory(memory: int) -> None:
    """Let this process use so many bytes more than it does now."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return  # elsewhere a limit of address space says little of memory
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))


def limit_seconds(seconds: int) -> None:
    """Let this process compute for so many seconds more than it has."""
    try:
        import resource
    except ImportError:
        return
    spent = sum(os.times()[:2])
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(spent) + seconds + 1, most))


def answer(data: bytes, asked: dict[str, Any], told: set[str]) -> dict[str, Any]:
    """What is in a file, as far as it has not been told before.

    Returns:
        ``problem`` (and ``worn`` where memory ran out), or ``columns`` with the values of each
        column. Those that ``asked`` names in ``shared`` stand in ``shared`` instead, below their
        ``digest``, and only the first time.
    """
    import pyarrow as pa

    try:
        if "types" not in asked:
            weigh(data, asked)
            return {}
        table = read(data, asked)
        shared = table.select([name for name in table.column_names if name in asked["shared"]])
        digest = _digest(shared)
        answered = {
            "digest": digest,
            "columns": {
                name: table[name].to_pylist()
                for name in table.column_names
                if name not in asked["shared"]
            },
        }
        if digest not in told:
            answered["shared"] = {name: shared[name].to_pylist() for name in shared.column_names}
            told.add(digest)
        return answered
    except UnfitError as error:
        return {"problem": str(error)}
    except (MemoryError, pa.ArrowMemoryError):
        return {"problem": f"needs more than {asked['memory'] >> 20} MiB to be read", "worn": True}
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        lines = str(error).splitlines() or [""]
        return {"problem": f"is no Parquet file that can be read ({lines[0][:120]})"}


def main() -> None:
    """Answer until nobody asks any more."""
    # The folder that the caller has pyarrow from; isolated mode leaves some such folders out.
    sys.path.append(sys.argv[1])
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401

    source, out = sys.stdin.buffer, sys.stdout
    told: set[str] = set()
    limited = False
    while line := source.readline():
        asked = json.loads(line)
        if not limited:
            limit_memory(asked["memory"])
            limited = True
        limit_seconds(asked["seconds"])
        try:
            text = json.dumps(answer(source.read(asked["size"]), asked, told))
        except MemoryError:
            text = json.dumps(
                {"problem": f"needs more than {asked['memory'] >> 20} MiB to be read", "worn": True}
            )
        out.write(text + "\n")
        out.flush()


if __name__ == "__main__":
    main()
