"""Reports: results side by side, in the terminal and as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape
from rich.table import Table

from s2lct.builder.checkpoint import write_text
from s2lct.builder.records import LABELS
from s2lct.leaderboard.cases import Case
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.pages import page_templates
from s2lct.leaderboard.results import Result
from s2lct.leaderboard.scoring import Outcomes
from s2lct.leaderboard.statistics import Comparison, flips

EXAMPLES = 4


@dataclass(frozen=True)
class Scored:
    """A result with the outcomes that it was made from."""

    result: Result
    outcomes: Outcomes


def capabilities_of(results: Sequence[Result]) -> list[str]:
    """The capabilities that any result has, by number."""
    names = dict.fromkeys(name for result in results for name in result.capabilities)
    return sorted(names, key=lambda name: (int(name[2:]) if name[2:].isdigit() else 99, name))


def worst_first(results: Sequence[Result]) -> list[Result]:
    """Results by overall failure rate, the highest first; those of a part of the suite last."""
    return sorted(results, key=lambda one: (one.partial, -one.overall.failure_rate, one.model.name))


def shown_name(result: Result) -> str:
    """The model's name, marked where it was scored on a part of the suite."""
    if not result.partial:
        return result.model.name
    return f"{result.model.name} (partial: {result.overall.cases:,} cases)"


def percent(value: float) -> str:
    """A proportion in percent, without decimals that the interval does not carry."""
    return f"{100 * value:.1f}"


def results_table(results: Sequence[Result]) -> Table:
    """Failure rates in percent, seeds / expansions, and pass-to-fail, a row each capability."""
    ordered = worst_first(results)
    table = Table(
        title="Failure rate in %: seeds / expansions (expansions that turned a pass into a fail)",
        header_style="bold",
    )
    table.add_column("")
    for result in ordered:
        table.add_column(shown_name(result), justify="right", overflow="fold")
    for name in capabilities_of(ordered):
        cells: list[str] = []
        for result in ordered:
            one = result.capabilities.get(name)
            cells.append("–" if one is None else _cell(one))
        table.add_row(name, *cells)
    table.add_section()
    table.add_row(
        "mean of capabilities",
        *(
            # The mean of other cases than the neighbours' would be compared all the same.
            "–"
            if one.partial and len(ordered) > 1
            else f"{percent(one.overall.failure_rate)} "
            f"[{percent(one.overall.ci[0])}, {percent(one.overall.ci[1])}]"
            for one in ordered
        ),
        style="bold",
    )
    return table


def _cell(one: Any) -> str:
    seeds = percent(one.seed.failure_rate) if one.seed.cases else "–"
    expansions = percent(one.expansion.failure_rate) if one.expansion.cases else "–"
    return f"{seeds} / {expansions} ({one.pass_to_fail})"


def comparison_table(
    first: str, second: str, compared: Mapping[str, Comparison], level: float = 0.05
) -> Table:
    """Which differences between two models are real, a row each capability."""
    table = Table(
        title=f"{first} against {second}: exact McNemar test, Holm's correction",
        header_style="bold",
    )
    for column in ("", "cases", f"only {first} fails", f"only {second} fails", "p", "verdict"):
        table.add_column(column, justify="left" if column in ("", "verdict") else "right")
    for name, one in compared.items():
        if one.adjusted >= level:
            verdict = "no difference shown"
        else:
            verdict = f"{second if one.first_only > one.second_only else first} is better"
        table.add_row(
            name,
            str(one.cases),
            str(one.first_only),
            str(one.second_only),
            f"{one.adjusted:.3g}",
            verdict,
        )
    return table


def marked(case: Case) -> Markup:
    """A case's text, escaped, with the inserted words marked."""
    text, html = case.text, Markup("")
    for word in case.inserted:
        before, found, rest = text.partition(word)
        while found and (before[-1:].isalpha() or rest[:1].isalpha()):
            more, found, rest = rest.partition(word)
            before += word + more
        if not found:
            continue
        html += escape(before) + Markup("<mark>") + escape(word) + Markup("</mark>")
        text = rest
    return html + escape(text)


@dataclass(frozen=True)
class _Pair:
    seed: Case
    expansion: Case
    said: str


def pass_to_fail_pairs(outcomes: Outcomes, capability: str) -> list[_Pair]:
    """Expansions that fail beside their passing seeds; of each seed one, the first."""
    cases = outcomes.cases
    of_id = {case.id: case for case in cases}
    pairs: dict[str, _Pair] = {}
    for number in flips(cases, outcomes.failed)[0]:
        case = cases[number]
        if case.capability == capability:
            said = LABELS[outcomes.labels[number]]
            pairs.setdefault(case.seed_id, _Pair(of_id[case.seed_id], case, said))
    return list(pairs.values())[:EXAMPLES]


def telling_failures(outcomes: Outcomes, capability: str) -> list[tuple[Case, str]]:
    """Seeds that fail, the shortest first, with what the model said."""
    failing = [
        (case, LABELS[label])
        for case, label, failed in zip(
            outcomes.cases, outcomes.labels, outcomes.failed, strict=True
        )
        if failed and case.capability == capability and case.kind == "seed"
    ]
    return sorted(failing, key=lambda one: (len(one[0].text), one[0].id))[:EXAMPLES]


def html_report(scored: Sequence[Scored], sections: Sequence[Markup] = ()) -> str:
    """The whole report as one HTML page that needs no network.

    Args:
        scored: the results.
        sections: what other analyses add, as HTML that is safe.

    Raises:
        ScoringError: results of different suites.
    """
    check_same_suite([one.result for one in scored])
    order = {id(result): n for n, result in enumerate(worst_first([s.result for s in scored]))}
    ordered = sorted(scored, key=lambda one: order[id(one.result)])
    environment = page_templates("s2lct.leaderboard")
    environment.filters["percent"] = percent
    environment.globals["shown_name"] = shown_name
    names = capabilities_of([one.result for one in ordered])
    return environment.get_template("report.html.jinja").render(
        scored=ordered,
        sections=sections,
        capabilities=names,
        labels=LABELS,
        marked=marked,
        failures={
            name: [(one.result.model.name, telling_failures(one.outcomes, name)) for one in ordered]
            for name in names
        },
        pairs={
            name: [
                (one.result.model.name, pass_to_fail_pairs(one.outcomes, name)) for one in ordered
            ]
            for name in names
        },
    )


def check_same_suite(results: Sequence[Result]) -> None:
    """Refuse to put results of different suites side by side.

    Raises:
        ScoringError: their fingerprints differ.
    """
    if not results:
        raise ScoringError("no result files", mend="make some with `s2lct score MODEL --suite DIR`")
    first = results[0]
    for other in results[1:]:
        if other.suite.fingerprint != first.suite.fingerprint:
            raise ScoringError(
                f"{first.model.name} and {other.model.name} were scored on different suites "
                f"({first.suite.version or '?'} {first.suite.fingerprint[:12]}, "
                f"{other.suite.version or '?'} {other.suite.fingerprint[:12]})",
                mend="score both on one version of the suite",
            )


def write_html(scored: Sequence[Scored], path: Path, sections: Sequence[Markup] = ()) -> None:
    """Write the report to a file, whole or not at all; see `html_report`."""
    write_text(path, html_report(scored, sections))
