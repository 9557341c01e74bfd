"""Where a repository of results has them: ``results/VERSION-FINGERPRINT/MODEL--REVISION.json``."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path, PurePosixPath

from s2lct.leaderboard.results.record import Result
from s2lct.leaderboard.results.scored import own_options
from s2lct.leaderboard.results.write import file_name

FOLDER = "results"
_SHORT = 12
_SUITE_FOLDER = re.compile(r"(?:^|-)[0-9a-f]{12}$")
_FAITHFUL = re.compile(r"(?:(?!.*--)[\w.-]+/)?(?!.*--)\w[\w.-]*", re.ASCII)


def repository_path(result: Result) -> str:
    """Where a result's JSON belongs; the Parquet file lies beside it under the same name.

    Two results that differ in suite, model, revision or options have two places.
    """
    return str(PurePosixPath(FOLDER, suite_folder(result), f"{_stem(result)}.json"))


def suite_folder(result: Result) -> str:
    """The folder of all results on a suite."""
    parts = (result.suite.version, result.suite.fingerprint[:_SHORT])
    return file_name("-".join(part for part in parts if part) or "unversioned")


def _stem(result: Result) -> str:
    model = result.model
    revision = (model.revision or model.weights_sha256)[:_SHORT]
    # What a file name cannot say, or says of others too, goes into a digest.
    rest = [own_options(model.options)]
    if not _FAITHFUL.fullmatch(model.name):
        rest.append(model.name)
    digest = hashlib.sha256("\n".join(rest).encode()).hexdigest()[:8] if any(rest) else ""
    return "--".join(filter(None, (file_name(f"{model.name}--{revision}"), digest)))


def root_of(path: Path) -> Path:
    """The folder that holds all results: a repository's for a file in its place, else its own."""
    above = path.absolute().parents
    in_place = len(above) > 2 and above[1].name == FOLDER and _SUITE_FOLDER.search(above[0].name)
    return above[2] if in_place else path.parent
