"""The leaderboard as a Gradio app, on a machine of one's own or as a Space."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from s2lct.errors import ScoringError
from s2lct.labels import LABELS
from s2lct.leaderboard.results.collection import UNSCORED, Collection, collect, passing
from s2lct.leaderboard.results.comparison import TEST_WORDS, Comparison, compare, shown_p
from s2lct.leaderboard.results.hub_results import official_suites
from s2lct.leaderboard.results.standings import Standing, SuiteStandings, all_standings
from s2lct.leaderboard.scoring.chance import CHANCE_WORDS, RANDOM, chance_of, reference_means
from s2lct.leaderboard.scoring.statistics import INTERVAL_WORDS, MEAN_WORDS, Failed
from s2lct.leaderboard.site.app_board import board_frame, in_percent, shown_name, styled
from s2lct.leaderboard.site.plots import Row, rate_plot
from s2lct.leaderboard.site.report import marked, percent, verdict_words
from s2lct.leaderboard.site.site import TABLES, TITLE, capability_words, short_ids, write_tables
from s2lct.suite.cases import Case

if TYPE_CHECKING:
    import gradio as gr
    import pandas as pd

EXAMPLES = 5
PLOTTED = 25
OUTSIDE = "Outside"
_FEW = 5
_KINDS = {"all cases": "all", "seeds": "seed", "expansions": "expansion"}
_CSS = """
.plot { overflow-x: auto; } .plot svg { max-width: 60rem; min-width: 30rem; }
.plot .chance { stroke: var(--body-text-color-subdued); }
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
    suites: Sequence[str] = (),
    host: str | None = None,
    port: int | None = None,
    block: bool = True,
) -> str:
    """Serve the leaderboard.

    Args:
        results: what `collection.collect` reads: a folder, a Hub dataset or a Parquet file; or
            what it gave.
        suites: which the leaderboard is for, see `hub_results.official_suites`.
        host: address to listen at; by default this machine alone, in a Space everybody.
        port: the first free one from 7860 on by default.
        block: go on until interrupted; otherwise come back at once.

    Returns:
        The app's address.

    Raises:
        ScoringError: there are no usable results, the port is taken, or Gradio is missing.
    """
    if isinstance(results, Collection):
        collection = results
    else:
        collection = collect(results, official=official_suites(suites) if suites else None)
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

    standings = all_standings(collection)
    ids = short_ids([one.suite.fingerprint for one in standings])
    boards = {board_name(one, ids[one.suite.fingerprint]): one for one in standings}
    first = next(iter(boards))
    files = Path(tempfile.mkdtemp(prefix="s2lct-leaderboard-"))
    write_tables(list(boards.values()), files)
    start = boards[first]
    models, capabilities = model_choices(start), capability_choices(start)
    pair = first_pair(start)
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as app:
        gr.Markdown(
            f"# {TITLE}\nFailure rates of sentiment models by linguistic capability, in percent; "
            f"lower is better. {MEAN_WORDS}. {INTERVAL_WORDS}. {CHANCE_WORDS}. Models whose "
            "difference is not shown share ranks; rows without a rank that are called always-… "
            "or random are no models."
        )
        suite = gr.Dropdown(
            list(boards),
            value=first,
            label="Suite",
            info="Models scored on another version stand apart.",
        )
        with gr.Tab("Leaderboard"):
            with gr.Row():
                verified = gr.Checkbox(label="Verified only")
                kind = gr.Radio(list(_KINDS), value="all cases", label="Capabilities on")
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

        def board(name: str, only: bool, of: str) -> tuple[Any, str]:
            frame = board_frame(boards[name], only, _KINDS[of])
            return styled(frame), board_plot(boards[name], only)

        def switched(name: str, only: bool, of: str) -> list[Any]:
            now = boards[name]
            models, capabilities = model_choices(now), capability_choices(now)
            pair = first_pair(now)
            return [
                *board(name, only, of),
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
            [suite, verified, kind],
            [table, chart, capability, one, other, of, about, compared, examples],
        )
        for control in (verified, kind):
            control.input(board, [suite, verified, kind], [table, chart])
        capability.input(
            lambda name, chosen: capability_page(boards[name], chosen), [suite, capability], about
        )
        for chooser in (one, other, of):
            chooser.input(comparison, [suite, one, other, of], [compared, examples])
    return app  # type: ignore[no-any-return]


def board_name(one: SuiteStandings, id: str) -> str:
    """A suite as the app names it, with an id that no other has."""
    unofficial = ", unofficial" if one.suite.official is False else ""
    return (
        f"{one.suite.version or 'unknown version'} ({id}{unofficial}): "
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


def capability_choices(one: SuiteStandings) -> list[tuple[str, str]]:
    """Capabilities as (id and title, id)."""
    words = capability_words()
    return [(f"{name} {words.get(name, ('', ''))[0]}".strip(), name) for name in one.capabilities]


def board_plot(one: SuiteStandings, verified_only: bool = False) -> str:
    """Failure rates with their intervals, of the best models."""
    names = [standing.model.name for standing in one.standings]
    chosen = [s for s in one.standings if s.model.verified or not verified_only][:PLOTTED]
    _, chance = chance_of(reference_means(one.references))
    rows = [Row(shown_name(s.model, names), s.overall) for s in chosen]
    return rate_plot(rows, chance=("chance", chance))


def capability_page(one: SuiteStandings, capability: str) -> str:
    """What a capability asks for, who does best and worst, and seeds that most models fail."""
    title, expectation = capability_words().get(capability, ("", ""))
    names = [standing.model.name for standing in one.standings]
    scored = sorted(
        (s for s in _whole(one) if capability in s.capabilities),
        key=lambda s: s.capabilities[capability].all.failure_rate,
    )
    shown = scored if len(scored) <= 2 * _FEW else [*scored[:_FEW], *scored[-_FEW:]]
    rows = [Row(shown_name(s.model, names), s.capabilities[capability].all) for s in shown]
    known = {r.name: r.capabilities[capability]["all"] for r in one.references}
    blind = ", ".join(f"{name} {percent(rate)} %" for name, rate in known.items())
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
        + Markup(rate_plot(rows, chance=(RANDOM, known[RANDOM])))
        + Markup("<p>Answers that do not read the cases fail: {}.</p>").format(blind)
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
    """Which differences are real, a row a capability (`statistics.compare`)."""
    import pandas as pd

    a, b, cases, failed_a, failed_b = _pair(one, first, second)
    name_a, name_b = _pair_names(one, a, b)
    rows = []
    for capability, found in compare(cases, failed_a, failed_b).items():
        own = [n for n, case in enumerate(cases) if case.capability == capability]
        rows.append(
            {
                "Capability": capability,
                "Cases": found.cases,
                "Families": found.families,
                f"{name_a} %": in_percent(float(failed_a[own].mean())),
                f"{name_b} %": in_percent(float(failed_b[own].mean())),
                f"Only {name_a} fails": found.first_only,
                f"Only {name_b} fails": found.second_only,
                "p": shown_p(found.adjusted),
                "Verdict": _verdict(found, name_a, name_b),
            }
        )
    return pd.DataFrame(rows)


def _pair_names(one: SuiteStandings, a: Standing, b: Standing) -> tuple[str, str]:
    names = [standing.model.name for standing in one.standings]
    name_a, name_b = shown_name(a.model, names), shown_name(b.model, names)
    return (name_a, name_b) if name_a != name_b else ("first", "second")


def _verdict(found: Comparison, first: str, second: str) -> str:
    return "undecided" if found.better is None else f"{(first, second)[found.better]} is better"


def comparison_page(one: SuiteStandings, first: str, second: str, capability: str) -> str:
    """A plot of both models, and cases that only one of them fails."""
    a, b, cases, failed_a, failed_b = _pair(one, first, second)
    rows = [
        Row(name, a.capabilities[name].all, b.capabilities[name].all)
        for name in one.capabilities
        if name in a.capabilities and name in b.capabilities
    ]
    number_of = {case: n for n, case in enumerate(one.suite.cases)}
    verdict = verdict_words(compare(cases, failed_a, failed_b))
    parts = [
        Markup("<p><b>{}: {}</b>. {}.</p>").format(_pair_names(one, a, b)[0], verdict, TEST_WORDS),
        Markup(rate_plot(rows, legend=(a.model.name, b.model.name))),
    ]
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
