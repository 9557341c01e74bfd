"""What every command has in common: help, versions, streams, checks of options, interrupts."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.core import TyperGroup
from typer.testing import CliRunner

import s2lct
from s2lct import progress
from s2lct.analysis.labelled_classifier import LabelledClassifier
from s2lct.cli.console import PlainConsole, PlainRecord
from s2lct.cli.main import app
from s2lct.leaderboard.models.built_in import WordList
from s2lct.leaderboard.models.network import SequenceClassifier
from s2lct.plain_text import plain
from s2lct.tables import Table

RUNNER = CliRunner()
ROOT = Path(__file__).parents[1]
HEAVY = {"torch", "transformers", "datasets", "numpy", "pyarrow", "spacy", "scipy"}


def commands(
    group: Any = None, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its path, groups left out."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def names_of(option: Any) -> tuple[str, ...]:
    return (*option.opts, *option.secondary_opts)


ALL = dict(commands())


def examples_of(command: Any) -> list[list[str]]:
    _, *lines = re.split(r"^\$ ", command.epilog or "", flags=re.MULTILINE)
    return [shlex.split(line.replace("\\\n", "")) for line in lines]


def run(*arguments: str, columns: int = 80) -> Any:
    return RUNNER.invoke(app, list(arguments), env={"COLUMNS": str(columns)})


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_what_takes_one_value_is_given_once(path: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    single = [
        option
        for option in ALL[path].params
        if option.param_type_name == "option" and not option.multiple and option.name != "help"
    ]
    for option in single:
        name = max(option.opts, key=len)
        value = [] if option.is_flag else [str(tmp_path / "a")]
        shown = run(*path, name, *value, name, *value, columns=200)
        assert shown.exit_code == 2, shown.output
        assert f"{name}: given twice" in shown.output
        # An equals sign, and both names of a switch, are the same option.
        again = [f"{name}={value[0]}"] if value else [(*option.secondary_opts, name)[0]]
        assert "given twice" in run(*path, name, *value, *again, columns=200).output
    for option in ALL[path].params:
        if option.param_type_name == "option" and option.multiple:
            assert "again" in option.help, f"{option.name}: that it may be repeated is not said"


def test_one_version_is_told_everywhere() -> None:
    assert s2lct.__version__ == version("s2lct")
    assert f'version = "{s2lct.__version__}"' in (ROOT / "pyproject.toml").read_text("utf-8")
    told = f"s2lct {s2lct.__version__}\n"
    assert run("--version").output == told
    assert python("-m", "s2lct", "--version").stdout == told
    with pytest.raises(AttributeError, match="has no attribute 'versoin'"):
        s2lct.versoin  # noqa: B018


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from s2lct.__main__ import main\n"
        "sys.argv[1:] = ['--help']\n"
        "try:\n    main()\n"
        "finally:\n"
        f"    print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    shown = python("-c", script)
    assert shown.returncode == 0
    assert "Build a suite" in shown.stdout
    assert shown.stderr.strip() == "[]"


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_is_whole_at_80_columns_and_its_examples_parse(
    path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ALL[path]
    short = run(*path, "-h")
    assert short.exit_code == 0
    assert max(map(len, short.output.splitlines())) <= 80
    for option in command.params:
        assert option.help, f"{option.name} has no help"
        for name in names_of(option):
            if name.startswith("--"):
                assert re.search(rf"{name}[ ,]", short.output), f"{name} is cut off"
    monkeypatch.chdir(tmp_path)
    for folder in ("dist/s2lct", "results", "checklist-results", "study"):
        Path(folder).mkdir(parents=True)
    found = examples_of(ALL[path])
    assert found
    for _, *words in found:
        assert tuple(words[: len(path)]) == path
        given = words[len(path) : words.index(">") if ">" in words else None]
        for word in given:
            if word.endswith((".json", ".jsonl", ".jsonl.gz", ".csv", ".pkl", ".tar.gz")):
                Path(word).touch()
        with ALL[path].make_context("s2lct", given) as context:
            assert context.command is ALL[path]


def test_standard_output_holds_results_alone(
    suite_folder: Path, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress goes to standard error, and so do notes."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    results = tmp_path / "results"
    done = run("score", "vader", "--suite", str(suite_folder), "--out", str(results))
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("vader: ")
    assert "\nvader: " not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("build --out suite --seeds 0", "--seeds"),
        ("build --out suite --expansions x", "--expansions"),
        ("build --out suite --seed -1", "--seed"),
        ("score vader --suite nowhere --limit -1", "--limit"),
        ("score vader --suite nowhere --neutral-band 0.6 0.4", "--neutral-band"),
        ("score vader --suite nowhere --neutral-band nan 0.5", "--neutral-band"),
        ("score vader --suite nowhere --label-map LABEL_0:negative", "--label-map"),
        ("build --out o --corpus csv:no.csv --label-map LABEL_0:negative", "--label-map"),
        ("retrain vader --suite nowhere --on LC4 --out out --epochs -1", "--epochs"),
        ("inspect nowhere --n 0", "--n"),
        ("build --out o --annotations none.jsonl", "--annotations"),
        ("build --out o --capability folder", "--capability"),
        ("score vader --suite s --out file", "--out"),
        ("report none.json", "results"),
        ("compare none.json none.json", "first"),
        ("report file --html folder", "--html"),
        ("explain vader --suite s --out folder", "--out"),
        ("study export s --out file", "--out"),
        ("export s --out folder", "--out"),
        ("leaderboard build folder --out file", "--out"),
        ("publish results none.json --to a/b", "files"),
    ],
)
def test_what_cannot_be_is_named_before_work_begins(
    arguments: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    done = run(*arguments.split(), columns=200)
    assert done.exit_code in (1, 2), done.output
    assert option in done.output.lower()
    assert "Traceback" not in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


INTERRUPT = """
import os, signal, sys
from s2lct.__main__ import main
WHERE = sys.argv.pop(1)
# What is started in the background ignores interrupts, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if WHERE == name:
            interrupt()

sys.meta_path.insert(0, Finder())
main()
"""


@pytest.mark.parametrize("where", ["typer", "s2lct.builder.capabilities.files"])
def test_an_interrupt_at_any_time_ends_a_command(where: str) -> None:
    """While the command line is imported, and while a command is."""
    done = python("-c", INTERRUPT, where, "capabilities", timeout=60)
    assert done.returncode == 130, done.stderr
    assert re.fullmatch(r"Interrupted\..*\n", done.stderr)
    assert done.stdout == ""


def test_a_reader_that_leaves_gets_no_traceback(suite_folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "s2lct", "inspect", str(suite_folder)],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode in (0, 1, 128 + signal.SIGPIPE)
    assert done.stderr == ""


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    seconds = 0.0
    monkeypatch.setattr(progress, "monotonic", lambda: seconds)
    file = Terminal()
    with progress.show_bars(PlainConsole(file=file, width=80)):
        quick, step = progress.bar("quick", 3), progress.bar("scoring [vader]", 2_975)
        unknown = progress.bar("reading", None)
        quick(3)
        for _ in range(90):
            seconds += 1
            step(30, note="4 left")
        unknown(7)
        with progress.without_bars():
            progress.bar("inside", 1)(1)
    lines = [f"scoring [vader]: {done:,} of 2,975 4 left" for done in (900, 1_800, 2_700)]
    shown = file.getvalue()
    assert "scoring [vader]" in shown and "inside" not in shown
    assert (shown.splitlines() == [*lines, "reading: 7"]) is not is_terminal


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        ("explain embedded-3class --suite SUITE --out OUT/x.json", "captum", "analysis"),
        ("retrain embedded-3class --on LC4 --suite SUITE --out OUT", "accelerate", "analysis"),
        ("retrain embedded-3class --on LC4 --suite SUITE --out OUT", "sklearn", "analysis"),
        ("diversity SUITE", "sacrebleu", "analysis"),
        ("diversity SUITE --plot OUT/x.svg", "matplotlib", "analysis"),
        ("study import FILE --key FILE", "krippendorff", "analysis"),
        ("score vader afinn --suite SUITE --out OUT", "afinn", "baselines"),
        ("score m --base-url http://127.0.0.1:9/v1 --suite SUITE --out OUT", "httpx", "endpoints"),
        ("score vader --engine ray --suite SUITE --out OUT", "ray", "ray"),
        ("build --engine ray --out OUT", "ray", "ray"),
        (
            "curate --out OUT --annotations OUT/a --base-url http://127.0.0.1:9/v1 --model m",
            "httpx",
            "endpoints",
        ),
    ],
)
def test_packages_of_an_extra_are_missed_before_anything_is_computed(
    words: str,
    package: str,
    extra: str,
    suite_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for computes in (LabelledClassifier, WordList, SequenceClassifier):
        for name in {"labels", "probabilities", "label_scores"} & vars(computes).keys():
            monkeypatch.setattr(computes, name, lambda *_: pytest.fail("it computes"))
    (tmp_path / "file").touch()
    places = {"SUITE": suite_folder, "OUT": tmp_path / "out", "FILE": tmp_path / "file"}
    for name, path in places.items():
        words = words.replace(name, str(path))
    done = run(*words.split(), columns=200)
    assert done.exit_code == 1, done.output
    assert re.search(f"the package {package}[a-zS]* is not installed", done.stderr), done.output
    assert f'pip install "s2lct[{extra}]"' in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def shown(thing: object, width: int = 300) -> str:
    file = io.StringIO()
    PlainConsole(file=file, force_terminal=True, color_system=None, width=width).print(thing)
    return file.getvalue()


@pytest.mark.parametrize(
    "hostile",
    ["\x1b]52;c;ZXZpbA==\x07", "\x1b[2J", "\x9b2J", "a\u202eb", "\rhidden", "[/red][bold]"],
)
def test_no_escape_of_a_text_reaches_the_terminal(hostile: str) -> None:
    for thing in (hostile, Table([hostile, "x"], [[hostile, "1"]], title=hostile)):
        assert not set(shown(thing)) & set("\x07\x1b\x9b\r\u202e")
        assert "[/red]" in shown(thing) or "[/red]" not in hostile
    for command in ([hostile], ["capabilities", "--show", hostile], ["inspect", hostile]):
        told = run(*command).output
        assert told and not set(told) & set("\x07\x1b\x9b\r\u202e")


@given(st.text())
def test_plain_text_is_a_printable_line_and_no_markup(text: str) -> None:
    assert plain(text).isprintable()
    assert len(plain(text)) == len(text)
    assert shown(f"x[/nothing][bold]{plain(text)}").startswith("x[/nothing][bold]")


def test_what_libraries_log_is_shown_and_not_obeyed() -> None:
    record = PlainRecord("x", 30, "", 0, "%s", ("\x1b[2J hf_abcdefgh12345678",), None)
    assert "\x1b" not in record.getMessage()
    assert "abcdefgh12345678" not in record.getMessage()


def test_inspect_shows_seeds_with_their_expansions(suite_folder: Path) -> None:
    counts = json.loads((suite_folder / "suite.json").read_text())["counts"]
    name, count = max(counts.items(), key=lambda item: int(item[1]["expansions"]))
    whole = run("inspect", str(suite_folder), "--capability", name, "--n", "99").output
    fewer = run("inspect", str(suite_folder), "--capability", name.lower(), "--n", "1").output
    assert whole.count("  + ") == count["expansions"] > 0
    assert len(fewer) < len(whole)
    unknown = run("inspect", str(suite_folder), "--capability", "LC77")
    assert unknown.exit_code == 1
    assert "LC77" in unknown.output
