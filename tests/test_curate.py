"""Curation as a user does it: from a corpus nobody read to a suite that readers passed."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import warm_process
from chat_server import Asked, ChatServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_build import build
from typer.testing import CliRunner, Result

import s2lct
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.config import BuildConfig
from s2lct.builder.curate import Curated, LanguageModels, curate
from s2lct.builder.curation.sheets import read_sheets, take_answers, with_traps, write_sheets
from s2lct.builder.curation.verdicts import Verdict, VerdictFile, Verdicts, trap_of
from s2lct.builder.records import sentence_id
from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.errors import OptionError, S2lctError
from s2lct.files import locked
from s2lct.identity import content_id
from s2lct.suite.annotation import Item

TESTS = Path(__file__).parent
NAMES = ("LC2", "LC4", "LC10")
KEY = "sk-a-key-of-nobody"
_GOOD = "charming delightful lovely wonderful beautiful brilliant happy great excellent touching"
_BAD = "dull ugly horrible waste stupid terrible awful ruins bad worse boring mess bore"
ABOUT = {one.raters or one.title: one.id for one in load_capabilities(NAMES)}
RIGHT = {"LC4": "neu", "LC10": "neg"}
"""What passes in these capabilities."""


def label_of(description: str, text: str) -> str:
    if description:
        return RIGHT[ABOUT[description]]
    words = set(re.findall(r"\w+", text.lower()))
    good, bad = words & set(_GOOD.split()), words & set(_BAD.split())
    return "pos" if good and not bad else "neg" if bad else "neu"


def config_for(corpus: Path, folder: Path, **more: Any) -> BuildConfig:
    options: dict[str, Any] = {"corpus": f"csv:{corpus}", "seeds": 3}
    options |= {"capabilities": NAMES, "verdicts": (folder / "verdicts.jsonl",)}
    return BuildConfig.checked(out=folder / "sheets", **(options | more))


class People:
    """Readers who know which texts were broken, and refuse what has one of some words."""

    def __init__(self, name: str, refused: str = "$^") -> None:
        self.name = name
        self.refused = refused
        self.read_texts: dict[str, str] = {}
        self.requests: list[list[Item]] = []

    def read(self, items: Sequence[Item]) -> list[Verdict]:
        self.requests.append(list(items))
        traps = {trap_of(item.id) for item in items}
        found = []
        for item in items:
            broken = item.id in traps
            if not broken:
                self.read_texts[item.id] = item.text
            grade = 0 if broken or re.search(self.refused, item.text) else 2
            label = {"pos": "positive", "neg": "negative", "neu": "neutral"}[
                label_of(item.description, item.text)
            ]
            relevant = True if item.description else None
            found.append(
                Verdict(
                    id=item.id,
                    reader=self.name,
                    label=label,
                    natural=grade,
                    relevant=relevant,  # type: ignore[arg-type]
                )
            )
        return found


class Two(LanguageModels):
    """Readers instead of models."""

    def __init__(self, *readers: Any) -> None:
        super().__init__("", ())
        object.__setattr__(self, "made", readers)

    def readers(self) -> Any:
        return list(self.made)  # type: ignore[attr-defined]


def read_by(config: BuildConfig, *readers: Any) -> Curated:
    return curate(config, models=Two(*readers))


@pytest.fixture(scope="module")
def genuine(corpus_path: Path, tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """Every text that is not a trap."""
    first, second = People("a"), People("b")
    folder = tmp_path_factory.mktemp("genuine")
    assert read_by(config_for(corpus_path, folder), first, second).is_finished
    return frozenset({*first.read_texts.values(), *second.read_texts.values()})


def rows_of(config: BuildConfig, out: Path) -> list[dict[str, Any]]:
    suite = build(config.model_copy(update={"out": out}))
    assert verify_suite(out) == []
    return [dict(row) for name in NAMES if name in suite for row in suite[name]["test"]]


def test_what_readers_passed_is_built(corpus_path: Path, tmp_path: Path) -> None:
    config = config_for(corpus_path, tmp_path)
    first, second = People("a", "horrible|^Is "), People("b", "awful")
    curated = read_by(config, first, second)
    assert curated.is_finished
    assert not curated.sheets
    assert [state.round for state in curated.rounds] == ["sentences", "cases", "extensions"]
    rows = rows_of(config, tmp_path / "suite")
    seeds = [row for row in rows if row["kind"] == "seed"]
    assert Counter(row["capability"] for row in seeds) == dict.fromkeys(NAMES, 3)
    assert any(row["kind"] == "expansion" for row in rows)
    verdicts = Verdicts.read(config.verdicts)
    for row in rows:
        assert not re.search("horrible|awful", row["text"])
        if row["kind"] == "seed" and row["template"]:
            assert not row["text"].startswith("Is ")
            assert {one.reader for one in verdicts.of(row["id"])} == {"a", "b"}
        for source in row["sources"]:
            assert len(verdicts.of(sentence_id(source["used"]))) == 2

    # Nothing was asked twice, and the second reader got what the first passed alone.
    for reader in (first, second):
        asked = [item.id for items in reader.requests for item in items]
        assert len(asked) == len(set(asked))
    assert set(second.read_texts) <= set(first.read_texts)
    assert not any(re.search(first.refused, text) for text in second.read_texts.values())
    assert all(sum(trap_of(i.id) in {o.id for o in some} for i in some) for some in first.requests)


def test_the_same_build_after_more_reading_keeps_what_was_there(
    corpus_path: Path, tmp_path: Path
) -> None:
    config = config_for(corpus_path, tmp_path)
    read_by(config, People("a"), People("b"))
    before = {row["id"] for row in rows_of(config, tmp_path / "small")}
    more = config_for(corpus_path, tmp_path, seeds=5)
    third = People("a")
    assert read_by(more, third, People("b")).is_finished
    read = Verdicts.read(config.verdicts)
    assert third.read_texts.keys() <= set(read)
    after = {row["id"] for row in rows_of(more, tmp_path / "large") if row["kind"] == "seed"}
    assert {id for id in before if id in after}
    assert len(after) > len([id for id in before if id in after])


def sheets_in(folder: Path) -> list[Item]:
    """What was handed out, traps apart."""
    items = [item for some in read_sheets(folder).values() for item in some]
    traps = {trap_of(item.id) for item in items}
    return [item for item in items if item.id not in traps]


def test_one_reader_is_not_enough(corpus_path: Path, tmp_path: Path) -> None:
    config = config_for(corpus_path, tmp_path)
    first = People("a", "horrible")
    (state,) = read_by(config, first).rounds
    assert (state.passed, state.first, state.left) == (0, 0, {"a": 0})
    refused = {id for id, text in first.read_texts.items() if "horrible" in text}
    assert state.refused == len(refused) > 0
    handed_out = {item.id for item in sheets_in(config.out)}
    assert handed_out == first.read_texts.keys() - refused
    assert state.second == len(handed_out)
    with pytest.raises(S2lctError, match="no capability's search found"):
        build(config.model_copy(update={"out": tmp_path / "suite"}))


def test_who_calls_broken_sentences_natural_is_stopped(corpus_path: Path, tmp_path: Path) -> None:
    class Careless(People):
        def read(self, items: Sequence[Item]) -> list[Verdict]:
            return [one.model_copy(update={"natural": 2}) for one in super().read(items)]

    config = config_for(corpus_path, tmp_path)
    careless = Careless("quick")
    with pytest.raises(S2lctError, match=r"quick: called 2 of 2 broken sentences natural"):
        read_by(config, careless, People("b"))
    assert len(careless.requests) == 1
    # What stands in the file is not counted, neither here nor in a build, and asked of others.
    assert config.verdicts[0].read_text().count('"quick"') == len(careless.requests[0])
    refused = pytest.raises(S2lctError, match="quick: called 2 of 2")
    with pytest.warns(UserWarning, match="is left out"), refused:
        read_by(config, People("quick"), People("b"))
    first = People("a")
    with pytest.warns(UserWarning, match="quick called 2 of 2"):
        assert read_by(config, first, People("b")).is_finished
    assert {item.id for item in careless.requests[0]} - first.read_texts.keys()
    with pytest.warns(UserWarning, match="quick called 2 of 2"):
        rows = rows_of(config, tmp_path / "suite")
    assert rows


def test_texts_without_a_readable_answer_do_not_hold_up_the_rest(
    corpus_path: Path, tmp_path: Path
) -> None:
    class Mute(People):
        def read(self, items: Sequence[Item]) -> list[Verdict]:
            texts = {item.id: item.text for item in items}
            return [one for one in super().read(items) if "ugly" not in texts[one.id]]

    config = config_for(corpus_path, tmp_path)
    first = Mute("a")
    (state,) = read_by(config, first, People("b")).rounds
    assert (state.first > 0, state.second) == (True, 0)
    asked = Counter(item.text for items in first.requests for item in items)
    texts = set(first.read_texts.values())
    assert {text for text in texts if asked[text] > 1} == {t for t in texts if "ugly" in t}
    assert max(asked.values()) == 2
    # Those are left for others; what passed serves already.
    assert {item.text for item in sheets_in(config.out)} == {t for t in texts if "ugly" in t}
    assert rows_of(config, tmp_path / "suite")

    class Silent(People):
        def read(self, items: Sequence[Item]) -> list[Verdict]:
            return []

    with pytest.raises(S2lctError, match="no line of its answer"):
        read_by(config_for(corpus_path, tmp_path / "silent"), Silent("a"))


# People, who fill sheets.


def filled(rows: list[dict[str, str]], delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


def fill(sheet: Path, genuine: frozenset[str]) -> list[dict[str, str]]:
    """A sheet's rows as somebody fills them who reads with care."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        about = row.get("description", "")
        row["label"] = label_of(about, row["text"])
        row["natural"] = "2" if row["text"] in genuine else "0"
        if about:
            row["relevant"] = "1"
    return rows


def test_two_people_fill_sheets_until_all_is_read(
    corpus_path: Path, tmp_path: Path, genuine: frozenset[str]
) -> None:
    verdicts, out = tmp_path / "verdicts.jsonl", tmp_path / "sheets"
    command = ["curate", "--corpus", f"csv:{corpus_path}", "--seeds", 3]
    command += [part for name in NAMES for part in ("--capability", name)]
    command += ["--verdicts", verdicts, "--out", out]
    shown = run(*command)
    assert shown.exit_code == 0, shown.output
    assert "waits" in shown.output
    seen = []
    for _ in range(20):
        if "All is read" in shown.output:
            break
        (folder,) = {Path(line) for line in re.findall(r"what to do: (.+)", shown.output)}
        seen.append(folder.name.partition("-")[0])
        assert "natural" in (folder / "README.md").read_text(encoding="utf-8")
        own = tmp_path / "own.csv"
        own.write_text(filled(fill(folder / "sheet-001.csv", genuine)), encoding="utf-8")
        # Both read the same sheet, the one after the other.
        for reader in ("Ada", "Bob"):
            shown = run(*command, "--answers", own, "--annotator", reader)
            assert shown.exit_code == 0, shown.output
            assert f"verdicts of {reader} added" in shown.output
    assert "All is read" in shown.output
    assert list(dict.fromkeys(seen)) == ["sentences", "cases", "extensions"]
    assert rows_of(config_for(corpus_path, tmp_path), tmp_path / "suite")
    # The same answers again add nothing.
    before = verdicts.read_bytes()
    again = run(*command, "--answers", own, "--annotator", "Bob")
    assert "0 verdicts of Bob added" in again.output
    assert verdicts.read_bytes() == before


def test_sheets_say_nothing_of_how_a_text_was_made(corpus_path: Path, tmp_path: Path) -> None:
    config = config_for(corpus_path, tmp_path)
    read_by(config, People("a"), People("b", "^Is |^Can |^Are "))
    more = config.model_copy(update={"seeds": 9, "verdicts": (tmp_path / "verdicts.jsonl",)})
    curate(more, reader="a")
    (path, *others) = read_sheets(config.out)
    assert not others
    for line in path.read_text(encoding="utf-8").splitlines():
        assert json.loads(line).keys() == {"id", "text", "title", "description"}
    written = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    curate(more, reader="a")
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == written


ITEMS = [Item(id=content_id("item", str(n)), text=f"The film of the year {n}.") for n in range(9)]
GRADES = st.tuples(st.sampled_from(["neg", "neu", "positive", "MIX"]), st.integers(0, 2))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(range(len(ITEMS))), GRADES, min_size=1),
    st.sampled_from(["json", ",", ";", "\t"]),
    st.booleans(),
)
def test_answers_come_back_whatever_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    answers: dict[int, tuple[str, int]],
    kind: str,
    with_mark: bool,
) -> None:
    folder = tmp_path_factory.mktemp("answers")
    write_sheets(ITEMS, folder, round="sentences", seed=0)
    rows: list[dict[str, Any]] = []
    for number, item in enumerate(ITEMS):
        label, grade = answers.get(number, ("", ""))
        rows.append({"id": item.id, "text": "=1+1", "label": label, "natural": grade})
    if kind == "json":
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        text = filled([row | {"id": f"i{row['id']}"} for row in rows], kind)
    path = folder / "answers"
    path.write_text("\ufeff" * with_mark + text, encoding="utf-8")
    file = VerdictFile(folder / "verdicts.jsonl")
    came = take_answers(path, read_sheets(folder), "Ada", file)
    assert {one.id: (one.label[:3], one.natural) for one in file.all} == {
        ITEMS[number].id: (label[:3].lower(), grade) for number, (label, grade) in answers.items()
    }
    assert came.verdicts == len(answers)
    traps = len(with_traps(ITEMS, 0)) - len(ITEMS)
    assert came.unanswered == len(ITEMS) + traps - len(answers)


ID = ITEMS[0].id


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("id,label,natural\n0123456789abcdef,pos,2", "0123456789abcdef"),
        (f"id,label,natural\n{ID},pos,2\n{ID},pos,1", ID),
        (f"id,label,natural\n{ID},good,2", "label"),
        (f"id,label,natural\n{ID},pos,", "natural"),
        (f"id,label,natural\n{ID},pos,3", "natural"),
        (f"id,label\n{ID},pos", "natural"),
        (f"id,label,natural\n{ID},,", "answer"),
        ("", "id"),
        (f'{{"id": "{ID}"}}\n{{"id": ', "line 2"),
        (f'{{"id": "{ID}", "label": ["pos"], "natural": 2}}', "label"),
    ],
)
def test_answers_with_faults_get_one_clear_error_and_add_nothing(
    tmp_path: Path, content: str, named: str
) -> None:
    write_sheets(ITEMS, tmp_path, round="sentences", seed=0)
    path = tmp_path / "answers.csv"
    path.write_text(content, encoding="utf-8")
    file = VerdictFile(tmp_path / "verdicts.jsonl")
    with pytest.raises(S2lctError) as error:
        take_answers(path, read_sheets(tmp_path), "Ada", file)
    assert "answers.csv" in error.value.problem
    assert named in error.value.problem
    assert not file.path.exists()


def test_answers_of_who_did_not_read_are_refused_whole(tmp_path: Path) -> None:
    (sheet,) = write_sheets(ITEMS, tmp_path, round="sentences", seed=0)
    rows = fill(sheet.with_suffix(".csv"), frozenset())
    path = tmp_path / "answers.csv"
    path.write_text(filled([row | {"natural": "2"} for row in rows]), encoding="utf-8")
    file = VerdictFile(tmp_path / "verdicts.jsonl")
    with pytest.raises(S2lctError, match="Ada: called 2 of 2 broken sentences natural"):
        take_answers(path, read_sheets(tmp_path), "Ada", file)
    assert not file.path.exists()


def test_a_case_needs_to_be_relevant_or_not(tmp_path: Path) -> None:
    cases = [replace(item, description="negation") for item in ITEMS]
    write_sheets(cases, tmp_path, round="cases", seed=0)
    path = tmp_path / "answers.csv"
    path.write_text(f"id,label,natural\n{ID},pos,2", encoding="utf-8")
    file = VerdictFile(tmp_path / "verdicts.jsonl")
    with pytest.raises(S2lctError, match="relevant"):
        take_answers(path, read_sheets(tmp_path), "Ada", file)
    path.write_text(f"id,label,natural,relevant\n{ID},pos,2,no", encoding="utf-8")
    take_answers(path, read_sheets(tmp_path), "Ada", file)
    assert not file.verdicts.passes(ID, {"positive"})
    assert [one.relevant for one in file.all] == [False]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"base_url": "http://localhost/v1"}, "--model"),
        ({"model": ["one"]}, "--base-url"),
        ({"base_url": "localhost:8000", "model": ["one"]}, "--base-url"),
        ({"base_url": "http://x/v1", "model": ["one", "one"]}, "--model"),
        ({"base_url": "http://x/v1", "model": ["one", "two", "three"]}, "--model"),
        ({"answers": Path("a.csv")}, "--annotator"),
        ({"api_key_env": "KEY"}, "--api-key-env"),
        ({"verdicts": []}, "--verdicts"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, options: dict[str, Any], named: str
) -> None:
    given = {"out": tmp_path / "sheets", "verdicts": [tmp_path / "v.jsonl"]} | options
    with pytest.raises(OptionError, match=named):
        s2lct.curate(**given)
    assert not list(tmp_path.iterdir())


# Language models behind a server.


@pytest.fixture
def server(genuine: frozenset[str]) -> Iterator[ChatServer]:
    def read(model: str, description: str, text: str) -> str:
        grade = "2" if text in genuine or model == "careless" else "0"
        return f"{label_of(description, text)} {grade}" + " 1" * bool(description)

    with ChatServer(read) as running:
        yield running


def curated_by(
    server: ChatServer, corpus: Path, folder: Path, *more: str, **env: str
) -> tuple[int, str]:
    """The exit status and the output of a process of its own, as the client needs it."""
    script = """
import os, pathlib, sys
pathlib.Path("pid").write_text(str(os.getpid()))
sys.path.insert(0, sys.argv.pop(1))
from stub_models import stub_models
from s2lct.cli.main import main
with stub_models():
    main()
"""
    command = ["-c", script, str(TESTS), "curate", "--corpus", f"csv:{corpus}", "--seeds", "3"]
    command += [part for name in NAMES for part in ("--capability", name)]
    command += ["--verdicts", "verdicts.jsonl", "--out", "sheets", "--base-url", server.base_url]
    command += more or ("--model", "one", "--model", "two")
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    environment |= {"HF_HUB_OFFLINE": "0", "HF_HOME": str(folder / "home"), "COLUMNS": "200"}
    done = warm_process.run(command, env=environment | env, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def test_two_language_models_read_until_all_is_read(
    server: ChatServer, corpus_path: Path, tmp_path: Path
) -> None:
    code, shown = curated_by(server, corpus_path, tmp_path, HF_TOKEN="hf_TokenOfTheHub0001")
    assert code == 0, shown
    assert "All is read" in shown
    assert {asked.temperature for asked in server.asked} == {0}
    # Where no key is named, none is sent: the Hub's is not for this server.
    assert not any("hf_" in asked.authorization for asked in server.asked)
    config = config_for(corpus_path, tmp_path)
    rows = rows_of(config, tmp_path / "suite")
    assert Counter(row["capability"] for row in rows if row["kind"] == "seed") == dict.fromkeys(
        NAMES, 3
    )
    requests = len(server.asked)
    code, shown = curated_by(server, corpus_path, tmp_path)
    assert (code, len(server.asked)) == (0, requests)
    assert "All is read" in shown


def test_killed_it_goes_on_and_asks_nothing_twice(
    server: ChatServer, corpus_path: Path, tmp_path: Path
) -> None:
    cut_off: list[Asked] = []

    def kill(asked: Asked) -> None:
        if len(server.asked) in (2, 4, 6):
            cut_off.append(asked)
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    server.before_answer = kill
    codes = [curated_by(server, corpus_path, tmp_path)[0] for _ in range(4)]
    assert codes == [*[-signal.SIGKILL] * 3, 0]
    answered = Counter(
        (asked.model, text)
        for asked in server.asked
        if asked not in cut_off
        for about, text in asked.texts
    )
    assert set(answered.values()) == {1}
    assert rows_of(config_for(corpus_path, tmp_path), tmp_path / "suite")


def test_a_careless_model_is_stopped(server: ChatServer, corpus_path: Path, tmp_path: Path) -> None:
    models = ("--model", "careless", "--model", "two")
    code, shown = curated_by(server, corpus_path, tmp_path, *models)
    assert code == 1
    assert "careless: called 2 of 2 broken sentences natural" in shown
    assert [asked.model for asked in server.asked] == ["careless"]


def test_a_server_that_cannot_be_asked_gets_one_clear_error(
    server: ChatServer, corpus_path: Path, tmp_path: Path
) -> None:
    server.base_url = server.base_url.replace("/v1", "/v2")
    code, shown = curated_by(server, corpus_path, tmp_path)
    assert code == 1
    assert "one did not answer" in shown
    assert "404" in shown
    with locked(tmp_path / "verdicts.jsonl"):
        code, shown = curated_by(server, corpus_path, tmp_path)
    assert code == 1
    assert "verdicts.jsonl: another s2lct curate is writing there" in shown


def test_the_key_comes_from_the_environment_and_stays_there(
    server: ChatServer, corpus_path: Path, tmp_path: Path
) -> None:
    given = ("--model", "one", "--model", "two", "--api-key-env", "READING_KEY")
    code, shown = curated_by(server, corpus_path, tmp_path, *given)
    assert code == 2
    assert "READING_KEY: the environment has no such variable" in shown
    server.before_answer = lambda asked: (401, f"no such key: {asked.authorization}")
    code, shown = curated_by(server, corpus_path, tmp_path, *given, READING_KEY=KEY)
    assert code == 1
    assert "one did not answer" in shown
    assert KEY not in shown
    server.before_answer = lambda asked: None
    code, shown = curated_by(server, corpus_path, tmp_path, *given, READING_KEY=KEY)
    assert code == 0, shown
    assert {asked.authorization for asked in server.asked} == {f"Bearer {KEY}"}
    assert KEY not in shown
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
