"""Results of one model that differ in the prompt alone, as one: means, and the spread over prompts.

What a language model answers hangs on the wording of the question, and one wording's figure says
little of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2lct.labels import PROMPTS
from s2lct.leaderboard.results.record import Result

PROMPTS_WORDS = (
    "Of a model that was asked with several prompts, figures and bounds of intervals are the means "
    "over its prompts, beside the lowest and the highest failure rate"
)


@dataclass(frozen=True, slots=True)
class Spread:
    """A failure rate over prompts: its mean, the lowest and the highest."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, rates: Sequence[float]) -> Spread:
        """Of the rate with each prompt."""
        return cls(float(np.mean(rates)), min(rates), max(rates))


@dataclass(frozen=True)
class OverPrompts:
    """One model's results, by the order of prompts, and what they come to together.

    ``figures`` is a result whose figures are means over the prompts, counts rounded to whole
    numbers; its name tells how many prompts, and words that broke the model are the first
    prompt's. Where there is one result alone, it is that. ``capabilities`` are spreads by name.
    """

    results: tuple[Result, ...]
    figures: Result
    overall: Spread
    capabilities: dict[str, Spread]

    @property
    def several(self) -> bool:
        """Whether the model was asked with more than one prompt."""
        return len(self.results) > 1


def over_prompts(results: Sequence[Result]) -> list[OverPrompts]:
    """Put results of one model together that differ in the prompt alone.

    They have the name, the revision, the weights, all other options, and the part of the suite in
    common. Two results with the same prompt, or without one, are never put together.
    """
    groups: dict[str, list[dict[str | None, Result]]] = {}
    for result in results:
        of_model = groups.setdefault(_but_prompt(result), [])
        prompt = result.model.options.prompt
        free = next((group for group in of_model if prompt not in group), None)
        if free is None or prompt is None:
            of_model.append({prompt: result})
        else:
            free[prompt] = result
    return [_together(list(group.values())) for of_model in groups.values() for group in of_model]


def prompt_order(prompt: str) -> tuple[int, str]:
    """A sort key: the default prompts in their order, others behind them."""
    known = prompt in PROMPTS
    return PROMPTS.index(prompt) if known else len(PROMPTS), prompt


def _but_prompt(result: Result) -> str:
    """What results have in common that differ in the prompt alone."""
    model = result.model
    options = model.options.model_copy(update={"prompt": None})
    endpoint = model.endpoint and (model.endpoint.url, model.endpoint.max_tokens)
    same = (
        *(model.name, model.revision, model.weights_sha256, model.dtype, endpoint),
        options.model_dump_json(),
    )
    return repr((*same, result.suite.fingerprint, str(result.selection), result.overall.cases))


def _together(results: Sequence[Result]) -> OverPrompts:
    ordered = sorted(results, key=lambda one: prompt_order(one.model.options.prompt or ""))
    rates = {
        name: [one.capabilities[name].all.failure_rate for one in ordered]
        for name in ordered[0].capabilities
    }
    return OverPrompts(
        tuple(ordered),
        _mean_result(ordered) if len(ordered) > 1 else ordered[0],
        Spread.of([one.overall.failure_rate for one in ordered]),
        {name: Spread.of(found) for name, found in rates.items()},
    )


def _mean_result(results: Sequence[Result]) -> Result:
    first = results[0]
    data = [_with_rates_of_labelled(one) for one in results]
    figures = {
        name: _mean([one[name] for one in data])
        for name in ("overall", "capabilities", "answers", "references")
    }
    rules = [f"prompt {number}: {one.model.label_rule}" for number, one in enumerate(results, 1)]
    told = {"name": f"{first.model.name} ({len(results)} prompts)", "label_rule": "; ".join(rules)}
    model = first.model.model_dump() | told
    return Result.model_validate(first.model_dump() | figures | {"model": model})


def _with_rates_of_labelled(result: Result) -> dict[str, Any]:
    """A result's data in which a rate without refusals stands where there were none, too."""
    told = result.model_dump()
    for of in (told["overall"], *told["capabilities"].values()):
        if not of["refusals"] + of["unreadable"]:
            whole = of.get("all", of)
            of["answered"] = whole and {
                "cases": whole["cases"],
                "failures": whole.get("failures", 0),
                "failure_rate": whole["failure_rate"],
                "ci": whole["ci"],
            }
    return told


def _mean(values: Sequence[Any]) -> Any:
    """The mean of numbers, number by number within equal dicts and lists; else what is first."""
    first = values[0]
    if isinstance(first, bool) or any(type(one) is not type(first) for one in values):
        return first
    if isinstance(first, int):
        return round(sum(values) / len(values))
    if isinstance(first, float):
        return float(np.mean(values))
    if isinstance(first, Mapping):
        return {key: _mean([one.get(key, own) for one in values]) for key, own in first.items()}
    if isinstance(first, (list, tuple)) and len({len(one) for one in values}) == 1:
        return [_mean(parts) for parts in zip(*values, strict=True)]
    return first
