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
    joined_tokens: list[str] = []
    joins_next = False
    for token, following, second_following in zip(
        tokens, [*tokens[1:], ""], [*tokens[2:], "", ""], strict=False
    ):
        previous = joined_tokens[-1] if joined_tokens else ""
        if joins_next:
            joined_tokens[-1] += token
            joins_next = _is_cut(token, following)
        elif token == "-" and following == "--":
            continue
        elif token == "-" and previous and following:
            if _is_suspended(joined_tokens, following, second_following):
                joined_tokens[-1] += "-"
            elif _is_compound(joined_tokens, following, second_following):
                if len(joined_tokens) > 1 and _is_clitic(previous):
                    joined_tokens[-2:] = [joined_tokens[-2] + previous]
                if previous in _CLOSING_QUOTES:
                    joined_tokens.append(f"{_JOIN}-")
                else:
                    joined_tokens[-1] += "-"
                joins_next = True
            else:
                joined_tokens.append(token)
        elif (
            previous
            and re.match(r"-[^\W\d_]", token)
            and (re.search(r"[a-z]-\S+$|\bvs\.$", previous) or re.match(r"-\w+-\w", token))
        ):
            joined_tokens[-1] += token
        else:
            joined_tokens.append(token)
            joins_next = _is_cut(token, following)
    return joined_tokens


def _is_clitic(token: str) -> bool:
    return token.lower() in _CLITICS or token.lower() == "n't"


def _is_cut(token: str, following: str) -> bool:
    """Whether a token is the first part of a compound, cut off behind its hyphen: *well- made*."""
    return bool(
        re.search(r"\w\S*[^\W_]-$", token)
        and re.match(r"['\w]", following)
        and following not in ("and", "or", "to")
    )


def _is_suspended(tokens_before: Sequence[str], following: str, second_following: str) -> bool:
    """Whether a hyphen ends a word whose second part comes later: *pre - and post-war*."""
    in_list = (
        len(tokens_before) > 2 and tokens_before[-2] == "," and tokens_before[-3].endswith("-")
    )
    return (
        following == ","
        or in_list
        or (following in ("and", "or", "to") and "-" in second_following[1:])
    )


def _is_compound(tokens_before: Sequence[str], following: str, second_following: str) -> bool:
    """Whether a hyphen behind ``tokens_before`` and before ``following`` belongs to a compound."""
    previous = tokens_before[-1]
    head = tokens_before[-2] if len(tokens_before) > 1 else ""
    word = head if _is_clitic(previous) else previous
    if not re.match(r"[\w'&]", following) or not re.search(r"[\w&'\"]$", previous):
        return False
    if previous in _CLOSING_QUOTES:
        return following in _COMPOUND_TAILS
    return bool(
        "'em" in (previous, following)
        or previous.endswith(("-'em", "-&"))
        or following == "&"
        or (following == "and" and second_following == "-")
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
    new_tokens: list[str] = []
    open_positions: list[int] = []
    has_attached_open = False  # a quote within a token was opened
    for index, token in enumerate(tokens):
        later_tokens = tokens[index + 1 :]
        if token not in ("``", "''", '"'):
            has_attached_open ^= token.count('"') % 2 == 1
            new_tokens.append(token)
        elif (token == "``" and later_tokens.count("''") > len(open_positions)) or (
            token == "''" and index and later_tokens and tokens[index - 1] in ("(", "[")
        ):
            open_positions.append(len(new_tokens))
            new_tokens.append(_OPEN_DOUBLE)
        elif open_positions or has_attached_open:
            new_tokens.append(_CLOSE_DOUBLE)
            if open_positions:
                open_positions.pop()
            else:
                has_attached_open = False
        elif token != "``" and index and tokens[index - 1][-1].isdigit():
            new_tokens.append(_CLOSE_DOUBLE)
        elif any(partner in ("``", "''") or '"' in partner for partner in later_tokens):
            open_positions.append(len(new_tokens))
            new_tokens.append(_OPEN_DOUBLE)
    for position in reversed(open_positions):
        del new_tokens[position]
    return new_tokens


def _resolve_single_quotes(tokens: Sequence[str]) -> list[str]:
    """Tell single quotes from apostrophes and mark both; drop quotes without partner."""
    new_tokens: list[str] = []
    is_open = False
    for index, token in enumerate(tokens):
        previous = tokens[index - 1] if index else ""
        following = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token not in ("'", "`"):
            is_open = _is_open_after(token, is_open, tokens[index + 1 :])
            if token.startswith(("'", "`")) and token.lower() not in _CLITICS:
                token = _APOSTROPHE + token[1:]
            new_tokens.append(token)
            continue
        later_tokens = tokens[index + 1 :]
        if _is_elision(token, following, later_tokens):
            new_tokens.append(_OPEN_SINGLE)
        elif _is_inside_word(token, previous, following):
            new_tokens.append(_INNER_APOSTROPHE)
        elif token == "`":
            if _closes_later(later_tokens):
                new_tokens.append(_OPEN_SINGLE)
                is_open = True
            elif index and not following[:1].isupper():
                new_tokens.append(_OPEN_SINGLE)
        elif is_open:
            new_tokens.append(_CLOSE_SINGLE)
            possessive = _ends_in_s(previous) and following not in _CLOSING_PUNCTUATION
            is_open = possessive and _closes_later(later_tokens)
        elif _ends_in_s(previous) or re.search(r"(?i)[a-z]in$|^(lil|ole?|passe)$", previous):
            new_tokens.append(_CLOSE_SINGLE)
        elif re.match(r"[\w(\[.]|" + _OPEN_DOUBLE, following) and _closes_later(
            later_tokens, skip_plurals=True
        ):
            new_tokens.append(_OPEN_SINGLE)
            is_open = True
    return new_tokens


def _is_open_after(token: str, is_open: bool, later_tokens: Sequence[str]) -> bool:
    """Whether a single quote is open behind a token, which may have quotes in it."""
    if token.startswith("'") and len(token) > 1 and token.lower() not in _CLITICS:
        word = token[1:].lower()
        if word not in _ELISIONS and not _DECADE.match(word):
            is_open = True
    if token.endswith("'") and len(token) > 1 and is_open:
        is_open = token.endswith("s'") and _closes_later(later_tokens)
    return is_open


def _closes_later(later_tokens: Sequence[str], *, skip_plurals: bool = False) -> bool:
    """Whether a closing single quote follows before the next opening one.

    If ``skip_plurals``, apostrophes that may end a plural do not count: *the boys ' club*.
    """
    previous = ""
    for position, token in enumerate(later_tokens):
        if token == "`":
            return False
        if token == "'" or (len(token) > 1 and token.endswith("'") and token[-2] != "n"):
            word = previous if token == "'" else token[:-1]
            following = later_tokens[position + 1] if position + 1 < len(later_tokens) else ""
            inside = token == "'" and _is_inside_word(token, previous, following)
            if not inside and not (skip_plurals and _ends_in_s(word)):
                return True
        previous = token
    return False


def _is_elision(token: str, following: str, later_tokens: Sequence[str]) -> bool:
    """Whether an apostrophe stands for letters left out at a word's start: *' em*, *' 70s*."""
    if following.lower() in _ELISIONS and (token == "'" or not _closes_later(later_tokens)):
        return True
    return bool(_DECADE.fullmatch(following)) and not _closes_later(later_tokens, skip_plurals=True)


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
