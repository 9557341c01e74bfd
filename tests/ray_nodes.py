"""A Ray cluster of two nodes on this machine, for tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

SMALL = 80 * 2**20


@contextmanager
def two_nodes(first: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """Two nodes of one CPU each, the second as ``last``; no other test can meet them.

    ``first`` are more options of the first node.
    """
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="s2lct-test-", dir="/tmp")
    small = {"num_cpus": 1, "object_store_memory": SMALL, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        cluster = Cluster()
        for node, more in (("one", first or {}), ("two", {})):
            own = {"env_vars": {"S2LCT_TEST_NODE": node}}
            cluster.last = cluster.add_node(**small, **own, **more)
        yield cluster
        cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
