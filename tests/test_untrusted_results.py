"""Results that spoil a page: left out by one line, whichever command reads them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import ScoringError
from s2lct.files import sha256_of
from s2lct.identity import fingerprint_of
from s2lct.leaderboard.results import collection as collecting
from s2lct.leaderboard.results import outcomes
from s2lct.leaderboard.results.collection import collect
from s2lct.leaderboard.results.read import read_outcomes, read_result, read_scored
from s2lct.leaderboard.results.record import OptionsRecord, own_options
from s2lct.leaderboard.results.scored import Collection, read_collection, write_collection
from s2lct.leaderboard.results.standings import all_standings
from s2lct.leaderboard.results.untrusted import RefusedError, bytes_of
from s2lct.leaderboard.results.write import write_result
from s2lct.leaderboard.scoring.score import Outcomes, failed_cases
from s2lct.leaderboard.site.site import build_site, page, short_ids
from s2lct.leaderboard.site.tables import flat_rows
from s2lct.suite.capability_ids import is_capability_id
from s2lct.suite.cases import Case, SuiteCases

runner = CliRunner()


def suite_of(version: str, families: int = 5, capability: str = "LC4") -> SuiteCases:
    cases: list[Case] = []
    for number in range(families):
        seed = f"{version}-{number}"
        text, passes = f"Film {number} isn't bad.", frozenset({1, 2})
        cases.append(Case(seed, capability, "seed", seed, text, passes))
        cases.append(
            Case(
                f"{seed}-x", capability, "expansion", seed, f"Also {text}", passes, ("Also",),
                "S -> ADVP S",
            )
        )  # fmt: skip
    rows = [[case.id, case.text, sorted(case.passes)] for case in cases]
    return SuiteCases("mine", version, fingerprint_of(rows), tuple(cases))


SUITE = suite_of("1.0.0")


def written(
    folder: Path, name: str, suite: SuiteCases = SUITE, label: int = 2, **facts: Any
) -> Path:
    said = np.full(len(suite.cases), label)
    failed = failed_cases(suite.cases, said)
    known: dict[str, Any] = {"revision": "r1", "weights_sha256": "0" * 64, "label_rule": "as is"}
    return write_result(
        Outcomes(model=name, suite=suite, labels=said, failed=failed, **(known | facts)), folder
    )


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        told = json.loads(path.read_text())
        change(told)
        path.write_text(json.dumps(told))

    return apply


def retabled(
    change: Callable[[dict[str, list[Any]]], Any], **options: Any
) -> Callable[[Path], None]:
    """Changes the Parquet file and names its new hash, as somebody who means it would."""

    def apply(path: Path) -> None:
        table = path.with_suffix(".parquet")
        columns = pq.read_table(table).to_pydict()
        change(columns)
        pq.write_table(pa.table(columns), table, **options)
        changed(lambda told: told["outcomes"].update(sha256=sha256_of(table)))(path)

    return apply


def linked(to: str) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        path.unlink()
        path.symlink_to(to)

    return apply


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def piped_table(path: Path) -> None:
    piped(path.with_suffix(".parquet"))


def linked_table(path: Path) -> None:
    linked("/dev/zero")(path.with_suffix(".parquet"))


def renamed(capability: str) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        retabled(lambda columns: columns.update(capability=[capability] * len(columns["id"])))(path)
        changed(
            lambda told: told.update(capabilities={capability: told["capabilities"].pop("LC4")})
        )(path)

    return apply


ROWS = len(SUITE.cases)
SPOILS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a date before all others": (
        changed(lambda told: told.update(date="0001-01-01T00:00:00+00:00")),
        "lies before 2020",
    ),
    "a date in a week": (changed(lambda told: told.update(date="2026-W01-1")), "no ISO date"),
    "a date to come": (
        changed(lambda told: told.update(date="2999-01-01T00:00:00+00:00")),
        "lies in the future",
    ),
    "an endless device": (linked("/dev/zero"), "no plain file"),
    "an endless table": (linked_table, "no plain file"),
    "a pipe": (piped, "no plain file"),
    "a pipe for a table": (piped_table, "no plain file"),
    "another folder's file": (linked("../elsewhere.json"), "no plain file"),
    "a capability called model": (renamed("model"), "'model' is no name of a capability"),
    "a capability called failure_rate": (renamed("failure_rate"), "is no name of a capability"),
    "a capability for an interval": (renamed("LC4_ci_low"), "is no name of a capability"),
    "a capability in markup": (renamed("<b>LC4"), "is no name of a capability"),
    "a capability in the table alone": (
        retabled(lambda columns: columns.update(capability=["model"] * ROWS)),
        "'model', which is no name",
    ),
    "an empty inserted word": (
        retabled(lambda columns: columns.update(inserted=[[""]] * ROWS)),
        "an inserted word that is empty",
    ),
    "a name in markup": (
        changed(lambda told: told["model"].update(name="<b>mine</b>")),
        "model.name: '<b>mine</b>' is no name",
    ),
    "a name with a revision": (
        changed(lambda told: told["model"].update(name="org/good @abc")),
        "model.name: 'org/good @abc' is no name",
    ),
    "a name like a formula": (
        changed(lambda told: told["model"].update(name="-1+1")),
        "model.name",
    ),
    "a revision of words": (
        changed(lambda told: told["model"].update(revision="very new")),
        "model.revision",
    ),
    "a version of words": (
        changed(lambda told: told["suite"].update(version="the official one")),
        "suite.version",
    ),
    "part of a fingerprint": (
        changed(lambda told: told["suite"].update(fingerprint=SUITE.fingerprint[:12])),
        "suite.fingerprint: is no SHA-256",
    ),
    "a key twice": (
        lambda path: path.write_text(path.read_text().replace("{", '{"format": 1, ', 1)),
        "twice in one object",
    ),
    "failures denied": (
        retabled(lambda columns: columns.update(failed=[False] * ROWS)),
        "failed does not follow",
    ),
    "a bomb": (
        retabled(
            lambda columns: columns.update(
                inserted=[["x" * 70_000] * 450] * ROWS,
            ),
            compression="zstd",
        ),
        ".parquet: ",
    ),
}


@pytest.fixture(scope="module")
def among_spoilt(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A good result among one of every kind that spoils a page."""
    folder = tmp_path_factory.mktemp("spoilt")
    written(folder / "in", "good")
    written(folder, "elsewhere")
    for number, (spoil, _) in enumerate(SPOILS.values()):
        spoil(written(folder / "in", f"bad{number}", label=0))
    return collect(folder / "in")


@pytest.mark.parametrize("kind", SPOILS)
def test_what_spoils_a_page_is_left_out_with_one_line(among_spoilt: Collection, kind: str) -> None:
    name = f"bad{list(SPOILS).index(kind)}"
    (line,) = (one for one in among_spoilt.skipped if re.match(rf"{name}--\w+\.json: ", one))
    assert SPOILS[kind][1] in line
    assert line.isprintable() and len(line) < 500


def test_a_page_is_made_of_what_is_not_spoilt(among_spoilt: Collection, tmp_path: Path) -> None:
    assert [one.name for suite in among_spoilt.suites for one in suite.models] == ["good"]
    assert len(among_spoilt.skipped) == len(SPOILS)
    build_site(among_spoilt, tmp_path / "site")


OWN_NAMES = ("a name in markup", "a name with a revision", "a name like a formula")
NAMES = (*OWN_NAMES, "a revision of words", "a version of words", "part of a fingerprint")


@pytest.mark.parametrize("kind", [kind for kind in SPOILS if kind not in NAMES])
def test_report_and_compare_refuse_what_build_leaves_out(kind: str, tmp_path: Path) -> None:
    spoil, _ = SPOILS[kind]
    good, bad = written(tmp_path, "good"), written(tmp_path, "bad", label=0)
    written(tmp_path.parent, "elsewhere")
    spoil(bad)
    html = ["--html", str(tmp_path / "report.html")]
    for command in (["report", str(bad), *html], ["compare", str(good), str(bad)]):
        done = runner.invoke(app, command)
        if done.exit_code == 2:  # no file of that name
            continue
        assert done.exit_code == 1, done.output
        assert done.output.count("Error:") == 1 and "→" in done.output


def test_a_folder_of_any_name_can_be_reported(tmp_path: Path) -> None:
    path = written(tmp_path, "/home/me/My models/grün")
    assert read_result(path).model.name == read_outcomes(path).model == "/home/me/My models/grün"
    result, outcomes = read_scored(path)
    assert (result.overall.cases, outcomes.cases) == (ROWS, SUITE.cases)


def repeating(path: Path) -> None:
    """A few kilobytes that unfold to much: the file counts a text once that every row repeats."""
    retabled(
        lambda columns: columns.update(text=["x" * 79_000] * len(columns["id"])),
        compression="zstd",
    )(path)
    assert path.with_suffix(".parquet").stat().st_size < 500_000


def test_a_repeated_text_is_decoded_within_limits(tmp_path: Path) -> None:
    repeating(written(tmp_path, "bad", suite_of("1.0.0", families=1_800)))
    written(tmp_path, "good")
    collection = collect(tmp_path)
    assert [one.name for suite in collection.suites for one in suite.models] == ["good"]
    (line,) = collection.skipped
    assert "bytes, at most" in line


def test_ids_and_rows_of_strangers_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of 5 MB, nearly all of it ids, would be a page that nobody can open."""
    large = suite_of("9.0.0", families=1_500)
    renamed = {case.id: f"{case.id}-{'i' * 150}" for case in large.cases}
    cases = tuple(replace(c, id=renamed[c.id], seed_id=renamed[c.seed_id]) for c in large.cases)
    written(tmp_path, "good")
    written(tmp_path, "long-ids", replace(large, cases=cases))
    monkeypatch.setattr(collecting, "STRANGERS", outcomes.Limits(rows=3_000, bytes=500_000))
    collection = collect(tmp_path, official=[SUITE])
    assert [one.official for one in collection.suites] == [True]
    assert "at most 500,000" in collection.skipped[0]
    monkeypatch.setattr(collecting, "STRANGERS", outcomes.Limits(rows=2_999))
    assert "outcomes.rows: is 3,000" in collect(tmp_path, official=[SUITE]).skipped[0]
    # Within these, ids count to what swells everybody's page.
    monkeypatch.setattr(collecting, "STRANGERS", outcomes.Limits())
    monkeypatch.setattr(collecting, "MOST_OTHER_CHARACTERS", 400_000)
    assert "one too many" in collect(tmp_path, official=[SUITE]).skipped[0]


def test_a_name_in_another_case_is_the_same_model(tmp_path: Path) -> None:
    written(tmp_path, "ORG/Good")
    written(tmp_path, "org/good")
    (suite,) = collect(tmp_path).suites
    assert len(suite.models) == 1


def test_the_day_of_a_verified_row_is_that_of_its_check(tmp_path: Path) -> None:
    path = written(tmp_path, "mine")
    days = json.dumps({sha256_of(path): "2026-02-01T10:00:00+00:00"})
    (tmp_path / "verified.json").write_text(days)
    (model,) = collect(tmp_path).suites[0].models
    assert model.date == "2026-02-01T10:00:00+00:00"


def test_given_predictions_are_not_ranked(tmp_path: Path) -> None:
    written(tmp_path / "results", "good")
    given = {"file": "mine.csv", "sha256": "0" * 64}
    mine = read_outcomes(written(tmp_path / "other", "team/mine"))
    write_result(replace(mine, predictions=given), tmp_path / "results")
    collection = collect(tmp_path / "results")
    assert [one.name for one in collection.suites[0].models] == ["good"]
    assert "given predictions" in collection.skipped[0]


def test_a_file_of_the_hubs_cache_is_read_and_no_other_link(tmp_path: Path) -> None:
    repo = tmp_path / "datasets--org--results"
    snapshot, blobs = repo / "snapshots" / ("a" * 40), repo / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "blob").write_text("content")
    (snapshot / "file.json").symlink_to("../../blobs/blob")
    assert bytes_of(snapshot / "file.json", 100) == b"content"
    (tmp_path / "secret").write_text("secret")
    (snapshot / "other.json").symlink_to("../../../secret")
    os.mkfifo(blobs / "pipe")
    (snapshot / "pipe.json").symlink_to("../../blobs/pipe")
    blobs.rename(repo / "gone")
    (repo / "blobs").symlink_to(tmp_path)
    (snapshot / "outside.json").symlink_to("../../blobs/secret")
    for name in ("other", "outside"):
        with pytest.raises(RefusedError, match="is no plain file"):
            bytes_of(snapshot / f"{name}.json", 100)
    (repo / "blobs").unlink()
    (repo / "gone").rename(blobs)
    with pytest.raises(RefusedError, match="is no plain file"):
        bytes_of(snapshot / "pipe.json", 100)


def test_only_the_list_of_verified_results_at_the_top_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "results" / "1.0.0", "mine")
    days = json.dumps({sha256_of(path): "2026-02-01T10:00:00+00:00"})
    path.with_name("verified.json").write_text(days)
    collection = collect(tmp_path)
    assert [one.verified for one in collection.suites[0].models] == [""]
    (line,) = collection.skipped
    assert "results/1.0.0/verified.json: only the list of verified results at the top" in line
    (tmp_path / "verified.json").write_text(days)
    assert [one.verified for one in collect(tmp_path).suites[0].models] == ["2026-02-01"]


# Which suite is meant


def made_up(folder: Path, count: int = 1) -> SuiteCases:
    """Strangers' results on a suite of their own, of the highest version."""
    suite = suite_of("999.0.0")
    for number in range(count):
        written(folder / "strangers", f"stranger/m{number}", suite)
    return suite


def test_a_made_up_version_stands_below_and_is_marked(tmp_path: Path) -> None:
    written(tmp_path, "good")
    fake = made_up(tmp_path, count=3)
    collection = collect(tmp_path, official=[SUITE])
    assert [(one.version, one.official) for one in collection.suites] == [
        ("1.0.0", True),
        ("999.0.0", False),
    ]
    found = all_standings(collection)
    assert found[0].suite.fingerprint == SUITE.fingerprint
    rows = [row for row in flat_rows(found) if row["kind"] == "model"]
    assert [row["suite_official"] for row in rows] == [True, False, False, False]
    assert '"official":false' in page(found)
    # The operator decides, not the number of results.
    assert collect(tmp_path, official=[fake]).suites[0].version == "999.0.0"
    # It stays so where the page is built again from its own data.
    write_collection(collection, tmp_path / "outcomes.parquet")
    again = read_collection(tmp_path / "outcomes.parquet")
    assert [one.official for one in again.suites] == [True, False]
    renewed = collect(tmp_path / "outcomes.parquet", official=[fake])
    assert [one.official for one in renewed.suites] == [True, False]
    assert renewed.suites[0].version == "999.0.0"


def test_without_a_named_suite_verified_results_decide_then_their_number(tmp_path: Path) -> None:
    path = written(tmp_path, "good")
    made_up(tmp_path, count=3)
    assert [one.official for one in collect(tmp_path).suites] == [None, None]
    assert collect(tmp_path).suites[0].version == "999.0.0"
    (tmp_path / "verified.json").write_text(json.dumps({sha256_of(path): "2026-02-01"}))
    assert collect(tmp_path).suites[0].version == "1.0.0"
    arguments = ["leaderboard", "build", str(tmp_path), "--out", str(tmp_path / "site")]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "No --suite says which suite is meant: 1.0.0" in " ".join(done.output.split())


def test_the_command_names_the_official_suite(suite_folder: Path, tmp_path: Path) -> None:
    scored = ["score", "vader", "--suite", str(suite_folder), "--out", str(tmp_path / "in")]
    assert runner.invoke(app, [*scored]).exit_code == 0
    made_up(tmp_path / "in", count=3)
    arguments = ["leaderboard", "build", str(tmp_path / "in"), "--out", str(tmp_path / "site")]
    done = runner.invoke(app, [*arguments, "--suite", str(suite_folder)])
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert re.search(r", official\): 1 models.*Suite 999\.0\.0 \(\w+, unofficial\): 3 models", told)
    done = runner.invoke(app, [*arguments, "--suite", str(tmp_path)])
    assert done.exit_code == 1


def test_cases_of_the_official_suite_are_its_own_not_what_a_forger_says(tmp_path: Path) -> None:
    """The fingerprint covers ids, texts and labels: a forger changes what it leaves out."""
    forged = replace(
        SUITE,
        cases=tuple(
            replace(case, seed_id=case.id, kind="seed", inserted=()) for case in SUITE.cases
        ),
    )
    written(tmp_path, "aaa", forged)
    written(tmp_path, "good")
    collection = collect(tmp_path, official=[SUITE])
    (suite,) = collection.suites
    assert [one.name for one in suite.models] == ["good"]
    assert suite.cases == SUITE.cases
    assert "is not of the suite that it names" in collection.skipped[0]


def test_suites_that_nobody_named_do_not_swell_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "good")
    for number in range(4):
        written(tmp_path, f"other{number}", suite_of(f"{number}.0.0", families=2))
    assert len(collect(tmp_path, official=[SUITE]).suites) == 5
    monkeypatch.setattr(collecting, "MOST_OTHER_SUITES", 2)
    collection = collect(tmp_path, official=[SUITE])
    assert len(collection.suites) == 3
    assert all("would be one too many" in line for line in collection.skipped)
    monkeypatch.setattr(collecting, "MOST_OTHER_CHARACTERS", 10)
    assert [one.official for one in collect(tmp_path, official=[SUITE]).suites] == [True]


def test_a_fingerprint_with_the_same_first_digits_is_another_suite(tmp_path: Path) -> None:
    twin = replace(suite_of("1.0.0", families=3), fingerprint=SUITE.fingerprint[:12] + "0" * 52)
    written(tmp_path, "good")
    written(tmp_path, "forger", twin)
    found = all_standings(collect(tmp_path))
    assert sorted(one.standings[0].model.name for one in found) == ["forger", "good"]
    told = page(found)
    ids = re.findall(r'"id":"([0-9a-f]{12,64})","version"', told)
    assert len(set(ids)) == len(ids) == 2


def test_short_ids_tell_everything_apart() -> None:
    digests = ["a" * 64, "a" * 20 + "b" * 44, "c" * 64, ""]
    ids = short_ids(digests)
    assert ids == {
        "a" * 64: "a" * 21, "a" * 20 + "b" * 44: "a" * 20 + "b", "c" * 64: "c" * 21, "": "unknown",
    }  # fmt: skip
    assert short_ids([sha256(b"1").hexdigest()] * 2) == {
        sha256(b"1").hexdigest(): sha256(b"1").hexdigest()[:12]
    }


# Results of their own kind


def test_options_of_ones_own_make_a_row_of_its_own(tmp_path: Path) -> None:
    written(tmp_path / "a", "org/m")
    written(tmp_path / "b", "org/m", label=0, label_map={"0": "positive", "1": "negative"})
    written(tmp_path / "c", "org/m", label=1, neutral_band=(0.2, 0.8))
    collection = collect(tmp_path)
    assert not collection.skipped
    (suite,) = collection.suites
    assert [one.options for one in suite.models] == [
        "",
        "own label map 0 → positive, 1 → negative",
        "own neutral band 0.2 to 0.8",
    ]
    found = all_standings(collection)
    rows = [row for row in flat_rows(found) if row["kind"] == "model"]
    assert sum(row["options"] is None for row in rows) == 1
    assert {row["options"] for row in rows} == {None, *(one.options for one in suite.models[1:])}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ""),
        ({"neutral_band": (0.333333333333333, 0.666666666666667)}, ""),
        ({"prompt": None, "label_words": ("negative", "neutral", "positive")}, ""),
        ({"label_map": {}}, "own label map "),
        ({"prompt": "{text}!", "label_words": ("bad", "good")}, 'own prompt "{text}!"'),
    ],
)
def test_own_options_in_words(options: dict[str, Any], words: str) -> None:
    told = own_options(OptionsRecord(**options))
    assert told.startswith(words) and bool(told) is bool(words)


# Names


def test_no_capability_is_called_like_a_column(tmp_path: Path) -> None:
    written(tmp_path, "good")
    found = all_standings(collect(tmp_path))
    columns = {*flat_rows(found)[0]}
    for name in columns - {"LC4"}:
        assert not is_capability_id(name), name
        assert not is_capability_id(name.upper()), name
    for name in ("LC1", "LC11", "negation", "my-capability", "My_Own_2"):
        assert is_capability_id(name)
    for name in ("", "1", "all", "Overall", "a b", "LC4_CI_LOW", "x" * 40, "LC4\n"):
        assert not is_capability_id(name)


def test_a_collection_file_is_read_within_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "in", "good")
    path = tmp_path / "outcomes.parquet"
    write_collection(collect(tmp_path / "in"), path)
    assert len(read_collection(path).suites) == 1
    table = pq.read_table(path)

    def replaced(name: str, value: Any) -> None:
        at = table.schema.get_field_index(name)
        pq.write_table(table.set_column(at, name, pa.array([value] * len(table))), path)

    for name, value in (
        ("model", "<b>good</b>"),
        ("capability", "model"),
        ("date", "0001-01-01T00:00:00+00:00"),
        ("suite_version", "the best"),
        ("inserted", [""]),
        ("label", "joyful"),
        ("label", None),
        ("text", "x" * 30_000),
        ("result_sha256", "abc"),
        ("licence", "MIT\x1b[2J"),
    ):
        replaced(name, value)
        with pytest.raises(ScoringError, match="is no collection of outcomes"):
            read_collection(path)
    write_collection(Collection(()), path)
    with pytest.raises(ScoringError, match="holds no usable result file"):
        collect(path)
    write_collection(collect(tmp_path / "in"), path)
    monkeypatch.setattr("s2lct.leaderboard.results.scored.MOST_ROWS", 3)
    with pytest.raises(ScoringError, match="has 10 rows"):
        read_collection(path)


def test_one_suite_too_many_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        written(tmp_path, f"m{number}", suite_of(f"{number}.0.0"))
    monkeypatch.setattr(collecting, "STRANGERS", outcomes.Limits(all_rows=2 * ROWS))
    collection = collect(tmp_path)
    assert len(collection.suites) == 2
    assert "one too many" in collection.skipped[0]
    # Those that the operator named cost nothing.
    assert len(collect(tmp_path, official=[suite_of("0.0.0")]).suites) == 3


def test_a_proof_of_a_fingerprint_is_not_sought_for_ever() -> None:
    """Ten capabilities with two right labels can be ordered in a thousand ways."""
    few = [
        Case(f"{n}", f"LC{n}", "seed", f"{n}", f"Film {n}.", frozenset({1, 2})) for n in range(10)
    ]
    rows = [[case.id, case.text, [2, 1]] for case in few]
    assert collecting.proves(few, fingerprint_of(rows))
    many = [replace(case, id=f"{case.id}-{n}") for case in few for n in range(1_000)]
    assert not collecting.proves(many, "0" * 64)
