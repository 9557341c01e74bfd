"""The commands of README.md, in its order, as written: each works on what those before it left."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
import typer
from hub_fixtures import HubClient

from s2lct.cli.main import app

README = Path(__file__).parents[1] / "README.md"
ORG = "s2lct-org"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What a test does not have, by what in a command needs it.
SKIPPED = {
    r"^pip |^uv |^export |^git |^hf |^docker |^inspect |^lm_eval |^jq ": "is no command of ours",
    r"\bpytest\b": "is this very run",
    r"…": "has a gap to be filled in",
    r"^python ": "is a script of the reader's own",
    r"sst[:/]|\bsst\b|checklist|hatecheck": "needs data that cannot be shipped",
    r"\bhf:|\bHOST\b|s3:": "needs somebody's data or machines",
    r"reviews|--preset paper|answers/|disputed|key\.json": "needs files of the reader's own",
    r"--base-url|--llm|CHAT": "needs a server or a language model",
    r"predicted\.csv|mine\.json": "needs what a reader's own stack wrote",
    r"^s2lct build": "takes minutes; the suite is there",
    r"^s2lct (coverage|masks|retrain|reproduce|explain|curate|study|diversity)": (
        "takes minutes; tried by tests of its own"
    ),
    r"explanations|retrained/|tables/": "needs what was left out above",
    r"--engine ray": "starts a cluster; tried by tests of its own",
    r"\btrainer\b|\bpipeline\b|pipe\(|s2lct\.build|evaluate\.load|load_dataset\(\"ORG": (
        "needs a model in training, a pipeline or a download"
    ),
}
UPLOAD = """
from huggingface_hub import HfApi
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification
from s2lct.builder.models.shipped import encoder_path

tokenizer = AutoTokenizer.from_pretrained(encoder_path())
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32, id2label={0: "negative", 1: "neutral", 2: "positive"},
)
BertForSequenceClassification(config).save_pretrained("my-model")
tokenizer.save_pretrained("my-model")
HfApi().create_repo("ORG/MODEL")
HfApi().upload_folder(repo_id="ORG/MODEL", folder_path="my-model")
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


def steps() -> Iterator[Step]:
    for language, text in BLOCK.findall(README.read_text(encoding="utf-8")):
        if language == "bash":
            for line in text.replace("\\\n", " ").splitlines():
                for part in shlex.join(shlex.split(line, comments=True)).split(" '&&' "):
                    if part:
                        yield Step(language, re.sub(r"'([*/\w.\[\]-]+)'", r"\1", part))
        elif language in ("python", "yaml"):
            yield Step(language, text)


def expanded(words: list[str], folder: Path) -> list[str]:
    """Words with names of files for patterns, as a shell has them."""
    found = [
        sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if "*" in word else []
        for word in words
    ]
    return [one for word, files in zip(words, found, strict=True) for one in files or [word]]


def parse(words: list[str]) -> None:
    """Raise what click raises for options that the command does not have."""
    command = typer.main.get_command(app)
    while isinstance(command, click.Group):
        name = words.pop(0)
        command = command.get_command(click.Context(command), name) or pytest.fail(
            f"README: there is no command {name}"
        )
    command.make_context("s2lct", words, resilient_parsing=False)


def test_readme_from_top_to_bottom(hub: HubClient, suite_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(suite_folder, folder / "dist" / "s2lct")
    hub.python(UPLOAD.replace("ORG", ORG), cwd=folder)
    ran, published = 0, False
    for step in steps():
        text = re.sub(r"\bORG\b", ORG, step.text)
        if step.language == "yaml":
            if named := re.match(r"# ([\w.-]+)\n", text):
                (folder / named[1]).write_text(text)
            continue
        words = shlex.split(text) if step.language == "bash" else []
        published = published or "s2lct publish dataset" in text
        unpublished = f"{ORG}/s2lct" in text and not published
        if step.skipped or unpublished:
            if words[:1] == ["s2lct"] and "…" not in text and ">" not in words:
                parse(words[1:])
            continue
        if step.language == "python":
            done = hub.try_python(text, cwd=folder)
        else:
            assert words[0] == "s2lct", f"README: {text}"
            arguments = words[1 : words.index(">")] if ">" in words else words[1:]
            done = hub.try_s2lct(*expanded(arguments, folder), cwd=folder)
        told = done.stdout + done.stderr
        # A gate may fail and a submission be refused: that is an answer, and no error.
        assert done.returncode in (0, 1), f"README: {text}\n{told}"
        assert "Error" not in told and "Traceback" not in told, f"README: {text}\n{told}"
        ran += 1
    assert ran > 10
