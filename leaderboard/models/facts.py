"""Size and licence of a model, as far as they can be known."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from s2lct.hub_calls import hub_call
from s2lct.leaderboard.models.classifier import Classifier, Function
from s2lct.leaderboard.models.embedded import Embedded
from s2lct.leaderboard.models.language_model import LanguageModel
from s2lct.leaderboard.models.network import Network, SequenceClassifier
from s2lct.leaderboard.models.word_lists import WordList

LONGEST_LICENCE = 80
CARD = "README.md"


def parameters_of(model: Classifier | Function) -> int | None:
    """The number of a network's weights; None for word lists and functions."""
    if isinstance(model, Embedded):
        own = model._model
        return _weights(own._encoder._model) + _weights(own._head)
    if isinstance(model, (Network, LanguageModel)):
        return _weights(model._model)
    return None


def _weights(module: Any) -> int:
    return sum(int(parameter.numel()) for parameter in module.parameters())


def licence_of(model: Classifier | Function) -> str | None:
    """The licence that a model's package or card states; None where it states none.

    The card of a Hub model is fetched if the Hub can be reached, and never executed.
    """
    if isinstance(model, Embedded):
        return _package_licence("s2lct")
    if isinstance(model, WordList):
        return _package_licence(model.package)
    if isinstance(model, (SequenceClassifier, LanguageModel)):
        return _card_licence(model.name, model.revision)
    return None


def _package_licence(package: str) -> str | None:
    try:
        found = metadata(package)
    except PackageNotFoundError:
        return None
    stated = found["License-Expression"] or found["License"] if len(found) else None
    return _one_line(stated)


def _card_licence(name: str, revision: str) -> str | None:
    from huggingface_hub import ModelCard, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    folder = Path(name)
    try:
        if folder.is_dir():
            path = folder / CARD
        else:
            with hub_call():
                path = Path(hf_hub_download(name, CARD, revision=revision or None))
        stated = ModelCard.load(path).data.to_dict().get("license")
    except (OSError, ValueError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError):
        return None  # a model without a card, or whose card is broken, is scored all the same
    if isinstance(stated, list):
        stated = ", ".join(map(str, stated))
    return _one_line(stated)


def _one_line(stated: object) -> str | None:
    lines = str(stated or "").strip().splitlines()
    return lines[0][:LONGEST_LICENCE] if lines else None
