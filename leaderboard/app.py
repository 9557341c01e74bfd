"""The leaderboard as a Gradio app, on a machine of one's own or as a Space."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from s2lct.builder.records import LABELS
from s2lct.leaderboard.cases import Case
from s2lct.leaderboard.collection import UNSCORED, Collection, ScoredModel, collect, passing
from s2lct.leaderboard.errors import ScoringError
from s2lct.leaderboard.plots import Row, rate_plot
from s2lct.leaderboard.report import marked, percent
from s2lct.leaderboard.site import TABLES, TITLE, capability_words, write_tables
from s2lct.leaderboard.standings import Standing, SuiteStandings, all_standings
from s2lct.leaderboard.statistics import Failed, compare

if TYPE_CHECKING:
    import gradio as gr
    import pandas as pd

EXAMPLES = 5
PLOTTED = 25
OUTSIDE = "Outside"
_FEW = 5
# Black on these is readable at every rate (contrast 8 : 1 and more), in both colour schemes.
_PALE, _HOT = (255, 247, 241), (240, 152, 116)
_CSS = """
.plot { overflow-x: auto; } .plot svg { max-width: 60rem; min-width: 30rem; }
.plot .axis { stroke: var(--border-color-primary); }
.plot text { fill: var(--body-text-color); font-size: 12.5px; }
.plot .first { stroke: #2f7fe0; fill: #2f7fe0; } .plot .second { stroke: #d9622b; fill: #d9622b; }
.cases li { margin: .4rem 0; overflow-wrap: anywhere; }
.cases small { opacity: .8; display: block; }
.cases mark { background: #ffe08a; color: #1b1f24; padding: 0 .15em; border-radius: .2em; }
"""


def serve(
    results: str | Path | Collection,
    *,
    host: str | None = None,
    port: int | None = None,
    block: bool = True,
) -> str:
    """Serve the leaderboard.

    Args:
        results: what `collection.collect` reads: a folder, a Hub dataset or a Parquet file; or
            what it gave.
        host: address to listen at; by default this machine alone, in a Space everybody.
        port: the first free one from 7860 on by default.
        block: go on until interrupted; otherwise come back at once.

    Returns:
        The app's address.

    Raises:
        ScoringError: there are no usable results, the port is taken, or Gradio is missing.
    """
    collection = results if isinstance(results, Collection) else collect(results)
    app = create_app(collection)
    import gradio as gr

    fonts = ["system-ui", "sans-serif"]  # Gradio's own would be fetched from elsewhere
    theme = gr.themes.Soft(font=fonts, font_mono=["ui-monospace", "monospace"])
    try:
        _, address, _ = app.launch(
            server_name=host,
            server_port=port,
            prevent_thread_lock=not block,
            footer_links=[],
            css=_CSS,
            theme=theme,
        )
    except OSError as error:
        raise ScoringError(
            f"--port {port}: cannot be listened at ({str(error).partition('.')[0]})",
            mend="choose another --port, or none to take the first free one",
        ) from error
    return str(address)


def create_app(collection: Collection) -> gr.Blocks:
    """The app: board, capabilities, comparison and data of every suite, apart from each other.

    Raises:
        ScoringError: Gradio is missing.
    """
    try:
        import gradio as gr
    except ImportError as error:
        raise ScoringError(
            "the package gradio is not installed", mend='pip install "s2lct[leaderboard]"'
        ) from error

    boards = {board_name(one): one for one in all_standings(collection)}
    first = next(iter(boards))
    files = Path(tempfile.mkdtemp(prefix="s2lct-leaderboard-"))
    write_tables(list(boards.values()), files)
    start = boards[first]
    models, capabilities = model_choices(start), capability_choices(start)
    pair = first_pair(start)
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as app:
        gr.Markdown(
            f"# {TITLE}\nFailure rates of sentiment models by linguistic capability, in percent; "
            "lower is better. Intervals: 95 % bootstrap over seed families. Models whose "
            "difference is not shown share ranks."
        )
        suite = gr.Dropdown(
            list(boards),
            value=first,
            label="Suite",
            info="Models scored on another version stand apart.",
        )
        with gr.Tab("Leaderboard"):
            verified = gr.Checkbox(label="Verified only")
            table = gr.Dataframe(
                styled(board_frame(start)),
                interactive=False,
                show_search="filter",
                pinned_columns=1,
                label="Models",
                elem_id="board",
            )
            chart = gr.HTML(board_plot(start), elem_classes="plot")
        with gr.Tab("Capabilities"):
            capability = gr.Dropdown(capabilities, value=capabilities[0][1], label="Capability")
            about = gr.HTML(capability_page(start, capabilities[0][1]), elem_classes="plot")
        with gr.Tab("Compare"):
            with gr.Row():
                one = gr.Dropdown(models, value=pair[0], label="First model")
                other = gr.Dropdown(models, value=pair[1], label="Second model")
                of = gr.Dropdown(capabilities, value=capabilities[0][1], label="Examples of")
            compared = gr.Dataframe(
                comparison_frame(start, *pair), interactive=False, label="Comparison"
            )
            examples = gr.HTML(
                comparison_page(start, *pair, capabilities[0][1]), elem_classes="plot"
            )
        with gr.Tab("Data"):
            for name in TABLES:
                gr.DownloadButton(f"Download {name}", value=str(files / name))

        def board(name: str, only: bool) -> tuple[Any, str]:
            return styled(board_frame(boards[name], only)), board_plot(boards[name], only)

        def switched(name: str, only: bool) -> list[Any]:
            now = boards[name]
            models, capabilities = model_choices(now), capability_choices(now)
            pair = first_pair(now)
            return [
                *board(name, only),
                gr.Dropdown(capabilities, value=capabilities[0][1]),
                gr.Dropdown(models, value=pair[0]),
                gr.Dropdown(models, value=pair[1]),
                gr.Dropdown(capabilities, value=capabilities[0][1]),
                capability_page(now, capabilities[0][1]),
                comparison_frame(now, *pair),
                comparison_page(now, *pair, capabilities[0][1]),
            ]

        def comparison(name: str, one: str, other: str, of: str) -> tuple[Any, str]:
            now = boards[name]
            return comparison_frame(now, one, other), comparison_page(now, one, other, of)

        suite.input(
            switched,
            [suite, verified],
            [table, chart, capability, one, other, of, about, compared, examples],
        )
        verified.input(board, [suite, verified], [table, chart])
        capability.input(
            lambda name, chosen: capability_page(boards[name], chosen), [suite, capability], about
        )
        for chooser in (one, other, of):
            chooser.input(comparison, [suite, one, other, of], [compared, examples])
    return app  # type: ignore[no-any-return]


def board_name(one: SuiteStandings) -> str:
    """A suite as the app names it."""
    version, fingerprint = one.suite.version, one.suite.fingerprint[:12]
    return (
        f"{version or 'unknown version'} ({fingerprint or 'no fingerprint'}): "
        f"{len(one.standings)} {'model' if len(one.standings) == 1 else 'models'}, "
        f"{len(one.suite.cases)} cases"
    )


def model_choices(one: SuiteStandings) -> list[tuple[str, str]]:
    """Models, best first, as (name, key); revisions tell models of one name apart."""
    names = [standing.model.name for standing in one.standings]
    return [(shown_name(standing.model, names), standing.model.key) for standing in one.standings]


def first_pair(one: SuiteStandings) -> tuple[str, str]:
    """Keys of the two best models; of the only one twice."""
    keys = [standing.model.key for standing in one.standings]
    return keys[0], keys[min(1, len(keys) - 1)]


def shown_name(model: ScoredModel, names: Sequence[str]) -> str:
    """The model's name, with its revision where another has the same name."""
    if names.count(model.name) < 2:
        return model.name
    return f"{model.name} @{model.revision[:8] or model.key[:8]}"


def capability_choices(one: SuiteStandings) -> list[tuple[str, str]]:
    """Capabilities as (id and title, id)."""
    words = capability_words()
    return [(f"{name} {words.get(name, ('', ''))[0]}".strip(), name) for name in one.capabilities]


def board_frame(one: SuiteStandings, verified_only: bool = False) -> pd.DataFrame:
    """The table: a row a model, rates in percent."""
    import pandas as pd

    names = [standing.model.name for standing in one.standings]
    chosen = [s for s in one.standings if s.model.verified or not verified_only]
    rows = [
        {"Model": shown_name(standing.model, names)} | _figures(one, standing)
        for standing in chosen
    ]
    columns = list(_figures(one, one.standings[0]))
    return pd.DataFrame(rows, columns=["Model", *columns])


def _figures(one: SuiteStandings, standing: Standing) -> dict[str, Any]:
    model, outside = standing.model, standing.outside_training
    low, high = standing.overall.ci
    at_risk = standing.passing_expansions
    return {
        "Rank": rank_words(standing),
        "Failure rate": _in_percent(standing.overall.failure_rate),
        "Interval": f"{percent(low)}–{percent(high)}",
        **{
            name: _in_percent(standing.capabilities[name].failure_rate)
            if name in standing.capabilities
            else None
            for name in one.capabilities
        },
        "Pass-to-fail": _in_percent(standing.pass_to_fail / at_risk) if at_risk else None,
        outside_title(one): _in_percent(outside.failure_rate) if outside else None,
        "Weights": model.parameters,
        "Licence": model.licence or "",
        "Suite": one.suite.version,
        "Date": model.date[:10],
        "Verified": model.verified,
    }


def outside_title(one: SuiteStandings) -> str:
    """The splits that cases are outside of, where all models are held against the same."""
    splits = {" ".join(standing.compared_with) for standing in one.standings}
    return f"{OUTSIDE} {splits.pop() if len(splits) == 1 else 'training data'}"


def rank_words(standing: Standing) -> str:
    """``2``, ``2–4``, or a dash for a model that was not scored on the whole suite."""
    if standing.rank is None:
        return "–"
    low, high = standing.rank
    return str(low) if low == high else f"{low}–{high}"


def _in_percent(rate: float) -> float:
    return round(100 * rate, 1)


def styled(frame: pd.DataFrame) -> Any:
    """The table with heat colours, black on pale to orange."""
    from s2lct.leaderboard.standings import capability_key

    fixed = {"Model", "Rank", "Interval", "Pass-to-fail", "Failure rate"}
    fixed |= {"Weights", "Licence", "Suite", "Date", "Verified"}
    heated = sorted(
        (name for name in frame.columns if name not in fixed and not name.startswith(OUTSIDE)),
        key=capability_key,
    )
    return frame.style.map(heat, subset=heated).format(precision=1, na_rep="–", thousands=",")


def heat(rate: float) -> str:
    """CSS of a cell: the higher the failure rate (in percent), the hotter."""
    if not 0 <= rate <= 100:
        return ""
    mixed = (round(a + (b - a) * rate / 100) for a, b in zip(_PALE, _HOT, strict=True))
    return f"background-color: rgb({', '.join(map(str, mixed))}); color: #111"


def board_plot(one: SuiteStandings, verified_only: bool = False) -> str:
    """Failure rates with their intervals, of the best models."""
    names = [standing.model.name for standing in one.standings]
    chosen = [s for s in one.standings if s.model.verified or not verified_only][:PLOTTED]
    return rate_plot([Row(shown_name(s.model, names), s.overall) for s in chosen])


def capability_page(one: SuiteStandings, capability: str) -> str:
    """What a capability asks for, who does best and worst, and seeds that most models fail."""
    title, expectation = capability_words().get(capability, ("", ""))
    names = [standing.model.name for standing in one.standings]
    scored = sorted(
        (s for s in _whole(one) if capability in s.capabilities),
        key=lambda s: s.capabilities[capability].failure_rate,
    )
    shown = scored if len(scored) <= 2 * _FEW else [*scored[:_FEW], *scored[-_FEW:]]
    rows = [Row(shown_name(s.model, names), s.capabilities[capability]) for s in shown]
    labels = np.stack([s.model.labels for s in scored])
    failed = _failed(one.suite.cases, labels)
    counts = failed.sum(axis=0)
    seeds = [
        n
        for n, case in enumerate(one.suite.cases)
        if case.capability == capability and case.kind == "seed"
    ]
    seeds.sort(key=lambda n: (-counts[n], n))
    items = [
        _item(one.suite.cases[n], f"{counts[n]} of {len(scored)} models fail it")
        for n in seeds[:EXAMPLES]
    ]
    heading = "Best and worst models" if len(shown) < len(scored) else "Models, best first"
    return (
        Markup("<h2>{} {}</h2><p>{}</p><h3>{}</h3>").format(capability, title, expectation, heading)
        + Markup(rate_plot(rows))
        + Markup("<h3>Seeds that most models fail</h3>")
        + _list(items)
    )


def _whole(one: SuiteStandings) -> Sequence[Standing]:
    """The models scored on the whole suite: the others take no part in comparisons."""
    return [s for s in one.standings if s.rank is not None] or one.standings


def _failed(cases: Sequence[Case], labels: Any) -> Any:
    asked = labels != UNSCORED
    table = passing(cases)
    return asked & ~table[np.arange(len(cases)), np.where(asked, labels, 0)]


def _pair(
    one: SuiteStandings, first: str, second: str
) -> tuple[Standing, Standing, list[Case], Failed, Failed]:
    by_key = {standing.model.key: standing for standing in one.standings}
    if first not in by_key or second not in by_key:
        first, second = (standing.model.key for standing in (one.standings[0], one.standings[-1]))
    a, b = by_key[first], by_key[second]
    both = np.flatnonzero((a.model.labels != UNSCORED) & (b.model.labels != UNSCORED))
    cases = [one.suite.cases[n] for n in both]
    failed = _failed(cases, np.stack([a.model.labels[both], b.model.labels[both]]))
    return a, b, cases, failed[0], failed[1]


def comparison_frame(one: SuiteStandings, first: str, second: str) -> pd.DataFrame:
    """Which differences are real, a row a capability (exact McNemar test, Holm's correction)."""
    import pandas as pd

    a, b, cases, failed_a, failed_b = _pair(one, first, second)
    names = [standing.model.name for standing in one.standings]
    name_a, name_b = shown_name(a.model, names), shown_name(b.model, names)
    if name_a == name_b:
        name_a, name_b = "first", "second"
    rows = []
    for capability, found in compare(cases, failed_a, failed_b).items():
        own = [n for n, case in enumerate(cases) if case.capability == capability]
        better = name_b if found.first_only > found.second_only else name_a
        rows.append(
            {
                "Capability": capability,
                "Cases": found.cases,
                f"{name_a} %": _in_percent(float(failed_a[own].mean())),
                f"{name_b} %": _in_percent(float(failed_b[own].mean())),
                f"Only {name_a} fails": found.first_only,
                f"Only {name_b} fails": found.second_only,
                "p": float(f"{found.adjusted:.3g}"),
                "Verdict": f"{better} is better"
                if found.adjusted < 0.05
                else "no difference shown",
            }
        )
    return pd.DataFrame(rows)


def comparison_page(one: SuiteStandings, first: str, second: str, capability: str) -> str:
    """A plot of both models, and cases that only one of them fails."""
    a, b, cases, failed_a, failed_b = _pair(one, first, second)
    rows = [
        Row(name, a.capabilities[name], b.capabilities[name])
        for name in one.capabilities
        if name in a.capabilities and name in b.capabilities
    ]
    number_of = {case: n for n, case in enumerate(one.suite.cases)}
    parts = [Markup(rate_plot(rows, legend=(a.model.name, b.model.name)))]
    for heading, chosen in (
        (f"Only {a.model.name} fails", failed_a & ~failed_b),
        (f"Only {b.model.name} fails", failed_b & ~failed_a),
        ("Both fail", failed_a & failed_b),
    ):
        own = [n for n in np.flatnonzero(chosen).tolist() if cases[n].capability == capability]
        items = []
        for n in varied(cases, own)[:EXAMPLES]:
            place = number_of[cases[n]]
            told = [
                f"{model.name} said {LABELS[model.labels[place]]}" for model in (a.model, b.model)
            ]
            items.append(_item(cases[n], "; ".join(told)))
        parts.append(Markup("<h3>{} ({})</h3>").format(heading, len(own)))
        parts.append(_list(items))
    return Markup("").join(parts)


def varied(cases: Sequence[Case], numbers: Sequence[int]) -> list[int]:
    """One case of each family first, so that the first examples differ."""
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for number in numbers:
        seen[cases[number].seed_id] += 1
        turns.append((seen[cases[number].seed_id], number))
    return [number for _, number in sorted(turns)]


def _item(case: Case, note: str) -> Markup:
    passes = " or ".join(LABELS[label] for label in sorted(case.passes))
    return Markup("<li>{}<small>{}; passes: {}; {}</small></li>").format(
        marked(case), case.kind, passes, note
    )


def _list(items: Sequence[Markup]) -> Markup:
    if not items:
        return Markup("<p>none</p>")
    return Markup('<ul class="cases">') + Markup("").join(items) + Markup("</ul>")
