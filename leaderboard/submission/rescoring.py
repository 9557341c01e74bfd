"""Whether a model says what a stranger's result says that it said.

The model's files are fetched at the commit that the result names, which must lie on the default
branch of its repository. They are loaded and asked in a process that knows no token, with limits of
memory and time, in single precision, and labels are compared exactly.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, TASK
from s2lct.leaderboard.answers.label_rules import LabelRule, Labels, rule_for
from s2lct.leaderboard.answers.predictions import Array
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.models.word_lists import WORD_LISTS
from s2lct.leaderboard.results.decoder import environment_without_secrets
from s2lct.leaderboard.results.record import OptionsRecord, Result, asked
from s2lct.leaderboard.results.scored import own_options
from s2lct.leaderboard.results.untrusted_files import RefusedError
from s2lct.leaderboard.scoring.ask import probabilities_of
from s2lct.leaderboard.scoring.score import rule_in_words
from s2lct.leaderboard.submission.model_files import fetched_model
from s2lct.plain_text import plain
from s2lct.suite.cases import Case

if TYPE_CHECKING:
    pass

ROUNDING = 1e-4
"""By how much two labels' probabilities may differ where other machines round otherwise."""
MOST_NEAR_TIES = 0.02
_STARTED = (
    "import json, sys; sys.path += json.loads(sys.argv[1]); "
    "from s2lct.leaderboard.submission.rescoring_child import main; main()"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a stranger's model may cost.

    Attributes:
        download: bytes of its files.
        memory: bytes that loading and asking it may take.
        seconds: of wall-clock time for loading and asking it.
    """

    download: int = 20 << 30
    memory: int = 16 << 30
    seconds: int = 1_800


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """What asking a model came to.

    Attributes:
        faults: what speaks against the result, a line each.
        asked: how many cases it was asked.
        doubts: why the result is not to be called verified though nothing speaks against it.
    """

    faults: tuple[str, ...]
    asked: int = 0
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Model:
    """What is known of a model that was asked."""

    revision: str
    classes: tuple[str, ...]
    weights_sha256: str
    parameters: int | None
    licence: str | None
    probabilities: Array


def ask_again(
    result: Result, cases: Sequence[Case], labels: Labels, limits: Limits | None = None
) -> AskedAgain:
    """Ask the model of a result again.

    Args:
        result: what is claimed; its words were checked.
        cases: what to ask.
        labels: what it is claimed to have said, shape (cases,).
        limits: what the model may cost.
    """
    told, options = result.model, result.model.options
    try:
        asks = asked(options)
        if told.name in WORD_LISTS or told.name in EMBEDDED_MODELS:
            model = _own_model(told.name, cases)
        else:
            model = _strangers_model(result, cases, limits or Limits())
        rule = rule_for(
            model.classes,
            model=told.name,
            label_map=options.label_map,
            neutral_band=options.neutral_band,
        )
        faults = [*_faults_of_identity(result, model, rule_in_words(rule, asks))]
        if faults:
            return AskedAgain(tuple(faults))
        faults = [*_faults_of_labels(rule, cases, labels, model.probabilities)]
    except ScoringError as error:
        return AskedAgain((f"cannot be scored again: {error.problem}",))
    except RefusedError as refusal:
        return AskedAgain(refusal.reasons)
    return AskedAgain(tuple(faults), len(cases), tuple(_doubts(told.name, model.classes, options)))


def _own_model(name: str, cases: Sequence[Case]) -> _Model:
    from s2lct.leaderboard.models.facts import licence_of, parameters_of

    model = load_classifier(name)
    return _Model(
        model.revision,
        model.classes,
        getattr(model, "weights_sha256", model.fingerprint),
        parameters_of(model),
        licence_of(model),
        probabilities_of(model, [case.text for case in cases]),
    )


def _strangers_model(result: Result, cases: Sequence[Case], limits: Limits) -> _Model:
    name, revision = result.model.name, result.model.revision
    folder = fetched_model(name, revision, limits.download)
    texts = [case.text for case in cases]
    options = result.model.options
    request = {
        "name": name,
        "folder": str(folder),
        "texts": texts,
        "prompt": options.prompt,
        "words": options.label_words,
    }
    answer = _answered(request, limits)
    try:
        classes = tuple(map(str, answer["classes"]))
        said = np.frombuffer(base64.b64decode(answer["probabilities"]), dtype="<f8")
        return _Model(
            revision,
            classes,
            str(answer["weights_sha256"]),
            answer["parameters"],
            answer["licence"],
            said.reshape(len(texts), len(classes)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedError(f"cannot be scored again: its answers are none ({error!r})") from None


def _answered(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """What the process says of a model; it knows no token and finds none."""
    memory = min(limits.memory, _free_memory())
    out_of_bounds = (
        f"cannot be scored again with {memory / 2**30:.3g} GiB of memory in "
        f"{limits.seconds:,} seconds"
    )
    cores = os.cpu_count() or 1
    line = request | {"memory": memory, "seconds": cores * limits.seconds}
    places = [place for place in sys.path if place and Path(place).absolute() != Path.cwd()]
    with tempfile.TemporaryDirectory(prefix="s2lct-") as home:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _STARTED, json.dumps(places)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=home,
            env=environment_without_secrets(
                HOME=home,
                HF_HOME=home,
                HF_HUB_OFFLINE="1",
                TRANSFORMERS_OFFLINE="1",
                HF_HUB_DISABLE_IMPLICIT_TOKEN="1",
                XDG_CACHE_HOME=home,
                TOKENIZERS_PARALLELISM="false",
            ),
        )
        try:
            out, _ = process.communicate(json.dumps(line).encode() + b"\n", limits.seconds)
            answer = json.loads(out)
        except (subprocess.TimeoutExpired, ValueError, OSError):
            raise RefusedError(out_of_bounds) from None
        finally:
            process.kill()
            process.wait()
    if "problem" in answer:
        raise RefusedError(f"cannot be scored again: {plain(str(answer['problem']), 1_000)}")
    told: dict[str, Any] = answer
    return told


def _free_memory() -> int:
    """Three quarters of the memory that is free: more might end other processes first."""
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:  # not told here
        return sys.maxsize
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", told, re.MULTILINE)
    return int(found[1]) * 1024 * 3 // 4 if found else sys.maxsize


def _faults_of_identity(result: Result, model: _Model, label_rule: str) -> Iterator[str]:
    told = result.model
    if model.revision != told.revision:
        yield f"model.revision: is {told.revision}, the model here is {model.revision}"
    if model.weights_sha256 != told.weights_sha256:
        yield "model.weights_sha256: is not that of the model"
    if label_rule != told.label_rule:
        yield "model.label_rule: is not that of the model with these options"
    if told.parameters is not None and told.parameters != model.parameters:
        yield f"model.parameters: is {told.parameters}, the model has {model.parameters}"
    if told.licence is not None and model.licence is not None and told.licence != model.licence:
        yield f"model.licence: is {told.licence!r}, the model's is {model.licence!r}"


def _faults_of_labels(
    rule: LabelRule, cases: Sequence[Case], labels: Labels, probabilities: Array
) -> Iterator[str]:
    """Labels that the model does not give.

    Rounding may decide between two labels that are as good as equally likely. That excuses few
    cases; and none of a model whose answers hang on rounding altogether.
    """
    other = rule.labels(probabilities) != labels
    fits = np.stack(
        [
            rule.could_be(np.full(len(cases), label), probabilities, ROUNDING)
            for label in range(len(LABELS))
        ]
    )
    near = fits.sum(axis=0) > 1
    excused = other & near & fits[labels, np.arange(len(cases))]
    if near.sum() > MOST_NEAR_TIES * len(cases):
        excused[:] = False
    wrong = np.flatnonzero(other & ~excused)
    if len(wrong):
        ids = f"{len(wrong):,} {'case' if len(wrong) == 1 else 'cases'}"
        yield (
            f"the model says something else of {ids} (first {cases[wrong[0]].id[:40]!r}) out of "
            f"{len(cases):,} asked in single precision; a result that was made in another one is "
            "to be made again with --dtype float32"
        )


def _doubts(name: str, classes: Sequence[str], options: OptionsRecord) -> Iterator[str]:
    """Why a result says less of a model than that the model says so."""
    if options.prompt is not None:
        yield from _doubts_of_words(options.label_words or ())
        return
    own = own_options(options)
    if options.label_map is None:
        if own:
            yield f"{own}, which is not how the model is used"
        return
    try:
        rule_for(classes, model=name)
    except ScoringError:
        if own_options(options.model_copy(update={"label_map": None})):
            yield f"{own}, which is not how the model is used"
        return
    yield f"{own}, though the model states its classes"


def _doubts_of_words(words: Sequence[str]) -> Iterator[str]:
    """Label words that say another label than they stand for."""
    labels = LABELS if len(words) == len(LABELS) else TASK.ends
    for word, label in zip(words, labels, strict=True):
        try:
            rule = rule_for((word, *TASK.ends))
        except ScoringError:  # a word that says none of them
            continue
        if LABELS[rule.meanings[0]] != label:
            yield f"the label word {word!r} stands for {label}"
