r"""Train the judge of extensions that nobody annotated on those that annotators read.

Usage::

    python scripts/train_judge.py --corpus embedded --corpus sst:FOLDER --data kept \
        --measure cases.jsonl

What the shipped annotations cover of builds of the embedded corpus and of SST is built again. An
extension is good if no annotator found a fault in it. Precision is measured on sentences, and on
inserted words, that were not fitted to, and on cases of other domains, which never are.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from s2lct.builder.annotations import Annotations
from s2lct.builder.config import REFUSED_ANNOTATIONS, BuildConfig
from s2lct.builder.fluent_form import FluentForm
from s2lct.builder.language.grammar import ReferenceGrammar
from s2lct.builder.models import (
    load_masked_language_model,
    load_parser,
    load_tagger,
    parsed_sentences,
)
from s2lct.builder.pipeline import kept_models, read_inputs
from s2lct.builder.records import Extended, Extension, InsertedWord, ParsedSentence, Production
from s2lct.builder.stages import choose, judge
from s2lct.builder.stages.judge import WEIGHTS, Judge
from s2lct.files import as_json_lines, write_bytes, write_text
from s2lct.suite.tables import without

AT_ONCE = 2_000
PARTS = 5
PENALTY = 0.1
"""Inverse strength of the penalty on weights."""
Row = dict[str, Any]


def annotated(corpus: str) -> Iterator[Row]:
    """The extensions that annotators read, with what the judge knows of them."""
    config = BuildConfig.checked(out=Path("unused"), corpus=corpus)
    inputs = read_inputs(config)
    annotations = Annotations.read([*config.annotation_files, REFUSED_ANNOTATIONS])
    with kept_models(inputs) as models:
        form = FluentForm(inputs, inputs.capabilities, models, annotations)
        used = {
            source.text: source
            for capability in inputs.capabilities
            for seed in form.compose(capability)
            for source in seed.sources
        }
        pairs: list[tuple[Any, Extended]] = []

        def was_read(extension: Extension, _: str) -> bool:
            return extension.origin == "masked" and bool(annotations.of(extension.id))

        for confirmed in form.confirmed(list(used.values()), was_read):
            pairs += [
                (used[text], each)
                for text, extended in confirmed.items()
                for each in extended
                if each.extension.origin == "masked"
            ]
        print(f"{corpus}: {len(used):,} sentences, {len(pairs):,} extensions", flush=True)
        for start in range(0, len(pairs), AT_ONCE):
            some = pairs[start : start + AT_ONCE]
            found = judge.figures(
                [(source.parsed, each) for source, each in some],
                models.mlm,
                inputs.grammar,
            )
            for (source, each), figures in zip(some, found, strict=True):
                left = choose.that_leave_label({source.text: [each]}, annotated=False)
                grades = annotations.of(each.extension.id)
                labels = {source.sentence.label}
                yield {
                    "corpus": corpus,
                    "sentence": source.text,
                    "text": each.extension.text,
                    "words": [word.word.lower() for word in each.extension.inserted],
                    "good": all(grade.natural and grade.label in labels for grade in grades),
                    "kept": bool(left[source.text]),
                    "mlm": each.extension.score,
                    "figures": figures,
                }
            print(f"{start + len(some):,} judged", flush=True)


def read_cases(path: Path) -> Iterator[Row]:
    """Cases that strict readers found natural or not, with what the judge knows of them."""
    tagger, parser, mlm = load_tagger(), load_parser(), load_masked_language_model()
    grammar = ReferenceGrammar.load()
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    pairs: list[tuple[ParsedSentence, Extended]] = []
    kept: list[Row] = []
    for case in cases:
        text: str = case["text"]
        inserted: list[InsertedWord] = []
        for word in case.get("inserted") or []:
            last = inserted[-1].end if inserted else 0
            if match := re.compile(rf"\b{re.escape(word)}\b").search(text, last):
                inserted.append(InsertedWord(word, "", match.start(), match.end()))
        base = without(text, [(word.start, word.end) for word in inserted])
        base = re.sub(r" +([.,!?;:])", r"\1", base)
        if not inserted or any(" " in word.word for word in inserted):
            continue
        of_base, of_text = parsed_sentences([base, text], tagger, parser)
        if of_base is None or of_text is None:
            continue
        extension = Extension(text, tuple(inserted), "masked", Production("", (), (), 0.0))
        pairs.append((of_base, Extended(extension, of_text)))
        kept.append(case)
    for case, figures in zip(kept, judge.figures(pairs, mlm, grammar), strict=True):
        readers = [case[name]["natural"] for name in ("first", "second") if name in case]
        yield {
            "corpus": path.stem,
            "text": case["text"],
            "words": case["inserted"],
            "good": min(readers) >= 1,
            "figures": figures,
        }


def held_out(rows: Sequence[Row], by: str) -> np.ndarray:
    """The probability of each row by a judge that saw none of its sentence, or of its words."""
    groups = [{row["sentence"]} if by == "sentence" else set(row["words"]) for row in rows]
    names = sorted(set().union(*groups))
    random.Random(0).shuffle(names)
    part = {name: number % PARTS for number, name in enumerate(names)}
    found = np.zeros(len(rows))
    for number in range(PARTS):
        seen = [row for row, g in zip(rows, groups, strict=True) if number not in map(part.get, g)]
        tested = [n for n, group in enumerate(groups) if part[max(group)] == number]
        found[tested] = fitted(seen).probabilities([rows[n]["figures"] for n in tested])
    return found


def fitted(rows: Sequence[Row]) -> Judge:
    """A judge of rows; its precisions are not known yet."""
    names = sorted(rows[0]["figures"])
    known = np.array([[float(row["figures"][name]) for name in names] for row in rows])
    means, scales = known.mean(axis=0), known.std(axis=0) + 1e-9
    model = LogisticRegression(C=PENALTY, max_iter=2_000)
    model.fit((known - means) / scales, [row["good"] for row in rows])
    weights = model.coef_[0] / scales
    return Judge(
        dict(zip(names, weights.round(5).tolist(), strict=True)),
        dict(zip(names, means.round(5).tolist(), strict=True)),
        round(float(model.intercept_[0]), 5),
        (),
    )


def curve(rows: Sequence[Row], probabilities: np.ndarray) -> list[tuple[float, float, float]]:
    """The share that is at least so probable, that probability, and what share of it is good."""
    order = np.argsort(-probabilities, kind="stable")
    good = np.cumsum([rows[n]["good"] for n in order])
    ends = [max(1, int(len(rows) * share / 20)) for share in range(1, 21)]
    return [(n / len(rows), float(probabilities[order[n - 1]]), good[n - 1] / n) for n in ends]


def _print(title: str, found: Sequence[tuple[float, float, float]]) -> None:
    print(title)
    for share, least, precision in found:
        print(f"  {share:4.0%} kept, probability >= {least:.2f}: {precision:.2f} good")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", action="append", required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder for what was computed")
    parser.add_argument("--measure", type=Path, help="cases that strict readers read")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    rows: list[Row] = []
    for number, corpus in enumerate(arguments.corpus):
        rows += kept(arguments.data / f"{number}.jsonl", partial(annotated, corpus))
    rows = list({row["text"]: row for row in rows}.values())
    now = [number for number, row in enumerate(rows) if row["kept"]]
    likely = [rows[number] for number in now]
    print(f"{len(rows):,} extensions, {len(likely):,} of them likely and grammatical")
    _print("the likeliest first, unjudged", curve(likely, np.array([row["mlm"] for row in likely])))
    for by in ("sentence", "word"):
        found = held_out(rows, by)
        _print(f"{by}s that were not fitted to, all", curve(rows, found))
        judged = curve(likely, found[now])
        _print(f"{by}s that were not fitted to, likely and grammatical", judged)
    judge_of_all = fitted(rows)
    if arguments.measure:
        cases = list(read_cases(arguments.measure))
        probabilities = judge_of_all.probabilities([case["figures"] for case in cases])
        _print(arguments.measure.stem, curve(cases, np.array(probabilities)))
    precisions = [(round(least, 4), round(good, 4)) for _, least, good in judged]
    shipped = replace(judge_of_all, precisions=precisions)
    write_text(arguments.out, json.dumps(asdict(shipped), indent=1) + "\n")


def kept(path: Path, compute: Callable[[], Iterator[Row]]) -> list[Row]:
    """The rows in a file, which are computed and written if it is not there."""
    if not path.exists():
        write_bytes(path, as_json_lines(compute()).encode())
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
