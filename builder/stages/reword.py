"""Reword: a sentence whose one opinion is another one, or that has one where it had none.

The masked language model proposes words, and the lexicon says which way they go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from s2lct.builder.kept_models import KeptModels
from s2lct.builder.language.fluency import clashes
from s2lct.builder.language.lexicon import OPINIONATED, Lexicon, Scores
from s2lct.builder.language.operations import things
from s2lct.builder.records import MASK, Expansion, ParsedSentence, Source, Token
from s2lct.builder.rules import ABOUT_GROUPS
from s2lct.identity import shuffle_key
from s2lct.labels import Label

_FRAMES = (
    (
        f"I loved this movie because it is so {MASK}.",
        f"I hated this movie because it is so {MASK}.",
    ),
    (f"The acting is {MASK}, and I recommend it.", f"The acting is {MASK}, so avoid it."),
)
"""Sentences that praise and that blame: reviewers are sad in either, and pathetic in one."""
_EXCLAMATION = f"What a {MASK} movie!"
_MIN_LEANING = 0.35
_MIN_LOG_PROBABILITY = -8.0
"""Of words that are said of a film: *wrong* and *evil* are not."""
_MIN_SENTIMENT = 0.3
_WORDS_PROPOSED, _MAX_BEHIND_FIRST = 6, 1.5
"""Words that are tried in a place; how much less log probability they have than the first."""
_BESIDE_AN_OPINION = ("JJ", "JJR", "JJS", "VBG", "VBN", "CC", "HYPH", ",", ":")
_BEFORE_ITS_SUBJECT = ("DT", "PRP", "PRP$", "JJ")
_NEVER_LIKELY = -20.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a word goes: instead of a token, or before it."""

    number: int
    instead: bool
    label: Label


def place_in(source: Source, models: KeptModels, *, anywhere: bool = False) -> Place | None:
    """Where a word changes a sentence's sentiment, if there is one such place.

    In a sentence with a sentiment it is its one opinion, an adjective; in a neutral one it is
    before the noun for what the review speaks of ("the story", "this is a story"), or instead of
    the adjective there. If it may be ``anywhere``, other adjectives that say little may stand
    beside the opinion, and the noun may be any.
    """
    lexicon = Lexicon.load()
    tokens, label = source.parsed.tokens, source.sentence.label
    if label != "neutral":
        return _opinion_in(tokens, lexicon, label, models.scores if anywhere else None)
    wanted: tuple[Label, ...] = ("negative", "positive")
    toward = min(wanted, key=lambda each: shuffle_key(0, "reword", source.text, each))
    for n in range(1, len(tokens)):
        before = tokens[n - 1]
        if not anywhere and before.tag not in _BEFORE_ITS_SUBJECT and before.lemma != "be":
            break
        behind = tokens[n + 1].tag if n + 1 < len(tokens) else ""
        is_thing = anywhere or tokens[n].lemma.lower() in things()
        if tokens[n].tag == "NN" and is_thing and behind[:2] not in ("NN", "PO"):
            if before.tag == "JJ":
                return Place(n - 1, True, toward)
            if before.tag in ("DT", "PRP$"):
                return Place(n, False, toward)
    return None


def _opinion_in(
    tokens: Sequence[Token], lexicon: Lexicon, label: Label, scored: Scores | None
) -> Place | None:
    """Its one opinion, an adjective with nothing like it beside it."""
    laden = {n for n, t in enumerate(tokens) if lexicon.is_laden(t.text, t.tag, t.lemma)}
    if scored:
        strengths = (fmean(map(abs, each)) for each in scored([tokens[n].text for n in laden]))
        strong = {n for n, far in zip(laden, strengths, strict=True) if far >= _MIN_SENTIMENT}
        laden = strong or laden
    beside = [tag for tag in _BESIDE_AN_OPINION if not (scored and tag == "JJ")]
    others = any(each.tag in beside for n, each in enumerate(tokens) if n not in laden)
    if len(laden) != 1 or others:
        return None
    (number,) = laden
    toward: Label = "negative" if label == "positive" else "positive"
    return Place(number, True, toward) if tokens[number].tag == "JJ" else None


def evaluations(models: KeptModels, lexicon: Lexicon) -> Mapping[Label, frozenset[str]]:
    """Adjectives that say how good something is, by the lexicon, two scorers and reviewers."""
    scored = {word: lexicon.score(word, "adj") or 0.0 for word in models.words}
    signs = {
        word: 1 if score > 0 else -1
        for word, score in scored.items()
        if abs(score) >= OPINIONATED and word not in ABOUT_GROUPS
    }
    evaluative = {
        word: sign
        for (word, sign), each in zip(signs.items(), models.scores(signs), strict=True)
        if all(sign * score >= _MIN_SENTIMENT for score in each)
    }
    among = frozenset(evaluative)
    texts = [_EXCLAMATION, *(text for frame in _FRAMES for text in frame)]
    said, *likely = [dict(each) for each in models.suggest(texts, len(among), [among] * len(texts))]
    leaning = {
        word: sum(
            praise.get(word, _NEVER_LIKELY) - blame.get(word, _NEVER_LIKELY)
            for praise, blame in zip(likely[::2], likely[1::2], strict=True)
        )
        / len(_FRAMES)
        for word in among
        if said.get(word, _NEVER_LIKELY) >= _MIN_LOG_PROBABILITY
    }
    return {
        label: frozenset(
            word
            for word, far in leaning.items()
            if evaluative[word] == sign and sign * far >= _MIN_LEANING
        )
        for label, sign in (("positive", 1), ("negative", -1))
    }


def reworded(parsed: ParsedSentence, place: Place, word: str) -> ParsedSentence:
    """A sentence with a word in a place; its tree is that of the sentence before."""
    at = parsed.tokens[place.number]
    if place.instead and at.text[0].isupper():
        word = word[0].upper() + word[1:]
    end, space = (at.end, "") if place.instead else (at.start, " ")
    text = parsed.text[: at.start] + word + space + parsed.text[end:]
    by = len(text) - len(parsed.text)
    token = Token(word, "JJ", word.lower(), at.start, at.start + len(word))
    behind = parsed.tokens[place.number + place.instead :]
    moved = (replace(each, start=each.start + by, end=each.end + by) for each in behind)
    return replace(parsed, text=text, tokens=(*parsed.tokens[: place.number], token, *moved))


def words_for(
    asked: Sequence[tuple[Source, Place]], models: KeptModels, words: Mapping[Label, frozenset[str]]
) -> list[str | None]:
    """A word for each place; None where none fits."""
    masked = [reworded(source.parsed, place, MASK).text for source, place in asked]
    among = [words[place.label] for _, place in asked]
    proposed = models.suggest(masked, _WORDS_PROPOSED, among)
    tried: list[tuple[int, str, ParsedSentence]] = []
    for number, ((source, place), suggested) in enumerate(zip(asked, proposed, strict=True)):
        tokens = source.parsed.tokens
        before = tokens[place.number - 1].text.lower() if place.number else ""
        lemmas = {each.lemma.lower() for each in tokens}
        likely = [word for word, score in suggested if score >= suggested[0][1] - _MAX_BEHIND_FIRST]
        for word in sorted(likely, key=lambda each: shuffle_key(0, "word", source.text, each)):
            if not clashes(before, word) and word not in lemmas:
                tried.append((number, word, reworded(source.parsed, place, word)))
    chosen: dict[int, str] = {}
    tagged = models.tag([parsed.text for _, _, parsed in tried])
    for (number, word, parsed), tokens in zip(tried, tagged, strict=True):
        if [each.tag for each in tokens] == [each.tag for each in parsed.tokens]:
            chosen.setdefault(number, word)
    return [chosen.get(number) for number in range(len(asked))]


def as_reworded(expansion: Expansion, place: Place, word: str) -> Expansion | None:
    """An expansion of the sentence with a word in a place of the sentence that it extends."""
    extension, extended = expansion.extension, expansion.extension.parsed
    if extended is None:
        return None
    of_sentence = [
        number
        for number, token in enumerate(extended.tokens)
        if not any(each.start <= token.start < each.end for each in extension.inserted)
    ]
    # Before a noun, an opinion stands before what else does: "the bad Swedish movie".
    there = of_sentence[place.number] if place.instead else of_sentence[place.number - 1] + 1
    if there and clashes(extended.tokens[there - 1].text.lower(), word):
        return None
    longer = reworded(extended, replace(place, number=there), word)
    at, by = extended.tokens[there].start, len(longer.text) - len(extended.text)
    inserted = tuple(
        replace(each, start=each.start + by, end=each.end + by) if each.start >= at else each
        for each in extension.inserted
    )
    longer_extension = replace(extension, text=longer.text, inserted=inserted, parsed=longer)
    return replace(expansion, extension=longer_extension)
