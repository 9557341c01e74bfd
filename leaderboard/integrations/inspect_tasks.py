r"""S²LCT as tasks of inspect_ai, which finds this module by the package's entry point.

``inspect eval s2lct/all --model openai/MODEL`` asks the cases of every capability, or of some:
``-T capability=LC4,MINE``. Nothing else imports this module.
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
from s2lct.leaderboard.answers.text_answers import PREDICTED, TextAnswer, label_of
from s2lct.suite.cases import INSTALLED, SuiteCases, families_of, load_suite
from s2lct.suite.prompts import PROMPTS, SLOT, checked_prompt
from s2lct.suite.tables import ALL, CONTRAST

"""What `load_dataset` finds after ``s2lct install``."""
_FAMILY = "family"
_GROUP = "capability"
_FINISH = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
"""Why answers end, as OpenAI's API calls it; all others came to their end."""


def samples_of(suite: SuiteCases, prompt: str = PROMPTS[0]) -> list[Sample]:
    """A sample a case or contrast: the prompt with its text, every label that passes as a target.

    Its metadata have the capability, the kind, the text, the seed, and the family that standard
    errors are clustered by, called after its first seed.
    """
    first: dict[int, str] = {}
    families = families_of(suite.with_contrasts).tolist()
    return [
        Sample(
            input=prompt.replace(SLOT, case.text),
            target=[LABELS[label] for label in sorted(case.passes)],
            id=case.id,
            metadata={
                _GROUP: case.capability,
                "kind": case.kind,
                _FAMILY: first.setdefault(family, case.seed_id),
                "seed": case.seed_id,
                "text": case.text,
            },
        )
        for case, family in zip(suite.with_contrasts, families, strict=True)
    ]


def answer_of(output: ModelOutput) -> TextAnswer:
    """What a model wrote, as `text_answers` reads it; without what it thought before."""
    if not output.choices:
        return TextAnswer("")
    content = output.message.content
    parts = [] if isinstance(content, str) else content
    refusals = [part.text for part in parts if part.type == "text" and part.refusal]
    return TextAnswer(
        text=output.message.text,
        finish=_FINISH.get(output.stop_reason, "stop"),
        refusal="\n".join(refusals),
    )


@metric
def figures(*, several: bool) -> Metric:
    """Accuracy of the cases, of several capabilities of each, and the consistency behind it."""
    of_groups: Any = grouped(accuracy(), _GROUP, all="groups", all_label=ALL)
    of_all: dict[str, Any] = {"accuracy": accuracy(), "stderr": stderr(cluster=_FAMILY)}

    def compute(scores: list[SampleScore]) -> Value:
        known = {one.sample_id: (one, one.sample_metadata or {}) for one in scores}
        cases = [one for one, of in known.values() if of["kind"] != CONTRAST]
        found = of_groups(cases) if several else {n: of(cases) for n, of in of_all.items()}
        right: dict[str, list[bool]] = {}
        for one, of in known.values():
            if of["kind"] == CONTRAST and of["seed"] in known:
                pair = (one, known[of["seed"]][0])
                passed = [value_to_float()(each.score.value) == 1 for each in pair]
                right.setdefault(of[_GROUP], []).append(all(passed))
        shares = {f"{name} consistency": sum(own) / len(own) for name, own in right.items()}
        mean = {"consistency": sum(shares.values()) / len(shares)} if shares else {}
        return {**mean, **found, **(shares if several else {})}

    return compute


@scorer(metrics=[accuracy(), stderr()])
def label() -> Scorer:
    """Whether the label that an answer means passes, read as `s2lct score --base-url` reads it.

    A refusal and an answer that cannot be read pass nowhere.
    """

    async def score(state: TaskState, target: Target) -> Score:
        predicted = PREDICTED[label_of(answer_of(state.output), LABELS, range(len(LABELS)))]
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
    """The cases of all capabilities, or of some; what stands for all is the mean of these.

    Args:
        suite: a folder that `s2lct build` wrote, a Hub id, or the name of the installed suite.
        limit: most cases of a capability; None for all.
        prompt: what is asked, with ``{text}``.
        capability: ids, with commas between them; None for all.
    """
    named = capability.split(",") if isinstance(capability, str) else capability
    try:
        chosen = load_suite(suite).select(named, limit=limit)
        samples = samples_of(chosen, checked_prompt(prompt))
    except S2lctError as error:
        raise PrerequisiteError(str(error)) from error
    several = len({case.capability for case in chosen.cases}) > 1
    return Task(
        dataset=MemoryDataset(samples, name=f"{chosen.name} {chosen.version}".strip()),
        solver=generate(),
        scorer=label(),
        metrics=[figures(several=several)],
        config=GenerateConfig(temperature=0),
        version=chosen.version or "0",
        metadata={"suite": chosen.name, "fingerprint": chosen.fingerprint, "prompt": prompt},
    )
