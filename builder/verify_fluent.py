"""What a suite in the fluent form must be, beyond what its reader asks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from s2lct.builder.capabilities.schema import Form, Template
from s2lct.builder.curation.verdicts import LEAST_READERS, Grades
from s2lct.builder.language.lexicon import Lexicon, is_polarity_shifter
from s2lct.builder.language.operations import Analysis, NotApplicableError
from s2lct.builder.language.sentiment_scorers import shift
from s2lct.builder.language.tree import read_tree
from s2lct.builder.models import ConstituencyParser, Tagger
from s2lct.builder.sources import Extension, Source, sentence_id
from s2lct.builder.stages.compose import compose, labels_of
from s2lct.builder.stages.confirm import confirmed_all
from s2lct.builder.stages.judge import MOST_SHIFT
from s2lct.builder.stages.search import meets_text
from s2lct.labels import LABELS
from s2lct.suite.records import InsertedWord, Production, Sentence, Token
from s2lct.suite.rows import without
from s2lct.suite.tables import COUNTERPART, ORIGINS

Row = Mapping[str, Any]
_MOST_FAULTS_OF_A_ROW = 5
_WORD = re.compile(r"[\w']+")
_MOST_PLACEMENTS = 20


def config_faults(rows: Sequence[Row], form: Form, grades: Grades) -> Iterator[str]:
    """Faults that the rows of one config show, without tagger and parser.

    Args:
        rows: of the config.
        form: its capability's fluent form.
        grades: what readers must have given, where there were readers.
    """
    seeds = {row["id"]: row for row in rows if row["kind"] == "seed"}
    for row in rows:
        if row["kind"] != "seed" and row["seed_id"] not in seeds:
            continue  # told by the reader
        found = [
            *_row_faults(row, seeds[row["seed_id"]], form),
            *_verdict_faults(row, sum(map(int, grades.split("+")))),
        ]
        for fault in found[:_MOST_FAULTS_OF_A_ROW]:
            yield f"{_where(row)}: {fault}"


def _where(row: Row) -> str:
    return f"{row['capability']} {row['kind']} {row['id']}"


def _row_faults(row: Row, seed: Row, form: Form) -> Iterator[str]:
    template = _template_of(row)
    if template is None or len(template.slots) != len(row["sources"]):
        yield "its template is none, or has another number of slots than it has sources"
        return
    if row["kind"] != "expansion":
        if row["masked_text"] is not None or row["inserted"] or row["production"] or row["origin"]:
            yield f"a {row['kind']} has no inserted words"
        yield from _label_faults(row, template, form)
        if not all(_is_shortened(source["used"], source["text"]) for source in row["sources"]):
            yield "a sentence of it is not the corpus's, whole or without one part"
        if row["kind"] == COUNTERPART:
            if not set(row["labels"]).isdisjoint(seed["labels"]):
                yield "its labels are not opposite to its seed's"
            if row["sources"] != seed["sources"]:
                yield "its sources are not its seed's"
        return
    for column in ("labels", "label", "template"):
        if row[column] != seed[column]:
            yield f"its {column} are not its seed's"
    if row["origin"] not in ORIGINS:
        yield f"its origin is {row['origin']!r}"
    own, others = ([s | {"used": ""} for s in one["sources"]] for one in (row, seed))
    if own != others:
        yield "its sources are not its seed's"
    extended = _extended(row, seed)
    if len(extended) != 1:
        yield "not one of its sentences is extended, and it alone"
    elif row["origin"] == "attested" and not all(
        _is_shortened(row["sources"][number]["used"], row["sources"][number]["text"])
        for number in extended
    ):
        yield "its sentence is not as its author wrote it"
    if any(is_polarity_shifter(w) for part in row["inserted"] for w in _words(part["word"])):
        yield "an inserted word shifts polarity"
    tags = [word["tag"] for word in row["inserted"]]
    if row["second_production"] is not None:
        if not _is_licensed(row["second_production"], tags[1:]):
            yield "its second production does not license the second of two inserted parts"
        tags = tags[:1]
    if not _is_licensed(row["production"], tags):
        yield "its production does not license the inserted words"


def _verdict_faults(row: Row, least_sum: int) -> Iterator[str]:
    """Grades that would not have let it into the suite."""
    for part in sorted({verdict["of"] for verdict in row["verdicts"]}):
        grades = {v["reader"]: v["natural"] for v in row["verdicts"] if v["of"] == part}
        best = sorted(grades.values(), reverse=True)[:LEAST_READERS]
        if len(best) < LEAST_READERS or 0 in grades.values() or sum(best) < least_sum:
            yield f"its verdicts would not let it pass: {part} {grades}"


def _is_shortened(used: str, text: str) -> bool:
    """Whether it is a sentence, or a sentence out of which whole words were taken."""
    left = iter(_WORD.findall(text))
    return used != "" and all(word in left for word in _WORD.findall(used))


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _template_of(row: Row) -> Template | None:
    try:
        return Template.model_validate({"text": row["template"] or "{S}", "passes": ["neutral"]})
    except ValidationError:
        return None


def _label_faults(row: Row, shown: Template, form: Form) -> Iterator[str]:
    """Whether the labels are those of a template of the capability with the same slots."""
    templates = form.templates
    if row["kind"] == COUNTERPART:
        templates = tuple(t.counterpart for t in templates if t.counterpart is not None)
    allowed: set[tuple[str, ...]] = set()
    for template in templates:
        if len(template.slots) != len(shown.slots):
            continue
        if row["template"] and template.slots != shown.slots:
            continue
        sources = zip(template.slots, row["sources"], strict=False)
        labels = {slot: LABELS[source["label"]] for slot, source in sources}
        allowed.add(tuple(labels_of(template, labels)))
    if tuple(LABELS[label] for label in row["labels"]) not in allowed:
        yield "its labels are not those of its capability"


def _extended(row: Row, seed: Row) -> list[int]:
    """The numbers of the sources that read otherwise than in the seed."""
    pairs = zip(row["sources"], seed["sources"], strict=False)
    return [number for number, (own, other) in enumerate(pairs) if own["used"] != other["used"]]


def _is_licensed(production: Mapping[str, Any], tags: Sequence[str]) -> bool:
    """Whether the reference has the seed's symbols in order, and what was inserted besides.

    A phrase may bring its commas; where it is adjoined to one, the seed's side is that alone.
    """
    seed, reference = list(production["seed_rhs"]), list(production["reference_rhs"])
    symbols = iter(reference)
    if not all(symbol in symbols for symbol in seed) and seed != [production["lhs"]]:
        return False
    added = Counter(reference) - Counter(seed)
    del added[","]
    return not Counter(tags) - added and len(reference) > len(seed)


def model_faults(
    rows: Sequence[Row],
    seeds: Mapping[str, Row],
    form: Form,
    tagger: Tagger,
    parser: ConstituencyParser,
    lexicon: Lexicon,
    sentiment_kept: bool = True,
) -> Iterator[str]:
    """What takes a tagger and a parser: texts are composed, and extensions confirmed, anew.

    Args:
        rows: some rows of a config.
        seeds: its seeds by their ids, whether among those rows or not.
        form: the form of its capability.
        tagger: the suite's.
        parser: the suite's.
        lexicon: the suite's.
        sentiment_kept: whether the build left out what moves a sentence's sentiment.
    """
    families = [*rows, *(seeds[row["seed_id"]] for row in rows)]
    texts = list(dict.fromkeys(source["used"] for row in families for source in row["sources"]))
    tokens = dict(zip(texts, tagger.tag(texts), strict=True))
    trees = dict(zip(texts, parser.parse([tokens[text] for text in texts]), strict=True))
    extended: list[tuple[Row, Source, Extension]] = []
    for row in rows:
        template = _template_of(row)
        if template is None or any(trees[source["used"]] is None for source in row["sources"]):
            yield f"{_where(row)}: its sentences cannot be parsed"
            continue
        yield from _composed_otherwise(row, template, tokens, trees)
        if form.keep_search_rule and not _meets_rule(row, tokens, form, lexicon):
            yield f"{_where(row)}: it does not meet the search rule"
        if row["kind"] == "expansion":
            seed = seeds[row["seed_id"]]
            extended.append((row, *_extension(row, seed, tokens, trees)))
    confirmed = confirmed_all(
        [(base, [extension]) for _, base, extension in extended], tagger, parser, lexicon
    )
    for (row, base, extension), found in zip(extended, confirmed, strict=True):
        if sentiment_kept and (moved := shift(base.text, extension.text)) > MOST_SHIFT:
            yield f"{_where(row)}: its words move the sentiment by {moved:.2f}"
        if not found:
            yield f"{_where(row)}: tagged and parsed again, its words do not stand as they should"


def _composed_otherwise(
    row: Row,
    template: Template,
    tokens: Mapping[str, Sequence[Token]],
    trees: Mapping[str, str | None],
) -> Iterator[str]:
    sentences = {
        slot: Analysis(used, tuple(tokens[used]), read_tree(trees[used] or ""))
        for slot, used in zip(template.slots, (s["used"] for s in row["sources"]), strict=True)
    }
    try:
        text = compose(template, {}, sentences).text
    except NotApplicableError as error:
        text = f"none: {error}"
    if text != row["text"]:
        yield f"{_where(row)}: its text is not its template filled with its sources"


def _meets_rule(
    row: Row, tokens: Mapping[str, Sequence[Token]], form: Form, lexicon: Lexicon
) -> bool:
    (source,) = row["sources"]
    return any(
        rule.label == LABELS[source["label"]]
        and meets_text(source["used"], tokens[source["used"]], rule, lexicon)
        for rules in form.search.values()
        for rule in rules
    )


def _extension(
    row: Row,
    seed: Row,
    tokens: Mapping[str, Sequence[Token]],
    trees: Mapping[str, str | None],
) -> tuple[Source, Extension]:
    """The sentence that was extended, and its extension."""
    (number,) = _extended(row, seed)
    own, other = row["sources"][number]["used"], seed["sources"][number]
    sentence = Sentence(
        other["corpus"],
        other["id"],
        other["text"],
        LABELS[other["label"]],
        other["split"],
        other["score"],
    )
    base = Source(sentence, other["used"], tuple(tokens[other["used"]]), trees[other["used"]] or "")
    starts = _starts(own, [part["word"] for part in row["inserted"]], other["used"])
    words = [
        InsertedWord(part["word"], part["tag"], start, start + len(part["word"]))
        for part, start in zip(row["inserted"], starts, strict=True)
    ]
    first, second = (
        data
        and Production(
            data["lhs"], tuple(data["seed_rhs"]), tuple(data["reference_rhs"]), data["probability"]
        )
        for data in (row["production"], row["second_production"])
    )
    extension = Extension(sentence_id(own), own, tuple(words), row["origin"], first, second=second)
    return base, extension


def _starts(text: str, words: Sequence[str], seed: str) -> list[int]:
    """Where words stand in a text that without them is its seed; -1 for each if nowhere."""
    spans: list[list[tuple[int, int]]] = [[]]
    for word in words:
        spans = [
            [*before, found.span()]
            for before in spans[:_MOST_PLACEMENTS]
            for found in re.finditer(re.escape(word), text)
            if (not before or before[-1][1] <= found.start())
            and seed.startswith(without(text[: found.start()], before).rstrip())
        ]
    fitting = (some for some in spans if without(text, some) == seed)
    return [start for start, _ in next(fitting, [(-1, -1)] * len(words))]
