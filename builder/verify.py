"""Re-check every invariant of a written suite, from its files alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from s2lct.builder import verify_fluent
from s2lct.builder.capabilities.schema import Capability, Form
from s2lct.builder.curation.verdicts import LENIENT
from s2lct.builder.language.lexicon import Lexicon
from s2lct.builder.language.tree import read_tree
from s2lct.builder.models import ConstituencyParser, Tagger, load_parser, load_tagger
from s2lct.builder.models.masked_lm import MASK
from s2lct.builder.stages.search import meets_text, meets_words
from s2lct.builder.stages.transform import text_of
from s2lct.files import regular_bytes
from s2lct.labels import LABELS
from s2lct.plain_text import plain
from s2lct.progress import Progress
from s2lct.suite.read import description_faults, examine
from s2lct.suite.records import Sentence, Token
from s2lct.suite.rows import faults_told
from s2lct.suite.tables import ALL, COUNTERPART, SPLIT, SUITE_FILE, origins_of, reading_of

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
README = "README.md"
_CARD_YAML = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_MOST_CARD_BYTES = 16 << 20
_MOST_FAULTS_OF_A_ROW = 3
_ROWS_AT_ONCE = 128
_SHOWN = 200


def verify_suite(
    folder: Path, *, quick: bool = False, progress: Progress | None = None
) -> list[str]:
    """Every broken invariant of a suite, each named with its file, row and rule.

    What the reader of suites refuses comes first; what it takes is looked into further.

    Args:
        folder: the suite.
        quick: leave out what needs tagger and parser: tags, search rules, second parses.
        progress: told how far it is.

    Returns:
        One line for each fault; empty if all is well.

    Raises:
        SuiteError: the folder holds no suite at all.
    """
    progress = progress or Progress()
    suite = examine(folder)
    described = suite.described
    faults = list(map(str, suite.faults))
    faults += _card_faults(folder, described)
    faults += _stray_files(folder, described)
    forms: dict[str, Form] = {}
    if not any(description_faults(described)):
        forms = _forms(described, faults)
        fluent = described["options"]["templates"] == "fluent"
        progress.start("check", len(suite.rows))
        for name, rows in suite.rows.items():
            if name in forms and fluent:
                grades = described["options"].get("grades", LENIENT)
                faults += verify_fluent.config_faults(rows, forms[name], grades)
            elif name in forms:
                faults += _config_faults(rows, forms[name])
            progress.advance("check", note=name)
        faults += _count_faults(suite.tables, described)
        faults += _reading_faults(suite.rows, described)
        faults += _double_texts(suite.rows)
    if not quick and not faults:
        faults += _model_faults(suite.rows, forms, described, progress)
    return faults


def _forms(described: Mapping[str, Any], faults: list[str]) -> dict[str, Form]:
    """The form of each capability; what is wrong with a specification is added to the faults."""
    forms: dict[str, Form] = {}
    for data in described["capabilities"]:
        try:
            capability = Capability.model_validate(data)
            forms[capability.id] = capability.form(described["options"]["templates"])
        except ValidationError as error:
            said = "; ".join(faults_told(error))
            faults.append(f"{SUITE_FILE}: {data['id']} is no specification: {plain(said, _SHOWN)}")
    return forms


def _card_faults(folder: Path, described: Mapping[str, Any]) -> Iterator[str]:
    try:
        card = regular_bytes(folder / README, _MOST_CARD_BYTES).decode()
    except (OSError, ValueError) as error:
        why = "missing" if isinstance(error, FileNotFoundError) else "cannot be read"
        yield f"{README}: {why}, so `load_dataset` knows no configs"
        return
    try:
        match = _CARD_YAML.match(card)
        data = yaml.safe_load(match[1]) if match else None
    except (yaml.YAMLError, ValueError, RecursionError):
        data = None
    configs = data.get("configs") if isinstance(data, dict) else None
    names = [
        plain(str(config.get("config_name")), _SHOWN)
        for config in (configs if isinstance(configs, list) else ())
        if isinstance(config, dict)
    ]
    if sorted(names) != sorted([ALL, *described["files"]]):
        files = [plain(name, _SHOWN) for name in sorted(described["files"])]
        yield f"{README}: configs are {names}, files are {files} and {ALL}"


def _stray_files(folder: Path, described: Mapping[str, Any]) -> Iterator[str]:
    """Files that the card's patterns take for data, and `load_dataset` would read."""
    named = {file.get("path") for file in described["files"].values() if isinstance(file, dict)}
    for path in sorted(folder.glob(f"data/*/{SPLIT}-*.parquet")):
        if (place := path.relative_to(folder).as_posix()) not in named:
            yield f"{plain(place, _SHOWN)}: {SUITE_FILE} names no such file"


def _where(row: Row) -> str:
    return f"{row['capability']} {row['kind']} {row['id']}"


def _config_faults(rows: Sequence[Row], form: Form) -> Iterator[str]:
    """Faults that the rows of one config show."""
    seeds = {row["id"]: row for row in rows if row["kind"] == "seed"}
    for row in rows:
        faults = list(_row_faults(row, seeds, form))
        for fault in faults[:_MOST_FAULTS_OF_A_ROW]:
            yield f"{_where(row)}: {fault}"


def _count_faults(tables: Mapping[str, pa.Table], described: Mapping[str, Any]) -> Iterator[str]:
    for name, table in tables.items():
        kinds = Counter(table["kind"].to_pylist())
        for kind, recorded in (
            ("seed", "seeds"),
            ("expansion", "expansions"),
            (COUNTERPART, "counterparts"),
        ):
            counted = described["counts"][name].get(recorded, 0)
            if counted != kinds[kind]:
                yield f"{name}: {kinds[kind]} {recorded}, suite.json counts {counted}"
        origins = dict(origins_of(table.select(["kind", "origin"]).to_pylist()))
        if (said := described["files"][name].get("origins", {})) != origins:
            yield f"{name}: its expansions' origins are {origins}, suite.json has {said}"


def _reading_faults(
    rows_of: Mapping[str, Sequence[Row]], described: Mapping[str, Any]
) -> Iterator[str]:
    """What suite.json says of readers, against the rows' verdicts; older suites say nothing."""
    found = reading_of(row for rows in rows_of.values() for row in rows)
    said = described.get("reading")
    if said != found and (found["read"] or said is not None):
        yield f"{SUITE_FILE}: reading is {said}, its rows' verdicts come to {found}"


def _double_texts(rows_of: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    for rows in rows_of.values():
        texts: dict[str, str] = {}
        for row in rows:
            if row["text"] in texts:
                yield f"{_where(row)}: its text is also that of {texts[row['text']]}"
            texts[row["text"]] = _where(row)


def _row_faults(row: Row, seeds: Mapping[str, Row], form: Form) -> Iterator[str]:
    """What the reader does not ask of a row."""
    if row["kind"] == "seed":
        yield from _seed_faults(row, form)
    elif row["seed_id"] in seeds:
        yield from _expansion_faults(row, seeds[row["seed_id"]])


def _seed_faults(row: Row, form: Form) -> Iterator[str]:
    if row["masked_text"] is not None or row["inserted"] or row["production"] is not None:
        yield "a seed has no inserted words"
    if not row["sources"]:
        yield "it has no source"
        return
    try:
        text, slots = text_of(row["template"], [source["text"] for source in row["sources"]])
    except ValueError as error:
        yield str(error)
        return
    if text != row["text"]:
        yield "its text is not its template filled with its sources"
    passing = {tuple(row["labels"])}
    allowed: set[tuple[int, ...]] = set()
    for template in form.templates:
        if row["template"] and set(template.slots) != set(slots):
            continue
        if isinstance(template.passes, str):
            slot = template.labelled_by[0]
            number = slots.index(slot) if slot in slots else 0
            allowed.add((row["sources"][number]["label"],))
        else:
            allowed.add(tuple(LABELS.index(label) for label in template.passes))
    if not passing <= allowed:
        yield "its labels are not those of its capability"


def _expansion_faults(row: Row, seed: Row) -> Iterator[str]:
    for column in ("labels", "label", "template", "sources"):
        if row[column] != seed[column]:
            yield f"its {column} are not its seed's"
    inserted = sorted(row["inserted"], key=lambda word: word["start"])
    masked = row["masked_text"] or ""
    filled = masked
    for word in inserted:
        filled = filled.replace(MASK, word["word"], 1)
    if filled != row["text"]:
        yield "its masked text, filled, is not its text"
    for word in inserted:
        if not re.fullmatch(r"[A-Za-z]+", word["word"]):
            yield f"{word['word']!r} is not a word of letters"
    if not _is_licensed(row["production"], [word["tag"] for word in inserted]):
        yield "its production does not license the inserted words"


def _is_licensed(production: Mapping[str, Any], tags: Sequence[str]) -> bool:
    """Whether the reference has the seed's symbols in order, and the tags besides."""
    seed, reference = list(production["seed_rhs"]), list(production["reference_rhs"])
    symbols = iter(reference)
    if not all(symbol in symbols for symbol in seed):
        return False
    return Counter(reference) - Counter(seed) == Counter(tags) and len(reference) > len(seed)


def _model_faults(
    rows_of: Mapping[str, Sequence[Row]],
    forms: Mapping[str, Form],
    described: Mapping[str, Any],
    progress: Progress,
) -> Iterator[str]:
    """What takes a tagger and a parser to see."""
    options = described["options"]
    tagger, parser = load_tagger(options["tagger"]), load_parser(options["parser"])
    lexicon = Lexicon.load()
    progress.start("parse", sum(map(len, rows_of.values())))
    for name, rows in rows_of.items():
        form = forms[name]
        seeds = {row["id"]: row for row in rows if row["kind"] == "seed"}
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[start : start + _ROWS_AT_ONCE]
            if options["templates"] == "fluent":
                yield from verify_fluent.model_faults(
                    some, seeds, form, tagger, parser, lexicon, bool(described.get("scorers"))
                )
                progress.advance("parse", len(some), name)
                continue
            yield from _faults_of_tags(some, form, tagger, lexicon)
            yield from _faults_of_sources(some, form, tagger, lexicon)
            yield from _faults_of_trees(some, seeds, tagger, parser)
            progress.advance("parse", len(some), name)


def _faults_of_tags(
    rows: Sequence[Row], form: Form, tagger: Tagger, lexicon: Lexicon
) -> Iterator[str]:
    for row, tokens in zip(rows, tagger.tag([row["text"] for row in rows]), strict=True):
        if row["kind"] == "expansion":
            yield from _tag_faults(row, tokens, lexicon)
        if form.keep_search_rule and not _meets_rule(row, tokens, form, lexicon):
            yield f"{_where(row)}: it does not meet the search rule"


def _faults_of_sources(
    rows: Sequence[Row], form: Form, tagger: Tagger, lexicon: Lexicon
) -> Iterator[str]:
    sources = [
        (row, slot, source)
        for row in rows
        if row["kind"] == "seed"
        for slot, source in zip(_slots(row), row["sources"], strict=True)
    ]
    tagged = tagger.tag([source["text"] for _, _, source in sources])
    for (row, slot, source), source_tokens in zip(sources, tagged, strict=True):
        sentence = Sentence(
            source["corpus"],
            source["id"],
            source["text"],
            LABELS[source["label"]],
            source["split"],
            source["score"],
        )
        rules = form.search.get(slot) or next(iter(form.search.values()))
        if not any(meets_words(sentence, source_tokens, rule, lexicon) for rule in rules):
            yield f"{_where(row)}: source {source['id']} does not meet the search rule"


def _faults_of_trees(
    rows: Sequence[Row],
    seeds: Mapping[str, Row],
    tagger: Tagger,
    parser: ConstituencyParser,
) -> Iterator[str]:
    expansions = [row for row in rows if row["kind"] == "expansion"]
    texts = list(dict.fromkeys(seeds[row["seed_id"]]["text"] for row in expansions))
    trees = dict(zip(texts, parser.parse(tagger.tag(texts)), strict=True))
    for row in expansions:
        lhs, seed_rhs = row["production"]["lhs"], tuple(row["production"]["seed_rhs"])
        tree = trees[seeds[row["seed_id"]]["text"]]
        if tree is None or not any(
            (node.label, node.child_labels) == (lhs, seed_rhs) for node in read_tree(tree).nodes()
        ):
            yield f"{_where(row)}: its seed has no production {lhs} -> {' '.join(seed_rhs)}"


def _slots(row: Row) -> tuple[str, ...]:
    return text_of(row["template"], [source["text"] for source in row["sources"]])[1]


def _tag_faults(row: Row, tokens: Sequence[Token], lexicon: Lexicon) -> Iterator[str]:
    by_start = {token.start: token for token in tokens}
    for word in row["inserted"]:
        token = by_start.get(word["start"])
        if token is None or token.tag != word["tag"]:
            found = "no word" if token is None else token.tag
            yield f"{_where(row)}: {word['word']!r} is tagged {found}, its mask {word['tag']}"
        elif not lexicon.is_neutral(word["word"], word["tag"], token.lemma):
            yield f"{_where(row)}: {word['word']!r} is not neutral"


def _meets_rule(row: Row, tokens: Sequence[Token], form: Form, lexicon: Lexicon) -> bool:
    label = LABELS[row["sources"][0]["label"]]
    return any(
        rule.label == label and meets_text(row["text"], tokens, rule, lexicon)
        for rules in form.search.values()
        for rule in rules
    )
