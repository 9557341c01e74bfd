"""Reports: results side by side, in the terminal and as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup, escape
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from s2lct.errors import ScoringError
from s2lct.files import write_text
from s2lct.labels import LABELS
from s2lct.leaderboard.results.comparison import TEST_WORDS, Comparison, shown_p, verdicts
from s2lct.leaderboard.results.record import CapabilityRecord, RateRecord, Result
from s2lct.leaderboard.scoring.chance import (
    CHANCE_WORDS,
    chance_corrected,
    chance_of,
    one_answer,
    reference_means,
    references,
)
from s2lct.leaderboard.scoring.score import Outcomes
from s2lct.leaderboard.scoring.statistics import INTERVAL_WORDS, MEAN_WORDS, Failed, flips
from s2lct.pages import page_templates
from s2lct.suite.capability_ids import natural_order
from s2lct.suite.cases import Case

EXAMPLES = 4
_LONGEST_CAPABILITY = 24
_HEADS = ("all", "seeds", "exp.", "p→f")
_CELLS = (5, 5, 5, 4)
_COLUMN = sum(_CELLS) + len(_CELLS) - 1
_GAP = 3
_MEANS = 46
_COMPARED_NAME = 12


@dataclass(frozen=True)
class Scored:
    """A result with the outcomes that it was made from."""

    result: Result
    outcomes: Outcomes


def capabilities_of(results: Sequence[Result]) -> list[str]:
    """The capabilities that any result has, by number."""
    names = dict.fromkeys(name for result in results for name in result.capabilities)
    return sorted(names, key=natural_order)


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


@dataclass(frozen=True)
class ResultsTable:
    """Results in the terminal: means beside chance, then capabilities in blocks that fit."""

    results: Sequence[Result]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Tables, what their columns mean, and warnings."""
        ordered = worst_first(self.results)
        capabilities = capabilities_of(ordered)
        named = min(_LONGEST_CAPABILITY, max([4, *map(len, capabilities)]))
        whole = [shown_name(one) for one in ordered]
        names = _column_names(whole, _COLUMN)
        if names != whole:
            numbered = [f"{name} {one}" for name, one in zip(names, whole, strict=True)]
            room = options.max_width - _MEANS
            if max(map(len, numbered)) > room:
                yield Text("\n".join([*numbered, ""]), overflow="fold")
                numbered = names
            whole = numbered
        yield _means_table(ordered, whole)
        at_once = max(1, (options.max_width - named) // (_COLUMN + _GAP))
        for start in range(0, len(ordered), at_once):
            yield Text()
            some = slice(start, start + at_once)
            yield _capabilities_table(ordered[some], names[some], capabilities, named)
        yield Text(
            "\nFailure rates in %; p→f: expansions that turned a pass into a fail. "
            f"{MEAN_WORDS}. {INTERVAL_WORDS}. {CHANCE_WORDS}.",
            style="dim",
        )
        for result in ordered:
            if warning := one_answer_warning(result):
                yield Text(f"{result.model.name}: {warning}", style="yellow")


def results_table(results: Sequence[Result]) -> ResultsTable:
    """Failure rates in percent, as wide as the console that prints them."""
    return ResultsTable(results)


def one_answer_warning(result: Result) -> str:
    """A warning of a model that hardly reads the cases; empty for others."""
    if result.answers is None or result.references is None:
        return ""
    found = one_answer(
        [result.answers.get(label, 0) for label in LABELS],
        {name: one.failure_rate for name, one in result.references.items()},
    )
    return one_answer_words(*found) if found else ""


def one_answer_words(label: int, share: float) -> str:
    """What a model does that gives one answer to nearly all cases."""
    return f"answers {LABELS[label]} to {percent(share)} % of the cases, whatever they say"


def _column_names(names: Sequence[str], width: int) -> list[str]:
    """Names of columns: the models' own where all fit, numbers in brackets where one does not."""
    if max(map(len, names)) <= width and len(set(names)) == len(names):
        return list(names)
    return [f"[{number}]" for number in range(1, len(names) + 1)]


def _plain_table() -> Table:
    return Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1)
    )


def _means_table(ordered: Sequence[Result], names: Sequence[str]) -> Table:
    table = _plain_table()
    for heading, justify in (
        ("", "left"),
        ("mean %", "right"),
        ("95 % interval", "right"),
        ("chance-\ncorrected", "right"),
        ("p→f", "right"),
    ):
        table.add_column(
            heading,
            justify=justify,  # type: ignore[arg-type]
            no_wrap=bool(heading),
            overflow="fold",
            vertical="bottom",
        )
    rows: list[tuple[float, int, list[str], str]] = []
    for place, (one, name) in enumerate(zip(ordered, names, strict=True)):
        low, high = one.overall.ci
        corrected = one.overall.chance_corrected
        # The mean of other cases than the neighbours' would be compared all the same.
        apart = one.partial and len(ordered) > 1
        cells = [
            name,
            "–" if apart else percent(one.overall.failure_rate),
            "–" if apart else f"[{percent(low)}, {percent(high)}]",
            "–" if apart or corrected is None else f"{corrected:.2f}",
            str(sum(of.pass_to_fail for of in one.capabilities.values())),
        ]
        rows.append((1.0 if apart else -one.overall.failure_rate, place, cells, ""))
    fullest = max(ordered, key=lambda one: one.overall.cases)
    known = {name: one.failure_rate for name, one in (fullest.references or {}).items()}
    best, chance = chance_of(known) if known else ("", 0.0)
    for place, (name, rate) in enumerate(known.items(), len(ordered)):
        corrected = chance_corrected(rate, chance)
        cells = [
            f"({name})",
            percent(rate),
            "= chance" if name == best else "",
            "–" if corrected is None else f"{corrected:.2f}",
            "",
        ]
        rows.append((-rate, place, cells, "dim"))
    for _, _, cells, style in sorted(rows):
        table.add_row(*map(Text, cells), style=style)
    return table


def _capabilities_table(
    results: Sequence[Result], names: Sequence[str], capabilities: Sequence[str], named: int
) -> Table:
    table = _plain_table()
    table.add_column("", min_width=named, max_width=named, overflow="fold")
    heads = " ".join(f"{head:>{width}}" for head, width in zip(_HEADS, _CELLS, strict=True))
    for name in names:
        table.add_column(
            Text(f"{name[:_COLUMN]:>{_COLUMN}}\n{heads}"), justify="right", no_wrap=True
        )
    for capability in capabilities:
        found = [one.capabilities.get(capability) for one in results]
        table.add_row(Text(capability), *(Text(_cells(of)) for of in found))
    return table


def _cells(of: CapabilityRecord | None) -> str:
    if of is None:
        return "–"
    rates = [percent(one.failure_rate) if one and one.cases else "–" for one in _kinds(of)]
    cells = [*rates, str(of.pass_to_fail)]
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, _CELLS, strict=True))


def _kinds(of: CapabilityRecord) -> tuple[RateRecord | None, RateRecord, RateRecord]:
    return of.all, of.seed, of.expansion


def verdict_words(compared: Mapping[str, Comparison]) -> str:
    """On how many capabilities the first model is better, as ``better on 6, worse on 3, …``."""
    better, worse, undecided = verdicts(list(compared.values()))
    return f"better on {better}, worse on {worse}, undecided on {undecided}"


def paired(one: Outcomes, other: Outcomes) -> tuple[list[Case], Failed, Failed]:
    """The cases that two models were both scored on, and which of them each fails."""
    number_of = {case.id: number for number, case in enumerate(other.cases)}
    pairs = [
        (number, number_of[case.id])
        for number, case in enumerate(one.cases)
        if case.id in number_of
    ]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    # A result of format 1 does not tell sources, and with them families.
    told = [(one, first), (other, second)]
    told.sort(key=lambda each: not any(case.sources for case in each[0].cases))
    cases = [told[0][0].cases[number] for number in told[0][1]]
    return cases, one.failed[first], other.failed[second]


def comparison_table(first: str, second: str, compared: Mapping[str, Comparison]) -> Group:
    """Which differences between two models are real: a verdict, and a row each capability."""
    names = _column_names([first, second], _COMPARED_NAME)
    if names != [first, second]:
        names = ["first", "second"]
    table = _plain_table()
    for heading in ("", "cases", "families", *(f"only\n{name}\nfails" for name in names), "p"):
        table.add_column(
            Text(heading),
            justify="right" if heading else "left",
            overflow="fold",
            max_width=None if heading else _LONGEST_CAPABILITY,
            no_wrap=bool(heading),
            vertical="bottom",
        )
    table.add_column("better", no_wrap=True, vertical="bottom")
    for name, one in compared.items():
        table.add_row(
            Text(name),
            str(one.cases),
            str(one.families),
            str(one.first_only),
            str(one.second_only),
            f"{shown_p(one.adjusted):.3g}",
            Text("undecided" if one.better is None else names[one.better]),
        )
    return Group(
        Text(f"{first} against {second}: {verdict_words(compared)}", style="bold"),
        Text(),
        table,
        Text(f"\n{TEST_WORDS}.", style="dim"),
    )


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
    environment = page_templates("s2lct.leaderboard.site")
    environment.filters["percent"] = percent
    environment.globals["shown_name"] = shown_name
    names = capabilities_of([one.result for one in ordered])
    fullest = max(ordered, key=lambda one: len(one.outcomes.cases))
    known = references(fullest.outcomes.cases)
    return environment.get_template("report.html.jinja").render(
        scored=ordered,
        sections=sections,
        capabilities=names,
        references=known,
        chance=chance_of(reference_means(known)),
        chance_corrected=chance_corrected,
        warning=one_answer_warning,
        words={
            "mean": MEAN_WORDS,
            "interval": INTERVAL_WORDS,
            "chance": CHANCE_WORDS,
        },
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
