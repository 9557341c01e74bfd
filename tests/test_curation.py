"""Curation as a user does it: from a corpus nobody read to a suite that annotators passed."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import warm_process
from chat_server import Asked, ChatServer
from test_build import build
from typer.testing import CliRunner, Result

import s2lct
from s2lct.analysis.study import QUESTIONS as STUDY_QUESTIONS
from s2lct.builder.annotations import Annotation, AnnotationFile, Annotations
from s2lct.builder.capabilities.files import load_capabilities
from s2lct.builder.config import BuildConfig
from s2lct.builder.curation.curate import curate
from s2lct.builder.curation.language_models import LanguageModel
from s2lct.builder.curation.sheets import (
    QUESTIONS,
    import_answers,
    items_to_annotate,
    protocol,
    read_sheets,
    write_sheets,
)
from s2lct.builder.records import sentence_id
from s2lct.builder.verify import verify_suite
from s2lct.cli.main import app
from s2lct.errors import AnnotationError, BuildError, OptionError, S2lctError
from s2lct.files import output_lock
from s2lct.identity import content_id
from s2lct.plain_text import as_csv
from s2lct.suite.annotation import Form, Item, Question, read_annotations, trap_id_of

TESTS = Path(__file__).parent
NAMES = ("LC2", "LC4", "LC10")
"""Of a corpus of one's own no sentence is read by itself."""
KEY = "sk-a-key-of-nobody"
_GOOD = "charming delightful lovely wonderful beautiful brilliant happy great excellent touching"
_BAD = "dull ugly horrible waste stupid terrible awful ruins bad worse boring mess bore"
ABOUT = {one.raters or one.title: one.id for one in load_capabilities(NAMES)}
RIGHT = {"LC4": ("neu", "neg"), "LC10": ("neg", "pos")}
"""What passes in these capabilities, and in their contrasts."""
_DENIED = re.compile(r"n't|\b(?:not?|cannot|never|nobody|no one|wrong)\b", re.IGNORECASE)


def label_of(description: str, text: str) -> str:
    if ABOUT.get(description) in RIGHT:
        return RIGHT[ABOUT[description]][not _DENIED.search(text)]
    words = set(re.findall(r"\w+", text.lower()))
    good, bad = words & set(_GOOD.split()), words & set(_BAD.split())
    return "pos" if good and not bad else "neg" if bad else "neu"


def config_for(corpus: Path, folder: Path, **more: Any) -> BuildConfig:
    options: dict[str, Any] = {"corpus": f"csv:{corpus}", "seeds": 3}
    options |= {"capabilities": NAMES, "annotations": (folder / "annotations.jsonl",)}
    return BuildConfig.checked(out=folder / "sheets", **(options | more))


class People(LanguageModel):
    """Annotators who know which texts were broken, and refuse what has one of some words."""

    def __init__(self, name: str, refused: str = "$^") -> None:
        self.name = name
        self.refused = refused
        self.read_texts: dict[str, str] = {}
        self.requests: list[list[Item]] = []

    def annotate(self, items: Sequence[Item]) -> list[Annotation]:
        self.requests.append(list(items))
        traps = {trap_id_of(item.id) for item in items}
        found = []
        for item in items:
            broken = item.id in traps
            if not broken:
                self.read_texts[item.id] = item.text
            grade = 0 if broken or re.search(self.refused, item.text) else 2
            label = {"pos": "positive", "neg": "negative", "neu": "neutral"}[
                label_of(item.description, item.text)
            ]
            given = {"id": item.id, "annotator": self.name, "label": label, "natural": grade}
            given |= {"sentence": item.sentence or None}
            found.append(Annotation(**given, relevant=True if item.description else None))
        return found


@pytest.fixture(scope="module")
def genuine(corpus_path: Path, tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """Every text that is not a trap."""
    first, second = People("a"), People("b")
    folder = tmp_path_factory.mktemp("genuine")
    assert not curate(config_for(corpus_path, folder), models=[first, second]).left
    return frozenset({*first.read_texts.values(), *second.read_texts.values()})


def rows_of(config: BuildConfig, out: Path) -> list[dict[str, Any]]:
    suite = build(config.model_copy(update={"out": out}))
    assert verify_suite(out) == []
    return [dict(row) for name in NAMES if name in suite for row in suite[name]["test"]]


def test_what_readers_passed_is_built(corpus_path: Path, tmp_path: Path) -> None:
    config = config_for(corpus_path, tmp_path)
    first, second = People("a", "horrible|^Is "), People("b", "awful")
    curated = curate(config, models=[first, second])
    assert not curated.left
    assert not curated.sheets
    rows = rows_of(config, tmp_path / "suite")
    seeds = [row for row in rows if row["kind"] == "seed"]
    assert Counter(row["capability"] for row in seeds) == dict.fromkeys(NAMES, 3)
    assert any(row["kind"] == "expansion" for row in rows)
    annotations = Annotations.read(config.annotations)
    for row in rows:
        assert not re.search("horrible|awful", row["text"])
        if row["kind"] != "seed" or row["template"]:  # whole cases
            assert row["kind"] != "seed" or not row["text"].startswith("Is ")
            assert {one.annotator for one in annotations.of(row["id"])} == {"a", "b"}
        else:
            assert len(annotations.of(sentence_id(row["text"]))) == 2

    # The second reader got what the first passed alone.
    assert not any(re.search(first.refused, text) for text in second.read_texts.values())
    assert all(
        sum(trap_id_of(i.id) in {o.id for o in some} for i in some) for some in first.requests
    )


def test_who_calls_broken_sentences_natural_is_stopped(corpus_path: Path, tmp_path: Path) -> None:
    class Careless(People):
        def annotate(self, items: Sequence[Item]) -> list[Annotation]:
            return [one.model_copy(update={"natural": 2}) for one in super().annotate(items)]

    config = config_for(corpus_path, tmp_path)
    careless = Careless("quick")
    with pytest.raises(BuildError, match="quick"):
        curate(config, models=[careless, People("b")])
    assert len(careless.requests) == 1
    # What stands in the file is not counted, neither here nor in a build, and asked of others.
    assert config.annotations[0].read_text().count('"quick"') == len(careless.requests[0])
    with pytest.warns(UserWarning, match="quick"):
        curated = curate(config, models=[People("a")])
    assert curated.left and not items_to_annotate(curated.candidates, curated.annotations, "a")
    with pytest.warns(UserWarning, match="quick"), pytest.raises(BuildError, match="--corpus"):
        build(config.model_copy(update={"out": tmp_path / "suite"}))


def test_texts_without_a_readable_answer_do_not_hold_up_the_rest(
    corpus_path: Path, tmp_path: Path
) -> None:
    class Mute(People):
        def annotate(self, items: Sequence[Item]) -> list[Annotation]:
            texts = {item.id: item.text for item in items}
            return [one for one in super().annotate(items) if "ugly" not in texts[one.id]]

    first = Mute("a")
    # Others take their place.
    assert not curate(config_for(corpus_path, tmp_path), models=[first, People("b")]).left
    asked = Counter(item.id for items in first.requests for item in items)
    texts = first.read_texts
    assert {id for id in texts if asked[id] > 1} == {id for id in texts if "ugly" in texts[id]}
    assert max(asked.values()) == 2


def test_no_more_is_read_than_the_budget_and_what_is_read_is_built(
    corpus_path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = People("a"), People("b")
    config = config_for(corpus_path, tmp_path, capabilities=(*NAMES, "LC5"))
    curated = curate(config, models=[first, second], budget=12)
    assert curated.left
    assert 0 < len(first.read_texts) + len(second.read_texts) <= 12
    # It says before what it costs, and what it will not mend.
    expected = re.search(
        r"about ([\d,]+) readings \(([\d,]+) tokens .* ([\d,]+) cases", caplog.text
    )
    assert expected is not None
    readings, tokens, cases = (int(each.replace(",", "")) for each in expected.groups())
    assert readings > 12
    assert tokens > readings
    assert readings > cases > 0
    assert "--neutral" not in caplog.text
    # Of each capability something, and that was read by both.
    rows = rows_of(config, tmp_path / "suite")
    assert {row["capability"] for row in rows} == set(NAMES)
    assert not curate(config, models=[first, second]).left


def test_capabilities_that_a_corpus_has_nothing_for_are_named_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus = tmp_path / "own.csv"
    corpus.write_text("text,label\nThe plot is a stupid and ugly mess.,negative\n")
    curate(config_for(corpus, tmp_path, capabilities=("LC1", "LC4")))
    assert re.search("LC1 0.*--neutral", caplog.text)


# People, who fill sheets.


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


def fill(sheet: Path, genuine: frozenset[str], path: Path) -> None:
    """Write a sheet as somebody fills it who reads with care."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        about = row.get("description", "")
        row["label"] = label_of(about, row["text"])
        row["natural"] = "2" if row["text"] in genuine else "0"
        if about:
            row["relevant"] = "1"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_two_people_fill_sheets_until_all_is_read(
    corpus_path: Path, tmp_path: Path, genuine: frozenset[str]
) -> None:
    annotations, out = tmp_path / "annotations.jsonl", tmp_path / "sheets"
    command = ["curate", "--corpus", f"csv:{corpus_path}", "--seeds", 3]
    command += [part for name in NAMES for part in ("--capability", name)]
    command += ["--annotations", annotations, "--out", out]
    shown = run(*command)
    assert shown.exit_code == 0, shown.output
    seen = []
    for _ in range(20):
        if "All is read" in shown.output:
            break
        (folder,) = {Path(line) for line in re.findall(r"what to do: (.+)", shown.output)}
        seen.append(folder.name.partition("-")[0])
        assert "natural" in (folder / "README.md").read_text(encoding="utf-8")
        own = tmp_path / "own.csv"
        fill(folder / "sheet-001.csv", genuine, own)
        # Both read the same sheet, the one after the other.
        for reader in ("Ada", "Bob"):
            shown = run(*command, "--answers", own, "--annotator", reader)
            assert shown.exit_code == 0, shown.output
    assert "All is read" in shown.output
    assert len(seen) > 1 and set(seen) == {"cases"}
    assert rows_of(config_for(corpus_path, tmp_path), tmp_path / "suite")
    # The same answers again add nothing.
    before = annotations.read_bytes()
    again = run(*command, "--answers", own, "--annotator", "Bob")
    assert again.exit_code == 0, again.output
    assert annotations.read_bytes() == before


@pytest.mark.browser
@pytest.mark.parametrize("questions", [QUESTIONS, STUDY_QUESTIONS], ids=["curate", "study"])
def test_the_keys_of_a_form_are_the_grades_that_its_text_names(
    browser: Any, tmp_path: Path, questions: Sequence[Question]
) -> None:
    # Of each question every answer, as many items as the longest has answers.
    wanted = [
        dict(zip((one.name for one in questions), grades, strict=True))
        for grades in zip_longest(*(one.answers for one in questions), fillvalue="1")
    ]
    items = [replace(item, description="negation") for item in ITEMS[: len(wanted)]]
    instructions = protocol().split("\n\n")
    (tmp_path / "form.html").write_text(
        Form("mine", "Mine", instructions, items, questions).html(), encoding="utf-8"
    )
    page = browser.new_context().new_page()
    page.goto((tmp_path / "form.html").as_uri())
    assert page.locator("#start li").count() == 3
    assert page.locator("#start li").first.inner_text().startswith("label: the author's overall")
    page.fill("#annotator", "Ada")
    page.keyboard.press("Enter")
    for grades in wanted:
        for name, grade in grades.items():
            button = page.locator(
                f'[data-question="{name}"] button', has=page.get_by_text(grade, exact=True)
            )
            # A grade that is a digit is its own key; the others have theirs beside them.
            page.keyboard.press(grade if grade.isdigit() else button.locator("kbd").inner_text())
            assert button.get_attribute("aria-checked") == "true"
        page.keyboard.press("Enter")
    with page.expect_download() as download:
        page.keyboard.press("s")
    download.value.save_as(tmp_path / "answers.csv")
    found = read_annotations([tmp_path / "answers.csv"], questions, [item.id for item in items])
    assert [one.answers for one in found] == wanted
    page.context.close()


ITEMS = [Item(id=content_id("item", str(n)), text=f"The film of the year {n}.") for n in range(9)]
ID = ITEMS[0].id


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("id,label,natural\n0123456789abcdef,pos,2", "0123456789abcdef"),
        (f"id,label,natural\n{ID},pos,", "natural"),
        (f"id,label,natural\n{ID},pos,2", "relevant"),
        (f"id,label,natural\n{ID},,", "--answers"),
    ],
)
def test_answers_are_taken_whole_or_not_at_all(tmp_path: Path, content: str, named: str) -> None:
    cases = [replace(item, description="negation") for item in ITEMS]
    write_sheets(cases, tmp_path, seed=0)
    path = tmp_path / "answers.csv"
    path.write_text(content, encoding="utf-8")
    file = AnnotationFile(tmp_path / "annotations.jsonl")
    with pytest.raises(S2lctError) as error:
        import_answers(path, read_sheets(tmp_path), "Ada", file)
    assert "answers.csv" in error.value.problem
    assert named in error.value.problem
    assert not file.path.exists()
    path.write_text(f"id,label,natural,relevant\n{ID},pos,2,no", encoding="utf-8")
    assert import_answers(path, read_sheets(tmp_path), "Ada", file) == 1
    assert not file.annotations.accepts(ID, {"positive"})
    assert [one.relevant for one in file.all] == [False]


ROWS = [
    {"id": f"i{ITEMS[0].id}", "annotator": "Ada", "label": "pos", "natural": 2, "relevant": True},
    {"id": ITEMS[1].id, "annotator": "Ada", "label": "neg", "natural": 0, "relevant": False},
    {"id": ITEMS[0].id, "annotator": "Bob", "label": "neutral", "natural": "1", "relevant": "no"},
    {"id": ITEMS[2].id, "annotator": "", "label": None, "natural": None, "relevant": None},
]


@pytest.mark.parametrize("name", ["answers.jsonl", "answers.csv", "answers"])
def test_answers_are_of_whom_their_rows_name_in_whatever_format(tmp_path: Path, name: str) -> None:
    write_sheets([replace(item, description="negation") for item in ITEMS], tmp_path, seed=0)
    path = tmp_path / name
    named = ROWS[:3]
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in named), encoding="utf-8")
    else:
        columns = list(ROWS[0])
        cells = [
            [
                {True: "1", False: "0"}.get(row[c], row[c]) if c == "relevant" else row[c]
                for c in columns
            ]
            for row in named
        ]
        path.write_text(as_csv([columns, *cells]), encoding="utf-8")
    file = AnnotationFile(tmp_path / "annotations.jsonl")
    assert import_answers(path, read_sheets(tmp_path), "", file) == 3
    assert {(one.annotator, one.id, one.label, one.natural, one.relevant) for one in file.all} == {
        ("Ada", ITEMS[0].id, "positive", 2, True),
        ("Ada", ITEMS[1].id, "negative", 0, False),
        ("Bob", ITEMS[0].id, "neutral", 1, False),
    }
    # Under one name none replaces another's.
    before = file.path.read_bytes()
    with pytest.raises(AnnotationError, match="Bob, not of ada") as error:
        import_answers(path, read_sheets(tmp_path), "ada", file)
    assert "leave --annotator out" in error.value.hint
    assert file.path.read_bytes() == before


def test_answers_that_nobody_signed_ask_for_a_name(tmp_path: Path) -> None:
    write_sheets(ITEMS, tmp_path, seed=0)
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({**ROWS[0], "annotator": None}), encoding="utf-8")
    file = AnnotationFile(tmp_path / "annotations.jsonl")
    with pytest.raises(AnnotationError, match="line 1: names no annotator") as error:
        import_answers(path, read_sheets(tmp_path), "", file)
    assert "--annotator" in error.value.hint and not file.path.exists()
    assert import_answers(path, read_sheets(tmp_path), "Ada", file) == 1
    # Nobody becomes two annotators by another spelling.
    assert import_answers(path, read_sheets(tmp_path), "ADA", file) == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"base_url": "http://localhost/v1"}, "--model"),
        ({"model": ["one"]}, "--base-url"),
        ({"base_url": "http://x/v1", "model": ["one", "one"]}, "--model"),
        ({"base_url": "http://x/v1", "model": ["one", "two", "three"]}, "--model"),
        ({"api_key_env": "KEY"}, "--api-key-env"),
        ({"annotations": []}, "--annotations"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, options: dict[str, Any], named: str
) -> None:
    given = {"out": tmp_path / "sheets", "annotations": [tmp_path / "a.jsonl"]} | options
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


MODELS = ("--model", "one", "--model", "two")


def command_for(server: ChatServer, corpus: Path, folder: Path, *more: str) -> list[str]:
    command = ["curate", "--corpus", f"csv:{corpus}", "--seeds", "3", *(more or MODELS)]
    command += [part for name in NAMES for part in ("--capability", name)]
    command += ["--annotations", str(folder / "annotations.jsonl"), "--out", str(folder / "sheets")]
    return [*command, "--base-url", server.base_url]


THREE_TIMES = """
import os, pathlib, sys
sys.path.insert(0, sys.argv.pop(1))
import httpx
from stub_models import stub_models
from s2lct.cli.main import main
ended = []
for _ in range(3):
    process = os.fork()
    if not process:
        pathlib.Path("pid").write_text(str(os.getpid()))
        with stub_models():
            main()
    ended.append(os.waitpid(process, 0)[1])
print(*ended)
"""


def test_killed_it_goes_on_and_asks_nothing_twice(
    server: ChatServer, corpus_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-server")
    cut_off: list[Asked] = []

    def kill(asked: Asked) -> None:
        if len(server.asked) in (2, 6):
            cut_off.append(asked)
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    server.before_answer = kill
    command = ["-c", THREE_TIMES, str(TESTS), *command_for(server, corpus_path, tmp_path)]
    done = warm_process.run(command, env=os.environ, cwd=tmp_path)
    assert done.stdout.split()[-3:] == ["9", "9", "0"], done.stderr
    answered = Counter(
        (asked.model, about, text)
        for asked in server.asked
        if asked not in cut_off
        for about, text in asked.texts
    )
    assert set(answered.values()) == {1}
    assert {each.temperature for each in server.asked} == {0}
    # Where no key is named, none is sent.
    assert not any("sk-" in each.authorization for each in server.asked)
    assert rows_of(config_for(corpus_path, tmp_path), tmp_path / "suite")


def test_a_careless_model_and_a_server_that_cannot_be_asked_get_one_clear_error(
    server: ChatServer, corpus_path: Path, tmp_path: Path
) -> None:
    models = ("--model", "careless", "--model", "two")
    done = run(*command_for(server, corpus_path, tmp_path, *models))
    assert (done.exit_code, "careless" in done.stderr) == (1, True)
    assert [asked.model for asked in server.asked] == ["careless"]
    server.base_url = server.base_url.replace("/v1", "/v2")
    done = run(*command_for(server, corpus_path, tmp_path))
    assert (done.exit_code, "404" in done.stderr) == (1, True)
    with output_lock(tmp_path / "annotations.jsonl"):
        done = run(*command_for(server, corpus_path, tmp_path))
    assert (done.exit_code, "annotations.jsonl" in done.stderr) == (1, True)


def test_the_key_comes_from_the_environment_and_stays_there(
    server: ChatServer, corpus_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READING_KEY", KEY)
    server.before_answer = lambda asked: (401, f"no such key: {asked.authorization}")
    done = run(*command_for(server, corpus_path, tmp_path), "--api-key-env", "READING_KEY")
    assert (done.exit_code, KEY in done.output) == (1, False)
    assert {asked.authorization for asked in server.asked} == {f"Bearer {KEY}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in files)
