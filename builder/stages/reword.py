"""Reword: replace a sentence's single opinion by its opposite, or give a neutral sentence one.

The masked language model proposes words, and the lexicon gives their polarity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from s2lct.builder.kept_models import CachedModels
from s2lct.builder.language.fluency import clashes
from s2lct.builder.language.lexicon import MIN_OPINION_SCORE, Lexicon, ScoreTexts
from s2lct.builder.language.operations import thing_nouns
from s2lct.builder.records import MASK, Expansion, ParsedSentence, Source, Token
from s2lct.builder.rules import ABOUT_GROUPS
from s2lct.identity import shuffle_key
from s2lct.labels import Label

_PRAISE_AND_BLAME = (
    (
        f"I loved this movie because it is so {MASK}.",
        f"I hated this movie because it is so {MASK}.",
    ),
    (f"The acting is {MASK}, and I recommend it.", f"The acting is {MASK}, so avoid it."),
)
"""Pairs of praise and blame: a word such as *sad* fits both, *pathetic* only blame."""
_EXCLAMATION = f"What a {MASK} movie!"
"""A masked sentence that only words said of a film fit."""
_MIN_LEANING = 0.35
"""Least mean difference of a word's log probability between praise and blame."""
_MIN_LOG_PROBABILITY = -8.0
"""Least log probability of a word in `_EXCLAMATION`; *wrong* and *evil* are below it."""
_MIN_SENTIMENT = 0.3
"""Least score of an opinion, from 0 to 1, without its sign."""
_SUGGESTIONS_PER_PLACE = 6
"""Words that the masked language model suggests for a place."""
_MAX_GAP = 1.5
"""The largest difference of log probability between the first suggestion and a word in use."""
_TAGS_THAT_FORBID_REWORDING = ("JJ", "JJR", "JJS", "VBG", "VBN", "CC", "HYPH", ",", ":")
"""Tags that no other word of a sentence may have if its opinion is to be replaced."""
_TAGS_BEFORE_SUBJECT_NOUN = ("DT", "PRP", "PRP$", "JJ")
"""Tags of words that may stand before the noun that opens a sentence."""
_UNSUGGESTED = -20.0
"""The log probability assumed of a word that the model does not suggest."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a new word in a sentence.

    Attributes:
        token_number: the number of the token that the word replaces or precedes.
        replaces_token: whether the word replaces the token; otherwise it is inserted before it.
        target_label: the label of the reworded sentence.
    """

    token_number: int
    replaces_token: bool
    target_label: Label


def find_place(source: Source, models: CachedModels, *, relaxed: bool = False) -> Place | None:
    """Find the place where a word would change a sentence's sentiment; None if there is none.

    In a sentence with a sentiment, it is the only opinion word, if that is an adjective. In a
    neutral sentence, it is in front of the noun that names what is reviewed, as in *the story* or
    *this is a story*, or at the adjective of that noun.

    If ``relaxed``, weak opinion words and other adjectives are allowed beside the opinion, and any
    noun will do.
    """
    lexicon = Lexicon.load()
    tokens, label = source.parsed.tokens, source.sentence.label
    if label != "neutral":
        return _place_of_only_opinion(tokens, lexicon, label, models.scores if relaxed else None)
    opinion_labels: tuple[Label, ...] = ("negative", "positive")
    target_label = min(opinion_labels, key=lambda each: shuffle_key(0, "reword", source.text, each))
    for token_number in range(1, len(tokens)):
        previous = tokens[token_number - 1]
        if not relaxed and previous.tag not in _TAGS_BEFORE_SUBJECT_NOUN and previous.lemma != "be":
            break
        next_tag = tokens[token_number + 1].tag if token_number + 1 < len(tokens) else ""
        is_thing = relaxed or tokens[token_number].lemma.lower() in thing_nouns()
        if tokens[token_number].tag == "NN" and is_thing and next_tag[:2] not in ("NN", "PO"):
            if previous.tag == "JJ":
                return Place(token_number - 1, True, target_label)
            if previous.tag in ("DT", "PRP$"):
                return Place(token_number, False, target_label)
    return None


def _place_of_only_opinion(
    tokens: Sequence[Token], lexicon: Lexicon, label: Label, score_texts: ScoreTexts | None
) -> Place | None:
    """The place of a sentence's only opinion word, if that is an adjective.

    None where another word has one of `_TAGS_THAT_FORBID_REWORDING`. If scores are given, weak
    opinion words and other adjectives are ignored.
    """
    opinions = {n for n, t in enumerate(tokens) if lexicon.is_laden(t.text, t.tag, t.lemma)}
    if score_texts:
        strengths = (
            fmean(map(abs, each)) for each in score_texts([tokens[n].text for n in opinions])
        )
        strong = {
            n for n, strength in zip(opinions, strengths, strict=True) if strength >= _MIN_SENTIMENT
        }
        opinions = strong or opinions
    forbidden = [tag for tag in _TAGS_THAT_FORBID_REWORDING if not (score_texts and tag == "JJ")]
    is_forbidden = any(each.tag in forbidden for n, each in enumerate(tokens) if n not in opinions)
    if len(opinions) != 1 or is_forbidden:
        return None
    (token_number,) = opinions
    target_label: Label = "negative" if label == "positive" else "positive"
    return Place(token_number, True, target_label) if tokens[token_number].tag == "JJ" else None


def evaluative_adjectives(models: CachedModels, lexicon: Lexicon) -> Mapping[Label, frozenset[str]]:
    """Positive and negative adjectives on which the lexicon, the scorers and the model agree.

    The masked language model says whether reviewers use a word in praise or in blame.
    """
    lexicon_scores = {word: lexicon.score(word, "adj") or 0.0 for word in models.words}
    signs = {
        word: 1 if score > 0 else -1
        for word, score in lexicon_scores.items()
        if abs(score) >= MIN_OPINION_SCORE and word not in ABOUT_GROUPS
    }
    evaluative = {
        word: sign
        for (word, sign), scores in zip(signs.items(), models.scores(signs), strict=True)
        if all(sign * score >= _MIN_SENTIMENT for score in scores)
    }
    candidates = frozenset(evaluative)
    texts = [_EXCLAMATION, *(text for frame in _PRAISE_AND_BLAME for text in frame)]
    exclamation_scores, *frame_scores = [
        dict(scores) for scores in models.suggest(texts, len(candidates), [candidates] * len(texts))
    ]
    leanings = {
        word: sum(
            praise.get(word, _UNSUGGESTED) - blame.get(word, _UNSUGGESTED)
            for praise, blame in zip(frame_scores[::2], frame_scores[1::2], strict=True)
        )
        / len(_PRAISE_AND_BLAME)
        for word in candidates
        if exclamation_scores.get(word, _UNSUGGESTED) >= _MIN_LOG_PROBABILITY
    }
    return {
        label: frozenset(
            word
            for word, difference in leanings.items()
            if evaluative[word] == sign and sign * difference >= _MIN_LEANING
        )
        for label, sign in (("positive", 1), ("negative", -1))
    }


def reworded(parsed: ParsedSentence, place: Place, word: str) -> ParsedSentence:
    """The sentence with ``word`` at a place; the tree is copied unchanged."""
    old_token = parsed.tokens[place.token_number]
    if place.replaces_token and old_token.text[0].isupper():
        word = word[0].upper() + word[1:]
    end, space_after = (old_token.end, "") if place.replaces_token else (old_token.start, " ")
    text = parsed.text[: old_token.start] + word + space_after + parsed.text[end:]
    shift = len(text) - len(parsed.text)
    token = Token(word, "JJ", word.lower(), old_token.start, old_token.start + len(word))
    following = parsed.tokens[place.token_number + place.replaces_token :]
    shifted = (replace(each, start=each.start + shift, end=each.end + shift) for each in following)
    return replace(
        parsed, text=text, tokens=(*parsed.tokens[: place.token_number], token, *shifted)
    )


def words_for(
    places: Sequence[tuple[Source, Place]],
    models: CachedModels,
    words_of_label: Mapping[Label, frozenset[str]],
) -> list[str | None]:
    """A word for each place; None where none fits.

    Args:
        places: sentences, each with the place to reword.
        models: suggest words and tag.
        words_of_label: the words allowed for each target label.
    """
    masked = [reworded(source.parsed, place, MASK).text for source, place in places]
    allowed_words = [words_of_label[place.target_label] for _, place in places]
    proposed = models.suggest(masked, _SUGGESTIONS_PER_PLACE, allowed_words)
    trials: list[tuple[int, str, ParsedSentence]] = []
    for place_number, ((source, place), suggested) in enumerate(zip(places, proposed, strict=True)):
        tokens = source.parsed.tokens
        previous_word = tokens[place.token_number - 1].text.lower() if place.token_number else ""
        lemmas = {each.lemma.lower() for each in tokens}
        likely = [word for word, score in suggested if score >= suggested[0][1] - _MAX_GAP]
        for word in sorted(likely, key=lambda word: shuffle_key(0, "word", source.text, word)):
            if not clashes(previous_word, word) and word not in lemmas:
                trials.append((place_number, word, reworded(source.parsed, place, word)))
    word_of_place: dict[int, str] = {}
    tokens_of_trials = models.tag([parsed.text for _, _, parsed in trials])
    for (place_number, word, parsed), tokens in zip(trials, tokens_of_trials, strict=True):
        if [each.tag for each in tokens] == [each.tag for each in parsed.tokens]:
            word_of_place.setdefault(place_number, word)
    return [word_of_place.get(place_number) for place_number in range(len(places))]


def reword_expansion(expansion: Expansion, place: Place, word: str) -> Expansion | None:
    """The expansion with ``word`` inserted at a place of its sentence; None where it would clash.

    The place is given in the sentence without the insertions of the expansion.
    """
    extension, extended = expansion.extension, expansion.extension.parsed
    if extended is None:
        return None
    original_numbers = [
        n
        for n, token in enumerate(extended.tokens)
        if not any(each.start <= token.start < each.end for each in extension.inserted)
    ]
    # In front of a noun, an opinion comes before other adjectives: "the bad Swedish movie".
    token_number = (
        original_numbers[place.token_number]
        if place.replaces_token
        else original_numbers[place.token_number - 1] + 1
    )
    if token_number and clashes(extended.tokens[token_number - 1].text.lower(), word):
        return None
    changed = reworded(extended, replace(place, token_number=token_number), word)
    offset = extended.tokens[token_number].start
    shift = len(changed.text) - len(extended.text)
    inserted = tuple(
        replace(each, start=each.start + shift, end=each.end + shift)
        if each.start >= offset
        else each
        for each in extension.inserted
    )
    longer = replace(extension, text=changed.text, inserted=inserted, parsed=changed)
    return replace(expansion, extension=longer)
