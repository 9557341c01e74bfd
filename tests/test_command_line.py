"""What every command has in common: help, versions, streams, checks of options, interrupts."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.core import TyperGroup
from typer.testing import CliRunner

import s2lct
from s2lct.builder.write import COUNTED
from s2lct.cli.console import PlainConsole, PlainRecord, errors_shown
from s2lct.cli.main import app, closing_table
from s2lct.command import RandomSeed, Share
from s2lct.command import command as checked
from s2lct.errors import OptionError, extra_of
from s2lct.plain_text import plain
from s2lct.tables import Table

RUNNER = CliRunner()
ROOT = Path(__file__).parents[1]
HEAVY = {"torch", "transformers", "datasets", "numpy", "pyarrow", "spacy", "scipy"}
FOR_SCRIPTS = {"CapabilityCallback", "load_suite", "score"}
"""Names of the package that are no function of a command's options alone."""


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
    suite_folder: Path, tmp_path: Path, own_cache: Path
) -> None:
    """Progress goes to standard error, and so do notes."""
    results = tmp_path / "results"
    done = run("score", "vader", "--suite", str(suite_folder), "--out", str(results))
    assert done.exit_code == 0, done.output
    assert "━" in done.stderr
    assert re.search(r"\d+/\d+", done.stderr)
    first, *_ = done.stdout.splitlines()
    assert not re.search(r"\d+/\d+", first)
    assert "vader ━" not in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        "build --out suite --seeds 0",
        "build --out suite --expansions x",
        "build --out suite --seed -1",
        "score vader --suite nowhere --limit -1",
        "score vader --suite nowhere --neutral-band 0.6 0.4",
        "score vader --suite nowhere --neutral-band nan 0.5",
        "explain vader --suite nowhere --limit -1",
        "retrain vader --suite nowhere --on LC4 --out out --epochs -1",
        "inspect nowhere --n 0",
        "build --out suite --corpus csv:nowhere.csv --label-map LABEL_0:negative",
        "score vader --suite nowhere --label-map LABEL_0:negative",
    ],
)
def test_options_are_checked_before_anything_is_read(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments.split(), columns=200)
    assert done.exit_code in (1, 2), done.output
    assert re.findall(r"--[\w-]+", arguments)[-1] in done.output
    assert "Traceback" not in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
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
def test_files_that_are_none_are_named_before_work_begins(
    arguments: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    done = run(*arguments.split(), columns=200)
    assert done.exit_code in (1, 2), done.output
    assert option in done.output.lower()
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


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setitem(sys.modules, "afinn", None)
    out = str(tmp_path / "results")
    done = run("score", "afinn", "--suite", str(suite_folder), "--out", out, columns=200)
    assert done.exit_code == 1, done.output
    assert 'pip install "s2lct[baselines]"' in done.stderr
    assert extra_of("matplotlib.pyplot") == "analysis"
    for module in ("torch", "hypothesis", "nothing_of_that_name", ""):
        assert extra_of(module) is None
    with pytest.raises(ModuleNotFoundError), errors_shown():
        raise ModuleNotFoundError("No module named 'torch'", name="torch")


def test_options_hold_what_they_can_have() -> None:
    @checked
    def draw(*, seed: Annotated[RandomSeed, typer.Option()] = 0, share: Share = 0.5) -> int:
        return seed

    assert draw(seed=2**32 - 1) == 2**32 - 1
    for wrong in ({"seed": 2**32}, {"seed": "x"}, {"share": 0}, {"share": math.nan}):
        with pytest.raises(OptionError, match=f"--{next(iter(wrong))}: "):
            draw(**wrong)


def test_every_command_is_a_function() -> None:
    functions = {name for name in dir(s2lct) if not name.startswith("_")} - FOR_SCRIPTS
    assert {"build", "compare", "report", "gate", "coverage", "retrain", "install"} <= functions
    for name in functions:
        function = getattr(s2lct, name)
        assert function.__doc__


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


@given(st.text())
def test_plain_text_is_a_printable_line_and_no_markup(text: str) -> None:
    assert plain(text).isprintable()
    assert len(plain(text)) == len(text)
    assert shown(f"x[/nothing][bold]{plain(text)}").startswith("x[/nothing][bold]")


def test_what_libraries_log_is_shown_and_not_obeyed() -> None:
    record = PlainRecord("x", 30, "", 0, "%s", ("\x1b[2J hf_abcdefgh12345678",), None)
    assert "\x1b" not in record.getMessage()
    assert "abcdefgh12345678" not in record.getMessage()


@given(
    st.lists(
        st.fixed_dictionaries(dict.fromkeys(COUNTED, st.integers(0, 9_999_999))),
        min_size=1,
        max_size=11,
    )
)
def test_no_number_of_a_build_is_cut(rows: list[dict[str, int]]) -> None:
    text = shown(closing_table({f"LC{n}": row for n, row in enumerate(rows)}), width=80)
    assert max(map(len, text.splitlines())) <= 80
    numbers = {f"{number:,}" for row in rows for number in row.values() if number}
    assert numbers <= set(re.findall(r"[\d,]*\d", text))
    assert ("sentiment" in text) == any(row["rejected_sentiment"] for row in rows)


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


@pytest.mark.parametrize("form", ["jsonl", "csv", "checklist"])
def test_export_keeps_every_case(suite_folder: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"suite.{form}"
    done = run("export", str(suite_folder), "--out", str(out), "--format", form)
    assert done.exit_code == 0, done.output
    described = json.loads((suite_folder / "suite.json").read_text())
    rows = sum(file["rows"] for file in described["files"].values())
    content = out.read_text(encoding="utf-8")
    if form == "jsonl":
        texts = [json.loads(line)["text"] for line in content.splitlines()]
    elif form == "csv":
        texts = [row["text"] for row in csv.DictReader(content.splitlines())]
    else:
        tests = json.loads(content)["tests"]
        texts = [text for test in tests for case in test["data"] for text in case]
        rows -= sum(counts["counterparts"] for counts in described["counts"].values())
    assert len(texts) == rows
