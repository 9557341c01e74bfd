"""Predictions that a team gives with its own name, as outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from s2lct.errors import ScoringError
from s2lct.leaderboard.answers.given import GivenPredictions
from s2lct.leaderboard.answers.label_rules import NEUTRAL_BAND
from s2lct.leaderboard.results import untrusted
from s2lct.leaderboard.results.record import BUILT_IN
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases, parted


def model_name(name: str | None, file: Path) -> str:
    """What the model behind predictions is called: as it is named, else as the file.

    Raises:
        ScoringError: no result may have that name.
    """
    found = file.name.partition(".")[0] if name is None else name
    fault = next(untrusted.faults_of_names({"model.name": found}), "")
    if found in BUILT_IN:
        fault = f"{found!r} is a model that comes with s2lct"
    if fault or not found:
        raise ScoringError(
            f"--name: {fault.removeprefix('model.name: ') or 'is empty'}",
            hint="give --name letters, digits, _, . and -, such as --name my-team/my-model",
        )
    return found


def outcomes_of_predictions(
    given: GivenPredictions,
    name: str,
    label_map: Mapping[str, str] | None = None,
    neutral_band: tuple[float, float] = NEUTRAL_BAND,
) -> Outcomes:
    """Outcomes of a model of which only a file of predictions is known.

    Args:
        given: see `read_predictions`.
        name: what the model is called.
        label_map: as the predictions were read with.
        neutral_band: likewise.
    """
    suite, labels, counterpart_labels = parted(given.suite, given.labels)
    return Outcomes(
        model=name,
        revision="",
        weights_sha256="",
        label_rule=given.label_rule,
        suite=suite,
        labels=labels,
        failed=failed_cases(suite.cases, labels),
        label_map=label_map,
        neutral_band=neutral_band,
        counterpart_labels=counterpart_labels if suite.counterparts else None,
        predictions={"file": given.file, "sha256": given.sha256},
    )
