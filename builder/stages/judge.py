"""Judge: how likely readers are to find a sentence fluent that nobody read.

A judge knows an extension by figures that mean the same in any domain: how likely its words and
their neighbours are with and without each other, what is extended, and where. No word's identity
is among them, so what annotators found of films says something of batteries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from s2lct.builder.language.fluency import breaks_grammar
from s2lct.builder.language.grammar import Node, ReferenceGrammar
from s2lct.builder.language.lexicon import subjectivity
from s2lct.builder.models import MaskedLanguageModel
from s2lct.builder.records import MASK, Extended, ParsedSentence, Token

UNLIKELY = -20.0
"""Log probability of a word that the masked language model does not know."""
_TAGS = ("CC", "CD", "DT", "IN", "JJ", "NN", "NNS", "PRP$", "RB", "VB")
_HOLDERS = ("NP", "VP", "ADJP", "ADVP", "PP", "S", "SBAR")
_DEFINITE = frozenset({"the", "this", "that", "these", "those"})
_INDEFINITE = frozenset({"a", "an", "some", "any", "no", "every", "each"})
WEIGHTS = Path(__file__).parents[1] / "data" / "judge.json"
Question = tuple[str, str]
"""A text with a mask, and the word that is asked about; none: the likeliest word."""
Figures = dict[str, float]


@dataclass(frozen=True)
class Judge:
    """A logistic regression on figures, which ``scripts/train_judge.py`` fits.

    Attributes:
        weights: of each figure, by name.
        means: of each figure; what is subtracted from it.
        bias: what is added to the weighted figures.
        precisions: what share of the extensions of at least some probability were good, among
            words that were not fitted to, by that probability.
    """

    weights: Mapping[str, float]
    means: Mapping[str, float]
    bias: float
    precisions: Sequence[tuple[float, float]]

    @staticmethod
    @cache
    def load() -> Judge:
        """The shipped judge."""
        return Judge(**json.loads(WEIGHTS.read_text(encoding="utf-8")))

    def probabilities(self, figures: Sequence[Figures]) -> list[float]:
        """How likely annotators are to find no fault in each extension."""
        known = np.array([[each[n] - self.means[n] for n in self.weights] for each in figures])
        logits = (
            known.reshape(len(figures), len(self.weights)) @ np.array([*self.weights.values()])
            + self.bias
        )
        return [float(each) for each in (1 / (1 + np.exp(-logits))).round(4)]

    def least(self, precision: float) -> float:
        """The probability from which on so large a share was good; above 1 if none is."""
        return min((least for least, found in self.precisions if found >= precision), default=1.1)


@dataclass(frozen=True)
class _Place:
    """A word of an extension with what it stands beside and what it hangs on."""

    token: Token
    number: int
    node: Node | None
    before: Token | None
    behind: Token | None
    head: Token | None


def _places(extended: Extended) -> list[_Place]:
    tokens, tree = extended.parsed.tokens, extended.parsed.tree
    nodes = [node for node in tree.nodes() if not node.is_word]
    starts = {word.start for word in extended.extension.inserted}
    found: list[_Place] = []
    for number, token in enumerate(tokens):
        if token.start not in starts:
            continue
        node = next(
            (
                node
                for node in reversed(nodes)
                if any(c.start == number and c.end == number + 1 for c in node.children)
            ),
            None,
        )
        before = tokens[number - 1] if number else None
        behind = tokens[number + 1] if number + 1 < len(tokens) else None
        head = behind
        if node is not None and node.label == "NP":
            nouns = [c.start for c in node.children if c.label[:2] == "NN" and c.start > number]
            head = tokens[nouns[-1]] if nouns else behind
        found.append(_Place(token, number, node, before, behind, head))
    return found


def _masked(text: str, token: Token) -> str:
    return text[: token.start] + MASK + text[token.end :]


def _own(base: ParsedSentence, extended: Extended) -> dict[int, Token]:
    """The sentence's own tokens, by where they start in the extension."""
    starts = {word.start for word in extended.extension.inserted}
    own = [token for token in extended.parsed.tokens if token.start not in starts]
    return {token.start: mine for token, mine in zip(own, base.tokens, strict=False)}


def _questions(base: ParsedSentence, extended: Extended) -> Iterator[tuple[str, Question]]:
    """What the masked language model is asked of an extension, by name."""
    text, own = extended.extension.text, _own(base, extended)
    for n, place in enumerate(_places(extended)):
        word = place.token.text
        yield f"word {n}", (_masked(text, place.token), word)
        yield f"best {n}", (_masked(text, place.token), "")
        yield f"prior {n}", (f"{MASK}.", word)
        sides = [side.text if side else "" for side in (place.before, place.behind)]
        yield f"local {n}", (" ".join((sides[0], MASK, sides[1])).strip(), word)
        if place.head is not None:
            yield f"pair {n}", (f"the {MASK} {place.head.text}.", word)
            yield f"turned {n}", (f"the {word} {MASK}.", place.head.text)
            yield f"alone {n}", (f"the {MASK}.", place.head.text)
        for name in ("before", "behind", "head"):
            token = getattr(place, name)
            mine = own.get(token.start) if token is not None else None
            if mine is not None and token.text[0].isalpha():
                yield f"{name} with {n}", (_masked(text, token), token.text)
                yield f"{name} without {n}", (_masked(base.text, mine), token.text)


def figures(
    pairs: Sequence[tuple[ParsedSentence, Extended]],
    mlm: MaskedLanguageModel,
    grammar: ReferenceGrammar,
) -> list[Figures]:
    """What the judge knows of each extension of a sentence."""
    asked = [dict(_questions(base, extended)) for base, extended in pairs]
    distinct = sorted({question for questions in asked for question in questions.values()})
    answers = mlm.suggest(
        [text for text, _ in distinct],
        1,
        [frozenset({word.lower()}) if word else None for _, word in distinct],
    )
    known = {
        question: answer[0][1] if answer else UNLIKELY
        for question, answer in zip(distinct, answers, strict=True)
    }
    return [
        _figures(base, extended, {name: known[q] for name, q in questions.items()}, grammar)
        for (base, extended), questions in zip(pairs, asked, strict=True)
    ]


def _figures(
    base: ParsedSentence,
    extended: Extended,
    likelihood: Mapping[str, float],
    grammar: ReferenceGrammar,
) -> Figures:
    extension, tokens = extended.extension, extended.parsed.tokens
    places = _places(extended)
    numbers = [place.number for place in places]
    of_all = [_of_place(place, n, tokens, likelihood, grammar) for n, place in enumerate(places)]
    found = {name: sum(each[name] for each in of_all) / len(of_all) for name in of_all[0]}
    found["words"] = len(extension.inserted)
    found["length"] = math.log(len(base.tokens))
    found["place"] = numbers[0] / len(tokens)
    found["breaks"] = breaks_grammar(tokens, numbers)
    found["score"] = sum(likelihood[f"word {n}"] for n in range(len(places))) / len(places)
    found["subjective"] = max(subjectivity(word.word) for word in extension.inserted)
    return found


def _of_place(
    place: _Place,
    n: int,
    tokens: Sequence[Token],
    likelihood: Mapping[str, float],
    grammar: ReferenceGrammar,
) -> Figures:
    word, node = place.token, place.node

    def gain(name: str) -> float:
        with_word = likelihood.get(f"{name} with {n}")
        return 0.0 if with_word is None else with_word - likelihood[f"{name} without {n}"]

    own = likelihood[f"word {n}"]
    found: Figures = {
        "gap": own - likelihood[f"best {n}"],
        "best": likelihood[f"best {n}"],
        "prior": likelihood[f"prior {n}"],
        "local": likelihood[f"local {n}"] - likelihood[f"prior {n}"],
        "pair": likelihood.get(f"pair {n}", UNLIKELY),
        "turned gain": likelihood.get(f"turned {n}", 0) - likelihood.get(f"alone {n}", 0),
        "head alone": likelihood.get(f"alone {n}", UNLIKELY),
        "before gain": gain("before"),
        "behind gain": gain("behind"),
        "head gain": gain("head"),
        "behind": likelihood.get(f"behind with {n}", UNLIKELY),
        "head": likelihood.get(f"head with {n}", UNLIKELY),
        "letters": len(word.text),
        "ly": word.text.endswith("ly"),
        "last": place.number >= len(tokens) - 2,
        "second": place.number == 1,
        "plural": place.head is not None and place.head.tag in ("NNS", "NNPS"),
        "name": place.head is not None and place.head.tag in ("NNP", "NNPS"),
        "before is verb": place.before is not None and place.before.tag[:2] == "VB",
        "before is noun": place.before is not None and place.before.tag[:2] == "NN",
        "behind is noun": place.behind is not None and place.behind.tag[:2] == "NN",
        "behind is verb": place.behind is not None and place.behind.tag[:2] in ("VB", "MD"),
        "behind is adjective": place.behind is not None and place.behind.tag[:2] == "JJ",
        "definite": 0.0,
        "indefinite": 0.0,
        "modifiers": 0.0,
        "production": -12.0,
        "production gain": 0.0,
    }
    if node is not None:
        rhs = node.child_labels
        at = next(k for k, child in enumerate(node.children) if child.start == place.number)
        with_word = math.log(grammar.probability(node.label, rhs) or 1e-6)
        without = math.log(grammar.probability(node.label, rhs[:at] + rhs[at + 1 :]) or 1e-6)
        first = tokens[node.start].text.lower()
        found |= {
            "production": with_word,
            "production gain": with_word - without,
            "definite": float(first in _DEFINITE or tokens[node.start].tag == "PRP$"),
            "indefinite": float(first in _INDEFINITE),
            "modifiers": float(sum(label in ("JJ", "ADJP", "NN", "VBN", "VBG") for label in rhs)),
        }
    found |= {f"tag {tag}": float(word.tag == tag) for tag in _TAGS}
    found |= {f"in {label}": float(node is not None and node.label == label) for label in _HOLDERS}
    return found
