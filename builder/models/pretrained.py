"""Models of `transformers`, whole or not at all; nothing that came with them is executed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from s2lct.errors import ModelError
from s2lct.hub_calls import pretrained, said_by
from s2lct.plain_text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_NAMED = 3


def load_masked_lm(name: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A masked language model and its tokenizer, by Hub id or folder.

    Raises:
        ModelError: it cannot be loaded, or its checkpoint lacks weights, which `transformers`
            would fill with random numbers.
    """
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    try:
        with _quiet():
            tokenizer = pretrained(AutoTokenizer, name)
            model, told = pretrained(
                AutoModelForMaskedLM,
                name,
                weights_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # told, and refused below with their names
            )
    except Exception as error:  # every way in which loading can fail has a class of its own
        raise ModelError(
            f"--mlm {plain(name, 200)}: cannot be loaded ({said_by(error)})",
            mend="name a masked language model of the Hub or a local folder; without a "
            "network, download it first or use --mlm embedded",
        ) from error
    refuse_unfilled(f"--mlm {plain(name, 200)}", told["missing_keys"] | told["mismatched_keys"])
    pieces = model.get_input_embeddings().num_embeddings
    if not len(tokenizer.all_special_tokens) < len(tokenizer) <= pieces:
        raise ModelError(
            f"--mlm {plain(name, 200)}: its tokenizer knows {len(tokenizer):,} pieces, "
            f"the model {pieces:,}",
            mend="save the tokenizer beside the model: tokenizer.save_pretrained(FOLDER)",
        )
    return model, tokenizer


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep reports and bars of `transformers` from the terminal; what matters becomes an error."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def refuse_unfilled(named: str, lacking: Collection[object]) -> None:
    """Refuse a model whose checkpoint leaves weights at random numbers.

    Args:
        named: the model as an error names it.
        lacking: weights that the checkpoint lacks, or has in another shape.

    Raises:
        ModelError: there are any.
    """
    if lacking:
        names = sorted(str(one[0]) if isinstance(one, tuple) else str(one) for one in lacking)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        raise ModelError(
            f"{named}: its weights lack {plain(', '.join(names[:_NAMED]), 300)}{more}",
            mend="name a checkpoint that was trained and saved whole, its head included",
        )
