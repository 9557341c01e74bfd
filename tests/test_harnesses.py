"""The suite in other harnesses: their own runs, with the figures that `s2lct score` has."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, completion
from damaged_suites import Rows, edited_suite
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import save_tiny_gpt2, save_tiny_llama
from typer.testing import CliRunner

from s2lct.cli.main import app
from s2lct.errors import OutputError, ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.models.endpoint import EndpointModel
from s2lct.leaderboard.models.label_prompt import LabelPrompt
from s2lct.leaderboard.models.language_model import LanguageModel
from s2lct.leaderboard.models.model import Function
from s2lct.leaderboard.scoring.score import Outcomes, score
from s2lct.suite.cases import load_suite
from s2lct.suite.harness import ANSWER, export_lm_eval
from s2lct.suite.prompts import PROMPTS

pytestmark = pytest.mark.usefixtures("own_cache")

needs_inspect = pytest.mark.skipif(
    importlib.util.find_spec("inspect_ai") is None, reason='needs pip install "s2lct[inspect]"'
)
needs_lm_eval = pytest.mark.skipif(
    importlib.util.find_spec("lm_eval") is None, reason='needs pip install "s2lct[lm-eval]"'
)


@pytest.fixture(scope="module")
def small_suite(suite_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two families of each capability."""

    def edit(_: str, rows: Rows) -> Rows:
        kept = [*dict.fromkeys(row["seed_id"] for row in rows)][:2]
        return [row for row in rows if row["seed_id"] in kept]

    return edited_suite(suite_folder, tmp_path_factory.mktemp("small") / "films", "1.0.0", edit)


def accuracies(outcomes: Outcomes) -> dict[str, float]:
    """Passing shares of each capability, and their mean."""
    failed: dict[str, list[bool]] = {}
    for case, fails in zip(outcomes.cases, outcomes.failed.tolist(), strict=True):
        failed.setdefault(case.capability, []).append(fails)
    shares = {name: 1 - sum(own) / len(own) for name, own in failed.items()}
    return shares | {"all": sum(shares.values()) / len(shares)}


def consistency(outcomes: Outcomes) -> dict[str, float]:
    """Of each capability that has contrasts, and in the mean, as inspect calls them."""
    found = {
        f"{name} consistency": of.consistency.share
        for name, of in outcomes.capabilities.items()
        if of.consistency
    }
    assert outcomes.overall.consistency is not None
    return {"consistency": outcomes.overall.consistency.macro} | found


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
    for written in (" ".join(words), f"{words[0]}ly", ""):
        assert not re.search(ANSWER, written, re.IGNORECASE)


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
    accuracy, where = ("exact_match", "label") if group.endswith("gen") else ("acc", "none")
    told = {
        ("all" if name == group else result["alias"].removeprefix(" - ")) + suffix: result[metric]
        for name, result in done["results"].items()
        for suffix, metric in (
            ("", f"{accuracy},{where}"),
            (" consistency", f"consistency,{where}"),
        )
        if metric in result
    }
    told["consistency"] = told.pop("all consistency")
    return told


@needs_lm_eval
@pytest.mark.usefixtures("own_data_cache")
@pytest.mark.parametrize(
    ("kind", "prompt"), [("gpt2", None), ("llama", 'Film: {text}\nVerdict {{of}} {% three %}: "')]
)
def test_lm_eval_has_the_figures_of_score(
    small_suite: Path, tmp_path: Path, kind: str, prompt: str | None
) -> None:
    """Of tiny models with random weights; the tokenizer of one begins texts with a token."""
    random_model = tmp_path / kind
    if kind == "gpt2":
        save_tiny_gpt2(random_model, seed=3)
    else:
        save_tiny_llama(random_model, framed="<s> $A", seed=1)
    tasks = tmp_path / "tasks"
    given = [] if prompt is None else ["--prompt", prompt.replace("\n", "\\n")]
    arguments = ["export", str(small_suite), "--format", "lm-eval", "--out", str(tasks), *given]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    suite = load_suite(small_suite)
    assert f"{len(suite.cases):,} cases" in done.output
    asks = LabelPrompt() if prompt is None else LabelPrompt(prompt)
    outcomes = score(LanguageModel(str(random_model), asks, dtype="float32"), suite)
    expected = accuracies(outcomes)
    assert len({round(share, 6) for share in expected.values()}) > 3
    expected |= consistency(outcomes)
    told = run_lm_eval(tasks, "s2lct", "hf", pretrained=str(random_model), dtype="float32")
    assert told == pytest.approx(expected)


def test_an_export_gives_the_same_files_again_and_spares_others(
    small_suite: Path, tmp_path: Path
) -> None:
    def files() -> dict[str, bytes]:
        found = [path for path in tasks.rglob("*") if path.is_file()]
        return {str(path.relative_to(tasks)): path.read_bytes() for path in found}

    tasks = tmp_path / "tasks"
    export_lm_eval(small_suite, tasks)
    first = files()
    export_lm_eval(small_suite, tasks)
    assert files() == first
    (tasks / "data" / "essay.txt").write_text("Mine.")
    with pytest.raises(OutputError, match=r"--out .*essay\.txt"):
        export_lm_eval(small_suite, tasks)
    assert files().keys() == {*first, "data/essay.txt"}
    with pytest.raises(ScoringError, match=r"has no \{text\}"):
        export_lm_eval(small_suite, tmp_path / "new", "Good or bad?")
    assert not (tmp_path / "new").exists()


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
def test_inspect_has_the_figures_of_score(small_suite: Path, tmp_path: Path) -> None:
    from s2lct.leaderboard.integrations.inspect_tasks import every_capability

    suite = load_suite(small_suite)
    outcomes = score(Function(labelled, "rule"), suite)
    expected = accuracies(outcomes) | consistency(outcomes)
    assert len({round(share, 6) for share in expected.values()}) > 3

    def shown(asked: str) -> str:
        return f"**{answered(asked).title()}**."

    log = run_inspect(every_capability(suite=str(small_suite)), mocked(shown), tmp_path)
    metrics = told_by(log)
    assert metrics == pytest.approx(expected)
    assert log.eval.metadata["fingerprint"] == suite.fingerprint
    assert {sample.id for sample in log.samples} == {case.id for case in suite.with_contrasts}
    own = run_inspect(every_capability(str(small_suite), capability="LC4"), mocked(shown), tmp_path)
    told = told_by(own)
    assert (told.pop("stderr") > 0) == (0 < expected["LC4"] < 1)
    of_capability = {"accuracy": expected["LC4"], "consistency": expected["LC4 consistency"]}
    assert told == pytest.approx(of_capability)


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
    small_suite: Path, arguments: dict[str, Any], problem: str
) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from s2lct.leaderboard.integrations.inspect_tasks import every_capability

    with pytest.raises(PrerequisiteError) as refused:
        every_capability(**{"suite": str(small_suite)} | arguments)
    assert problem in str(refused.value.message)


class LabelServer(ChatServer):
    """Answers every question with the label that follows from its words."""

    def __init__(self) -> None:
        super().__init__(lambda *_: "")
        self.questions: list[str] = []

    def answer(self, body: dict[str, Any], authorization: str) -> tuple[int, dict[str, Any]]:
        content = body["messages"][0]["content"]
        if not isinstance(content, str):
            content = "".join(part["text"] for part in content)
        self.questions.append(content)
        return 200, completion(body["model"], answered(content).title() + ".")


@needs_inspect
@needs_lm_eval
@pytest.mark.usefixtures("own_data_cache")
def test_a_model_behind_an_endpoint_has_the_same_figures_in_every_harness(
    small_suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    from s2lct.leaderboard.integrations.inspect_tasks import every_capability

    suite = load_suite(small_suite)
    questions = {PROMPTS[0].replace("{text}", case.text) for case in suite.cases}
    expected = accuracies(score(Function(labelled, "rule"), suite))
    with LabelServer() as server:
        for name in ("OPENAI_API_KEY", "LOCAL_API_KEY"):
            monkeypatch.setenv(name, "none")
        monkeypatch.setenv("LOCAL_BASE_URL", server.base_url)
        outcomes = score(EndpointModel("rule", LabelPrompt(PROMPTS[0]), server.base_url), suite)
        assert accuracies(outcomes) == pytest.approx(expected)
        # Contrasts are asked, too, and in no failure rate.
        everything = {PROMPTS[0].replace("{text}", case.text) for case in suite.with_contrasts}
        assert set(server.questions) >= everything > questions
        server.questions.clear()
        task = every_capability(suite=str(small_suite))
        metrics = told_by(run_inspect(task, "openai-api/local/rule", tmp_path))
        assert {name: metrics[name] for name in expected} == pytest.approx(expected)
        assert set(server.questions) == everything
        server.questions.clear()
        export_lm_eval(small_suite, tmp_path / "tasks")
        told = run_lm_eval(
            tmp_path / "tasks",
            "s2lct_gen",
            "local-chat-completions",
            model="rule",
            base_url=f"{server.base_url}/chat/completions",
            tokenizer_backend=None,
        )
        assert told == pytest.approx(expected | consistency(outcomes))
        assert set(server.questions) == everything
