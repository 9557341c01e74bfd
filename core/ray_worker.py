"""What runs in a worker's process on a node of a Ray cluster."""

from __future__ import annotations

from typing import Any


def worker_class() -> type:
    """The class of an actor that makes a worker when it is first asked, and answers.

    It is defined within this function and needs no module of ours, so that Ray sends it by value:
    it can tell from a node that this package is not there.
    """

    class S2lctWorker:
        def __init__(self) -> None:
            self.made: list[Any] = []
            self.asks: tuple[str, Any] = ("", None)

        def start(
            self, paths: list[str], folder: str, uses_gpu: bool, packages: tuple[str, ...]
        ) -> tuple[str, dict[str, str]]:
            import importlib
            import os
            import sys
            from importlib import metadata
            from pathlib import Path

            import ray

            util: Any = ray.util
            here = [path for path in paths if Path(path).exists()]
            sys.path[:] = [*here, *(path for path in sys.path if path not in here)]
            importlib.invalidate_caches()
            if Path(folder).is_dir():
                os.chdir(folder)
            # Read by libraries when they are imported: one CPU, one thread.
            os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"
            if not uses_gpu:
                os.environ["CUDA_VISIBLE_DEVICES"] = ""
            has: dict[str, str] = {}
            for package in packages:
                try:
                    has[package] = metadata.version(package)
                except metadata.PackageNotFoundError:
                    has[package] = ""
            return util.get_node_ip_address(), has

        def answer(
            self, made_by: list[Any], asks: list[Any], content: bytes
        ) -> tuple[bytes, bool, str]:
            import traceback

            import ray

            pickle: Any = ray.cloudpickle
            try:
                if not self.made:
                    self.made.append(pickle.loads(ray.get(made_by[0]))())
                if self.asks[0] != asks[0].hex():
                    self.asks = (asks[0].hex(), pickle.loads(ray.get(asks[0])))
                return pickle.dumps(self.asks[1](self.made[0], pickle.loads(content))), True, ""
            except Exception as error:
                where = traceback.format_exc()
                try:
                    told = pickle.dumps(error)
                    pickle.loads(told)
                except Exception:
                    told = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
                return told, False, where

    return S2lctWorker
