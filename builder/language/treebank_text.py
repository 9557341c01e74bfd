"""Natural text from text tokenised as in the Penn Treebank: *do n't* is *don't*."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import cast

from s2lct.plain_text import words

_ESCAPES = dict(zip(("-lrb-", "-rrb-", "-lsb-", "-rsb-", "-lcb-", "-rcb-"), "()[]{}", strict=True))
_ESCAPED_BRACKET = re.compile(r"-[lr][rsc]b-", re.IGNORECASE | re.ASCII)
_ESCAPED_CHARACTER = re.compile(r"\\([/*])")
# Unicode sets these noncharacters aside for a program's own use.
_MARKS = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6"
_OPEN_DOUBLE, _CLOSE_DOUBLE, _OPEN_SINGLE, _CLOSE_SINGLE, _INNER_APOSTROPHE, _APOSTROPHE, _JOIN = (
    tuple(_MARKS)
)
_CLITICS = words("'s 're 've 'll 'd 'm")
_CLITIC_TAILS = words("s re ve ll d m t")
_NO_PLURALS = _CLITICS | words("as is was has does says this thus us his its yes always perhaps")
_ELISIONS = words("em til till tis twas cause bout n nuff round")
_DECADE = re.compile(r"\d\ds?")
_CLOSING_QUOTES = words("' '' \"")
_CLOSING_PUNCTUATION = words(". , ! ? ; : ...")
_ROLES = r"(?:writer|director|actor|actress|producer|star|composer|singer|editor|comedy|drama)"
_TOKENISED = re.compile(
    r"""-[LR][RSC]B-|(?:^|\s)(?:``|''|`)(?:\s|$)|\\/
    |\s(?:[.,;!?]|n't|'(?:s|re|ve|ll|d|m))(?=\s|$)""",
    re.VERBOSE | re.IGNORECASE,
)


def looks_tokenised(text: str) -> bool:
    """Whether a text has a token of the treebank that natural text does not have."""
    return _TOKENISED.search(text) is not None


def detokenise(text: str) -> str:
    """Natural text from text tokenised as in the Penn Treebank; other text stays as it is.

    *`` Salt '' is n't -LRB- bad -RRB- .* becomes *"Salt" isn't (bad).* A quote whose partner is
    missing, since it stands in another sentence, is dropped.
    """
    text = undo_escapes(text)
    if not text.isascii():
        text = re.sub(f"[{_MARKS}]", "", text)
    if "'" in text:
        text = re.sub(r"(?<!\S)''(?=\w)|(?<=[^\s'])''(?!\S)", '"', text)
        text = re.sub(r"(?<!\S)' ([nN]) '(?!\S)", r"'\1'", text)
    if ". ." in text:
        text = re.sub(r"(?<!\S)\.(?: \.)+(?!\S)", lambda m: m[0].replace(" ", ""), text)
        text = re.sub(r"(?<=\w\.) \. \.(?!\S)", "..", text)
    text = re.sub(r"^[,;:] ", "", text.lstrip())
    tokens = text.split()
    if "-" in text:
        tokens = _join_hyphens(tokens)
    if any(mark in text for mark in ("``", "''", '"')):
        tokens = _resolve_double_quotes(tokens)
    if "'" in text or "`" in text:
        tokens = _resolve_single_quotes(tokens)
    tokens = [
        token
        for previous, token in zip(["", *tokens], tokens, strict=False)
        if not (token == "." and re.search(r"\w\.$", previous))
    ]
    text = _moses()(tokens, unescape=False)
    for required, pattern, replacement in _SPACING:
        if required in text:
            text = pattern.sub(replacement, text)
    return " ".join(text.split())


@functools.cache
def _moses() -> Callable[..., str]:
    from sacremoses import MosesDetokenizer

    return cast(Callable[..., str], MosesDetokenizer(lang="en").detokenize)


def undo_escapes(text: str) -> str:
    """Replace the Penn Treebank's escapes, such as *-LRB-* by *(*."""
    if "-" in text:
        text = _ESCAPED_BRACKET.sub(lambda match: _ESCAPES[match[0].lower()], text)
    return _ESCAPED_CHARACTER.sub(r"\1", text) if "\\" in text else text


_COMPOUND_HEADS = words("mid early late re super pre post non off anti self co ex semi multi ultra")
_COMPOUND_TAILS = words(
    "based style budget caliber boiled standard esque driven quality level sized out"
)
_UNITS = words("minute hour year day week month second foot inch dollar page")
_NUMBERS = words("one two three four five six seven eight nine ten")
_PRONOUNS = words("it he she that there here what who where this how")


def _join_hyphens(tokens: list[str]) -> list[str]:
    """Join compounds whose hyphen is a token, *well - made*; a dash stays alone."""
    joined: list[str] = []
    joins_next = False
    for token, following, after_that in zip(
        tokens, [*tokens[1:], ""], [*tokens[2:], "", ""], strict=False
    ):
        previous = joined[-1] if joined else ""
        if joins_next:
            joined[-1] += token
            joins_next = _is_cut(token, following)
        elif token == "-" and following == "--":
            continue
        elif token == "-" and previous and following:
            if _is_suspended(joined, following, after_that):
                joined[-1] += "-"
            elif _is_compound(joined, following, after_that):
                if len(joined) > 1 and _is_clitic(previous):
                    joined[-2:] = [joined[-2] + previous]
                if previous in _CLOSING_QUOTES:
                    joined.append(f"{_JOIN}-")
                else:
                    joined[-1] += "-"
                joins_next = True
            else:
                joined.append(token)
        elif (
            previous
            and re.match(r"-[^\W\d_]", token)
            and (re.search(r"[a-z]-\S+$|\bvs\.$", previous) or re.match(r"-\w+-\w", token))
        ):
            joined[-1] += token
        else:
            joined.append(token)
            joins_next = _is_cut(token, following)
    return joined


def _is_clitic(token: str) -> bool:
    return token.lower() in _CLITICS or token.lower() == "n't"


def _is_cut(token: str, following: str) -> bool:
    """Whether a token is the first part of a compound, cut off behind its hyphen: *well- made*."""
    return bool(
        re.search(r"\w\S*[^\W_]-$", token)
        and re.match(r"['\w]", following)
        and following not in ("and", "or", "to")
    )


def _is_suspended(before: Sequence[str], following: str, after_that: str) -> bool:
    """Whether a hyphen ends a word whose second part comes later: *pre - and post-war*."""
    in_list = len(before) > 2 and before[-2] == "," and before[-3].endswith("-")
    return (
        following == "," or in_list or (following in ("and", "or", "to") and "-" in after_that[1:])
    )


def _is_compound(before: Sequence[str], following: str, after_that: str) -> bool:
    """Whether a hyphen between the tokens ``before`` and ``following`` is that of a compound."""
    previous = before[-1]
    head = before[-2] if len(before) > 1 else ""
    word = head if _is_clitic(previous) else previous
    if not re.match(r"[\w'&]", following) or not re.search(r"[\w&'\"]$", previous):
        return False
    if previous in _CLOSING_QUOTES:
        return following in _COMPOUND_TAILS
    return bool(
        "'em" in (previous, following)
        or previous.endswith(("-'em", "-&"))
        or following == "&"
        or (following == "and" and after_that == "-")
        or re.match(r"[a-z]+-\w", word)
        or re.match(r"[a-z]+-\w", following)
        or previous.lower() in _COMPOUND_HEADS
        or following in _COMPOUND_TAILS
        or re.fullmatch(r"'\d\ds", previous)
        or (following in _UNITS and (previous in _NUMBERS or previous[-1].isdigit()))
        or (previous == "n't" and following.islower())
        or (previous == "'s" and following.islower() and head.lower() not in _PRONOUNS)
    )


def _resolve_double_quotes(tokens: Sequence[str]) -> list[str]:
    """Mark opening and closing double quotes; drop those without partner."""
    resolved: list[str] = []
    opened: list[int] = []
    attached_open = False  # a quote within a token was opened
    for index, token in enumerate(tokens):
        later = tokens[index + 1 :]
        if token not in ("``", "''", '"'):
            attached_open ^= token.count('"') % 2 == 1
            resolved.append(token)
        elif (token == "``" and later.count("''") > len(opened)) or (
            token == "''" and index and later and tokens[index - 1] in ("(", "[")
        ):
            opened.append(len(resolved))
            resolved.append(_OPEN_DOUBLE)
        elif opened or attached_open:
            resolved.append(_CLOSE_DOUBLE)
            if opened:
                opened.pop()
            else:
                attached_open = False
        elif token != "``" and index and tokens[index - 1][-1].isdigit():
            resolved.append(_CLOSE_DOUBLE)
        elif any(partner in ("``", "''") or '"' in partner for partner in later):
            opened.append(len(resolved))
            resolved.append(_OPEN_DOUBLE)
    for position in reversed(opened):
        del resolved[position]
    return resolved


def _resolve_single_quotes(tokens: Sequence[str]) -> list[str]:
    """Tell single quotes from apostrophes and mark both; drop quotes without partner."""
    resolved: list[str] = []
    opened = False
    for index, token in enumerate(tokens):
        previous = tokens[index - 1] if index else ""
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token not in ("'", "`"):
            opened = _opened_after(token, opened, tokens[index + 1 :])
            if token.startswith(("'", "`")) and token.lower() not in _CLITICS:
                token = _APOSTROPHE + token[1:]
            resolved.append(token)
            continue
        later = tokens[index + 1 :]
        if _is_elision(token, following, later):
            resolved.append(_OPEN_SINGLE)
        elif _is_inside_word(token, previous, following):
            resolved.append(_INNER_APOSTROPHE)
        elif token == "`":
            if _closes_later(later):
                resolved.append(_OPEN_SINGLE)
                opened = True
            elif index and not following[:1].isupper():
                resolved.append(_OPEN_SINGLE)
        elif opened:
            resolved.append(_CLOSE_SINGLE)
            possessive = _ends_in_s(previous) and following not in _CLOSING_PUNCTUATION
            opened = possessive and _closes_later(later)
        elif _ends_in_s(previous) or re.search(r"(?i)[a-z]in$|^(lil|ole?|passe)$", previous):
            resolved.append(_CLOSE_SINGLE)
        elif re.match(r"[\w(\[.]|" + _OPEN_DOUBLE, following) and _closes_later(later, sure=True):
            resolved.append(_OPEN_SINGLE)
            opened = True
    return resolved


def _opened_after(token: str, opened: bool, later: Sequence[str]) -> bool:
    """Whether a single quote is open behind a token, which may have quotes in it."""
    if token.startswith("'") and len(token) > 1 and token.lower() not in _CLITICS:
        bare = token[1:].lower()
        if bare not in _ELISIONS and not _DECADE.match(bare):
            opened = True
    if token.endswith("'") and len(token) > 1 and opened:
        opened = token.endswith("s'") and _closes_later(later)
    return opened


def _closes_later(later: Sequence[str], *, sure: bool = False) -> bool:
    """Whether a closing single quote follows before the next opening one.

    If ``sure``, apostrophes that may be a plural's do not count: *the boys ' club*.
    """
    previous = ""
    for position, token in enumerate(later):
        if token == "`":
            return False
        if token == "'" or (len(token) > 1 and token.endswith("'") and token[-2] != "n"):
            word = previous if token == "'" else token[:-1]
            following = later[position + 1] if position + 1 < len(later) else ""
            inside = token == "'" and _is_inside_word(token, previous, following)
            if not inside and not (sure and _ends_in_s(word)):
                return True
        previous = token
    return False


def _is_elision(token: str, following: str, later: Sequence[str]) -> bool:
    """Whether an apostrophe stands for letters left out at a word's start: *' em*, *' 70s*."""
    if following.lower() in _ELISIONS and (token == "'" or not _closes_later(later)):
        return True
    return bool(_DECADE.fullmatch(following)) and not _closes_later(later, sure=True)


def _is_inside_word(token: str, previous: str, following: str) -> bool:
    """Whether an apostrophe that stands alone belongs within a word: *o ' clock*."""
    if not re.search(r"[^\W\d_]$", previous) or not following[:1].isalpha():
        return False
    if token == "'":
        return following.lower() in _CLITIC_TAILS or previous.lower() in ("o", "d", "l")
    return following.startswith("t-") or (
        previous[0].isupper() and following.islower() and len(following) <= 3 and following != "do"
    )


def _ends_in_s(word: str) -> bool:
    """Whether an apostrophe behind a word may make it possessive: *boys'*."""
    return bool(re.search(r"(?i)[^\W_][szx]$", word)) and word.lower() not in _NO_PLURALS


_SPACING = tuple(
    (required, re.compile(pattern), replacement)
    for required, pattern, replacement in (
        (" ", rf"([{_OPEN_DOUBLE}{_OPEN_SINGLE}]) ", r"\1"),
        (" ", rf" ([{_CLOSE_DOUBLE}{_CLOSE_SINGLE}])", r"\1"),
        (_INNER_APOSTROPHE, rf" ?{_INNER_APOSTROPHE} ?", _INNER_APOSTROPHE),
        (_JOIN, rf" ?{_JOIN}", ""),
        ("'", r"(?i)(?<=\w) n't\b", "n't"),
        (" ", r"(?i)\b(can) (not)\b(?! only)", r"\1\2"),
        (" ", r"(?i)\b(gon|wan) (na)\b", r"\1\2"),
        (" ", r"(?i)\b(got) (ta)\b", r"\1\2"),
        (" ", r"(?i)\b(gim|lem) (me)\b", r"\1\2"),
        (
            "... ",
            rf"(^|[{_OPEN_DOUBLE}{_OPEN_SINGLE}(])(\.\.\.) (?=[\w(\[{_OPEN_DOUBLE}{_OPEN_SINGLE}])",
            r"\1\2",
        ),
        ("& ", r"(?<=\w)& (?=\w\b)", "&"),
        (" -", r"(?<=\bvs\.) -(?=\w)", "-"),
        (". ", r"(?<!\S)(\$?\d{1,3})\. (\d+)(?= (?:million|billion|percent))", r"\1.\2"),
        ("$", r"(?<!\S)(\$\d+)\. (\d\d)\b", r"\1.\2"),
        ("# ", r"(?<!\S)# (?=\d)", "#"),
        (" / ", r"(?<=\d) / (?=\d)", "/"),
        (" / ", rf"(?i)\b({_ROLES}) / (?={_ROLES}\b)", r"\1/"),
        ("* ", r"(?<=\*) (?=\*)", ""),
        ("* ", r"\b([A-Z]) \* (?=[A-Z]\b)", r"\1*"),
        ("* ", r"(?<!\S)\* (?=[A-Z])", "*"),
        (" *", r"\b(\w) (\*\*+) (?=\w)", r"\1\2"),
        (" ", rf"\b([A-F]) ([+-])(?=[.,{_CLOSE_DOUBLE}{_CLOSE_SINGLE}]|$)", r"\1\2"),
        (" (", r"(?<=\w) \((s|es|ed|d|r|ing|ly)\)(?!\w)", r"(\1)"),
        (" ", r"(?<!\S)([(\[])([B-HJ-Z])([)\]]) (?=[a-z])", r"\1\2\3"),
        (" ", r"(?<!\S)([(\[])([AI])([)\]]) (?=(?:n|nd|t|ts|s|f|ll)\b)", r"\1\2\3"),
        (" (", r"(?<=\d) (\([a-z]\))(?!\w)", r"\1"),
        ("", rf"[{_OPEN_DOUBLE}{_CLOSE_DOUBLE}]", '"'),
        ("", rf"[{_OPEN_SINGLE}{_CLOSE_SINGLE}{_INNER_APOSTROPHE}{_APOSTROPHE}]", "'"),
    )
)
"""Substitutions, each with a string that every match has: texts without it are skipped fast."""
