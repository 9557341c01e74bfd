"""Asks a stranger's model, in a process of its own with little memory, time and knowledge of us.

`rescoring` starts it: a line of JSON on standard input says what to ask, a line of JSON on standard
output is the answer, either ``{"problem": text}`` or what the model is and said.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from s2lct.leaderboard.results.untrusted_table import limit

if TYPE_CHECKING:
    from s2lct.leaderboard.models.classifier import Classifier

MOST_WRITTEN_BYTES = 1 << 20


def facts_of(model: Classifier, texts: list[str]) -> dict[str, Any]:
    """What is known of a model, and the probabilities that it gives texts.

    Of one that answers in words, the labels of these and by how much each answer is the likeliest.
    """
    from s2lct.leaderboard.models.facts import licence_of, parameters_of
    from s2lct.leaderboard.models.generating_model import GeneratingModel
    from s2lct.leaderboard.scoring.ask import probabilities_of
    from s2lct.leaderboard.scoring.written import read_labels

    facts = {
        "revision": model.revision,
        "classes": model.classes,
        "weights_sha256": getattr(model, "weights_sha256", model.fingerprint),
        "parameters": parameters_of(model),
        "licence": licence_of(model),
    }
    if not isinstance(model, GeneratingModel):
        return facts | {"probabilities": probabilities_of(model, texts)}
    written = sorted(model.written(texts))
    answers = {texts[number]: answer for number, answer, _ in written}
    labels = read_labels(model, texts, answers).tolist()
    return facts | {"labels": labels, "margins": [one.margin for one in written]}


def asked_model(request: dict[str, Any]) -> dict[str, Any]:
    """Load the model of a folder in single precision, and ask it what `rescoring` requests."""
    import torch

    from s2lct.errors import ScoringError
    from s2lct.leaderboard.models.language_model import LabelPrompt
    from s2lct.leaderboard.models.load import load_classifier

    torch.use_deterministic_algorithms(True, warn_only=True)
    asks = None
    if request["prompt"]:
        words, chat_template = tuple(request["words"]), request["chat_template"]
        asks = LabelPrompt(request["prompt"], words, chat_template, request.get("max_tokens"))
    try:
        model = load_classifier(request["folder"], device="cpu", dtype="float32", asks=asks)
        facts = facts_of(model, request["texts"])
    except ScoringError as error:
        return {"problem": error.problem.replace(request["folder"], request["name"])}
    except Exception as error:  # a stranger's model may fail in any way
        told = f"{type(error).__name__}: {error}"
        short = isinstance(error, RuntimeError) and ("alloc" in told or "memory" in told)
        if short or isinstance(error, MemoryError):
            told = "it needs more memory than it is given"
        return {"problem": told}
    if "probabilities" not in facts:
        return facts
    said = facts["probabilities"].astype("<f8").tobytes()
    return facts | {"probabilities": base64.b64encode(said).decode()}


def _limit(memory: int, seconds: int) -> None:
    import torch  # noqa: F401  # what they take is no part of what the model takes
    import transformers  # noqa: F401

    limit(memory, seconds)
    # Where memory runs short all the same, this process is the one to end.
    with suppress(OSError):
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(descriptor, b"1000")
        os.close(descriptor)
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_WRITTEN_BYTES, MOST_WRITTEN_BYTES))


def main() -> None:
    """Answer once."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # Whatever libraries print is no answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request = json.loads(sys.stdin.readline())
    _limit(request["memory"], request["seconds"])
    out.write(json.dumps(asked_model(request)) + "\n")
    out.flush()
    # Without the end of the interpreter: what a broken model left behind cannot hold it up.
    os._exit(0)
