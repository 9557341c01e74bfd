"""Reviews that nobody wrote: sentences of a small grammar, as many different ones as wanted."""

from __future__ import annotations

import json
import random
from pathlib import Path

_THINGS = (
    *("film", "story", "plot", "acting", "camera work", "dialogue", "ending", "score", "cast"),
    *("pace", "script", "humour", "second half", "opening scene", "soundtrack", "editing"),
)
_GOOD = (
    *("wonderful", "brilliant", "charming", "delightful", "touching", "excellent", "gorgeous"),
    *("clever", "fascinating", "superb", "funny", "beautiful"),
)
_BAD = (
    *("awful", "boring", "dull", "terrible", "horrible", "stupid", "tedious", "ugly"),
    *("pointless", "clumsy", "annoying", "lifeless"),
)
_NEUTRAL = ("set", "shot", "filmed", "made")
_PLACES = (
    *("a small town", "an old hotel", "a city by the sea", "the mountains", "a train station"),
    *("a school", "a village in the north", "the desert", "an office", "a hospital"),
)
_TIMES = ("one summer", "the war", "two days", "a long winter", "the seventies", "one night")
_WHO = ("the director", "the lead actor", "the writer", "everyone on screen", "the young cast")
_DOES = ("makes", "gives us", "delivers", "turns in")


def made_up(number: int, seed: int = 0) -> tuple[str, str]:
    """The review of that number: its text and its label; no two have the same text."""
    rng = random.Random(seed * 1_000_003 + number)
    label = ("positive", "negative", "neutral")[number % 3]
    thing, other = rng.sample(_THINGS, 2)
    place, time = rng.choice(_PLACES), rng.choice(_TIMES)
    part = f"part {number}"
    if label == "neutral":
        text = f"The {thing} of {part} is {rng.choice(_NEUTRAL)} in {place} during {time}."
        return text, label
    words = _GOOD if label == "positive" else _BAD
    word, second = rng.sample(words, 2)
    text = rng.choice(
        (
            f"The {thing} of {part} is {word}.",
            f"The {thing} of {part} is {word}, and the {other} is {second}.",
            f"In {place}, {rng.choice(_WHO)} {rng.choice(_DOES)} a {second} {thing} in {part}.",
            f"The {thing} is {word} in {part}, which is set in {place} during {time}.",
            f"The {other} of {part} makes the {thing} {word}.",
            f"It is a {word} {thing} with a {second} {other} in {part}.",
        )
    )
    return text, label


def write_made_up(path: Path, count: int, seed: int = 0) -> None:
    """Write so many of them as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            text, label = made_up(number, seed)
            file.write(json.dumps({"text": text, "label": label}) + "\n")
