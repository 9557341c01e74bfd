"""Tables and figures of the S²LCT paper, against second, naive implementations."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tiny_models import save_tiny_classifier
from typer.testing import CliRunner

from s2lct.analysis.reproduce.commands import reproduce
from s2lct.analysis.reproduce.runner import PaperTable, Reproduction, of_families
from s2lct.analysis.study import Key, KeyItem
from s2lct.cli.main import app
from s2lct.errors import AnalysisError
from s2lct.labels import LABELS
from s2lct.suite.cases import Case, load_cases

pytestmark = pytest.mark.usefixtures("own_cache")
RUNNER = CliRunner(env={"COLUMNS": "200"})
THINGS = ("film", "plot", "song", "cast", "joke", "scene", "score", "script")
MADE_UP = [
    (test, f"{start} {thing}{end}", expected)
    for thing in THINGS
    for test, start, end, expected in (
        ("neutral words in context", "We saw this", ".", ["neutral"]),
        ("Sentiment-laden words in context", "I like that", ".", ["positive"]),
        ("Sentiment-laden words in context", "I dislike that", ".", ["negative"]),
        ("simple negations: not negative", "This is no bad", ".", ["positive", "neutral"]),
        ("used to, but now", "I used to hate this", ", but now I like it.", ["positive"]),
        ("Q & A: no", "Do I think it is a dull", "? No", ["positive", "neutral"]),
        ("Q & A: no", "Do I think it is a fine", "? No", ["negative"]),
        ("a test of nobody's", "Nobody asks of the", ".", ["neutral"]),
    )
]
BESIDE = {
    "LC1": "neutral words in context",
    "LC2": "Sentiment-laden words in context",
    "LC3": "used to, but now",
    "LC4": "simple negations: not negative",
}


@pytest.fixture(scope="session")
def checklist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checklist") / "cases.jsonl"
    rows = (
        {"test": test, "capability": "Made up", "texts": [text], "expected": expected}
        for test, text, expected in MADE_UP
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(tmp_path_factory.mktemp("models") / "one")


@pytest.fixture(scope="session")
def other_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_classifier(tmp_path_factory.mktemp("models") / "two", seed=5)


def rows_of(made: Reproduction) -> list[dict[str, Any]]:
    table = made.tables[0]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def labels_by(folder: Path, texts: Sequence[str]) -> dict[str, int]:
    """The likeliest label of each text, asked one by one."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return {
            text: int(network(**tokenizer(text, return_tensors="pt")).logits[0].argmax())
            for text in texts
        }


def percent(outcomes: Sequence[bool]) -> float | None:
    return 100 * sum(outcomes) / len(outcomes) if outcomes else None


def test_table_3_counts_what_models_fail(
    suite_folder: Path, checklist: Path, model: Path, other_model: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {
        "name": "s2lct-table3",
        "model": (str(model), str(other_model)),
        "suite": str(suite_folder),
        "checklist": (checklist,),
    }
    made = reproduce(**options, out=tmp_path / "out")
    cases = load_cases(suite_folder).cases
    texts = [case.text for case in cases] + [text for _, text, _ in MADE_UP]
    said = {str(folder): labels_by(folder, texts) for folder in (model, other_model)}
    own = [row for row in rows_of(made) if row["model"] in said]
    assert {row["capability"] for row in own} == {case.capability for case in cases} | {"all"}
    for row in own:
        name, answers = row["capability"], said[row["model"]]
        fails = {
            case.id: answers[case.text] not in case.passes
            for case in cases
            if name in (case.capability, "all")
        }
        of = [case for case in cases if case.id in fails]
        seeds = [case for case in of if case.kind == "seed"]
        expansions = [case for case in of if case.kind == "expansion"]
        assert (row["seeds"], row["expansions"]) == (len(seeds), len(expansions))
        assert row["seeds fail %"] == pytest.approx(percent([fails[one.id] for one in seeds]))
        wrong = percent([fails[one.id] for one in expansions])
        assert row["expansions fail %"] == (None if wrong is None else pytest.approx(wrong))
        flipped = [one for one in expansions if fails[one.id] and not fails[one.seed_id]]
        assert row["pass-to-fail"] == len(flipped)
        back = [one for one in expansions if not fails[one.id] and fails[one.seed_id]]
        assert row["fail-to-pass"] == len(back)
        if name in BESIDE:
            outcomes = [
                LABELS[answers[text]] not in expected
                for test, text, expected in MADE_UP
                if test == BESIDE[name]
            ]
            assert row["CheckList cases"] == len(outcomes)
            assert row["CheckList fails %"] == pytest.approx(percent(outcomes))
        if name in ("LC5", "LC6", "LC7", "LC8", "LC9"):
            assert row["CheckList cases"] is None  # the file has no such test
    # What turns a fact around in the same test belongs to another capability.
    assert {r["CheckList cases"] for r in own if r["capability"] in ("LC10", "LC11")} == {8}
    reproduce(**options, out=tmp_path / "again")
    assert written(tmp_path / "again") == written(tmp_path / "out")


def test_the_papers_own_figures_stand_in_table_3(
    suite_folder: Path, checklist: Path, model: Path, tmp_path: Path
) -> None:
    made = reproduce(
        name="s2lct-table3",
        model=(str(model),),
        suite=str(suite_folder),
        checklist=(checklist,),
        limit=4,
        out=tmp_path,
    )
    rows = rows_of(made)
    printed = {(r["capability"], r["model"]): r for r in rows if r["model"] != str(model)}
    assert printed["LC9", "paper: BERT"]["pass-to-fail"] == 43
    assert printed["LC8", "paper: RoBERTa"]["expansions fail %"] == 31.21
    assert printed["LC3", "paper: DistilBERT"]["expansions"] is None
    # Sums of the sheet of facts that was taken down from the drafts.
    assert printed["all", "paper: BERT"]["seeds"] == 495
    assert printed["all", "paper: BERT"]["expansions"] == 12_592
    flips = [printed["all", f"paper: {name}"]["pass-to-fail"] for name in ("BERT", "RoBERTa")]
    assert flips == [391, 312]
    for row in rows:
        if row["model"] == str(model) and row["capability"] != "all":
            assert row["seeds"] + row["expansions"] <= 4
            assert row["CheckList cases"] in (None, 4)
    page = (tmp_path / "s2lct-table3.md").read_text(encoding="utf-8")
    assert made.verdict in page
    with (tmp_path / "s2lct-table3.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(rows)


@given(st.data())
def test_a_limit_takes_whole_families_and_no_expansion_without_its_seed(data: Any) -> None:
    cases = [
        Case(f"{name}{seed}-{place}", name, "expansion" if place else "seed", f"{name}{seed}-0",
             f"{name} {seed} {place}", frozenset({0}))
        for name in ("LC1", "LC2")
        for seed in range(data.draw(st.integers(1, 5)))
        for place in range(data.draw(st.integers(1, 5)))
    ]  # fmt: skip
    shuffled = data.draw(st.permutations(cases))
    most = data.draw(st.integers(2, 12))
    kept = of_families(shuffled, most, data.draw(st.integers(0, 3)))
    ids = {case.id for case in kept}
    assert [case.id for case in shuffled if case.id in ids] == [case.id for case in kept]
    for name in ("LC1", "LC2"):
        own = [case for case in kept if case.capability == name]
        assert len(own) == min(most, sum(case.capability == name for case in cases))
        assert all(case.seed_id in ids for case in own)
        cut = {
            case.seed_id
            for case in cases
            if case.capability == name and case.seed_id in ids and case.id not in ids
        }
        assert len(cut) <= 1


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        ({"name": "s2lct-table3"}, "--model"),
        ({"name": "s2lct-table3", "model": ("vader",)}, "--suite"),
        ({"name": "s2lct-table3", "model": ("vader",), "suite": "SUITE"}, "--checklist"),
        ({"name": "s2lct-table2"}, "--key"),
    ],
)
def test_what_is_missing_is_named(
    given_options: dict[str, Any], message: str, suite_folder: Path, tmp_path: Path
) -> None:
    if "suite" in given_options:
        given_options = given_options | {"suite": str(suite_folder)}
    with pytest.raises(AnalysisError) as error:
        reproduce(**given_options, out=tmp_path / "out")
    assert message in error.value.hint


# Table 2: answers are of made-up raters.


def study(tmp_path: Path, said: dict[str, list[tuple[int, int]]]) -> dict[str, Any]:
    """A key of items named FAMILY-KIND, that pass as positive, and each rater's answers."""
    items = {}
    for number, name in enumerate(said):
        family, _, kind = name.partition("-")
        items[name] = KeyItem(
            set=1,
            case=f"case{number}",
            kind="seed" if kind == "seed" else "expansion",
            seed_id=family,
            family=list(said).index(f"{family}-seed"),
            capability="LC2",
            text=f"Film {number}.",
            passes=("positive",),
        )
    key = TypeAdapter(Key).dump_json(Key("made-up", "s", "", items))
    (tmp_path / "key.json").write_bytes(key)
    paths = []
    for rater in range(max(map(len, said.values()))):
        answers = [
            {"id": name, "relevance": given[rater][0], "sentiment": given[rater][1]}
            for name, given in said.items()
            if rater < len(given)
        ]
        paths.append(tmp_path / f"rater-{rater}.json")
        paths[-1].write_text(json.dumps({"rater": f"rater {rater}", "answers": answers}))
    return {"name": "s2lct-table2", "key": tmp_path / "key.json", "annotations": tuple(paths)}


def test_table_2_averages_raters_before_it_labels(tmp_path: Path) -> None:
    said = {
        "a-seed": [(5, 5), (5, 4)],  # positive
        "a-more": [(3, 2), (4, 4)],  # neutral together: the label differs
        "b-seed": [(5, 3), (4, 5)],  # 4: positive
        "b-more": [(5, 3), (5, 4)],  # 3.5: positive
        "c-seed": [(1, 1), (2, 2)],  # negative
        "c-more": [(5, 5)],
    }
    made = reproduce(**study(tmp_path, said), out=tmp_path / "out")
    rows = {row["test cases"]: row for row in rows_of(made)}
    assert [rows[kind]["labels that differ"] for kind in ("seed", "expanded", "all")] == [1, 1, 2]
    assert rows["seed"]["label consistency"] == pytest.approx(2 / 3)
    assert rows["all"]["label consistency"] == pytest.approx(4 / 6)
    relevance = {name: np.mean([(r - 1) / 4 for r, _ in given]) for name, given in said.items()}
    assert rows["all"]["relevancy"] == pytest.approx(np.mean(list(relevance.values())))
    expanded = [value for name, value in relevance.items() if name.endswith("more")]
    assert rows["expanded"]["relevancy"] == pytest.approx(np.mean(expanded))
    less = rows["expanded less seed"]
    assert less["label consistency"] == pytest.approx((-1 + 0 + 1) / 3)
    apart = [relevance[f"{family}-more"] - relevance[f"{family}-seed"] for family in "abc"]
    assert less["relevancy"] == pytest.approx(np.mean(apart))
    assert "label consistency of seed cases is not over 0.8" in made.verdict


def test_table_2_tells_a_difference_of_seeds_and_expansions(tmp_path: Path) -> None:
    said = {}
    for number in range(30):
        said[f"{number}-seed"] = [(5, 5), (5, 4)]
        said[f"{number}-more"] = [(2, 1 if number % 2 else 5), (1, 2 if number % 2 else 5)]
    verdict = reproduce(**study(tmp_path, said), out=tmp_path / "out").verdict
    assert verdict.startswith("Comes back in part")
    assert "label consistency of seed cases is over 0.8" in verdict
    assert "label consistency of expanded cases is not over" in verdict
    assert "a difference in relevancy between" in verdict


def test_the_terminal_shows_table_verdict_and_time(tmp_path: Path) -> None:
    options = study(tmp_path, {"a-seed": [(5, 5)], "a-more": [(4, 4)]})
    answers = [part for path in options["annotations"] for part in ("--annotations", str(path))]
    arguments = ["reproduce", "s2lct-table2", "--key", str(options["key"]), *answers]
    done = RUNNER.invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    for text in ("expanded", "relevancy", "Comes back", "out"):
        assert text in done.output


def test_a_table_is_rounded_on_its_page_alone() -> None:
    table = PaperTable("T", ("a", "b"), [["x|y", None], ["z", 1.25001]], ("n",), 2)
    assert "| --- | --: |" in table.markdown()
    assert "| x\\|y |  |" in table.markdown()
    assert "| z | 1.25 |" in table.markdown()
    written = list(csv.reader(table.table().csv().splitlines()))
    assert written[1:] == [["x|y", ""], ["z", "1.25001"]]


# Diversity, coverage.


def naive_self_bleu(texts: Sequence[str]) -> float:
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(effective_order=True)
    scores = [
        bleu.sentence_score(text, [*texts[:place], *texts[place + 1 :]]).score
        for place, text in enumerate(texts)
    ]
    return float(np.mean(scores))


def naive_productions(texts: Sequence[str]) -> set[str]:
    """Of the stub models' parses, sentence by sentence."""
    from nltk import Tree

    from s2lct.analysis.diversity import sentences
    from s2lct.builder.models import EMBEDDED, load_parser, load_tagger

    found: set[str] = set()
    for tokens in load_tagger().tag(texts):
        for tree in load_parser(EMBEDDED).parse(sentences(tokens)):
            if tree is not None:
                for part in Tree.fromstring(tree).subtrees(lambda one: isinstance(one[0], Tree)):
                    found.add(f"{part.label()} -> {' '.join(child.label() for child in part)}")
    return found


def test_diversity_sets_as_many_cases_beside_each_other(
    suite_folder: Path, checklist: Path, corpus_path: Path, tmp_path: Path
) -> None:
    made = reproduce(
        name="s2lct-diversity",
        suite=str(suite_folder),
        checklist=(checklist,),
        reference=f"csv:{corpus_path}",
        seeds=2,
        out=tmp_path / "out",
    )
    rows = {(row["cases of"], row["source"]): row for row in rows_of(made)}
    cases = load_cases(suite_folder).cases
    by_group = {
        "all": [case.text for case in cases],
        "seeds": [case.text for case in cases if case.kind == "seed"],
        "LC2": [case.text for case in cases if case.capability == "LC2"],
    }
    for group, texts in by_group.items():
        row = rows[group, "S²LCT"]
        assert row["cases"] == len(texts)
        assert row["self-BLEU"] == pytest.approx(naive_self_bleu(texts))
        assert row["productions"] == len(naive_productions(texts))
        pairs = [pair for text in texts for pair in word_pairs(text)]
        assert row["distinct 2-grams"] == pytest.approx(len(set(pairs)) / len(pairs))
    for (group, source), row in rows.items():
        assert row["cases"] <= rows[group, "S²LCT"]["cases"], source
    # A test with fewer cases than the capability is taken whole, whatever the draw.
    own = [text for test, text, _ in MADE_UP if test == BESIDE["LC2"]]
    if len(own) <= len(by_group["LC2"]):
        row = rows["LC2", "CheckList"]
        assert row["self-BLEU"] == pytest.approx(naive_self_bleu(own))
        assert row["productions"] == len(naive_productions(own))
    assert ("LC9", "S²LCT") not in rows  # nothing stands beside it in the file
    assert (tmp_path / "out" / "s2lct-diversity.png").read_bytes().startswith(b"\x89PNG")
    assert "self-BLEU" in made.verdict


def word_pairs(text: str) -> list[tuple[str, str]]:
    from s2lct.builder.models import load_tagger

    (tokens,) = load_tagger().tag([text])
    words = [one.text.lower() for one in tokens if any(c.isalnum() for c in one.text)]
    return list(itertools.pairwise(words))


def hidden_states(folder: Path, texts: Sequence[str]) -> list[np.ndarray[Any, Any]]:
    """Of each text the outputs of the encoder's layers, shape (tokens, neurons)."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return [
            np.concatenate(
                [
                    state[0].numpy()
                    for state in network(
                        **tokenizer(text, return_tensors="pt"), output_hidden_states=True
                    ).hidden_states[1:]
                ],
                axis=1,
            )
            for text in texts
        ]


def test_coverage_counts_neurons_beyond_their_bounds(
    suite_folder: Path,
    checklist: Path,
    corpus_path: Path,
    model: Path,
    other_model: Path,
    tmp_path: Path,
) -> None:
    from s2lct.analysis.coverage.measure import read_reference
    from s2lct.identity import shuffle_key

    options: dict[str, Any] = {
        "name": "s2lct-coverage",
        "model": (str(model), str(other_model)),
        "suite": str(suite_folder),
        "checklist": (checklist,),
        "reference": f"csv:{corpus_path}",
    }
    made = reproduce(**options, out=tmp_path / "out")
    growing = rows_of(made)
    rows = {(row["model"], row["cases of"]): row for row in growing}  # the last: with all cases
    bounds, held_out = read_reference(f"csv:{corpus_path}", None, 0)
    texts = {
        "S²LCT": {case.text for case in load_cases(suite_folder).cases},
        "CheckList": {text for _, text, _ in MADE_UP},
        "random sentences": {str(text) for texts in held_out.values() for text in texts},
    }
    most = min(map(len, texts.values()))
    for folder in (model, other_model):
        known = np.concatenate(hidden_states(folder, bounds))
        low, high = known.min(axis=0), known.max(axis=0)
        for name, own in texts.items():
            chosen = sorted(own, key=lambda one: (shuffle_key(0, "coverage", one), one))[:most]
            seen = np.concatenate(hidden_states(folder, chosen))
            upper = int((seen > high + 1e-5).any(axis=0).sum())
            lower = int((seen < low - 1e-5).any(axis=0).sum())
            row = rows[str(folder), name]
            # Equation 4.
            assert row["BoundCov %"] == pytest.approx(100 * (upper + lower) / (2 * len(low)))
            assert row["SActCov %"] == pytest.approx(100 * upper / len(low))
    for one in rows:
        part = [row for row in growing if (row["model"], row["cases of"]) == one]
        values = [row["BoundCov %"] for row in part]
        assert values == sorted(values)
        assert part[-1]["cases"] == most
        assert values[-1] == pytest.approx(rows[one]["BoundCov %"])
    assert (tmp_path / "out" / "s2lct-coverage.png").read_bytes().startswith(b"\x89PNG")
    reproduce(**options, out=tmp_path / "again")
    assert written(tmp_path / "again") == written(tmp_path / "out")


def test_an_interrupted_figure_goes_on_with_what_was_finished(
    suite_folder: Path,
    checklist: Path,
    corpus_path: Path,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from s2lct.analysis.reproduce import s2lct_tables

    options: dict[str, Any] = {
        "name": "s2lct-coverage",
        "model": (str(model),),
        "suite": str(suite_folder),
        "checklist": (checklist,),
        "reference": f"csv:{corpus_path}",
        "limit": 5,
    }
    measured: list[str] = []
    measure = s2lct_tables.measure

    def measure_once(name: str, *args: Any, **more: Any) -> Any:
        measured.append(name)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return measure(name, *args, **more)

    monkeypatch.setattr(s2lct_tables, "measure", measure_once)
    with pytest.raises(KeyboardInterrupt):
        reproduce(**options, out=tmp_path / "out")
    reproduce(**options, out=tmp_path / "out")
    assert measured == ["S²LCT", "CheckList", "CheckList", "random sentences"]
    monkeypatch.setenv("S2LCT_CACHE", str(tmp_path / "another"))
    reproduce(**options, out=tmp_path / "whole")
    assert written(tmp_path / "whole") == written(tmp_path / "out")
