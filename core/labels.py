"""The labels of sentiment, what the classes of models mean, and what language models are asked."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from s2lct.errors import ScoringError

LABELS = ("negative", "neutral", "positive")
NEGATIVE, NEUTRAL, POSITIVE = range(3)
ENDS = (LABELS[NEGATIVE], LABELS[POSITIVE])
if TYPE_CHECKING:
    Label = str
else:
    Label = Literal[LABELS]  # what pydantic checks

NEUTRAL_BAND = (1 / 3, 2 / 3)
"""A model without a neutral class says neutral where p(positive) lies strictly within, as in
CheckList (Ribeiro et al. 2020, sentiment notebook)."""
COLUMNS = {
    2: (NEGATIVE, POSITIVE),
    3: (NEGATIVE, NEUTRAL, POSITIVE),
    5: (NEGATIVE, NEGATIVE, NEUTRAL, POSITIVE, POSITIVE),
}
"""By number of columns the labels that they are for, where nothing names them."""
CLASS_NAMES = {
    **dict.fromkeys(("negative", "neg", "very negative", "strong negative", "bad"), NEGATIVE),
    **dict.fromkeys(("1 star", "2 stars", "one star", "two stars"), NEGATIVE),
    **dict.fromkeys(("neutral", "neu", "mixed", "3 stars", "three stars"), NEUTRAL),
    **dict.fromkeys(("positive", "pos", "very positive", "strong positive", "good"), POSITIVE),
    **dict.fromkeys(("4 stars", "5 stars", "four stars", "five stars"), POSITIVE),
}
"""What the usual names of classes mean, in lower case without - and _."""
KNOWN_MODELS = {
    "textattack/bert-base-uncased-SST-2": COLUMNS[2],
    "textattack/roberta-base-SST-2": COLUMNS[2],
    "textattack/distilbert-base-uncased-SST-2": COLUMNS[2],
    "textattack/albert-base-v2-SST-2": COLUMNS[2],
    "distilbert-base-uncased-finetuned-sst-2-english": COLUMNS[2],
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english": COLUMNS[2],
    "cardiffnlp/twitter-roberta-base-sentiment": COLUMNS[3],
}
"""What the classes of models mean whose cards say so and whose names do not."""

SLOT = "{text}"
PROMPTS = (
    "Review: {text}\nSentiment (negative, neutral or positive):",
    "Is the sentiment of the following sentence negative, neutral or positive?\n\n{text}\n\n"
    "Answer with one word:",
    "Text: {text}\nClassify this text as positive, neutral or negative.\nAnswer:",
)
"""What a language model is asked, with `SLOT` where the text stands, the usual prompt first; one
prompt's figure says little of a model."""
OPENING = ('"', "'", "“", "‘", "«", "(", "[")
"""Behind these a word follows without a space."""


def check_label_map(label_map: str | Mapping[Any, Any] | None) -> dict[str, str] | None:
    """What classes mean, with every label by its name; no model is asked.

    Args:
        label_map: from the name or number of a class to ``negative``, ``neutral`` or ``positive``
            in any case, or to 0, 1 or 2; or ``LABEL_0=negative,LABEL_1=positive`` as on the
            command line. None for none.

    Raises:
        ScoringError: it is no map, empty, names a class twice or means no label.
    """
    if label_map is None:
        return None
    if isinstance(label_map, str):  # a label holds no "=", and the name of a class may
        split = (part.rpartition("=") for part in label_map.split(","))
        pairs: list[tuple[Any, Any]] = [(name, label) for name, _, label in split]
    else:
        pairs = [*label_map.items()] if isinstance(label_map, Mapping) else []
    checked = {
        str(name).strip(): LABELS[int(label)]
        if is_integer(label) and label in range(len(LABELS))
        else str(label).strip().lower()
        for name, label in pairs
    }
    names_each_once = checked and "" not in checked and len(checked) == len(pairs)
    if not names_each_once or not set(LABELS).issuperset(checked.values()):
        raise ScoringError(
            f"--label-map {label_map!r}: gives no label to each class, once",
            hint=f"write it like LABEL_0=negative,LABEL_1=positive, with {', '.join(LABELS)}",
        )
    return checked


def is_integer(value: Any) -> bool:
    """Whether it is an integer of whatever library, and no boolean."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def checked_prompt(prompt: str) -> str:
    r"""A prompt as it was given, in which ``\n`` is a new line.

    Raises:
        ScoringError: there is no place for the text in it.
    """
    if SLOT not in prompt:
        raise ScoringError(
            f"--prompt {prompt!r}: has no {SLOT}",
            hint=f"write {SLOT} where the sentence belongs, as in {PROMPTS[0]!r}",
        )
    return prompt.replace("\\n", "\n")


def space_behind(prompt: str) -> str:
    """What stands between a prompt and a word that completes it: a space, or nothing."""
    return "" if prompt[-1:].isspace() or prompt.endswith(OPENING) else " "
