"""The commands of README.md and of docs/your-corpus.md, in their order, as written.

Each works on what those before it left.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from chat_server import ChatServer
from hub_fixtures import HubClient
from hub_server import MAINTAINER
from test_curation import People, fill, label_of
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.builder.config import BuildConfig
from s2lct.builder.curation.curate import curate
from s2lct.cli.main import app
from s2lct.labels import LABELS
from s2lct.suite.tables import case_id

README = Path(__file__).parents[1] / "README.md"
YOUR_CORPUS = README.parent / "docs" / "your-corpus.md"
ANNOTATIONS = README.parent / "builder" / "data" / "annotations"
ORG = "s2lct-org"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What a test does not have, by what in a command needs it.
SKIPPED = {
    r"^pip |^hf ": "is no command of ours",
    r"\bpytest\b": "is this very run",
    r"^python ": "is a script of the reader's own",
    r"sst[:/]|hf:": "needs data that cannot be shipped",
    r"--base-url|--llm": "needs a server or a language model",
    r"predicted\.csv": "needs what a reader's own stack wrote",
    r"^s2lct build": "takes minutes; the suite is there",
    r"\btrainer\b": "needs a model in training",
}
# Does what a reader does; a gate may fail and a submission be refused, which is no error.
READER = """
import json, shlex, sys
from pathlib import Path
from huggingface_hub import HfApi
from typer.testing import CliRunner
from s2lct.cli.main import app
HfApi().create_repo("ORG/MODEL")
HfApi().upload_folder(repo_id="ORG/MODEL", folder_path="my-model")
for language, text in json.loads(sys.argv[1]):
    print(text)
    if language == "python":
        exec(compile(text, "README", "exec"), {})
        continue
    words = [sorted(map(str, Path().glob(w))) if "*" in w else [w] for w in shlex.split(text)]
    command, *arguments = sum(words, [])
    assert command == "s2lct", text
    given = arguments[: arguments.index(">")] if ">" in arguments else arguments
    done = CliRunner().invoke(app, given)
    assert done.exit_code in (0, 1) and "Error" not in done.output, done.output
"""


@dataclass(frozen=True)
class Step:
    """One command or snippet."""

    language: str
    text: str

    @property
    def skipped(self) -> str:
        """Why it is not run; empty if it is."""
        found = (why for needs, why in SKIPPED.items() if re.search(needs, self.text))
        return next(found, "")


def steps(page: Path) -> Iterator[Step]:
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "bash":
            for line in text.replace("\\\n", " ").splitlines():
                for part in shlex.join(shlex.split(line, comments=True)).split(" '&&' "):
                    if part:
                        yield Step(language, re.sub(r"'([*/\w.\[\]-]+)'", r"\1", part))
        elif language in ("python", "csv"):
            yield Step(language, text)


def parse(words: list[str]) -> None:
    """Fail where there is no such command, or an option that it does not have."""
    command = typer.main.get_command(app)
    words = list(words)
    while hasattr(command, "commands") and words and re.match(r"[a-z]", words[0]):
        name = words.pop(0)
        command = command.commands.get(name) or pytest.fail(f"there is no command {name}")
    if hasattr(command, "commands"):
        return  # the name of a group
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    named = {re.split(r"[^\w-]", word)[0] for word in words if word.startswith("--")}
    assert named <= known | {"--help"}, words


def test_readme_from_top_to_bottom(hub: HubClient, suite_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(suite_folder, folder / "dist" / "s2lct")
    save_tiny_classifier(folder / "my-model", LABELS)
    steps_to_run: list[tuple[str, str]] = []
    published = False
    for step in steps(README):
        text = re.sub(r"\bORG\b", ORG, step.text)
        published = published or "s2lct publish dataset" in text
        if step.skipped or (f"{ORG}/s2lct" in text and not published):
            words = shlex.split(text) if step.language == "bash" else []
            if words[:1] == ["s2lct"] and "…" not in text and ">" not in words:
                parse(words[1:])
        else:
            steps_to_run.append((step.language, text))
    assert len(steps_to_run) > 10
    printed = hub.python(READER.replace("ORG", ORG), json.dumps(steps_to_run), cwd=folder)
    # Nothing that is printed, kept or shown on a page holds a token.
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written and MAINTAINER.token not in printed
    assert not [path for path in written if MAINTAINER.token.encode() in path.read_bytes()]


def test_from_a_table_of_sentences_to_a_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    table, *commands = steps(YOUR_CORPUS)
    Path("reviews.csv").write_text(table.text, encoding="utf-8")
    # What annotators see but for the broken sentences.
    readers = [People("one"), People("other")]
    given = {"corpus": "csv:reviews.csv", "domain": "product", "annotations": (Path("t.jsonl"),)}
    assert not curate(BuildConfig.checked(out=Path("t"), **given), models=readers).left
    genuine = frozenset(text for reader in readers for text in reader.read_texts.values())

    def read(model: str, description: str, text: str) -> str:
        return f"{label_of(description, text)} {2 * (text in genuine)}" + " 1" * bool(description)

    with ChatServer(read) as server:
        for step in commands:
            words = shlex.split(step.text.replace("http://localhost:8000/v1", server.base_url))
            if "--answers" in words:
                fill(next(Path("sheets").rglob("sheet-001.csv")), genuine, Path("ada.csv"))
            done = CliRunner().invoke(app, words[1:])
            assert words[0] == "s2lct" and not done.exit_code, step.text + done.output
    assert "set aside: 1 ratings, 1 fragments" in caplog.text
    assert '"Ada"' in Path("mine.jsonl").read_text(encoding="utf-8")
    assert Path("report.html").stat().st_size and server.asked


def test_git_ignores_what_the_commands_of_the_readme_write() -> None:
    if not (README.parent / ".git").exists():
        pytest.skip("not in a clone")
    text = README.read_text("utf-8")
    written = set(re.findall(r"^s2lct .*? --(?:out|html) (\S+)", text, re.MULTILINE))
    written.add("predicted.csv")
    assert {"results/", "report.html", "site/", "cases.csv"} <= written
    for name in written:
        done = subprocess.run(["git", "check-ignore", "-q", name], cwd=README.parent)
        assert done.returncode == 0, name


def test_the_example_in_the_readme_is_a_published_case() -> None:
    published = set(pq.read_table(ANNOTATIONS / "sst.parquet")["id"].to_pylist())
    marks = {" ": "seed", "+": "expansion", "↔": "contrast"}
    example = README.read_text("utf-8").split("```\n", 2)[1]
    heading, *lines = example.splitlines()
    for line, kind in zip(lines, marks.values(), strict=True):
        text = re.sub(r"\s+\((?:positive|negative)\) .*", "", line[2:]).translate({91: "", 93: ""})
        assert marks[line[0]] == kind
        assert case_id(kind, heading.split()[0], text) in published
