"""`verify` names what is broken: a good suite is corrupted in one way after another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damaged_suites import Rows, describe, described, rewrite
from hypothesis import given
from hypothesis import strategies as st
from stub_models import stub_models
from typer.testing import CliRunner

from s2lct.builder import BuildConfig, verify, verify_fluent
from s2lct.builder.language.sentiment_scorers import shift
from s2lct.builder.pipeline import build_suite
from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.identity import content_id
from s2lct.suite.read import read_suite
from s2lct.suite.rows import without

Corruption = Callable[[Rows], None]


def expansion_in(rows: Rows) -> dict[str, Any]:
    return next(row for row in rows if row["kind"] == "expansion")


def seed_in(rows: Rows) -> dict[str, Any]:
    return rows[0]


def new_text(row: dict[str, Any], text: str) -> None:
    row["text"] = text
    row["id"] = content_id(row["kind"], row["capability"], text)
    if row["kind"] == "seed":
        row["seed_id"] = row["id"]


def change_text(rows: Rows) -> None:
    seed_in(rows)["text"] += " Really."


def change_seed_text(rows: Rows) -> None:
    new_text(seed_in(rows), seed_in(rows)["text"] + " Really.")


def drop_seed(rows: Rows) -> None:
    rows.remove(next(r for r in rows if r["id"] == expansion_in(rows)["seed_id"]))


def flip_label(rows: Rows) -> None:
    row = expansion_in(rows)
    row["labels"], row["label"] = [1], 1


def label_that_does_not_pass(rows: Rows) -> None:
    for row in rows:
        row["label"] = 1 if row["labels"] != [1] else 0


def seed_with_other_labels(rows: Rows) -> None:
    for row in rows:
        row["labels"], row["label"] = [1], 1


def double_row(rows: Rows) -> None:
    rows.append(dict(expansion_in(rows)))


def move_offsets(rows: Rows) -> None:
    expansion_in(rows)["inserted"][0]["start"] += 1


def change_other_word(rows: Rows) -> None:
    row = expansion_in(rows)
    new_text(row, row["text"][:-1] + "!")


def insert_negator(rows: Rows) -> None:
    row = expansion_in(rows)
    word = row["inserted"][0]
    text = row["text"][: word["start"]] + "never" + row["text"][word["end"] :]
    moved = len("never") - (word["end"] - word["start"])
    for other in row["inserted"][1:]:
        other["start"] += moved
        other["end"] += moved
    word["word"], word["end"] = "never", word["start"] + len("never")
    new_text(row, text)


def break_masked_text(rows: Rows) -> None:
    expansion_in(rows)["masked_text"] = "Nothing {mask} like it."


def break_production(rows: Rows) -> None:
    expansion_in(rows)["production"]["reference_rhs"] = ["NP"]


def wrong_tag(rows: Rows) -> None:
    row = expansion_in(rows)
    for word in row["inserted"]:
        for side in ("reference_rhs", "seed_rhs"):
            row["production"][side] = [
                "UH" if symbol == word["tag"] else symbol for symbol in row["production"][side]
            ]
    for word in row["inserted"]:
        word["tag"] = "UH"


def wrong_phrase(rows: Rows) -> None:
    expansion_in(rows)["production"]["lhs"] = "WHADVP"


def wrong_kind(rows: Rows) -> None:
    expansion_in(rows)["kind"] = "mutation"


def source_of_another_label(rows: Rows) -> None:
    for row in rows:
        row["sources"] = [source | {"label": 1} for source in row["sources"]]


def neutral_sources_said_to_praise(rows: Rows) -> None:
    for row in rows:
        row["sources"] = [source | {"label": 2} for source in row["sources"]]


def seed_alone_with_another_text(rows: Rows) -> None:
    row = next(row for row in rows if row["kind"] == "seed")
    rows[:] = [row]
    new_text(row, row["text"] + " Really.")


def seed_with_an_origin(rows: Rows) -> None:
    seed_in(rows)["origin"] = "masked"


def no_origin(rows: Rows) -> None:
    expansion_in(rows)["origin"] = ""


def attested_by_nobody(rows: Rows) -> None:
    expansion_in(rows)["origin"] = "attested"


def expansion_of_another_source(rows: Rows) -> None:
    expansion_in(rows)["sources"][0]["id"] = "another"


def sentence_that_is_not_extended(rows: Rows) -> None:
    row = expansion_in(rows)
    row["sources"] = next(r for r in rows if r["id"] == row["seed_id"])["sources"]


def sentence_of_nobody(rows: Rows) -> None:
    for row in rows:
        row["sources"][0]["used"] = "Nobody wrote " + row["sources"][0]["used"]


def template_of_no_operation(rows: Rows) -> None:
    for row in rows:
        row["template"] = row["template"].replace("|", "|explode|")


def reply_to_nothing(rows: Rows) -> None:
    for row in rows:
        row["template"] += " {X|denial}"


def slots_of_another_template(rows: Rows) -> None:
    for row in rows:
        row["template"], row["sources"] = "{A} {B}", row["sources"] * 2


def counterpart_in(rows: Rows) -> dict[str, Any]:
    return next(row for row in rows if row["kind"] == "counterpart")


def counterpart_that_agrees(rows: Rows) -> None:
    row = counterpart_in(rows)
    seed = next(r for r in rows if r["id"] == row["seed_id"])
    row["labels"], row["label"] = seed["labels"], seed["label"]


def counterpart_of_another_sentence(rows: Rows) -> None:
    row = counterpart_in(rows)
    row["sources"] = [row["sources"][0] | {"used": row["sources"][0]["text"][:-1] + "!"}]


def counterpart_with_an_insertion(rows: Rows) -> None:
    word = counterpart_in(rows)["text"].split()[0]
    counterpart_in(rows)["inserted"] = [{"word": word, "tag": "DT", "start": 0, "end": len(word)}]


def counterpart_with_another_text(rows: Rows) -> None:
    new_text(counterpart_in(rows), counterpart_in(rows)["text"] + " Really.")


def counterpart_of_no_seed(rows: Rows) -> None:
    counterpart_in(rows)["seed_id"] = "0" * 16


def one_reader(rows: Rows) -> None:
    seed_in(rows)["verdicts"] = [{"of": "sentence", "reader": "one", "natural": 2}]


def readers_who_found_a_fault(rows: Rows) -> None:
    expansion_in(rows)["verdicts"] = [
        {"of": "sentence", "reader": name, "natural": natural}
        for name, natural in (("one", 2), ("two", 0))
    ]


def verdict_of_no_part(rows: Rows) -> None:
    seed_in(rows)["verdicts"] = [{"of": "word", "reader": "one", "natural": 2}]


def verdict_of_no_grade(rows: Rows) -> None:
    seed_in(rows)["verdicts"] = [{"of": "case", "reader": "one", "natural": 3}]


IN_BOTH_FORMS: list[tuple[Corruption, str]] = [
    (change_text, "its id is not the hash"),
    (drop_seed, "is not in the suite"),
    (flip_label, "are not its seed's"),
    (label_that_does_not_pass, "its label is not among those that pass"),
    (seed_with_other_labels, "its labels are not those of its capability"),
    (double_row, "its id is also that of"),
    (move_offsets, "is not at its offsets"),
    (change_other_word, "without its inserted words it is not its seed"),
    (break_production, "does not license"),
    (wrong_kind, "its kind is 'mutation'"),
]
IN_THE_PAPERS: list[tuple[Corruption, str]] = [
    (change_seed_text, "its text is not its template filled"),
    (break_masked_text, "its masked text, filled, is not its text"),
    (wrong_tag, "its mask UH"),
    (wrong_phrase, "its seed has no production WHADVP ->"),
    (source_of_another_label, "does not meet the search rule"),
]
IN_THE_FLUENT: list[tuple[str, Corruption, str]] = [
    ("LC8", seed_alone_with_another_text, "its text is not its template filled"),
    ("LC8", insert_negator, "shifts polarity"),
    ("LC8", wrong_tag, "its words do not stand as they should"),
    ("LC8", wrong_phrase, "its words do not stand as they should"),
    ("LC8", seed_with_an_origin, "a seed has no inserted words"),
    ("LC8", no_origin, "its origin is ''"),
    ("LC8", attested_by_nobody, "its sentence is not as its author wrote it"),
    ("LC8", expansion_of_another_source, "its sources are not its seed's"),
    ("LC8", sentence_that_is_not_extended, "not one of its sentences is extended"),
    ("LC8", sentence_of_nobody, "is not the corpus's, whole or without one part"),
    ("LC8", template_of_no_operation, "its template is none"),
    ("LC8", reply_to_nothing, "its template is none"),
    ("LC8", slots_of_another_template, "its labels are not those of its capability"),
    ("LC8", one_reader, "its verdicts would not let it pass: sentence {'one': 2}"),
    ("LC8", readers_who_found_a_fault, "its verdicts would not let it pass: sentence"),
    ("LC8", verdict_of_no_part, "verdicts"),
    ("LC8", verdict_of_no_grade, "verdicts"),
    ("LC1", neutral_sources_said_to_praise, "does not meet the search rule"),
    ("LC4", counterpart_that_agrees, "its labels are not opposite to its seed's"),
    ("LC4", counterpart_of_another_sentence, "its sources are not its seed's"),
    ("LC4", counterpart_with_an_insertion, "a counterpart has no inserted words"),
    ("LC4", counterpart_with_another_text, "its text is not its template filled"),
    ("LC4", counterpart_of_no_seed, "is not in the suite"),
]


@pytest.fixture(scope="session")
def paper_folder(corpus_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("paper") / "films"
    options = {"templates": "paper", "capabilities": ("LC8",), "seeds": 4, "masks": 5}
    with stub_models():
        build_suite(BuildConfig.checked(out=out, corpus=f"csv:{corpus_path}", **options))
    return out


@pytest.fixture
def copy(suite_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(suite_folder, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("name", "corrupt", "message"),
    [*(("LC8", *one) for one in IN_BOTH_FORMS), *IN_THE_FLUENT],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_corrupted_row_is_named(copy: Path, name: str, corrupt: Corruption, message: str) -> None:
    rewrite(copy, name, corrupt)
    faults = verify_suite(copy)
    assert any(name in fault and message in fault for fault in faults), faults


@pytest.mark.parametrize(
    ("corrupt", "message"),
    [*IN_BOTH_FORMS, *IN_THE_PAPERS],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_corrupted_row_of_the_papers_form_is_named(
    paper_folder: Path, tmp_path: Path, corrupt: Corruption, message: str
) -> None:
    copy = Path(shutil.copytree(paper_folder, tmp_path / "copy"))
    rewrite(copy, "LC8", corrupt)
    faults = verify_suite(copy)
    assert any("LC8" in fault and message in fault for fault in faults), faults


def test_rewriting_alone_breaks_nothing(copy: Path, paper_folder: Path, tmp_path: Path) -> None:
    rewrite(copy, "LC8", lambda rows: None)
    assert verify_suite(copy) == []
    paper = Path(shutil.copytree(paper_folder, tmp_path / "paper"))
    rewrite(paper, "LC8", lambda rows: None)
    assert verify_suite(paper) == []


def test_an_expansion_is_confirmed_wherever_its_seed_stands(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "_ROWS_AT_ONCE", 1)
    assert verify_suite(copy) == []
    rewrite(copy, "LC8", wrong_phrase)
    (fault,) = verify_suite(copy)
    assert "its words do not stand as they should" in fault


@pytest.mark.parametrize("column", ["seeds", "expansions", "counterparts", "origins"])
def test_counts_are_those_of_the_rows(copy: Path, column: str) -> None:
    suite = described(copy)
    if column == "origins":
        suite["files"]["LC4"]["origins"] = {"phrase": 1}
    else:
        suite["counts"]["LC4"][column] += 1
    describe(copy, suite)
    (fault,) = verify_suite(copy, quick=True)
    assert fault.startswith("LC4: ")
    assert column in fault


def test_who_read_is_said_as_the_rows_have_it(copy: Path) -> None:
    def read(rows: Rows) -> None:
        seed_in(rows)["verdicts"] = [
            {"of": "sentence", "reader": name, "natural": 2} for name in ("one", "two")
        ]

    rewrite(copy, "LC8", read)
    assert described(copy)["reading"] == {"read": 1, "readers": {"one": 1, "two": 1}}
    assert verify_suite(copy, quick=True) == []
    suite = described(copy)
    suite["reading"]["readers"]["three"] = 400
    describe(copy, suite)
    (fault,) = verify_suite(copy, quick=True)
    assert fault.startswith("suite.json: reading is")
    del suite["reading"]
    describe(copy, suite)
    (fault,) = verify_suite(copy, quick=True)
    assert fault.startswith("suite.json: reading is None")


def test_an_insertion_that_moves_the_sentiment_is_named(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = min(
        moved
        for rows in read_suite(copy).rows.values()
        for row in rows
        if row["kind"] == "expansion" and (moved := _moved(row, rows)) > 0
    )
    monkeypatch.setattr(verify_fluent, "MOST_SHIFT", least / 2)
    assert any("its words move the sentiment by" in fault for fault in verify_suite(copy))


def _moved(row: dict[str, Any], rows: Rows) -> float:
    seed = next(one for one in rows if one["id"] == row["seed_id"])
    pairs = zip(seed["sources"], row["sources"], strict=True)
    return max(shift(own["used"], longer["used"]) for own, longer in pairs)


WORDS = st.lists(st.sampled_from(["a", "an", "rural", "a rural", "and", "land"]), max_size=8)


@given(WORDS, st.data())
def test_insertions_are_found_again_in_the_sentence(words: list[str], data: st.DataObject) -> None:
    seed = " ".join(["The", *words, "stands."])
    places = st.integers(1, len(words) + 1)
    added = data.draw(st.dictionaries(places, st.sampled_from(["a", "an", "rural"]), max_size=3))
    parts: list[str] = []
    for number, word in enumerate(["The", *words, "stands."]):
        parts += [added[number], word] if number in added else [word]
    text = " ".join(parts)
    inserted = [word for _, word in sorted(added.items())]
    starts = verify_fluent._starts(text, inserted, seed)
    spans = [(start, start + len(word)) for start, word in zip(starts, inserted, strict=True)]
    assert without(text, spans) == seed
    assert [text[start:end] for start, end in spans] == inserted


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), min_size=1, max_size=8))
def test_a_sentence_without_some_words_is_one_of_the_corpus(words: list[tuple[str, bool]]) -> None:
    text = " ".join(word for word, _ in words)
    used = " ".join(word for word, stays in words if stays)
    assert verify_fluent._is_shortened(used, text) == bool(used)
    assert not verify_fluent._is_shortened(f"{text} c", text)
    assert not verify_fluent._is_shortened(f"{text}a", text)


def test_corrupted_files_are_named(copy: Path) -> None:
    parquet = next((copy / "data" / "LC8").glob("*.parquet"))
    content = parquet.read_bytes()
    parquet.write_bytes(content[:-20])
    assert any("LC8" in fault for fault in verify_suite(copy))
    parquet.unlink()
    assert any("LC8" in fault for fault in verify_suite(copy))
    shutil.copy(next((copy / "data" / "LC7").glob("*.parquet")), parquet)
    assert any("sha256" in fault for fault in verify_suite(copy))
    parquet.write_bytes(content)
    assert verify_suite(copy, quick=True) == []
    card = copy / "README.md"
    card.write_text(card.read_text().replace("config_name: LC8", "config_name: LC88"))
    assert any("README.md: configs" in fault for fault in verify_suite(copy))
    card.unlink()
    assert any("README.md: missing" in fault for fault in verify_suite(copy))


def test_the_command_exits_1_with_a_list(copy: Path) -> None:
    runner = CliRunner()
    result = runner.invoke(app, ["verify", str(copy)])
    assert result.exit_code == 0, result.output
    rewrite(copy, "LC8", double_row)
    result = runner.invoke(app, ["verify", str(copy)])
    assert result.exit_code == 1
    assert "LC8 expansion" in result.output
    result = runner.invoke(app, ["verify", str(copy.parent)])
    assert result.exit_code == 1
    assert "no suite.json there" in result.output


def test_two_seeds_of_one_sentence_share_no_counterpart(corpus_path: Path, tmp_path: Path) -> None:
    """Denied in one way and in another, what was said is the same."""
    options = {"capabilities": ("LC4",), "seeds": 30, "masks": 1}
    build_suite(BuildConfig.checked(out=tmp_path / "lc4", corpus=f"csv:{corpus_path}", **options))
    assert verify_suite(tmp_path / "lc4") == []
    counts = described(tmp_path / "lc4")["counts"]["LC4"]
    assert 0 < counts["counterparts"] < counts["seeds"]
