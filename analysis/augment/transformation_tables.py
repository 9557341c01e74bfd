"""What the transformations of texts draw from: lookalikes, contractions, numbers, names, places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


HOMOGLYPHS: Final[Mapping[str, str]] = dict(
    zip("acesijopxyABCEHIJKMOPSTXYZ", "асеѕіјорхуАВСЕНІЈКМОРЅТХΥΖ", strict=True)
)
"""Latin letters and Cyrillic or Greek letters that look like them."""

_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def _neighbours() -> dict[str, str]:
    # Each row of keys stands half a key to the right of the one above.
    places = {
        letter: (row, column + row / 2)
        for row, letters in enumerate(_ROWS)
        for column, letter in enumerate(letters)
    }
    return {
        letter: "".join(
            other
            for other, (other_row, other_column) in places.items()
            if other != letter and abs(row - other_row) <= 1 and abs(column - other_column) <= 1
        )
        for letter, (row, column) in places.items()
    }


QWERTY_NEIGHBOURS: Final[Mapping[str, str]] = _neighbours()
"""For each letter, the letters on the keys around it."""

CONTRACTIONS: Final[Mapping[str, str]] = {
    **{
        f"{verb} not": f"{verb}n't"
        for verb in _words(
            "are is was were do does did have has had could should would might must need"
        )
    },
    "cannot": "can't",
    "will not": "won't",
    "shall not": "shan't",
    **{f"{who} are": f"{who}'re" for who in ("you", "we", "they", "who")},
    **{f"{who} have": f"{who}'ve" for who in ("i", "you", "we", "they", "could", "should")},
    **{f"{who} will": f"{who}'ll" for who in ("i", "you", "he", "she", "it", "we", "they")},
    "i am": "i'm",
    "let us": "let's",
}
"""Long forms and their contractions, lower-cased. What is short for two things, such as *it's* and
*I'd*, is left out, so that each contraction has one long form."""

NUMBER_WORDS: Final = _words(
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    """
)
"""*One* is left out: it is a pronoun as often as a number."""

WOMEN: Final = _words(
    """
    Alice Amanda Angela Anna Barbara Carol Christine Deborah Diana Elizabeth Emily Emma Grace
    Hannah Helen Jane Jennifer Jessica Julia Karen Kate Laura Linda Lisa Margaret Maria Mary
    Michelle Nancy Nicole Olivia Patricia Rachel Rebecca Ruth Sandra Sarah Sophia Susan Victoria
    """
)
MEN: Final = _words(
    """
    Adam Alan Andrew Anthony Benjamin Brian Charles Christopher Daniel David Edward Eric Frank
    George Henry Jack James Jason John Joseph Kevin Mark Martin Matthew Michael Nicholas Oliver
    Patrick Paul Peter Philip Richard Robert Samuel Scott Simon Stephen Steven Thomas William
    """
)
SURNAMES: Final = _words(
    """
    Adams Allen Anderson Baker Brown Campbell Carter Clark Collins Cooper Davis Edwards Evans
    Garcia Green Hall Harris Hill Jackson Johnson Jones King Lewis Lopez Martin Martinez
    Mitchell Moore Morgan Nelson Parker Phillips Roberts Robinson Rodriguez Scott Smith Taylor
    Thompson Turner Walker White Williams Wilson Wright Young
    """
)
COUNTRIES: Final = _words(
    """
    Argentina Australia Austria Belgium Brazil Canada Chile China Colombia Cuba Denmark Egypt
    England Finland France Germany Greece Hungary India Indonesia Iran Iraq Ireland Israel Italy
    Japan Kenya Mexico Morocco Nigeria Norway Pakistan Peru Poland Portugal Romania Russia
    Scotland Spain Sweden Switzerland Thailand Turkey Ukraine Vietnam
    """
)
CITIES: Final = _words(
    """
    Amsterdam Athens Atlanta Baltimore Bangkok Barcelona Beijing Berlin Boston Brussels Budapest
    Cairo Chicago Cleveland Copenhagen Dallas Delhi Denver Detroit Dublin Edinburgh Hamburg
    Helsinki Houston Istanbul Lisbon Liverpool London Madrid Manchester Miami Milan Montreal
    Moscow Mumbai Munich Naples Oslo Paris Philadelphia Phoenix Prague Rome Seattle Seoul
    Shanghai Stockholm Sydney Tokyo Toronto Vancouver Vienna Warsaw Zurich
    """
)
