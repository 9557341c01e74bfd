"""The board of the app as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from s2lct.leaderboard.results.collection import ScoredModel
from s2lct.leaderboard.results.standings import Standing, SuiteStandings
from s2lct.leaderboard.scoring.chance import Reference, chance_corrected, chance_of, reference_means
from s2lct.leaderboard.site.report import one_answer_words, percent
from s2lct.leaderboard.site.site import capability_columns

if TYPE_CHECKING:
    import pandas as pd

_BEFORE = ("Model", "Rank", "Failure rate", "Interval", "Chance-corrected")
OUTSIDE = "Outside training data"
_BEHIND = (
    "Pass-to-fail",
    OUTSIDE,
    "Weights",
    "Licence",
    "Suite",
    "Date",
    "Verified",
    "Note",
)
# Black on these is readable at every rate (contrast 8 : 1 and more), in both colour schemes.
_PALE, _HOT = (255, 247, 241), (240, 152, 116)


def shown_name(model: ScoredModel, names: Sequence[str]) -> str:
    """The model's name, with its revision where another has the same name, and own options."""
    own = f" ({model.options})" if model.options else ""
    if names.count(model.name) < 2:
        return f"{model.name}{own}"
    return f"{model.name} @{model.revision[:8] or model.key[:8]}{own}"


def board_frame(
    one: SuiteStandings, verified_only: bool = False, kind: str = "all"
) -> pd.DataFrame:
    """The table: a row a model or reference, by mean failure rate; rates in percent.

    Args:
        one: the suite and its models.
        verified_only: leave out models that nobody scored again.
        kind: what the capabilities' columns are of: ``all`` cases, each ``seed`` or
            ``expansion``.
    """
    import pandas as pd

    names = [standing.model.name for standing in one.standings]
    chosen = [s for s in one.standings if s.model.verified or not verified_only]
    columns = capability_columns(one.capabilities, (*_BEFORE, *_BEHIND))
    rows = [_model_row(one, standing, columns, kind, names) for standing in chosen]
    # Models stay in the order of their ranks, references among them where their mean belongs.
    for reference in sorted(one.references, key=lambda r: -r.failure_rate):
        place = sum(
            s.rank is not None and s.overall.failure_rate < reference.failure_rate for s in chosen
        )
        rows.insert(place, _reference_row(one, reference, columns, kind))
    return pd.DataFrame(rows, columns=[*_BEFORE, *columns.values(), *_BEHIND])


def _model_row(
    one: SuiteStandings,
    standing: Standing,
    columns: Mapping[str, str],
    kind: str,
    names: Sequence[str],
) -> dict[str, Any]:
    model, outside = standing.model, standing.outside_training
    low, high = standing.overall.ci
    at_risk = standing.passing_expansions
    rates: dict[str, Any] = {}
    for name, column in columns.items():
        rate = getattr(standing.capabilities.get(name), kind, None)
        rates[column] = in_percent(rate.failure_rate) if rate and rate.cases else None
    return rates | {
        "Model": shown_name(model, names),
        "Rank": rank_words(standing),
        "Failure rate": in_percent(standing.overall.failure_rate),
        "Interval": f"{percent(low)}–{percent(high)}",
        "Chance-corrected": _corrected(standing.chance_corrected),
        "Pass-to-fail": in_percent(standing.pass_to_fail / at_risk) if at_risk else None,
        OUTSIDE: in_percent(outside.failure_rate) if outside else None,
        "Weights": model.parameters,
        "Licence": model.licence or "",
        "Suite": one.suite.version,
        "Date": model.date[:10],
        "Verified": model.verified,
        "Note": one_answer_words(*standing.one_answer) if standing.one_answer else "",
    }


def _reference_row(
    one: SuiteStandings, reference: Reference, columns: Mapping[str, str], kind: str
) -> dict[str, Any]:
    _, chance = chance_of(reference_means(one.references))
    rates: dict[str, Any] = {}
    for name, column in columns.items():
        rate = reference.capabilities[name].get(kind)
        rates[column] = None if rate is None else in_percent(rate)
    return rates | {
        "Model": reference.name,
        "Rank": "–",
        "Failure rate": in_percent(reference.failure_rate),
        "Interval": "",
        "Chance-corrected": _corrected(chance_corrected(reference.failure_rate, chance)),
        "Licence": "",
        "Suite": one.suite.version,
        "Date": "",
        "Verified": "",
        "Note": "no model",
    }


def _corrected(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def rank_words(standing: Standing) -> str:
    """``2``, ``2–4``, or a dash for a model that was not scored on the whole suite."""
    if standing.rank is None:
        return "–"
    low, high = standing.rank
    return str(low) if low == high else f"{low}–{high}"


def in_percent(rate: float) -> float:
    """A rate in percent, as shown."""
    return round(100 * rate, 1)


def styled(frame: pd.DataFrame) -> Any:
    """The table with heat colours, black on pale to orange."""
    heated = [name for name in frame.columns if name not in (*_BEFORE, *_BEHIND)]
    return frame.style.map(heat, subset=heated).format(precision=1, na_rep="–", thousands=",")


def heat(rate: float) -> str:
    """CSS of a cell: the higher the failure rate (in percent), the hotter."""
    if not 0 <= rate <= 100:
        return ""
    mixed = (round(a + (b - a) * rate / 100) for a, b in zip(_PALE, _HOT, strict=True))
    return f"background-color: rgb({', '.join(map(str, mixed))}); color: #111"
