"""Re-check every invariant of a written suite, from its files alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from s2lct.builder.capabilities import Capability, Form
from s2lct.builder.config import fingerprint_of
from s2lct.builder.errors import SuiteError
from s2lct.builder.hashing import sha256_of
from s2lct.builder.lexicon import Lexicon, is_polarity_shifter
from s2lct.builder.models import load_parser, load_tagger
from s2lct.builder.models.masked_lm import MASK
from s2lct.builder.parse import moved
from s2lct.builder.randomness import content_id
from s2lct.builder.records import LABELS, Region, Sentence, Token
from s2lct.builder.search import meets_text, meets_words
from s2lct.builder.suite import read_description, read_rows
from s2lct.builder.transform import text_of
from s2lct.builder.tree import read_tree
from s2lct.builder.write import ALL, KINDS, features

Row = Mapping[str, Any]
_CARD_YAML = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_MOST_FAULTS_OF_A_ROW = 3


def verify_suite(folder: Path, *, quick: bool = False) -> list[str]:
    """Every broken invariant of a suite, each named with its file, row and rule.

    Args:
        folder: the suite.
        quick: leave out what needs tagger and parser: tags, search rules, second parses.

    Returns:
        One line for each fault; empty if all is well.

    Raises:
        SuiteError: the folder holds no suite at all.
    """
    described = read_description(folder)
    faults: list[str] = []
    rows_of: dict[str, list[Row]] = {}
    for name, file in described["files"].items():
        try:
            rows_of[name] = list(_read(folder, name, file, faults))
        except SuiteError as error:
            faults.append(error.problem)
    faults += _card_faults(folder, described)
    forms = _forms(described)
    seen: dict[str, str] = {}
    for name, rows in rows_of.items():
        if name not in forms:
            faults.append(f"{name}: suite.json has no specification of it")
            continue
        faults += _config_faults(name, rows, forms[name], described, seen)
    faults += _suite_faults(rows_of, described)
    if not quick and not faults:
        faults += _model_faults(rows_of, forms, described)
    return faults


def _read(folder: Path, name: str, file: Mapping[str, Any], faults: list[str]) -> Iterator[Row]:
    import pyarrow.parquet as pq

    rows = read_rows(folder, file)
    path = folder / file["path"]
    if sha256_of(path) != file["sha256"]:
        faults.append(f"{file['path']}: its bytes are not those that suite.json records (sha256)")
    if len(rows) != file["rows"]:
        faults.append(f"{file['path']}: {len(rows)} rows, suite.json says {file['rows']}")
    if not pq.read_schema(path).equals(features().arrow_schema):
        faults.append(f"{file['path']}: the columns are not those of a suite")
        return
    for row in rows:
        if row["capability"] != name:
            faults.append(
                f"{_where(row)}: its capability is {row['capability']}, its config {name}"
            )
        yield row


def _forms(described: Mapping[str, Any]) -> dict[str, Form]:
    name = described["options"]["templates"]
    return {
        data["id"]: Capability.model_validate(data).form(name) for data in described["capabilities"]
    }


def _card_faults(folder: Path, described: Mapping[str, Any]) -> Iterator[str]:
    try:
        card = (folder / "README.md").read_text(encoding="utf-8")
    except OSError:
        yield "README.md: missing, so `load_dataset` knows no configs"
        return
    match = _CARD_YAML.match(card)
    data = yaml.safe_load(match[1]) if match else None
    configs = data.get("configs") if isinstance(data, dict) else None
    names = [config.get("config_name") for config in configs or ()]
    if sorted(names, key=str) != sorted([ALL, *described["files"]]):
        yield f"README.md: configs are {names}, files are {sorted(described['files'])} and {ALL}"


def _where(row: Row) -> str:
    return f"{row['capability']} {row['kind']} {row['id']}"


def _config_faults(
    name: str,
    rows: Sequence[Row],
    form: Form,
    described: Mapping[str, Any],
    seen: dict[str, str],
) -> Iterator[str]:
    """Faults that the rows of one config show."""
    seeds = {row["id"]: row for row in rows if row["kind"] == "seed"}
    texts: dict[str, str] = {}
    for row in rows:
        faults = list(_row_faults(row, seeds, form))
        if row["id"] in seen:
            faults.append(f"its id is also that of a {seen[row['id']]}")
        seen[row["id"]] = _where(row)
        if row["text"] in texts:
            faults.append(f"its text is also that of {texts[row['text']]}")
        texts[row["text"]] = _where(row)
        for fault in faults[:_MOST_FAULTS_OF_A_ROW]:
            yield f"{_where(row)}: {fault}"
    counts = described["counts"].get(name, {})
    for kind, recorded in (("seed", "seeds"), ("expansion", "expansions")):
        number = sum(row["kind"] == kind for row in rows)
        if counts.get(recorded) != number:
            yield f"{name}: {number} {recorded}, suite.json counts {counts.get(recorded)}"


def _row_faults(row: Row, seeds: Mapping[str, Row], form: Form) -> Iterator[str]:
    if row["kind"] not in KINDS:
        yield f"its kind is {row['kind']!r}"
        return
    if row["id"] != content_id(row["kind"], row["capability"], row["text"]):
        yield "its id is not the hash of its capability and text"
    labels = row["labels"]
    if not labels or any(label not in range(len(LABELS)) for label in labels):
        yield f"its labels are {labels}"
        return
    if row["label"] not in labels:
        yield "its label is not among those that pass"
    if row["kind"] == "seed":
        yield from _seed_faults(row, form)
    elif row["seed_id"] not in seeds:
        yield f"its seed {row['seed_id']} is not in the suite"
    else:
        yield from _expansion_faults(row, seeds[row["seed_id"]])


def _seed_faults(row: Row, form: Form) -> Iterator[str]:
    if row["seed_id"] != row["id"]:
        yield "a seed's seed_id is its own id"
    if row["masked_text"] is not None or row["inserted"] or row["production"] is not None:
        yield "a seed has no inserted words"
    if not row["sources"]:
        yield "it has no source"
        return
    try:
        text, regions = text_of(row["template"], [source["text"] for source in row["sources"]])
    except ValueError as error:
        yield str(error)
        return
    if text != row["text"]:
        yield "its text is not its template filled with its sources"
    passing = {tuple(row["labels"])}
    allowed: set[tuple[int, ...]] = set()
    slots = [region.slot for region in regions]
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
    if not inserted:
        yield "it has no inserted word"
        return
    text = row["text"]
    if any(text[word["start"] : word["end"]] != word["word"] for word in inserted):
        yield "an inserted word is not at its offsets"
        return
    if without(text, inserted) != seed["text"]:
        yield "without its inserted words it is not its seed"
    masked = row["masked_text"] or ""
    filled = masked
    for word in inserted:
        filled = filled.replace(MASK, word["word"], 1)
    if filled != text:
        yield "its masked text, filled, is not its text"
    for word in inserted:
        if not re.fullmatch(r"[A-Za-z]+", word["word"]):
            yield f"{word['word']!r} is not a word of letters"
        if is_polarity_shifter(word["word"]):
            yield f"{word['word']!r} shifts polarity"
    if (production := row["production"]) is None:
        yield "it has no production"
        return
    if not _is_licensed(production, [word["tag"] for word in inserted]):
        yield "its production does not license the inserted words"
    yield from _place_faults(row, seed, inserted)


def _place_faults(row: Row, seed: Row, inserted: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Words outside the corpus sentences, or within what makes the capability."""
    try:
        _, regions = text_of(seed["template"], [source["text"] for source in seed["sources"]])
    except ValueError:
        return
    added = 0
    for word in inserted:
        place = word["start"] - added
        if not any(region.frozen_end <= place <= region.end + 1 for region in regions):
            yield f"{word['word']!r} stands outside the corpus sentence or before its capability"
        added += len(word["word"]) + 1


def without(text: str, inserted: Sequence[Mapping[str, Any]]) -> str:
    """A text without its inserted words and the space that came with each."""
    for word in sorted(inserted, key=lambda word: -int(word["start"])):
        start, end = int(word["start"]), int(word["end"])
        if text[end : end + 1] == " ":
            end += 1
        elif text[start - 1 : start] == " ":
            start -= 1
        text = text[:start] + text[end:]
    return text


def _is_licensed(production: Mapping[str, Any], tags: Sequence[str]) -> bool:
    """Whether the reference has the seed's symbols in order, and the tags besides."""
    seed, reference = list(production["seed_rhs"]), list(production["reference_rhs"])
    symbols = iter(reference)
    if not all(symbol in symbols for symbol in seed):
        return False
    return Counter(reference) - Counter(seed) == Counter(tags) and len(reference) > len(seed)


def _suite_faults(
    rows_of: Mapping[str, Sequence[Row]], described: Mapping[str, Any]
) -> Iterator[str]:
    order = [c["id"] for c in described["capabilities"]]
    digest = [
        [row["id"], row["text"], row["labels"]]
        for name in sorted(rows_of, key=lambda name: order.index(name) if name in order else -1)
        for row in rows_of[name]
    ]
    if fingerprint_of(digest) != described["fingerprint"]:
        yield "suite.json: the fingerprint is not that of the rows"


def _model_faults(
    rows_of: Mapping[str, Sequence[Row]],
    forms: Mapping[str, Form],
    described: Mapping[str, Any],
) -> Iterator[str]:
    """What takes a tagger and a parser to see."""
    options = described["options"]
    tagger, parser = load_tagger(options["tagger"]), load_parser(options["parser"])
    recomputed = options["sentiwordnet"]
    lexicon = Lexicon.load(Path(recomputed) if recomputed else None)
    for name, rows in rows_of.items():
        tokens = dict(
            zip(
                (row["id"] for row in rows),
                tagger.tag([row["text"] for row in rows]),
                strict=True,
            )
        )
        form = forms[name]
        for row in rows:
            if row["kind"] == "expansion":
                yield from _tag_faults(row, tokens[row["id"]], lexicon)
            if form.keep_search_rule and not _meets_rule(row, tokens[row["id"]], form, lexicon):
                yield f"{_where(row)}: it does not meet the search rule"
        sources = [
            (row, region.slot, source)
            for row in rows
            if row["kind"] == "seed"
            for region, source in zip(_regions(row), row["sources"], strict=True)
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
        expansions = [row for row in rows if row["kind"] == "expansion"]
        spans = [_expanded_region(row) for row in expansions]
        parts = tagger.tag(
            [row["text"][start:end] for row, (start, end) in zip(expansions, spans, strict=True)]
        )
        trees = parser.parse(parts)
        for row, (start, _), part, tree in zip(expansions, spans, parts, trees, strict=True):
            if tree is None or not _stands_in_tree(row, moved(part, start), tree):
                lhs = row["production"]["lhs"]
                yield f"{_where(row)}: parsed again, its words are not under a {lhs}"


def _regions(row: Row) -> tuple[Region, ...]:
    return text_of(row["template"], [source["text"] for source in row["sources"]])[1]


def _tag_faults(row: Row, tokens: Sequence[Token], lexicon: Lexicon) -> Iterator[str]:
    by_start = {token.start: token for token in tokens}
    for word in row["inserted"]:
        token = by_start.get(word["start"])
        if token is None or token.tag != word["tag"]:
            found = "no word" if token is None else token.tag
            yield f"{_where(row)}: {word['word']!r} is tagged {found}, its mask {word['tag']}"
        elif not lexicon.is_neutral_insertion(word["word"], word["tag"], token.lemma):
            yield f"{_where(row)}: {word['word']!r} is not neutral"


def _meets_rule(row: Row, tokens: Sequence[Token], form: Form, lexicon: Lexicon) -> bool:
    label = LABELS[row["sources"][0]["label"]]
    return any(
        rule.label == label and meets_text(row["text"], tokens, rule, lexicon)
        for rules in form.search.values()
        for rule in rules
    )


def _expanded_region(row: Row) -> tuple[int, int]:
    """Offsets, in an expansion's text, of the corpus sentence that was expanded."""
    inserted = sorted(row["inserted"], key=lambda word: word["start"])
    added = sum(len(word["word"]) + 1 for word in inserted)
    for region in reversed(_regions(row)):
        if region.start <= inserted[0]["start"]:
            return region.start, region.end + added
    return 0, len(row["text"])


def _stands_in_tree(row: Row, tokens: Sequence[Token], tree: str) -> bool:
    starts = {word["start"] for word in row["inserted"]}
    leaves = {number for number, token in enumerate(tokens) if token.start in starts}
    return any(
        node.label == row["production"]["lhs"] and leaves <= node.words_under()
        for node in read_tree(tree).nodes()
    )
