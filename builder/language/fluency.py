"""What a fluent writer does not write: rules that the fluent form adds to the third criterion.

Each comes from reading expansions blind: readers stopped at words that have the right part of
speech and are neutral, and still stand where nobody would put them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from s2lct.plain_text import words
from s2lct.suite.records import Token

DATA = Path(__file__).parents[1] / "data"
PROPER_WORDS = DATA / "proper_words.txt"
WORD_PAIRS = DATA / "word_pairs.parquet"
WORD_TRIPLES = DATA / "word_triples.parquet"

_NOUNS = frozenset({"NN", "NNS"})
_NAMES = frozenset({"NNP", "NNPS"})
_BEFORE_NOUNS = _NOUNS | {"JJ", "VBN", "VBG"}
_ADVERBS = frozenset({"RB", "RBR", "RBS"})
_ARTICLES_AND_POSSESSIVES = frozenset({"DT", "PRP$", "POS", "PDT", "WDT", "WP$"})
_FOR_THE_MOST_PART = frozenset({"mainly", "primarily"})
_SAYING_NOTHING = words(
    "current later earlier aforementioned eponymous respective overall human total own mini "
    "multiple individual aforesaid subsequent entire specific much many such several various "
    "numerous latter former next mid middle last first second third fourth fifth sixth seventh "
    "tenth"
)
_BEFORE_A_TITLE = frozenset({"own", "second", "third"})
_OF_ANOTHER_FILM = words("western gangster lifetime student local national holiday hotel")
"""Words that say what kind of film it is, or where: seldom true of the film that is spoken of."""
_DETERMINED = words(
    "other one own same someone something anyone anything everyone everything somebody everybody "
    "nobody nothing"
)
# A bare noun in a corpus sentence is a plural or a mass: "a", "every" and "another" do not fit it.
_DETERMINERS = frozenset({"the", "some", "all", "these", "those", "both", "this", "that"})
COMPOUND_TEXTS = 5
KNOWN_TEXTS = 2
_FINITE = frozenset({"VBZ", "VBP", "VBD"})
_SAID = frozenset({"JJ", "VBN", "VBG"})
_OPENING = frozenset({"DT", "PRP$", "IN"})
_SUBJECTS = frozenset({"NN", "NNS", "NNP", "PRP"})
_NEGATORS = frozenset({"not", "n't", "never"})
LEAST_SCORES = {
    "DT": -1.5,
    "PRP$": -1.5,
    "PDT": -1.5,
    "CD": -1.5,
    "JJ": -6.5,
    "NN": -6.5,
    "RB": -7.5,
}
"""Least mean log probability with a word of that tag; rarer ones were misfits."""
_FILM = frozenset({"film", "films", "movie", "movies", "picture", "pictures", "flick", "flicks"})
_DEGREE = frozenset({"so", "too", "as", "that", "this", "how"})
ON_THE_CLAUSE = words("also ultimately indeed frequently repeatedly")
"""Neutral adverbs that a fluent writer puts before any predicate."""
_ELSEWHERE = words(
    "than as so such even hard too most only solely that because who whose which what when while "
    "where if"
)
"""Words behind which a clause compares, belongs to another, or is limited already."""
_OF_WHAT = words(
    "lot kind sort type one lots bit number series string pair bunch clutch piece work group mix "
    "mixture note"
)
_INTENSIFYING = words(
    "unusually increasingly distinctly intensely profoundly deeply exceptionally especially "
    "uniquely visibly notably"
)


@cache
def proper_words() -> frozenset[str]:
    """Words that English writes with a capital."""
    return frozenset(PROPER_WORDS.read_text(encoding="utf-8").split())


def lacks_capital(word: str) -> bool:
    """Whether a word in lower case is one that English capitalises."""
    return word.islower() and word in proper_words()


@cache
def word_pairs() -> Mapping[str, Mapping[str, int]]:
    """In how many reviews (at most 255) a word stands before another, both in lower case."""
    import pyarrow.parquet as pq

    pairs: defaultdict[str, dict[str, int]] = defaultdict(dict)
    columns = pq.read_table(WORD_PAIRS).to_pydict()
    for first, second, texts in zip(*columns.values(), strict=True):
        pairs[first][second] = texts
    return pairs


@cache
def _known_seconds() -> frozenset[str]:
    return frozenset(second for seconds in word_pairs().values() for second in seconds)


def are_neighbours(first: str, second: str, texts: int = 1) -> bool:
    """Whether reviewers write two words side by side; True where one is too rare to tell."""
    if not (first.isalpha() and second.isalpha()):
        return True
    if first not in word_pairs() or second not in _known_seconds():
        return True
    return word_pairs()[first].get(second, 0) >= texts


@cache
def word_triples() -> frozenset[tuple[str, str, str]]:
    """Three words in a row that at least two reviews have, in lower case."""
    import pyarrow.parquet as pq

    columns = pq.read_table(WORD_TRIPLES, columns=["first", "second", "third"]).to_pydict()
    return frozenset(zip(*columns.values(), strict=True))


def jars(tokens: Sequence[Token], inserted: Collection[int]) -> bool:
    """Whether an inserted word stands where a fluent writer would not put it.

    Args:
        tokens: the filled sentence.
        inserted: the numbers of the inserted tokens.
    """
    return any(_jars(tokens, number) for number in inserted)


def no_word_fits(
    tokens: Sequence[Token], place: int, tag: str, words: Collection[str] | None = None
) -> bool:
    """Whether every word of a tag would jar before token number ``place``.

    Args:
        tokens: a sentence.
        place: where the word would go.
        tag: its part of speech.
        words: the words there are; None asks of the place alone.
    """

    def jars_there(word: str) -> bool:
        token = Token(word, tag, word, 0, 0)
        return _jars([*tokens[:place], token, *tokens[place:]], place)

    if jars_there(""):
        return True
    if words is None or tag not in ("JJ", "NN") or tokens[place].tag in _NAMES:
        return False
    known = _known_before().get(tokens[place].text.lower(), frozenset())
    return all(jars_there(word) for word in known if word in words)


@cache
def _known_before() -> Mapping[str, Collection[str]]:
    """For each word the words that at least `KNOWN_TEXTS` reviews have before it."""
    before: defaultdict[str, list[str]] = defaultdict(list)
    for first, seconds in word_pairs().items():
        for second, texts in seconds.items():
            if texts >= KNOWN_TEXTS:
                before[second].append(first)
    return before


def _jars(tokens: Sequence[Token], number: int) -> bool:
    word = tokens[number]
    form = word.text.lower()
    if lacks_capital(word.text):
        return True
    previous = tokens[number - 1] if number else None
    following = tokens[number + 1] if number + 1 < len(tokens) else None
    before, behind = (previous.tag if previous else ""), (following.tag if following else "")
    before_form = previous.text.lower() if previous else ""
    behind_form = following.text.lower() if following else ""
    if form and not are_neighbours(before_form, form):
        return True
    if form and behind not in _NAMES and not are_neighbours(form, behind_form):
        return True
    if (
        (word.tag == "NN" or form in _DEGREE)
        and form
        and (before_form, form, behind_form) not in word_triples()
    ):
        return True
    match word.tag:
        case "JJ":
            if before == "PRP$" and behind in _NAMES:
                return bool(form) and form not in _BEFORE_A_TITLE
            # An adjective stands before a noun, behind no name. One that counts, points back or
            # goes with every noun says nothing where it was not written.
            return (
                form in _SAYING_NOTHING | _OF_ANOTHER_FILM
                or behind not in _BEFORE_NOUNS
                or not _ends_in_noun(tokens, number)
                or before in _NAMES | _NOUNS
                or before_form in _DEGREE
                or behind_form in _DETERMINED | _OF_WHAT
                or not behind_form.replace("-", "").isalpha()
                or (bool(form) and word_pairs().get(form, {}).get(behind_form, 0) < KNOWN_TEXTS)
            )
        case "NN":
            # A noun before a noun is a compound that reviewers know.
            return (
                behind not in _NOUNS
                or behind_form in _DETERMINED | _OF_WHAT
                or before in _NOUNS | _NAMES | {"CD"}
                or form in _FILM | _OF_ANOTHER_FILM
                or (bool(form) and word_pairs().get(form, {}).get(behind_form, 0) < COMPOUND_TEXTS)
            )
        case "RB":
            if _opens_predicate(tokens, number):
                # An adverb on the whole clause stands between a subject and what is said of it.
                fitting = ON_THE_CLAUSE | (_FOR_THE_MOST_PART if behind == "VBN" else frozenset())
                return bool(form) and form not in fitting
            if form in ON_THE_CLAUSE:
                return True
            if before in _NOUNS and behind in _FINITE:
                # "The problem here is …": behind a subject that is not the film itself.
                return bool(form) and (form != "here" or before_form in _FILM)
            # An adverb stands before an adjective that says how something is, alone.
            if before in _ADVERBS or behind in _ADVERBS or before_form in ("than", "as"):
                return True
            if behind not in ("JJ", "VBN"):
                return True
            if form and form not in _INTENSIFYING:
                return True
            return form in _DEGREE and _ends_in_noun(tokens, number)
        case "DT" | "PRP$":
            # A determiner opens a noun phrase that has none.
            return (
                (bool(form) and word.tag == "DT" and form not in _DETERMINERS)
                or before in _ARTICLES_AND_POSSESSIVES
                or behind not in _NOUNS | {"JJ"}
                or not _ends_in_noun(tokens, number)
                or behind_form in _DETERMINED
                or (before_form == "of" and number > 1 and tokens[number - 2].lemma in _OF_WHAT)
            )
        case "CD":
            return (
                behind not in _NOUNS | {"JJ"} or behind == "NN" or not _ends_in_noun(tokens, number)
            )
        case "PDT":
            head = next((token.tag for token in tokens[number + 1 :] if token.tag in _NOUNS), "")
            return behind_form not in ("the", "these", "those") or head != "NNS"
        case "VBN" | "VBG":
            return (
                behind not in _NOUNS
                or before in _NAMES | _NOUNS
                or (bool(form) and behind_form not in word_pairs().get(form, {}))
            )
        case _:
            return False


def _opens_predicate(tokens: Sequence[Token], number: int) -> bool:
    """Whether a predicate goes on here: behind "be" or an auxiliary, or before a finite verb."""
    if number < 1 or number + 2 >= len(tokens):
        return False
    previous, following, second = tokens[number - 1], tokens[number + 1], tokens[number + 2]
    if _ELSEWHERE & {token.text.lower() for token in tokens[:number]}:
        return False
    if following.text.lower() == "about" or second.tag in ("JJS", "RBS"):
        return False
    if following.tag == "RB":
        if following.text.lower() in _DEGREE | _NEGATORS:
            return False
        following = second
    if previous.tag in _FINITE and previous.lemma == "be":
        return following.tag in _SAID or (following is not second and following.tag in _OPENING)
    if previous.tag == "MD":
        return following.tag == "VB"
    if previous.tag in _FINITE and previous.lemma == "have":
        return following.tag == "VBN"
    subject = number > 1 and previous.tag in _SUBJECTS and tokens[number - 2].tag != "WRB"
    return (
        (subject or previous.text == "and")
        and following is tokens[number + 1]
        and following.tag in _FINITE
        and following.lemma not in ("be", "have", "do")
    )


def _ends_in_noun(tokens: Sequence[Token], number: int) -> bool:
    """Whether modifiers behind a word lead to a common noun and not to a name."""
    for token in tokens[number + 1 :]:
        if token.tag in _NOUNS:
            return True
        if token.tag not in _BEFORE_NOUNS and token.tag not in ("RB", ",", "CC", "CD", "HYPH"):
            return False
    return False
