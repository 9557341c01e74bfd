"""Fill: a masked language model proposes words for the masks."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence

from s2lct.builder.models import MaskedLanguageModel
from s2lct.builder.models.masked_lm import MASK, SCORE_DIGITS
from s2lct.suite.records import FilledSentence, MaskedSentence, Suggestion

DEFAULT_BEAM = 3
Beam = tuple[tuple[str, ...], float]
Problem = tuple[str, tuple[str, ...]]


def fill(
    masked: Sequence[MaskedSentence],
    model: MaskedLanguageModel,
    *,
    suggestions: int,
    beam: int = DEFAULT_BEAM,
    fitting: Callable[[str], frozenset[str]] | None = None,
    known: MutableMapping[Problem, list[Beam]] | None = None,
) -> list[FilledSentence]:
    """Propose words for every masked sentence, equal sentences once.

    The model reads the corpus sentence alone: what a reviewer wrote does not depend on the
    template that quotes it, and a sentence that several capabilities use is filled once.

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
    beams: MutableMapping[Problem, list[Beam]] = {} if known is None else known
    unfinished = [p for p in dict.fromkeys(map(_problem, masked)) if p not in beams]
    beams.update({problem: [((), 0.0)] for problem in unfinished})
    while unfinished:
        requests = [
            (problem, words, total) for problem in unfinished for words, total in beams[problem]
        ]
        answers = model.suggest(
            [_with_words(text, words) for (text, _), words, _ in requests],
            suggestions,
            [fitting(tags[len(words)]) for (_, tags), words, _ in requests] if fitting else None,
        )
        grown: dict[Problem, list[Beam]] = {problem: [] for problem in unfinished}
        for (problem, words, total), answer in zip(requests, answers, strict=True):
            grown[problem] += [((*words, word), total + score) for word, score in answer]
        finished = {problem for problem in unfinished if _is_full(problem, grown[problem])}
        for problem, fillings in grown.items():
            if len(beams[problem]) > 1:  # one answer is sorted already
                fillings.sort(key=lambda filling: (-round(filling[1], SCORE_DIGITS), filling[0]))
            beams[problem] = fillings[: suggestions if problem in finished else beam]
        unfinished = [problem for problem in unfinished if problem not in finished]
    return [
        FilledSentence(
            one,
            tuple(
                Suggestion(words, round(total / len(words), SCORE_DIGITS))
                for words, total in beams[_problem(one)]
            ),
        )
        for one in masked
    ]


def _problem(masked: MaskedSentence) -> Problem:
    return masked.sentence, tuple(mask.tag for mask in masked.masks)


def _is_full(problem: Problem, fillings: Sequence[Beam]) -> bool:
    return not fillings or len(fillings[0][0]) == len(problem[1])


def _with_words(text: str, words: Sequence[str]) -> str:
    for word in words:
        text = text.replace(MASK, word, 1)
    return text
