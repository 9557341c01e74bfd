"""Fill: a masked language model proposes words for the masks."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import NamedTuple

from s2lct.builder.models import MaskedLanguageModel
from s2lct.builder.models.masked_lm import MASK, SCORE_DIGITS
from s2lct.builder.records import FilledSentence, MaskedSentence, Suggestion

DEFAULT_BEAM = 3
SUGGESTIONS = 30
"""Words asked of the model for a mask."""
Problem = tuple[str, tuple[str, ...]]


class Filling(NamedTuple):
    """Words for the first masks, and their summed log probability."""

    words: tuple[str, ...]
    total: float


def fill(
    masked: Sequence[MaskedSentence],
    model: MaskedLanguageModel,
    *,
    suggestions: int,
    beam: int = DEFAULT_BEAM,
    fitting: Callable[[str], frozenset[str]] | None = None,
    known: MutableMapping[Problem, list[Filling]] | None = None,
) -> list[FilledSentence]:
    """Propose words for every masked sentence, equal sentences once.

    Several masks are filled together from left to right: the best ``beam`` partial fillings are
    kept at each mask, and the last mask gives ``suggestions`` in all.

    Args:
        masked: masked sentences.
        model: the masked language model.
        suggestions: most suggestions for a masked sentence.
        beam: partial fillings kept on the way.
        fitting: the words to choose from for a mask of a tag; None chooses from all.
        known: fillings found before, which are not asked for again; new ones are added.

    Returns:
        The masked sentences in the same order with their suggestions, best first. A suggestion's
        score is the mean log probability of its words, each given the text and the words to its
        left.
    """
    beams: MutableMapping[Problem, list[Filling]] = {} if known is None else known
    unfinished = [p for p in dict.fromkeys(map(_problem, masked)) if p not in beams]
    beams.update({problem: [Filling((), 0.0)] for problem in unfinished})
    while unfinished:
        requests = [(problem, filling) for problem in unfinished for filling in beams[problem]]
        texts = [_with_words(problem[0], filling.words) for problem, filling in requests]
        tags = [problem[1][len(filling.words)] for problem, filling in requests]
        answers = model.suggest(
            texts, suggestions, [fitting(tag) for tag in tags] if fitting else None
        )
        grown: dict[Problem, list[Filling]] = {problem: [] for problem in unfinished}
        for (problem, filling), answer in zip(requests, answers, strict=True):
            grown[problem] += [
                Filling((*filling.words, word), filling.total + score) for word, score in answer
            ]
        finished = {problem for problem in unfinished if _is_full(problem, grown[problem])}
        for problem, fillings in grown.items():
            if len(beams[problem]) > 1:  # one answer is sorted already
                fillings.sort(key=lambda one: (-round(one.total, SCORE_DIGITS), one.words))
            most = suggestions if problem in finished else beam
            beams[problem] = fillings[:most]
        unfinished = [problem for problem in unfinished if problem not in finished]
    return [
        FilledSentence(
            one,
            tuple(
                Suggestion(
                    filling.words,
                    round(filling.total / len(filling.words), SCORE_DIGITS),
                )
                for filling in beams[_problem(one)]
            ),
        )
        for one in masked
    ]


def _problem(masked: MaskedSentence) -> Problem:
    return masked.text, tuple(mask.tag for mask in masked.masks)


def _is_full(problem: Problem, fillings: Sequence[Filling]) -> bool:
    return not fillings or len(fillings[0].words) == len(problem[1])


def _with_words(text: str, words: Sequence[str]) -> str:
    for word in words:
        text = text.replace(MASK, word, 1)
    return text
