"""A Ray cluster to work on: one that runs already, or one on this machine for as long as needed.

Nothing of Ray's reaches the terminal, and its faults are told as errors that a user can mend.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from s2lct.errors import BuildError
from s2lct.files import write_text

AUTO = "auto"
REACHED_WITHIN = 5.0
"""Seconds in which a cluster must answer."""
OBJECT_STORE_BYTES = 512 * 2**20
"""Of a cluster started here: a few pieces a worker are under way at a time, and no more."""
_LONGEST_FOLDER = 40
"""Ray has sockets in its folder, and a socket's path may have about a hundred characters."""
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # what nodes say of workers that died; read on import
}
_SETTINGS, _FRAME_HEADER = b"\x04", 9
_HTTP2_BEGINS = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + _SETTINGS + b"\0" * 5
_ADDRESS_MEND = (
    "run `ray status` on this machine, which must be a node of the cluster; give its HOST:PORT or "
    "auto to --address, or leave it out to use this machine alone"
)


@contextmanager
def ray_cluster(address: str | None, workers: int | None) -> Iterator[Any]:
    """Be connected to a cluster, within the block: gives the module ``ray``.

    What the caller has initialised already is used, whatever the address, and left as it is.

    Args:
        address: ``auto`` or HOST:PORT of a running cluster; None starts one here.
        workers: how many CPUs a cluster has that is started here; None: those of the machine.

    Raises:
        BuildError: Ray is not installed, or no cluster can be reached or started.
    """
    if find_spec("ray") is None:
        raise BuildError("the package ray is not installed", hint='pip install "s2lct[ray]"')
    with _quiet():
        import ray
    if ray.is_initialized():
        yield ray
        return
    folder: Path | None = None
    try:
        if address is None:
            folder = Path(tempfile.mkdtemp(prefix="s2lct-ray-", dir=_short_folder()))
            _start(ray, folder, workers)
        else:
            _connect(ray, address)
        yield ray
    finally:
        with suppress(Exception):
            ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _start(ray: Any, folder: Path, workers: int | None) -> None:
    try:
        with _quiet(), quick_start(folder):
            ray.init(
                address="local",
                num_cpus=workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="CRITICAL",
                object_store_memory=OBJECT_STORE_BYTES,
                _temp_dir=str(folder),
            )
    except Exception as error:
        raise BuildError(
            f"no Ray cluster can be started on this machine ({first_line(error)})",
            hint=f"make room in {folder.parent} and in memory, or leave --engine ray out",
        ) from error


def _connect(ray: Any, address: str) -> None:
    reached = (os.environ.get("RAY_ADDRESS") or AUTO) if address == AUTO else address
    if reached != AUTO:
        _check_reachable(reached, f"--address {address}")
    try:
        with _quiet():
            ray.init(address=reached, log_to_driver=False, logging_level="CRITICAL")
    except Exception as error:
        raise BuildError(
            f"--address {address}: no Ray cluster can be used there ({first_line(error)})",
            hint=_ADDRESS_MEND,
        ) from error


def _check_reachable(address: str, told: str) -> None:
    """Answer soon where nobody listens: Ray itself tries for minutes, and then ends the process."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise BuildError(f"{told}: is not HOST:PORT of a cluster", hint=_ADDRESS_MEND)
    try:
        with socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN) as there:
            there.sendall(_HTTP2_BEGINS)
            # Ray speaks gRPC: the answer to a frame of settings is another.
            speaks_grpc = there.recv(_FRAME_HEADER)[3:4] == _SETTINGS
    except (OSError, OverflowError) as error:
        raise BuildError(
            f"{told}: no Ray cluster answers there ({first_line(error)})", hint=_ADDRESS_MEND
        ) from error
    if not speaks_grpc:
        raise BuildError(f"{told}: what answers there is no Ray cluster", hint=_ADDRESS_MEND)


@contextmanager
def quick_start(folder: Path) -> Iterator[None]:
    """Let processes that start within the block do without a package that costs seconds.

    Each process of Ray imports jsonschema, which with rfc3987_syntax (where Jupyter is installed,
    for one) compiles a grammar for checks of addresses that nothing in a cluster makes.

    Args:
        folder: where a module is put that stands for the package, and says that it is not there.
    """
    before = os.environ.get("PYTHONPATH")
    write_text(folder / "rfc3987_syntax.py", "raise ImportError('not needed here')\n")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), before]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _short_folder() -> str:
    folder = tempfile.gettempdir()
    return folder if len(folder) <= _LONGEST_FOLDER else "/tmp"


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Ray neither print nor call home while it is imported or started."""
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update({name: value for name, value in _QUIET.items() if before[name] is None})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


def first_line(error: BaseException) -> str:
    """What an error says, in a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next(iter(lines), type(error).__name__)


def rays_fault(error: BaseException) -> BuildError:
    """A fault of Ray's own as one clear error."""
    from ray import exceptions as faults

    cause = getattr(error, "cause", None) or error
    if isinstance(cause, faults.OutOfDiskError):
        return BuildError(
            "a node of the Ray cluster has no room on its disk for what workers hand on",
            hint="make room in Ray's temporary folder (/tmp) there; the same command goes on "
            "where this one stopped",
        )
    if isinstance(cause, faults.ObjectStoreFullError):
        return BuildError(
            "a node of the Ray cluster has no room in its object store",
            hint="start Ray there with a larger --object-store-memory, or take fewer --workers; "
            "the same command goes on where this one stopped",
        )
    return BuildError(
        f"the Ray cluster failed ({type(cause).__name__}: {first_line(cause)})",
        hint="check it with `ray status`; the same command goes on where this one stopped",
    )
