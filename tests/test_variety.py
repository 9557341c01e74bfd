"""How varied a suite is: the figures of `s2lct diversity`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from s2lct.analysis.diversity.report import variety_caption, variety_table
from s2lct.analysis.diversity.variety import Variety, variety_of
from s2lct.suite.read import read_suite


def seed(capability: str, text: str, *sources: str) -> dict[str, Any]:
    return {
        "id": text,
        "capability": capability,
        "kind": "seed",
        "text": text,
        "sources": [{"text": source} for source in sources],
        "inserted": [],
        "production": None,
    }


def expansion(base: dict[str, Any], *inserted: tuple[str, str], rhs: str) -> dict[str, Any]:
    words = [{"word": word, "tag": tag} for word, tag in inserted]
    text = " ".join((base["text"], *(word for word, _ in inserted)))
    production = {"lhs": "NP", "reference_rhs": rhs.split()}
    made = {"id": text, "kind": "expansion", "text": text}
    return base | made | {"inserted": words, "production": production}


def figures(variety: Variety) -> dict[str, float]:
    return {one.name: one.value for one in variety.figures}


def test_figures_of_a_small_suite() -> None:
    first = seed("LC2", "The film is long.", "The film is long.")
    second = seed("LC2", 'The film is "long".', "The film is long.", "It is.")
    third = seed("LC10", "I like it.", "I like it.")
    rows = [
        first,
        expansion(first, ("Old", "JJ"), rhs="DT JJ NN"),
        expansion(first, ("of the town", "PP"), rhs="NP PP"),
        second,
        expansion(second, ("old", "JJ"), rhs="DT JJ NN"),
        expansion(second, ("odd", "JJ"), ("old", "JJ"), rhs="DT JJ JJ NN"),
        third,
        first | {"id": "opposite", "kind": "counterpart", "text": "The film isn't long."},
        first,
    ]
    variety = variety_of(rows)
    assert variety.seeds == {"LC2": 2, "LC10": 1}
    assert list(variety.seeds) == ["LC2", "LC10"]
    assert variety.expansions == {"LC2": 4, "LC10": 0}
    assert variety.commonest[0] == ("old", 2)
    assert figures(variety) == pytest.approx(
        {
            "seeds a capability, median": 2,
            "seeds a capability, least": 1,
            "expansions a seed, mean": 4 / 3,
            "expansions a seed, least capability": 0,
            "top five insertions, share": 1,
            "entropy of insertions, bits": 1.5,
            "several words inserted, share": 0.5,
            "kinds of insertion": 2,
            "reference productions": 3,
            "one sentence's seeds in a capability, most": 2,
            "source sentences, distinct a seed slot": 3 / 4,
            "openings a capability, least": 1,
            "seeds that quote, share": 1 / 3,
        }
    )
    reached = {one.name for one in variety.figures if one.reached}
    assert reached == {
        "several words inserted, share",
        "one sentence's seeds in a capability, most",
        "source sentences, distinct a seed slot",
        "seeds that quote, share",
    }
    assert "2 seeds" not in variety_caption(variety)
    assert len(variety_table(variety).rows) == len(variety.figures)


def test_nothing_has_no_variety() -> None:
    variety = variety_of([])
    assert set(figures(variety).values()) == {0}
    assert "Commonest insertions: none." in variety_caption(variety)


@pytest.mark.shared_data
def test_figures_are_those_of_the_script_that_judges_suites(
    suite_folder: Path, shared_folder: Path
) -> None:
    script = shared_folder / "tools" / "variety.py"
    if not script.is_file():
        pytest.skip(f"{script} is not here")
    judged = subprocess.run(
        [sys.executable, str(script), str(suite_folder)], capture_output=True, text=True
    )
    rows = read_suite(suite_folder).rows.values()
    variety = variety_of(row for some in rows for row in some)
    told = re.findall(r"^(ok|SHORT) +(.+): (\S+) \(bar (\S+) (\S+)\)", judged.stdout, re.MULTILINE)
    assert told == [
        (
            "ok" if one.reached else "SHORT",
            one.name,
            f"{one.value:.3g}",
            one.sign,
            str(one.bar),
        )
        for one in variety.figures
    ]
    assert judged.returncode == (not all(one.reached for one in variety.figures))
    assert f"{sum(variety.seeds.values())} seeds" in judged.stdout
    assert str(list(variety.commonest)) in judged.stdout
