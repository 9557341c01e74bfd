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
import re
import sys
from typing import Any

MOST_ROW_GROUPS = 1_000
MOST_VALUES_A_ROW = 1_000


class UnfitError(Exception):
    """The file is not what it should be."""


def read(data: bytes, limits: dict[str, Any]) -> Any:
    """A Parquet file as a table.

    Its limits are ``types`` (column → the types it may have), ``rows`` (exactly), ``bytes`` (most
    memory for decoded columns) and ``characters`` (bytes of the longest text).
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
    described, rows, types = file.metadata, limits["rows"], limits["types"]
    if described.num_rows != rows:
        raise UnfitError(f"has {described.num_rows} rows for {rows} cases")
    if described.num_row_groups > MOST_ROW_GROUPS:
        raise UnfitError(f"has {described.num_row_groups} row groups, at most {MOST_ROW_GROUPS}")
    names = file.schema_arrow.names
    if sorted(names) != sorted(types):
        more, less = len(set(names) - set(types)), len(set(types) - set(names))
        raise UnfitError(
            f"has other columns than `s2lct score` writes ({more} too many, {less} missing, "
            f"{len(names) - len(set(names))} twice)"
        )
    for field in file.schema_arrow:
        if re.sub("^list<(element|item): ", "list<", str(field.type)) not in types[field.name]:
            raise UnfitError(f"column {field.name} is of type {str(field.type)[:60]}")
    chunks = [
        described.row_group(group).column(column)
        for group in range(described.num_row_groups)
        for column in range(described.num_columns)
    ]
    size = sum(max(chunk.total_uncompressed_size, 0) for chunk in chunks)
    values = max((chunk.num_values for chunk in chunks), default=0)
    if size > limits["bytes"]:
        raise UnfitError(f"holds {size} bytes uncompressed, at most {limits['bytes']}")
    if values > MOST_VALUES_A_ROW * max(rows, 1):
        raise UnfitError(f"holds a column of {values} values for {rows} rows")
    table = file.read(use_threads=False)
    table.validate(full=True)
    if table.num_rows != rows or table.nbytes > limits["bytes"]:
        raise UnfitError(f"decodes to {table.num_rows} rows and {table.nbytes} bytes")
    for name in table.column_names:
        column = table[name].combine_chunks()
        column = column.flatten() if pa.types.is_list(column.type) else column
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            longest = pc.max(pc.binary_length(column)).as_py() or 0
            if longest > limits["characters"]:
                raise UnfitError(f"column {name} holds a text of {longest} bytes")
    return table


def weigh(data: bytes, limits: dict[str, Any]) -> None:
    """Decode a file whose texts stay dictionaries, as `scored` will, and throw it away.

    Its limits are ``rows`` and ``bytes``, at most.
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


def limit(memory: int | None, seconds: int) -> None:
    """Let this process use so many bytes (None: as it is) and seconds more than it did."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(sum(os.times()[:2])) + seconds + 1, most))
    if memory is None:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            memory += int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return  # elsewhere a limit of address space says little of memory
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def answer(data: bytes, asked: dict[str, Any], told: set[str]) -> dict[str, Any]:
    """What is in a file: ``problem`` (and ``worn`` where memory ran out), or ``columns``.

    Those that ``asked`` names in ``shared`` stand in ``shared`` instead, below their ``digest``,
    and only the first time.
    """
    import pyarrow as pa

    try:
        if "types" not in asked:
            weigh(data, asked)
            return {}
        table = read(data, asked)
        shared = table.select([name for name in table.column_names if name in asked["shared"]])
        columns = table.drop_columns(shared.column_names).to_pydict()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, shared.schema) as writer:
            writer.write_table(shared.combine_chunks())
        # Equal for equal tables that were written alike.
        digest = hashlib.sha256(sink.getvalue()).hexdigest()
        first = {} if digest in told else {"shared": shared.to_pydict()}
        told.add(digest)
        return {"digest": digest, "columns": columns} | first
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

    told: set[str] = set()
    first = True
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        limit(asked["memory"] if first else None, asked["seconds"])
        first = False
        try:
            text = json.dumps(answer(sys.stdin.buffer.read(asked["size"]), asked, told))
        except MemoryError:
            problem = f"needs more than {asked['memory'] >> 20} MiB to be read"
            text = json.dumps({"problem": problem, "worn": True})
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
