"""Models and tokenizers by Hub id or folder, on a device.

Nothing that was downloaded is executed: safetensors, or torch's ``weights_only`` loader;
``trust_remote_code`` is off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from s2lct.errors import ScoringError
from s2lct.hub_calls import hub_call, pretrained, said_by
from s2lct.leaderboard.models.classifier import EMBEDDED_MODELS


def place(model: Any, device: str, dtype: str) -> None:
    """Put a model onto a device, ready to answer.

    Args:
        model: a transformers model.
        device: ``auto`` (a GPU where there is one), ``cpu``, ``cuda`` …
        dtype: ``auto`` (bfloat16 on a GPU, else float32), ``float32`` or ``bfloat16``.

    Raises:
        ScoringError: no such dtype or device, or the model does not fit on it.
    """
    import torch

    if dtype not in ("auto", "float32", "bfloat16"):
        raise ScoringError(f"--dtype {dtype}: no such", mend="pass auto, float32 or bfloat16")
    chosen = usable_device(device)
    halved = dtype == "bfloat16" or (dtype == "auto" and chosen.startswith("cuda"))
    try:
        model.eval().to(torch.bfloat16 if halved else torch.float32).to(chosen)
    except (RuntimeError, NotImplementedError) as error:  # out of memory is a RuntimeError
        raise ScoringError(
            f"--device {device}: the model cannot be put there ({said_by(error)})",
            mend="pass --device cpu, or a smaller model",
        ) from error


def usable_device(device: str) -> str:
    """A device that is there: ``auto`` is a GPU where there is one, else the CPU.

    Raises:
        ScoringError: torch knows no such device, or this machine has none.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        # Using it is the one question that every backend answers.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        raise ScoringError(
            f"--device {device}: cannot be used here ({said_by(error)})",
            mend="pass --device cpu, or auto, which takes a GPU where there is one",
        ) from error
    return device


def hub_commit(name: str, revision: str | None) -> str:
    """The commit that a revision stands for; empty for a folder, and where no Hub tells.

    Args:
        name: a Hub id or a folder.
        revision: branch, tag or commit; None for the newest.
    """
    if Path(name).exists():
        return ""
    from huggingface_hub import hf_hub_download

    try:
        # The cache keeps files in a folder named after their commit, so this works offline too.
        with hub_call():
            return Path(hf_hub_download(name, "config.json", revision=revision)).parent.name
    except Exception:
        return ""  # loading it tells what is wrong


_SAVE_TOKENIZER = "save the tokenizer beside the model: tokenizer.save_pretrained(FOLDER)"


@contextmanager
def _refused(problem: str, mend: str) -> Iterator[None]:
    """Whatever goes wrong is a problem with its cause in brackets."""
    try:
        yield
    except Exception as error:
        raise ScoringError(f"{problem} ({said_by(error)})", mend=mend) from error


def load_pretrained(
    name: str, revision: str | None, auto_class: str, check: Callable[[str, Sequence[str]], None]
) -> tuple[Any, Any]:
    """A tokenizer and a model, by Hub id or folder; nothing that came with them is executed.

    Args:
        name: the id or folder.
        revision: of the Hub; None for the newest.
        auto_class: the class of transformers to load by, such as ``AutoModelForCausalLM``.
        check: refuses architectures that do not fit; given the name and the architectures.

    Raises:
        ScoringError: it cannot be loaded, or lacks weights or a tokenizer.
    """
    import transformers
    from transformers import AutoConfig, AutoTokenizer

    from s2lct.leaderboard.models.sentiment_network import register

    register()  # a retrained embedded model is a folder like any other
    pinned = {} if revision is None else {"revision": revision}
    with _refused(
        f"model {name}: cannot be loaded",
        "check the id or folder; without a network, download it where there is one "
        "(`hf download ID --local-dir DIR`) and pass DIR, or try vader, textblob, afinn, "
        + ", ".join(EMBEDDED_MODELS),
    ):
        config = pretrained(AutoConfig, name, **pinned)
    check(name, config.architectures or [])
    with _refused(f"model {name}: its tokenizer cannot be loaded", _SAVE_TOKENIZER):
        tokenizer = pretrained(AutoTokenizer, name, **pinned)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # transformers makes an empty tokenizer where the files are missing.
        raise ScoringError(
            f"model {name}: has no tokenizer files",
            mend=_SAVE_TOKENIZER,
        )
    with _refused(
        f"model {name}: its weights cannot be loaded",
        "save them as safetensors: model.save_pretrained(FOLDER)",
    ):
        # A checkpoint that is not safetensors goes through torch's weights_only loader.
        model, told = pretrained(
            getattr(transformers, auto_class),
            name,
            weights_only=True,
            output_loading_info=True,
            **pinned,
        )
    if lacking := sorted(told["missing_keys"]):
        # transformers fills them with random numbers.
        raise ScoringError(
            f"model {name}: its weights lack {', '.join(lacking[:3])}"
            + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""),
            mend="save the whole model, head and all: model.save_pretrained(FOLDER)",
        )
    return tokenizer, model
