"""Wordings and insertions speak of what the corpus speaks of, and of nothing else."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from test_build import config_for, rows_in, run

from s2lct.builder.capabilities.files import load_capabilities, read_capability
from s2lct.builder.capabilities.schema import Template
from s2lct.builder.domains import FILM, NEUTRAL, load_domain, shipped_domain, shipped_domain_names
from s2lct.builder.pipeline import build_suite
from s2lct.builder.verify import verify_suite
from s2lct.errors import CapabilityError
from s2lct.suite.read import read_description

pytestmark = pytest.mark.shipped_models

DOMAINS = [NEUTRAL, *shipped_domain_names()]
OF_FILMS = re.compile(
    r"\b(films?|movies?|box office|posters?|premiere|theater|cinema\w*|theatrical|matinee|trailer|"
    r"screenplays?|scenes?|viewing|watch\w*|discs?|video|credits|hours of it|plots?|critics?|"
    r"boring|bores?|dull)\b",
    re.IGNORECASE,
)
OF_BATTERIES = re.compile(r"\b(batter\w+|charger|checkout|salesman|product)\b", re.IGNORECASE)
BATTERIES = {
    "positive": [
        *("The battery is wonderful.", "This charger is a great and useful thing."),
        *("The batteries in this phone are excellent.", "The cable is a lovely thing."),
        "The new battery is impressive.",
    ],
    "negative": [
        *("The battery is terrible.", "This charger is an awful thing."),
        *("The batteries in this phone are bad and useless.", "The cable is a horrible thing."),
        "The old battery is disappointing.",
    ],
    "neutral": [
        "The battery is in the box.",
        "This is a charger for the phone.",
        "The cable is under the table.",
    ],
}
HEARSAY = """
id: LC12
title: Hearsay
expectation: What others say does not count.
forms:
  fluent:
    search:
      P: [{{label: positive}}]
    templates:
      - text: '{{who}} says: "{{P}}"'
        choices:
          who: {wordings}
        passes: [neutral]
"""


def texts_of(template: Template) -> list[str]:
    frame = re.sub(r"\{.*?\}", "", template.text)
    numbers = range(template.variant_count)
    texts = [frame, *(text for n in numbers for text in template.variant(n).values())]
    return texts + (texts_of(template.as_contrast) if template.as_contrast else [])


@pytest.mark.parametrize("name", DOMAINS)
def test_no_wording_of_a_domain_speaks_of_another(name: str) -> None:
    domain = load_domain(name)
    capabilities = load_capabilities((), (), domain)
    templates = [one for each in capabilities for one in each.form("fluent").templates]
    texts = [text for template in templates for text in texts_of(template)]
    found = {text for text in texts if OF_FILMS.search(text)}
    assert bool(found) == (name == FILM), found
    found = {text for text in texts if OF_BATTERIES.search(text)}
    assert bool(found) == (name == "product"), found
    assert not domain.foreign_words.intersection(re.findall(r"[\w-]+", " ".join(texts).lower()))
    for person in domain.people if name != FILM else ():
        assert any(person in text for text in texts)


@pytest.fixture(scope="module")
def batteries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("batteries") / "batteries.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [(text, label) for label, texts in BATTERIES.items() for text in texts]
        csv.writer(file).writerows([("text", "label"), *rows])
    return path


@pytest.mark.parametrize("name", [name for name in DOMAINS if name != FILM])
def test_no_film_word_in_a_suite_of_batteries(name: str, batteries: Path, tmp_path: Path) -> None:
    some = ("LC2", "LC6", "LC8")
    build_suite(config_for(batteries, tmp_path / "suite", domain=name, capabilities=some, masks=6))
    assert verify_suite(tmp_path / "suite") == []
    rows = rows_in(tmp_path / "suite")
    assert {row["kind"] for row in rows} == {"seed", "expansion", "contrast"}
    texts = [row["text"] for row in rows]
    assert not [text for text in texts if OF_FILMS.search(text)]
    words = set(re.findall(r"[\w-]+", " ".join(texts).lower()))
    assert not words & {*shipped_domain(FILM).words}.difference(load_domain(name).words)


def test_a_small_corpus_is_shared_out_among_the_capabilities(
    batteries: Path, tmp_path: Path
) -> None:
    counts = build_suite(config_for(batteries, tmp_path / "suite", seeds=100, domain="product"))
    seeds = [row for row in rows_in(tmp_path / "suite") if row["kind"] == "seed"]
    found = [each for each in counts.values() if each["sentences_found"]]
    assert len(found) > 7 and all(each["seeds"] for each in found), counts
    used = Counter(source["text"] for row in seeds for source in row["sources"])
    assert max(used.values()) <= 3


def test_a_domain_of_ones_own_is_a_file(batteries: Path, tmp_path: Path) -> None:
    mine = tmp_path / "camping.yaml"
    mine.write_text("people: [the guide]\nplaces: [the campsite]\n", encoding="utf-8")
    out = tmp_path / "suite"
    given = ("--corpus", f"csv:{batteries}", "--out", out, "--seeds", "all")
    done = run(*given, "--domain", mine, "--capability", "LC8", "--expansions", 1, "--masks", 1)
    assert done.exit_code == 0, done.output
    assert read_description(out)["options"]["domain"] == "camping"
    assert "others" in yaml.safe_dump(read_description(out)["capabilities"])
    templates = read_description(out)["capabilities"][0]["forms"]["fluent"]["templates"]
    assert ["The guide says that", "The guide"] in templates[0]["choices"]["others"]
    mine.write_text("people: [the ranger]\n", encoding="utf-8")
    assert "is not this build" in run(*given, "--domain", mine, "--capability", "LC8").output


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "mine.yaml"),
        ("people: the guide\n", "people"),
        ("persons: [the guide]\n", "persons"),
        ("- the guide\n", "mine.yaml"),
        ("people: [the guide\n", "mine.yaml"),
    ],
)
def test_what_is_no_domain_is_refused(content: str | None, said: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    if content is not None:
        mine.write_text(content, encoding="utf-8")
    done = run("--domain", mine, "--out", tmp_path / "suite")
    assert done.exit_code == 2 and "--domain" in done.output and said in done.output
    unknown = run("--domain", "opera", "--out", tmp_path / "suite")
    assert unknown.exit_code == 2 and all(name in unknown.output for name in DOMAINS)
    assert not (tmp_path / "suite").exists()


@pytest.mark.parametrize(
    ("wordings", "domain", "worded"),
    [
        ("[My brother, {film: A critic}]", "product", ["My brother"]),
        ("[My brother, {film: A critic, else: A man}]", FILM, ["My brother", "A critic"]),
        ("[{film: A critic, else: A man}]", NEUTRAL, ["A man"]),
        ("['{Person}', 'A friend of {person}', A man]", NEUTRAL, ["A man"]),
        (
            "['{Person} in {place}']",
            "restaurant",
            [
                f"The {person} in the {place}"
                for person in ("man at the next table", "waiter")
                for place in ("restaurant", "bar")
            ],
        ),
    ],
)
def test_a_wording_may_be_for_a_domain_and_name_what_it_has(
    wordings: str, domain: str, worded: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "lc12.yaml"
    path.write_text(HEARSAY.format(wordings=wordings), encoding="utf-8")
    (template,) = read_capability(path, load_domain(domain)).form("fluent").templates
    assert list(template.choices["who"]) == worded


@pytest.mark.parametrize(
    ("wordings", "said"),
    [
        ("[{film: A critic}]", "the domain neutral"),
        ("[{person}]", "quote"),
        ("['{nobody}']", "braces"),
        ("[]", "choices.who"),
    ],
)
def test_a_wording_that_cannot_be_is_named(wordings: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "lc12.yaml"
    path.write_text(HEARSAY.format(wordings=wordings), encoding="utf-8")
    with pytest.raises(CapabilityError) as caught:
        read_capability(path)
    assert "lc12.yaml" in str(caught.value)
    assert said in str(caught.value)
