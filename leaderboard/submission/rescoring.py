"""Whether a model says what a stranger's result says that it said.

The model's files, no code and nothing too large among them, are fetched at the commit that the
result names, which must lie on the default branch of its repository. They are loaded and asked in
a process that knows no token, with limits of memory and time, in single precision, and labels are
compared exactly.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, TASK
from s2lct.leaderboard.answers.label_rules import LabelRule, Labels, meaning_of, rule_for
from s2lct.leaderboard.answers.predictions import Array
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.models.text_model import MOST_TOKENS, written_rule
from s2lct.leaderboard.results.decoder import environment_without_secrets
from s2lct.leaderboard.results.hub_results import hub_api, told_hub_errors
from s2lct.leaderboard.results.record import BUILT_IN, OptionsRecord, Result, asked, own_options
from s2lct.leaderboard.results.untrusted import RefusedError, bytes_of
from s2lct.leaderboard.scoring.score import rule_in_words
from s2lct.leaderboard.submission.rescoring_child import facts_of
from s2lct.plain_text import plain
from s2lct.suite.cases import Case

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo

Mask = npt.NDArray[np.bool_]
DEFAULT_BRANCH = "main"
ROUNDING = 1e-4
"""By how much labels' probabilities, or tokens' logits, may differ where others round otherwise."""
MOST_NEAR_TIES = 0.02
CANNOT_BE_ASKED = (
    "cannot be scored again: the answers are those of {}, and nobody can tell which model answers "
    "there; without --rescore it can be accepted, and stands as not verified"
)
MOST_CONFIG_BYTES = 1 << 20
MOST_LAYERS = 1_000
LARGEST_SIZE = 1 << 24
_COUNT = re.compile(r"layer|depth|block|stage|expert|head|group", re.IGNORECASE)
_SIZE = re.compile(r"size|dim|width|position|channel|filter|rank|len", re.IGNORECASE)
_PLAIN_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_TOKENIZER_FILES = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".vocab")
_STARTED = (
    "import json, sys; sys.path += json.loads(sys.argv[1]); "
    "from s2lct.leaderboard.submission.rescoring_child import main; main()"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a stranger's model may cost."""

    download: int = 20 << 30  # bytes of its files
    memory: int = 16 << 30  # bytes that loading and asking it may take
    seconds: int = 1_800  # of wall-clock time for loading and asking it


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """What asking a model came to."""

    faults: tuple[str, ...]  # what speaks against the result, a line each
    asked: int = 0  # how many cases it was asked
    doubts: tuple[str, ...] = ()  # why it is not verified though nothing speaks against it


def ask_again(
    result: Result, cases: Sequence[Case], labels: Labels, limits: Limits | None = None
) -> AskedAgain:
    """Ask the model of a result, whose words were checked, cases again that it claims labels of."""
    name, options = result.model.name, result.model.options
    texts = [case.text for case in cases]
    if (endpoint := result.model.endpoint) is not None:
        return AskedAgain((CANNOT_BE_ASKED.format(endpoint.url),))
    writes = options.generate and name not in BUILT_IN
    if not writes and (labels >= len(LABELS)).any():
        return AskedAgain(("label: a case has none, and a model that is loaded gives each one",))
    try:
        asks = asked(options)
        if name in BUILT_IN:
            model = facts_of(load_classifier(name), texts)
        else:
            model = _facts_of_strangers(result, texts, limits or Limits())
        classes, band = model["classes"], options.neutral_band
        rule = rule_for(classes, model=name, label_map=options.label_map, neutral_band=band)
        told = rule_in_words(rule, asks)
        if writes and asks is not None:
            told = written_rule(asks, options.max_tokens or MOST_TOKENS)
        faults = [*_faults_of_identity(result, model, told)]
        if not faults:
            if writes:
                faults = [*_faults_of_answers(cases, labels, model["labels"], model["margins"])]
            else:
                faults = [*_faults_of_labels(rule, cases, labels, model["probabilities"])]
            return AskedAgain(tuple(faults), len(cases), tuple(_doubts(name, classes, options)))
    except ScoringError as error:
        faults = [f"cannot be scored again: {error.problem}"]
    except RefusedError as refusal:
        faults = [*refusal.reasons]
    return AskedAgain(tuple(faults))


def _facts_of_strangers(result: Result, texts: list[str], limits: Limits) -> dict[str, Any]:
    """What `facts_of` says of a model that is fetched and asked in a process of its own."""
    name, revision, options = result.model.name, result.model.revision, result.model.options
    request = {
        "name": name,
        "folder": str(_fetched_model(name, revision, limits.download)),
        "texts": texts,
        "prompt": options.prompt,
        "words": options.label_words,
        "chat_template": options.chat_template,
        "max_tokens": options.max_tokens,
    }
    answer = _answered(request, limits)
    try:
        classes = tuple(map(str, answer["classes"]))
        if options.generate:
            labels, margins = np.array(answer["labels"], int), np.array(answer["margins"], float)
            said: dict[str, Any] = {
                "labels": labels.reshape(len(texts)),
                "margins": margins.reshape(len(texts)),
            }
        else:
            rows = np.frombuffer(base64.b64decode(answer["probabilities"]), dtype="<f8")
            said = {"probabilities": rows.reshape(len(texts), len(classes))}
        told = {name: answer[name] for name in ("weights_sha256", "parameters", "licence")}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RefusedError(f"cannot be scored again: its answers are none ({error!r})") from None
    return told | said | {"revision": revision, "classes": classes}


def _answered(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """What the process says of a model; it knows no token and finds none."""
    memory = min(limits.memory, _free_memory())
    limited = {"memory": memory, "seconds": (os.cpu_count() or 1) * limits.seconds}
    places = [place for place in sys.path if place and Path(place).absolute() != Path.cwd()]
    with tempfile.TemporaryDirectory(prefix="s2lct-") as home:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _STARTED, json.dumps(places)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=home,
            env=environment_without_secrets(
                **dict.fromkeys(("HOME", "HF_HOME", "XDG_CACHE_HOME"), home),
                HF_HUB_OFFLINE="1",
                TRANSFORMERS_OFFLINE="1",
                HF_HUB_DISABLE_IMPLICIT_TOKEN="1",
                TOKENIZERS_PARALLELISM="false",
            ),
        )
        try:
            line = json.dumps(request | limited).encode() + b"\n"
            answer: dict[str, Any] = json.loads(process.communicate(line, limits.seconds)[0])
        except (subprocess.TimeoutExpired, ValueError, OSError):
            raise RefusedError(
                f"cannot be scored again with {memory / 2**30:.3g} GiB of memory in "
                f"{limits.seconds:,} seconds"
            ) from None
        finally:
            process.kill()
            process.wait()
    if "problem" in answer:
        raise RefusedError(f"cannot be scored again: {plain(str(answer['problem']), 1_000)}")
    return answer


def _free_memory() -> int:
    """Three quarters of the memory that is free: more might end other processes first."""
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:  # not told here
        return sys.maxsize
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", told, re.MULTILINE)
    return int(found[1]) * 1024 * 3 // 4 if found else sys.maxsize


def _fetched_model(name: str, commit: str, most_bytes: int) -> Path:
    """The folder of a model's files at a commit of its default branch, none too large."""
    api = hub_api()
    with told_hub_errors(f"model {name}"):
        history = api.list_repo_commits(name, repo_type="model", revision=DEFAULT_BRANCH)
        if commit not in {one.commit_id for one in history}:
            raise RefusedError(
                f"model.revision: {commit} is no commit of the branch {DEFAULT_BRANCH} of {name}, "
                "where its owners keep it"
            )
        files = _wanted_files(name, api.model_info(name, revision=commit, files_metadata=True))
        if (total := sum(files.values())) > most_bytes:
            raise RefusedError(
                f"model {name}: its files have {total:,} bytes, at most {most_bytes:,} are fetched"
            )
        config = Path(api.hf_hub_download(name, "config.json", revision=commit))
        if faults := [*faults_of_config(bytes_of(config, MOST_CONFIG_BYTES))]:
            raise RefusedError(*(f"model {name}: {fault}" for fault in faults))
        return Path(api.snapshot_download(name, revision=commit, allow_patterns=list(files)))


def _wanted_files(name: str, info: ModelInfo) -> dict[str, int]:
    """Sizes of the files that a model and its tokenizer are loaded from."""
    sizes = {
        one.rfilename: one.size or 0
        for one in info.siblings or ()
        if _PLAIN_FILE.fullmatch(one.rfilename)
    }
    if sizes.get("config.json", MOST_CONFIG_BYTES + 1) > MOST_CONFIG_BYTES:
        raise RefusedError(
            f"model {name}: has no config.json of at most {MOST_CONFIG_BYTES:,} bytes"
        )
    safe = any(path.endswith(".safetensors") for path in sizes)
    weights = re.compile(r".*\.safetensors" if safe else r"pytorch_model.*\.bin")
    return {
        path: size
        for path, size in sizes.items()
        if weights.fullmatch(path) or path.endswith(_TOKENIZER_FILES) or path == "README.md"
    }


def faults_of_config(data: bytes) -> Iterator[str]:
    """Numbers in a config.json that no model has whose loading comes to an end."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        yield "its config.json is no JSON"
        return
    if not isinstance(content, dict):
        yield "its config.json is no object"
        return
    for where, number in _whole_numbers(content, "", 0):
        key = where.rpartition(".")[2]
        most = LARGEST_SIZE if _SIZE.search(key) else MOST_LAYERS if _COUNT.search(key) else None
        named = where.startswith(("id2label.", "label2id."))
        if most is not None and not named and not -1 <= number <= most:
            shown = f"{number:,}" if abs(number) < 10**15 else "a number of 16 digits or more"
            yield f"its config.json has {plain(where, 80)} {shown}, at most {most:,}"


def _whole_numbers(value: Any, where: str, depth: int) -> Iterator[tuple[str, int]]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield where, value
    elif isinstance(value, dict) and depth < 10:
        for key, part in value.items():
            yield from _whole_numbers(part, f"{where}.{key}" if where else str(key), depth + 1)
    elif isinstance(value, list) and depth < 10:
        for part in value:
            yield from _whole_numbers(part, where, depth + 1)


def _faults_of_identity(result: Result, model: Mapping[str, Any], label_rule: str) -> Iterator[str]:
    told, parameters, licence = result.model, model["parameters"], model["licence"]
    if model["revision"] != told.revision:
        yield f"model.revision: is {told.revision}, the model here is {model['revision']}"
    if model["weights_sha256"] != told.weights_sha256:
        yield "model.weights_sha256: is not that of the model"
    if label_rule != told.label_rule:
        yield "model.label_rule: is not that of the model with these options"
    if told.parameters not in (None, parameters):
        yield f"model.parameters: is {told.parameters}, the model has {parameters}"
    if licence is not None and told.licence not in (None, licence):
        yield f"model.licence: is {told.licence!r}, the model's is {licence!r}"


def _faults_of_labels(
    rule: LabelRule, cases: Sequence[Case], labels: Labels, probabilities: Array
) -> Iterator[str]:
    """Labels that the model does not give."""
    other = rule.labels(probabilities) != labels
    said = (np.full(len(cases), label) for label in range(len(LABELS)))
    fits = np.stack([rule.could_be(label, probabilities, ROUNDING) for label in said])
    near = fits.sum(axis=0) > 1
    yield from _faults_unless_near(cases, other, near, fits[labels, np.arange(len(cases))])


def _faults_of_answers(
    cases: Sequence[Case], labels: Labels, said: Labels, margins: Array
) -> Iterator[str]:
    """Labels, or none, that the model does not answer; with a tie it may answer anything else."""
    near = margins < ROUNDING
    yield from _faults_unless_near(cases, said != labels, near, near)


def _faults_unless_near(
    cases: Sequence[Case], other: Mask, near: Mask, fits: Mask
) -> Iterator[str]:
    """Cases of which a model says something ``other``, all of shape (cases,).

    Rounding may decide between two answers that are as good as equally likely, ``near`` each other,
    if the one that was told ``fits`` as well. That excuses few cases; and none of a model whose
    answers hang on rounding altogether.
    """
    excused = other & near & fits
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
        words = options.label_words or ()
        labels = LABELS if len(words) == len(LABELS) else TASK.ends
        for word, label in zip(words, labels, strict=True):
            if (meant := meaning_of(word)) is not None and LABELS[meant] != label:
                yield f"the label word {word!r} stands for {label}"
        return
    own = own_options(options)
    if options.label_map is not None:
        with suppress(ScoringError):
            rule_for(classes, model=name)
            yield f"{own}, though the model states its classes"
            return
    if own_options(options.model_copy(update={"label_map": None})):
        yield f"{own}, which is not how the model is used"
