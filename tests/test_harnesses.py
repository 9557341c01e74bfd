"""The suite in other harnesses: their own runs, with the figures that `s2lct score` has."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomllib
import yaml
from chat_server import ChatServer
from hub_fixtures import HubClient
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import save_tiny_gpt2, save_tiny_llama
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import OutputError, ScoringError
from s2lct.labels import LABELS, OPENING, PROMPTS
from s2lct.leaderboard.models.classifier import Function
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.leaderboard.models.language_model import LabelPrompt, LanguageModel
from s2lct.leaderboard.scoring.score import Outcomes, score
from s2lct.suite.cases import families_of, load_cases
from s2lct.suite.harness import ANSWER, export_lm_eval, harness_splits, harness_table, shared_answer

pytestmark = pytest.mark.usefixtures("own_cache")

ROOT = Path(__file__).parents[1]
REPO = "s2lct-org/s2lct"
needs_inspect = pytest.mark.skipif(
    importlib.util.find_spec("inspect_ai") is None, reason='needs pip install "s2lct[inspect]"'
)
needs_lm_eval = pytest.mark.skipif(
    importlib.util.find_spec("lm_eval") is None, reason='needs pip install "s2lct[lm-eval]"'
)


def accuracies(outcomes: Outcomes) -> dict[str, float]:
    """Passing shares of each capability, and their mean."""
    failed: dict[str, list[bool]] = {}
    for case, fails in zip(outcomes.cases, outcomes.failed.tolist(), strict=True):
        failed.setdefault(case.capability, []).append(fails)
    shares = {name: 1 - sum(own) / len(own) for name, own in failed.items()}
    return shares | {"all": sum(shares.values()) / len(shares)}


def answered(asked: str) -> str:
    """A label that follows from the words asked about, whatever they mean."""
    return LABELS[sum(map(ord, asked)) % len(LABELS)]


def labelled(texts: list[str]) -> list[str]:
    return [answered(PROMPTS[0].replace("{text}", text)) for text in texts]


# What is read of a written answer

marks = st.text(st.sampled_from("*_.!\"'`()[]: \t#>-"), max_size=6)


@given(label=st.sampled_from(LABELS), before=marks, after=marks, more=st.text(max_size=30))
def test_a_label_that_stands_alone_on_the_first_line_is_an_answer(
    label: str, before: str, after: str, more: str
) -> None:
    for written in (label, label.upper(), label.title()):
        found = re.search(ANSWER, f"{before}{written}{after}\n{more}", re.IGNORECASE)
        assert found and found[1].lower() == label


@given(words=st.lists(st.sampled_from([*LABELS, "not", "very", "I"]), min_size=2, max_size=4))
def test_more_words_than_a_label_are_no_answer(words: list[str]) -> None:
    for pattern in (ANSWER, shared_answer()):
        assert not re.search(pattern, " ".join(words), re.IGNORECASE)
        assert not re.search(pattern, f"{words[0]}ly", re.IGNORECASE)
        assert not re.search(pattern, "", re.IGNORECASE)


@pytest.mark.parametrize("passes", [{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}])
def test_one_pattern_captures_the_target_of_answers_that_pass(passes: set[int]) -> None:
    suite = load_cases(
        [
            {"id": "a", "capability": "LC1", "kind": "seed", "seed_id": "a"}
            | {"text": "A film.", "labels": sorted(passes)}
        ]
    )
    (row,) = harness_table(suite.cases).to_pylist()
    assert row["passes"] == [LABELS[label] for label in sorted(passes)]
    for label, name in enumerate(LABELS):
        found = re.search(shared_answer(), f"**{name.title()}**.", re.IGNORECASE)
        assert found
        captured = [part.lower() for part in found.groups() if part]
        assert (row["target"] in captured) == (label in passes)


@given(
    st.lists(st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,6}", fullmatch=True), unique=True, max_size=6)
)
def test_every_capability_has_a_split_of_its_own(capabilities: list[str]) -> None:
    splits = harness_splits(capabilities)
    assert list(splits) == capabilities
    assert len({"test", *splits.values()}) == len(capabilities) + 1
    assert all(re.fullmatch(r"\w+", split) for split in splits.values())


# lm-evaluation-harness


@pytest.fixture
def own_data_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")


def run_lm_eval(tasks: Path, group: str, kind: str, **arguments: Any) -> dict[str, Any]:
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    done = simple_evaluate(
        model=kind,
        model_args=arguments,
        tasks=[group],
        batch_size=8 if kind == "hf" else 1,
        device="cpu",
        bootstrap_iters=0,
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        apply_chat_template=kind != "hf",
    )
    metric = "exact_match,label" if group.endswith("gen") else "acc,none"
    return {
        "all" if name == group else result["alias"].removeprefix(" - "): result[metric]
        for name, result in done["results"].items()
    }


@needs_lm_eval
@pytest.mark.usefixtures("own_data_cache")
@pytest.mark.parametrize(
    ("kind", "prompt"), [("gpt2", None), ("llama", 'Film: {text}\nVerdict {{of}} {% three %}: "')]
)
def test_lm_eval_has_the_figures_of_score(
    suite_folder: Path, tmp_path: Path, kind: str, prompt: str | None
) -> None:
    """Of tiny models with random weights; the tokenizer of one begins texts with a token."""
    random_model = tmp_path / kind
    if kind == "gpt2":
        save_tiny_gpt2(random_model, seed=3)
    else:
        save_tiny_llama(random_model, seed=3, framed="<s> $A")
    tasks = tmp_path / "tasks"
    given = [] if prompt is None else ["--prompt", prompt.replace("\n", "\\n")]
    arguments = ["export", str(suite_folder), "--format", "lm-eval", "--out", str(tasks), *given]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    suite = load_cases(suite_folder)
    assert f"{len(suite.cases):,} cases" in done.output
    asks = LabelPrompt() if prompt is None else LabelPrompt(prompt)
    expected = accuracies(score(LanguageModel(str(random_model), asks, dtype="float32"), suite))
    assert len({round(share, 6) for share in expected.values()}) > 3
    told = run_lm_eval(tasks, "s2lct", "hf", pretrained=str(random_model), dtype="float32")
    assert told == pytest.approx(expected)


def test_an_export_gives_the_same_files_again_and_spares_others(
    suite_folder: Path, tmp_path: Path
) -> None:
    def files() -> dict[str, bytes]:
        found = [path for path in tasks.rglob("*") if path.is_file()]
        return {str(path.relative_to(tasks)): path.read_bytes() for path in found}

    tasks = tmp_path / "tasks"
    export_lm_eval(suite_folder, tasks)
    first = files()
    export_lm_eval(suite_folder, tasks)
    assert files() == first
    (tasks / "data" / "essay.txt").write_text("Mine.")
    with pytest.raises(OutputError, match=r"--out .*essay\.txt"):
        export_lm_eval(suite_folder, tasks)
    assert files().keys() == {*first, "data/essay.txt"}
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "essay.txt").write_text("Mine.")
    with pytest.raises(OutputError, match=r"--out .*essay\.txt"):
        export_lm_eval(suite_folder, mine)
    assert [path.name for path in mine.iterdir()] == ["essay.txt"]
    with pytest.raises(ScoringError, match=r"has no \{text\}"):
        export_lm_eval(suite_folder, tmp_path / "new", "Good or bad?")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("end", [*OPENING, ":", " ", "\n"])
def test_label_words_follow_prompts_as_they_do_in_score(
    suite_folder: Path, tmp_path: Path, end: str
) -> None:
    asks = LabelPrompt(f"{{text}} Verdict{end}")
    export_lm_eval(suite_folder, tmp_path / "tasks", asks.prompt)
    shared = yaml.safe_load((tmp_path / "tasks" / "_s2lct").read_text())
    asked = shared["doc_to_text"].replace("{{text}}", "A film.")
    words = [f"{asked}{shared['target_delimiter']}{word}" for word in shared["doc_to_choice"]]
    assert words == asks.completed("A film.")


# inspect_ai


def mocked(answers: Callable[[str], str]) -> Any:
    """A model of inspect's that answers by a rule, with usage, or its tokenizer is fetched."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages: list[Any], *_: Any) -> Any:
        output = ModelOutput.from_content("mockllm/model", answers(messages[-1].text))
        output.usage = ModelUsage()
        return output

    return get_model("mockllm/model", custom_outputs=answer)


def run_inspect(task: Any, model: Any, folder: Path) -> Any:
    import inspect_ai

    (log,) = inspect_ai.eval(
        task, model=model, log_dir=str(folder / "logs"), display="none", log_format="json"
    )
    assert log.status == "success", log.error
    return log


def told_by(log: Any) -> dict[str, float]:
    return {name: one.value for name, one in log.results.scores[0].metrics.items()}


@needs_inspect
def test_inspect_has_the_figures_of_score(suite_folder: Path, tmp_path: Path) -> None:
    from s2lct.leaderboard.integrations.inspect_tasks import every_capability

    suite = load_cases(suite_folder)
    expected = accuracies(score(Function(labelled, "rule"), suite))
    assert len({round(share, 6) for share in expected.values()}) > 3

    def shown(asked: str) -> str:
        return f"**{answered(asked).title()}**."

    log = run_inspect(every_capability(suite=str(suite_folder)), mocked(shown), tmp_path)
    metrics = told_by(log)
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)
    assert log.eval.metadata["fingerprint"] == suite.fingerprint
    assert {sample.id for sample in log.samples} == {case.id for case in suite.cases}
    for name in ("LC4", "LC8"):
        own = run_inspect(
            every_capability(str(suite_folder), capability=name), mocked(shown), tmp_path
        )
        assert told_by(own)["accuracy"] == pytest.approx(expected[name])


@needs_inspect
def test_samples_tell_what_they_are(suite_folder: Path) -> None:
    from s2lct.leaderboard.integrations.inspect_tasks import samples_of

    suite = load_cases(suite_folder)
    samples = samples_of(suite)
    families: dict[str, set[int]] = {}
    for sample, family in zip(samples, families_of(suite.cases).tolist(), strict=True):
        families.setdefault(sample.metadata["family"], set()).add(family)
    assert all(len(numbers) == 1 for numbers in families.values())
    assert len(families) == len(set(families_of(suite.cases).tolist()))
    by_id = {case.id: case for case in suite.cases}
    for sample in samples:
        case = by_id[sample.id]
        assert sample.input == PROMPTS[0].replace("{text}", case.text)
        assert set(sample.target) == {LABELS[label] for label in case.passes}
        assert sample.metadata["capability"] == case.capability
        assert sample.metadata["kind"] == case.kind
    assert any(len(sample.target) > 1 for sample in samples)


@needs_inspect
def test_answers_that_are_none_pass_no_case(suite_folder: Path, tmp_path: Path) -> None:
    from s2lct.leaderboard.integrations.inspect_tasks import every_capability

    task = every_capability(suite=str(suite_folder), limit=2, capability="lc4,LC1")
    log = run_inspect(task, mocked(lambda _: "I'd say neutral or positive."), tmp_path)
    assert len(log.samples) == 4
    assert set(told_by(log)) == {"LC1", "LC4", "all"}
    assert set(told_by(log).values()) == {0}


@needs_inspect
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"suite": "none/such"}, "neither a folder here nor a data set"),
        ({"capability": "LC77"}, "has no capability LC77"),
        ({"prompt": "Good?"}, "has no {text}"),
        ({"limit": 0}, "--limit 0"),
    ],
)
def test_inspect_says_what_is_wrong_with_a_task(
    suite_folder: Path, arguments: dict[str, Any], problem: str
) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from s2lct.leaderboard.integrations.inspect_tasks import every_capability

    with pytest.raises(PrerequisiteError) as refused:
        every_capability(**{"suite": str(suite_folder)} | arguments)
    assert problem in str(refused.value.message)


def test_inspect_finds_the_tasks_by_the_packages_entry_point() -> None:
    with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
        points = tomllib.load(file)["project"]["entry-points"]["inspect_ai"]
    for place in points.values():
        assert importlib.util.find_spec(place.partition(":")[0])


class LabelServer(ChatServer):
    """Answers every question by a rule: with the label that follows from its words, or another."""

    def __init__(self, written: Callable[[str], dict[str, Any]] | None = None) -> None:
        super().__init__(lambda *_: "")
        self.written = written or (lambda asked: {"content": answered(asked).title() + "."})
        self.questions: list[str] = []

    def answer(self, body: dict[str, Any], authorization: str) -> tuple[int, dict[str, Any]]:
        (message,) = body["messages"]
        content = message["content"]
        if not isinstance(content, str):
            content = "".join(part["text"] for part in content)
        self.questions.append(content)
        said = {"role": "assistant"} | self.written(content)
        finish = said.pop("finish_reason", "stop")
        return 200, {
            "id": "1",
            "created": 0,
            "model": body["model"],
            "object": "chat.completion",
            "choices": [{"index": 0, "message": said, "finish_reason": finish}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }


@needs_inspect
@needs_lm_eval
@pytest.mark.usefixtures("own_data_cache")
def test_a_model_behind_an_endpoint_has_the_same_figures_in_every_harness(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    from s2lct.leaderboard.integrations.inspect_tasks import every_capability

    suite = load_cases(suite_folder)
    questions = {PROMPTS[0].replace("{text}", case.text) for case in suite.cases}
    expected = accuracies(score(Function(labelled, "rule"), suite))
    with LabelServer() as server:
        for name in ("OPENAI_API_KEY", "LOCAL_API_KEY"):
            monkeypatch.setenv(name, "none")
        monkeypatch.setenv("LOCAL_BASE_URL", server.base_url)
        outcomes = score(EndpointModel("rule", LabelPrompt(PROMPTS[0]), server.base_url), suite)
        assert accuracies(outcomes) == pytest.approx(expected)
        # Counterparts are asked, too, and in no failure rate.
        assert set(server.questions) > questions
        server.questions.clear()
        task = every_capability(suite=str(suite_folder))
        metrics = told_by(run_inspect(task, "openai-api/local/rule", tmp_path))
        assert {name: metrics[name] for name in expected} == pytest.approx(expected)
        assert set(server.questions) == questions
        server.questions.clear()
        export_lm_eval(suite_folder, tmp_path / "tasks")
        told = run_lm_eval(
            tmp_path / "tasks",
            "s2lct_gen",
            "local-chat-completions",
            model="rule",
            base_url=f"{server.base_url}/chat/completions",
            tokenizer_backend=None,
        )
        assert told == pytest.approx(expected)
        assert set(server.questions) == questions


# The Hub

HUB_TASKS = """
import json, sys
import inspect_ai
from inspect_ai._eval.task.hf import task_create_from_hf
from inspect_ai.model import ModelOutput, ModelUsage, get_model
LABELS = json.loads(sys.argv[2])
def answer(messages, *_):
    asked = messages[-1].text
    output = ModelOutput.from_content("m", f"**{LABELS[sum(map(ord, asked)) % 3].title()}**.")
    output.usage = ModelUsage()
    asked_of.append(asked)
    return output
told = {}
for task in task_create_from_hf("hf/" + sys.argv[1])[:3]:
    asked_of = []
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    (log,) = inspect_ai.eval(task, model=model, log_dir="logs", display="none")
    assert log.status == "success", log.error
    told[task.name] = {
        "accuracy": log.results.scores[0].metrics["accuracy"].value,
        "asked": asked_of,
        "passes": {s.metadata["id"]: s.metadata["passes"] for s in log.samples},
        "choices": log.samples[0].choices,
    }
print(json.dumps(told))
"""


@needs_inspect
def test_inspect_runs_what_the_hub_is_told(hub: HubClient, suite_folder: Path) -> None:
    hub.s2lct("publish", "dataset", suite_folder, "--repo", REPO, "--version", "1.0.0")
    files = hub.server.files("dataset", REPO)
    benchmark = yaml.safe_load(files["eval.yaml"])
    assert benchmark["evaluation_framework"] == "inspect-ai"
    told = json.loads(hub.fresh_python(HUB_TASKS, REPO, json.dumps(LABELS)).splitlines()[-1])
    suite = load_cases(suite_folder)
    outcomes = score(Function(labelled, "rule"), suite)
    expected = accuracies(outcomes) | {"all": 1 - outcomes.failed.mean()}
    assert list(told) == [f"hf/{REPO}/{name}" for name in ("all", "lc1", "lc2")]
    for name, task in zip(("all", "LC1", "LC2"), told, strict=True):
        cases = [case for case in suite.cases if name in ("all", case.capability)]
        assert told[task]["accuracy"] == pytest.approx(expected[name])
        assert told[task]["passes"] == {
            case.id: [LABELS[label] for label in sorted(case.passes)] for case in cases
        }
        assert sorted(told[task]["asked"]) == sorted(
            PROMPTS[0].replace("{text}", case.text) for case in cases
        )
        assert told[task]["choices"] == list(LABELS)
