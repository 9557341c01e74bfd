"""Size and licence of a model, as far as they can be known."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from s2lct.hub_calls import hub_call
from s2lct.leaderboard.models.classifier import Classifier, Function, Precision
from s2lct.leaderboard.models.embedded import TEXTS_A_BATCH, Embedded
from s2lct.leaderboard.models.language_model import LanguageModel
from s2lct.leaderboard.models.network import Network, SequenceClassifier
from s2lct.leaderboard.models.spread_model import SpreadModel
from s2lct.leaderboard.models.text_model import TextModel
from s2lct.leaderboard.models.word_lists import WordList

LONGEST_LICENCE = 80
CARD = "README.md"


def precision_of(model: Classifier | Function | TextModel) -> Precision:
    """In what a model computes here; of a model of workers, there."""
    if isinstance(model, SpreadModel):
        return model.facts.precision
    if isinstance(model, Embedded):
        network, batch_size = model.encoder.model, f"{TEXTS_A_BATCH} texts"
    elif isinstance(model, (Network, LanguageModel)):
        network, batch_size = model.model, f"{model.tokens_a_batch} tokens"
    else:
        return Precision()
    return Precision(str(network.dtype).removeprefix("torch."), network.device.type, batch_size)


def parameters_of(model: Classifier | Function | TextModel) -> int | None:
    """The number of a network's weights; None for word lists and functions."""
    if isinstance(model, SpreadModel):
        return model.facts.parameters
    if isinstance(model, Embedded):
        networks = [model.encoder.model, model.head]
    elif isinstance(model, (Network, LanguageModel)):
        networks = [model.model]
    else:
        return None
    return sum(int(weights.numel()) for network in networks for weights in network.parameters())


def licence_of(model: Classifier | Function | TextModel) -> str | None:
    """The licence that a model's package or card states; None where it states none.

    The card of a Hub model is fetched if the Hub can be reached, and never executed.
    """
    if isinstance(model, SpreadModel):
        return model.facts.licence
    if isinstance(model, (Embedded, WordList)):
        try:
            told = metadata(model.package)
        except PackageNotFoundError:
            return None
        stated: object = told["License-Expression"] or told["License"] if len(told) else None
    elif isinstance(model, (SequenceClassifier, LanguageModel)):
        stated = _card_licence(model.name, model.revision)
    else:
        return None
    lines = str(stated or "").strip().splitlines()
    return lines[0][:LONGEST_LICENCE] if lines else None


def _card_licence(name: str, revision: str) -> object:
    from huggingface_hub import ModelCard, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    path = Path(name, CARD)
    try:
        if not path.parent.is_dir():
            with hub_call():
                path = Path(hf_hub_download(name, CARD, revision=revision or None))
        stated = ModelCard.load(path).data.to_dict().get("license")
    except (OSError, ValueError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError):
        return None  # a model without a card, or whose card is broken, is scored all the same
    return ", ".join(map(str, stated)) if isinstance(stated, list) else stated
