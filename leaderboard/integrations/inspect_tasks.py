r"""S²LCT as tasks of inspect_ai, which loads this module by the package's entry point.

``inspect eval s2lct/all --model openai/MODEL`` asks the cases of all capabilities,
``-T capability=LC4,MINE`` those of two. Nothing else imports this module.
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # what its command line shows as one line
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, ModelOutput
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    accuracy,
    grouped,
    metric,
    scorer,
    stderr,
    value_to_float,
)
from inspect_ai.solver import TaskState, generate

from s2lct.errors import S2lctError
from s2lct.labels import LABELS
from s2lct.leaderboard.answers.text_answers import PREDICTION_WORDS, TextAnswer, label_of
from s2lct.suite import lm_eval_metrics
from s2lct.suite.cases import INSTALLED, SuiteCases, families_of, load_suite
from s2lct.suite.prompts import PROMPTS, SLOT, checked_prompt
from s2lct.suite.tables import ALL, CONTRAST

_FAMILY = "family"
_CAPABILITY = "capability"
_REASONS = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
"""From inspect_ai's stop reasons to OpenAI's finish reasons; all others mean ``stop``."""


def samples_of(suite: SuiteCases, prompt: str = PROMPTS[0]) -> list[Sample]:
    """A sample for each case and contrast; its targets are the labels that pass.

    The metadata name its family by the first seed; standard errors are clustered by family.
    """
    name_of_family: dict[int, str] = {}
    families = families_of(suite.with_contrasts).tolist()
    return [
        Sample(
            input=prompt.replace(SLOT, case.text),
            target=[LABELS[label] for label in sorted(case.passes)],
            id=case.id,
            metadata={
                _CAPABILITY: case.capability,
                "kind": case.kind,
                _FAMILY: name_of_family.setdefault(family, case.seed_id),
                "seed": case.seed_id,
                "text": case.text,
            },
        )
        for case, family in zip(suite.with_contrasts, families, strict=True)
    ]


def answer_of(output: ModelOutput) -> TextAnswer:
    """A model's answer, without its reasoning."""
    if not output.choices:
        return TextAnswer("")
    content = output.message.content
    parts = [] if isinstance(content, str) else content
    refusals = [part.text for part in parts if part.type == "text" and part.refusal]
    return TextAnswer(
        text=output.message.text,
        finish=_REASONS.get(output.stop_reason, "stop"),
        refusal="\n".join(refusals),
    )


@metric
def figures(*, several: bool) -> Metric:
    """Accuracy on cases, and consistency; with ``several`` capabilities also for each of them."""
    by_capability: Any = grouped(accuracy(), _CAPABILITY, all="groups", all_label=ALL)
    overall_metrics: dict[str, Any] = {"accuracy": accuracy(), "stderr": stderr(cluster=_FAMILY)}

    def compute(scores: list[SampleScore]) -> Value:
        metadata = {score.sample_id: score.sample_metadata or {} for score in scores}
        cases = [score for score in scores if metadata[score.sample_id]["kind"] != CONTRAST]
        accuracies = (
            by_capability(cases)
            if several
            else {name: measure(cases) for name, measure in overall_metrics.items()}
        )
        ids_with_contrast = {row["seed"] for row in metadata.values() if row["kind"] == CONTRAST}
        outcomes_by_capability: dict[str, list[tuple[str, bool]]] = {}
        for score in scores:
            row = metadata[score.sample_id]
            case_id = row["seed"] if row["kind"] == CONTRAST else str(score.sample_id)
            if case_id in ids_with_contrast:
                is_right = value_to_float()(score.score.value) == 1
                outcomes_by_capability.setdefault(row[_CAPABILITY], []).append((case_id, is_right))
        shares = {
            f"{name} consistency": lm_eval_metrics.consistency(outcomes)
            for name, outcomes in outcomes_by_capability.items()
        }
        mean_share = {"consistency": sum(shares.values()) / len(shares)} if shares else {}
        return {**mean_share, **accuracies, **(shares if several else {})}

    return compute


@scorer(metrics=[accuracy(), stderr()])
def label() -> Scorer:
    """Score whether an answer's label passes; answers are read as by `s2lct score --base-url`."""

    async def score(state: TaskState, target: Target) -> Score:
        predicted = PREDICTION_WORDS[label_of(answer_of(state.output), LABELS, range(len(LABELS)))]
        return Score(
            value=CORRECT if predicted in target.target else INCORRECT,
            answer=predicted,
            explanation=state.output.completion,
        )

    return score


@task(name=ALL)
def every_capability(
    suite: str = INSTALLED,
    limit: int | None = None,
    prompt: str = PROMPTS[0],
    capability: str | list[str] | None = None,
) -> Task:
    """A task of the cases of all capabilities, or of some.

    Args:
        suite: a folder that `s2lct build` wrote, a Hub id, or the name of the installed suite.
        limit: the most cases of a capability; None for all.
        prompt: the question, with ``{text}``.
        capability: ids, as a list or separated by commas; None for all.
    """
    names = capability.split(",") if isinstance(capability, str) else capability
    try:
        part = load_suite(suite).select(names, limit=limit)
        samples = samples_of(part, checked_prompt(prompt))
    except S2lctError as error:
        raise PrerequisiteError(str(error)) from error
    several = len({case.capability for case in part.cases}) > 1
    return Task(
        dataset=MemoryDataset(samples, name=f"{part.name} {part.version}".strip()),
        solver=generate(),
        scorer=label(),
        metrics=[figures(several=several)],
        config=GenerateConfig(temperature=0),
        version=part.version or "0",
        metadata={"suite": part.name, "fingerprint": part.fingerprint, "prompt": prompt},
    )
