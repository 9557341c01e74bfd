"""Articles agree with the sound of the word behind them."""

from __future__ import annotations

import pytest

from s2lct.builder.language.fluency import takes_an

AN = """
    old hour hourly honest honour heirloom heiress unidentified unimportant unimpressive uninspired
    unironic unintended unillustrated unissued unable uneven unusual unanswered upend usher umbrella
    udder utter onerous only ongoing  MRI FBI NBA HBO LSD SUV X-ray R-rated f-word e-mail
    F.B.I. 8 11 18 80 800 8,000 11,000 11th 18th 1850 1850s 8-year-old 18-wheeler eighth yttrium
    NGO mri
"""
A = """
    young one once oneness one-note once-great oneself university uniform unique unilateral
    unidirectional unanimous unicorn union useful useless usual user utopian utensil ubiquitous
    ukulele Ukrainian uranium European euphoric eulogy ewe house history hotel NATO NASA UFO US URL
    UN U-boat UNESCO T-shirt 1 10 100 110 180 1,100 1,850 12 7th Mr. Mrs yellow
"""


@pytest.mark.parametrize("word", AN.split())
def test_an_stands_before_the_sound_of_a_vowel(word: str) -> None:
    assert takes_an(word)
    assert takes_an(f'"{word}"')


@pytest.mark.parametrize("word", A.split())
def test_a_stands_before_the_sound_of_a_consonant(word: str) -> None:
    assert not takes_an(word)


@pytest.mark.parametrize("nothing", ["", "…", "--", '"'])
def test_what_is_no_word_takes_no_an(nothing: str) -> None:
    assert not takes_an(nothing)
