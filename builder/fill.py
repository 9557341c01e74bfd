"""Fill: a masked language model proposes words for the masks."""

from __future__ import annotations

from collections.abc import Sequence

from s2lct.builder.models import MaskedLanguageModel
from s2lct.builder.models.masked_lm import MASK, SCORE_DIGITS
from s2lct.builder.records import FilledSentence, MaskedSentence, Suggestion

DEFAULT_BEAM = 3
Beam = tuple[tuple[str, ...], float]


def fill(
    masked: Sequence[MaskedSentence],
    model: MaskedLanguageModel,
    *,
    suggestions: int,
    beam: int = DEFAULT_BEAM,
) -> list[FilledSentence]:
    """Propose words for every masked sentence, equal texts once.

    Several masks are filled together from left to right: the best ``beam`` partial fillings are
    kept at each mask, and the last mask gives ``suggestions`` in all.

    Args:
        masked: masked sentences.
        model: the masked language model.
        suggestions: most suggestions for a masked sentence.
        beam: partial fillings kept on the way.

    Returns:
        The masked sentences in the same order with their suggestions, best first. A suggestion's
        score is the mean log probability of its words, each given the text and the words to its
        left.
    """
    beams: dict[str, list[Beam]] = {one.text: [((), 0.0)] for one in masked}
    open_texts = list(beams)
    while open_texts:
        requests = [(text, words, total) for text in open_texts for words, total in beams[text]]
        texts = [_with_words(text, words) for text, words, _ in requests]
        answers = model.suggest(texts, [0] * len(texts), suggestions)
        grown: dict[str, list[Beam]] = {text: [] for text in open_texts}
        for (text, words, total), answer in zip(requests, answers, strict=True):
            grown[text] += [((*words, word), total + score) for word, score in answer]
        finished = {text for text in open_texts if _is_full(text, grown[text])}
        for text, fillings in grown.items():
            fillings.sort(key=lambda filling: (-round(filling[1], SCORE_DIGITS), filling[0]))
            beams[text] = fillings[: suggestions if text in finished else beam]
        open_texts = [text for text in open_texts if text not in finished]
    return [
        FilledSentence(
            one,
            tuple(
                Suggestion(words, round(total / len(words), SCORE_DIGITS))
                for words, total in beams[one.text]
            ),
        )
        for one in masked
    ]


def _is_full(text: str, fillings: Sequence[Beam]) -> bool:
    return not fillings or len(fillings[0][0]) == text.count(MASK)


def _with_words(text: str, words: Sequence[str]) -> str:
    for word in words:
        text = text.replace(MASK, word, 1)
    return text
