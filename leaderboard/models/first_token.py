"""What no answer needs is not computed: heads of BERT's kind read a text by its first token.

Behind the attention of the last layer that token's state alone goes on; the others would be
computed for nothing, in a model of six layers an eighth of all work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LAYERS = {
    "encoder.layer": "attention.output",  # BERT, RoBERTa, XLM-RoBERTa, CamemBERT, ELECTRA …
    "transformer.layer": "sa_layer_norm",  # DistilBERT
}
"""Lists of layers, and within a layer what first takes each token's state apart from the others."""
_CLOSE = 0.05


@contextmanager
def first_token_only(model: Any) -> Iterator[None]:
    """Within it, a classifier's last layer goes on with the first token where that is all it reads.

    Whether it is, is tried out: a head that reads another token's state says so when that state is
    no number. What the model says changes by rounding alone.

    Args:
        model: a sequence classifier of transformers, ready to answer.
    """
    module = _behind_attention(model)
    if module is None or not _reads_first_alone(model, module):
        yield
        return
    hook = module.register_forward_pre_hook(_first)
    try:
        yield
    finally:
        hook.remove()


def _behind_attention(model: Any) -> Any:
    """The module of the last layer whose inputs can be cut to the first token; None for none."""
    for layers, module in _LAYERS.items():
        try:
            return model.base_model.get_submodule(layers)[-1].get_submodule(module)
        except (AttributeError, IndexError, TypeError):  # built otherwise
            continue
    return None


def _first(_: Any, states: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(state[:, :1] for state in states)


def _poisoned(_: Any, __: Any, states: Any) -> Any:
    states = states.clone()
    states[:, 1:] = float("nan")
    return states


def _reads_first_alone(model: Any, module: Any) -> bool:
    import torch

    poisoned = _said_with(module.register_forward_hook(_poisoned), model)
    cut = _said_with(module.register_forward_pre_hook(_first), model)
    if poisoned is None or cut is None or poisoned.shape != cut.shape:
        return False
    return torch.allclose(poisoned, cut, rtol=_CLOSE, atol=_CLOSE)


def _said_with(hook: Any, model: Any) -> Any:
    """Logits of two short texts under a hook, which is removed; None where they have none."""
    import torch

    ids = torch.tensor([[2, 3, 4], [4, 3, 2]], device=model.device)
    try:
        with torch.inference_mode():
            return model(input_ids=ids).logits.float()
    except (RuntimeError, TypeError, IndexError):  # it is built otherwise than it looks
        return None
    finally:
        hook.remove()
