"""Models and tokenizers by Hub id or folder, on a device.

Nothing that was downloaded is executed: safetensors, or torch's ``weights_only`` loader;
``trust_remote_code`` is off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError
from s2lct.hub_calls import hub_call, pretrained, said_by
from s2lct.leaderboard.models.classifier import DTYPES, EMBEDDED_MODELS

_SAVE_TOKENIZER = "save the tokenizer beside the model: tokenizer.save_pretrained(FOLDER)"


def place(model: Any, device: str, dtype: str) -> None:
    """Put a transformers model onto a device, ready to answer; ``auto`` is bfloat16 on a GPU.

    Raises a ScoringError for no such dtype or device, or where the model does not fit on it.
    """
    import torch

    if dtype not in DTYPES:
        raise ScoringError(f"--dtype {dtype}: no such", hint=f"pass {' or '.join(DTYPES)}")
    chosen = usable_device(device)
    if dtype == "auto":
        dtype = "bfloat16" if chosen.startswith("cuda") else "float32"
    try:
        model.eval().to(getattr(torch, dtype)).to(chosen)
    except (RuntimeError, NotImplementedError) as error:  # out of memory is a RuntimeError
        raise ScoringError(
            f"--device {device}: the model cannot be put there ({said_by(error)})",
            hint="pass --device cpu, or a smaller model",
        ) from error


def usable_device(device: str) -> str:
    """A device that is there, else a ScoringError; ``auto`` is a GPU where there is one."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        # Using it is the one question that every backend answers.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        raise ScoringError(
            f"--device {device}: cannot be used here ({said_by(error)})",
            hint="pass --device cpu, or auto, which takes a GPU where there is one",
        ) from error
    return device


def load_pretrained(
    name: str, revision: str | None, *, continues: bool = False
) -> tuple[Any, Any, str]:
    """A tokenizer, a model and its commit (empty for a folder), by Hub id or folder.

    Nothing of theirs is executed. With ``continues`` it must be a causal language model, else a
    sequence classifier. Raises a ScoringError where it is not, cannot be loaded or lacks weights.
    """
    import transformers
    from transformers import AutoConfig, AutoTokenizer

    from s2lct.leaderboard.models.sentiment_network import register

    register()  # a retrained embedded model is a folder like any other
    commit = _hub_commit(name, revision)
    pinned = {"revision": commit or revision} if commit or revision else {}
    with _refused(
        f"model {name}: cannot be loaded",
        "check the id or folder; without a network, download it where there is one "
        "(`hf download ID --local-dir DIR`) and pass DIR, or try vader, textblob, afinn, "
        + ", ".join(EMBEDDED_MODELS),
    ):
        config = pretrained(AutoConfig, name, **pinned)
    _check_head(name, config.architectures or [], continues=continues)
    with _refused(f"model {name}: its tokenizer cannot be loaded", _SAVE_TOKENIZER):
        tokenizer = pretrained(AutoTokenizer, name, **pinned)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # transformers makes an empty tokenizer where the files are missing.
        raise ScoringError(f"model {name}: has no tokenizer files", hint=_SAVE_TOKENIZER)
    kind = "AutoModelForCausalLM" if continues else "AutoModelForSequenceClassification"
    with _refused(
        f"model {name}: its weights cannot be loaded",
        "save them as safetensors: model.save_pretrained(FOLDER)",
    ):
        # A checkpoint that is not safetensors goes through torch's weights_only loader.
        model, told = pretrained(
            getattr(transformers, kind), name, weights_only=True, output_loading_info=True, **pinned
        )
    if lacking := sorted(told["missing_keys"]):
        # transformers fills them with random numbers.
        raise ScoringError(
            f"model {name}: its weights lack {', '.join(lacking[:3])}"
            + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""),
            hint="save the whole model, head and all: model.save_pretrained(FOLDER)",
        )
    return tokenizer, model, commit


def _hub_commit(name: str, revision: str | None) -> str:
    """The commit that a revision stands for; empty for a folder, and where no Hub tells."""
    if Path(name).exists():
        return ""
    from huggingface_hub import hf_hub_download

    try:
        # The cache keeps files in a folder named after their commit, so this works offline too.
        with hub_call():
            return Path(hf_hub_download(name, "config.json", revision=revision)).parent.name
    except Exception:
        return ""  # loading it tells what is wrong


@contextmanager
def _refused(problem: str, hint: str) -> Iterator[None]:
    """Whatever goes wrong is a problem with its cause in brackets."""
    try:
        yield
    except Exception as error:
        raise ScoringError(f"{problem} ({said_by(error)})", hint=hint) from error


def _check_head(name: str, heads: Sequence[str], *, continues: bool) -> None:
    """Refuse a model of another kind than is wanted: a language model, or else a classifier."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    causal: set[str] = set()
    for named in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
        causal.update([named] if isinstance(named, str) else named)
    told, base = ", ".join(heads), ", ".join(heads) or "a base model"
    is_causal = not causal.isdisjoint(heads)
    classifies = any("SequenceClassification" in head for head in heads)
    if is_causal if continues else classifies:
        return
    if continues and classifies:
        problem, hint = f"is a classifier ({told}), not a language model", "leave --llm away"
    elif continues:
        problem = f"is no causal language model ({base})"
        hint = "pass a model whose architecture is …ForCausalLM"
    elif is_causal:
        problem = f"is a language model ({told}) without a classification head"
        hint = "let it choose among label words behind a prompt: --llm"
    else:
        problem = f"has no classification head ({base})"
        hint = (
            "fine-tune it for sentiment first, or pass a model whose architecture is "
            "…ForSequenceClassification"
        )
    raise ScoringError(f"model {name}: {problem}", hint=hint)
