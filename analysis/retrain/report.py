"""What retraining changed: tables, and an HTML page of them."""

from __future__ import annotations

from pathlib import Path

from s2lct.analysis.retrain.records import Matrix, Row
from s2lct.files import write_text
from s2lct.leaderboard.site.capability_words import capability_words
from s2lct.tables import Cell, Table, page_templates


def points(value: float) -> str:
    """A change of a proportion in percentage points, with its sign."""
    rounded = f"{100 * value:+.0f}"
    return "0" if rounded in ("+0", "-0") else rounded.replace("-", "−")


def row_table(row: Row) -> Table:
    """One training: a row a capability."""
    columns = (
        "", "cases", "before", "after", "fail-to-pass", "pass-to-fail", "change, points",
    )  # fmt: skip
    rows: list[list[str | Cell]] = [
        [
            Cell(capability, kind="bold" if capability in row.trained_on else ""),
            *map(str, (one.cases, one.failures_before, one.failures_after)),
            *map(str, (one.fail_to_pass, one.pass_to_fail)),
            f"{points(one.change)} [{points(one.ci[0])}, {points(one.ci[1])}]",
        ]
        for capability, one in row.unseen.items()
    ]
    title = f"Trained on {row.name}: failures on cases whose sentences were not trained on"
    return Table(columns, rows, title)


def forgotten_line(row: Row) -> str:
    """Accuracy on the corpus's own test split, in a line."""
    if row.corpus is None:
        return "No corpus: what was forgotten is not known"
    return (
        f"Accuracy on {row.corpus.sentences} sentences of the corpus's own test split: "
        f"{100 * row.corpus.before:.1f} % before, {100 * row.corpus.after:.1f} % after"
    )


def conclusion(matrix: Matrix) -> str:
    """What training came to, in a sentence or two."""
    rows = [row for row in matrix.rows if not row.problem]
    if not rows:
        return "Nothing was trained."
    trained = [row.unseen[name] for row in rows for name in row.trained_on if name in row.unseen]
    others = [of for row in rows for name, of in row.unseen.items() if name not in row.trained_on]
    lower, better, worse = (
        sum(one.clear and sign * one.change > 0 for one in changes)
        for changes, sign in ((trained, -1), (others, -1), (others, 1))
    )
    told = (
        f"{len(rows)} training{'s' if len(rows) > 1 else ''} of {matrix.model} clearly lowered the "
        f"failure rate of {lower} of {len(trained)} capabilities trained on, on cases whose "
        "sentences were not trained on"
    )
    if others:
        told += f"; of {len(others)} other figures {better} clearly fell and {worse} clearly rose"
    changes = [row.corpus.after - row.corpus.before for row in rows if row.corpus]
    if changes:
        span = dict.fromkeys(points(of(changes)) for of in (min, max))
        told += f". Accuracy on the corpus changed by {' to '.join(span)} points"
    return f"{told}."


def matrix_table(matrix: Matrix) -> Table:
    """Changes of failure rates in percentage points: trained on (rows), tested on (columns)."""
    words = capability_words(matrix.capabilities)
    columns = [Cell(name, title=words[name].short) for name in matrix.capabilities]
    rows = []
    for row in matrix.rows:
        cells = [Cell(row.name, title=row.problem)]
        for name in matrix.capabilities:
            if (one := row.unseen.get(name)) is None:
                cells.append(Cell("–"))
                continue
            about = (
                f"{one.failures_before} of {one.cases} failures before, {one.failures_after} "
                f"after; 95 % interval {points(one.ci[0])} to {points(one.ci[1])}"
            )
            kind = ("better" if one.change < 0 else "worse") + (" bold" if one.clear else "")
            cells.append(Cell(points(one.change), "", about, kind, abs(one.change)))
        corpus = "–" if row.corpus is None else points(row.corpus.after - row.corpus.before)
        rows.append([*cells, Cell(corpus)])
    return Table(
        ("on", *columns, "corpus"),
        rows,
        "Change of the failure rate in points, on cases whose sentences were not trained on",
    )


def html_page(matrix: Matrix) -> str:
    """The matrix and each training's figures as one HTML page that needs no network."""
    return (
        page_templates("s2lct.analysis.retrain")
        .get_template("retrain.html.jinja")
        .render(
            matrix=matrix,
            conclusion=conclusion(matrix),
            changes=matrix_table(matrix),
            trainings=[(row_table(row), forgotten_line(row)) for row in matrix.rows if row.unseen],
        )
    )


def write_matrix(matrix: Matrix, out: Path) -> list[Path]:
    """Write JSON and HTML; the paths."""
    files = {
        "retrain.json": matrix.model_dump_json(indent=1) + "\n",
        "retrain.html": html_page(matrix),
    }
    for name, content in files.items():
        write_text(out / name, content)
    return [out / name for name in files]
