"""Whether a model says what a submitted result says that it said.

The model's files, no code among them, are fetched at the commit that the result names, which must
lie on the default branch of its repository. They are loaded and asked here, in single precision,
and labels are compared exactly. What that may cost is for who runs it to limit: in a container.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from s2lct.errors import ScoringError
from s2lct.labels import LABELS, PROMPTS
from s2lct.leaderboard.answers.label_rules import Labels, rule_for
from s2lct.leaderboard.models.classifier import facts_of
from s2lct.leaderboard.models.generating_model import GeneratingModel
from s2lct.leaderboard.models.load import load_classifier
from s2lct.leaderboard.results.hub_results import hub_api, named_hub_errors
from s2lct.leaderboard.results.record import (
    BUILT_IN,
    OptionsRecord,
    Result,
    asked,
    other_dtype,
    own_options,
)
from s2lct.leaderboard.results.untrusted import RefusedError
from s2lct.leaderboard.scoring.ask import probabilities_of, read_labels
from s2lct.leaderboard.scoring.score import rule_in_words
from s2lct.suite.cases import Case

Mask = npt.NDArray[np.bool_]
DEFAULT_BRANCH = "main"
ROUNDING = 1e-4
"""By how much probabilities or logits may differ where other machines round otherwise."""
MOST_NEAR_TIES = 0.02
CANNOT_BE_ASKED = (
    "cannot be scored again: the answers are those of {}, and nobody can tell which model answers "
    "there; without --rescore it can be accepted, and stands as not verified"
)
_MODEL_FILES = (
    "*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken", "*.vocab", "README.md",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """What asking a model came to."""

    faults: tuple[str, ...]  # what speaks against the result, a line each
    asked: int = 0  # how many cases it was asked
    doubts: tuple[str, ...] = ()  # why it is not verified though nothing speaks against it


def ask_again(result: Result, cases: Sequence[Case], labels: Labels) -> AskedAgain:
    """Ask the model of a result, whose words were checked, cases again that it claims labels of."""
    name, options = result.model.name, result.model.options
    texts = [case.text for case in cases]
    if (endpoint := result.model.endpoint) is not None:
        return AskedAgain((CANNOT_BE_ASKED.format(endpoint.url),))
    writes = options.generate and name not in BUILT_IN
    if not writes and (labels >= len(LABELS)).any():
        return AskedAgain(("label: a case has none, and a model that is loaded gives each one",))
    try:
        asks, place, revision = asked(options), name, None
        if name not in BUILT_IN:
            revision = result.model.revision
            place = str(_fetched_model(name, revision))
        model = load_classifier(place, device="cpu", dtype="float32", asks=asks)
        classes, band = model.classes, options.neutral_band
        rule = rule_for(classes, model=name, label_map=options.label_map, neutral_band=band)
        told = str(asks) if writes else rule_in_words(rule, asks)
        known = facts_of(model)
        facts = {
            "revision": revision or model.revision,
            "weights_sha256": getattr(model, "weights_sha256", model.fingerprint),
            "label_rule": told,
            "parameters": known.parameters,
            "licence": known.licence,
        }
        if faults := [*_faults_of_identity(result, facts)]:
            return AskedAgain(tuple(faults))
        if isinstance(model, GeneratingModel):
            written = sorted(model.written(texts))
            answers = {texts[number]: answer for number, answer, _ in written}
            margins = np.array([one.margin for one in written])
            said, near = read_labels(model, texts, answers), margins < ROUNDING
            fits = near  # with a tie it may answer anything else
        else:
            probabilities = probabilities_of(model, texts)
            said, every = rule.labels(probabilities), range(len(LABELS))
            could = np.stack(
                [rule.could_be(np.full(len(cases), n), probabilities, ROUNDING) for n in every]
            )
            near, fits = could.sum(axis=0) > 1, could[labels, np.arange(len(cases))]
        faults = [*_faults_unless_near(cases, said != labels, near, fits)]
        return AskedAgain(tuple(faults), len(cases), tuple(_doubts(name, classes, options)))
    except ScoringError as error:
        problem = error.problem.replace(place, name)
        return AskedAgain((f"cannot be scored again: {problem}",))
    except RefusedError as refusal:
        return AskedAgain(refusal.reasons)


def _fetched_model(name: str, commit: str) -> Path:
    """The folder of a model's files at a commit of its default branch."""
    api = hub_api()
    with named_hub_errors(f"model {name}"):
        history = api.list_repo_commits(name, repo_type="model", revision=DEFAULT_BRANCH)
        if commit not in {one.commit_id for one in history}:
            raise RefusedError(
                f"model.revision: {commit} is no commit of the branch {DEFAULT_BRANCH} of {name}, "
                "where its owners keep it"
            )
        info = api.model_info(name, revision=commit)
        if info.id != name:
            raise RefusedError(
                f"model.name: is {name}, the Hub calls it {info.id}; score it by that name"
            )
        safe = any(one.rfilename.endswith(".safetensors") for one in info.siblings or ())
        files = [*_MODEL_FILES, "*.safetensors" if safe else "pytorch_model*.bin"]
        return Path(api.snapshot_download(name, revision=commit, allow_patterns=files))


def _faults_of_identity(result: Result, facts: Mapping[str, Any]) -> Iterator[str]:
    """What a result says of its model that is not so; it may leave size and licence out."""
    stated = result.model
    if facts["revision"] != stated.revision:
        yield f"model.revision: is {stated.revision}, the model here is {facts['revision']}"
    if facts["weights_sha256"] != stated.weights_sha256:
        yield "model.weights_sha256: is not that of the model"
    if facts["label_rule"] != stated.label_rule:
        yield "model.label_rule: is not that of the model with these options"
    if dtype := other_dtype(stated):
        yield f"model.dtype: is {dtype}; models are asked again in single precision"
    for field in ("parameters", "licence"):
        value, known = getattr(stated, field), facts[field]
        if value not in (None, known):
            yield f"model.{field}: is {value!r}, the model's is {known!r}"


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
    """Why a result says less of a model than that it, used as its authors mean it, says so."""
    if options.prompt is not None:
        if options.prompt not in PROMPTS:
            yield f"own prompt {options.prompt!r}; verified are the prompts that s2lct ships"
        if options.label_words not in (None, LABELS):
            yield f"own label words {', '.join(options.label_words or ())}"
        return
    try:
        rule_for(classes, model=name)
    except ScoringError:
        yield (
            f"the model names its classes {', '.join(classes)[:80]}: nobody but its authors knows "
            "which label each stands for"
        )
    if own := own_options(options):
        yield f"{own}, which is not how the model is used"
