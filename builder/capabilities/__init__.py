"""The capabilities LC1 to LC11, one YAML file each, and the model such a file must fit.

A capability is data: what to search for, how to build a text from what was found, and which
labels pass. A file added here or named with ``--capabilities`` is all a new capability needs.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from s2lct.builder.capabilities.yaml_file import read_yaml
from s2lct.builder.language.lexicon import Pos, Sentiment
from s2lct.builder.language.patterns import check_pattern, check_replacement
from s2lct.errors import CapabilityError
from s2lct.labels import Label
from s2lct.plain_text import plain
from s2lct.suite.capability_ids import ID_PATTERN, is_capability_id, spelled
from s2lct.suite.records import FormName

_WORD_CLASS = re.compile(
    r"(?P<sentiment>positive|neutral|negative) (?P<pos>[a-z]+(?:/[a-z]+)*)"
    r"(?: >= (?P<strength>0\.\d+))?"
)
_FIELD = re.compile(r"\{(?P<name>[A-Za-z_]+)(?P<bare>\|unstopped)?\}")
_FAULTS_TOLD = 5
_TYPE_NAME = re.compile(r"\[|^str$")


class _Specified(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WordClass(_Specified):
    """Words of a sentiment and part of speech, written ``"positive adj/noun >= 0.25"``.

    Attributes:
        sentiment: by the lexicon.
        parts_of_speech: any of these.
        strength: least absolute lexicon score; 0 takes every word of that sentiment.
    """

    sentiment: Sentiment
    parts_of_speech: tuple[Pos, ...]
    strength: float = 0.0

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        match = _WORD_CLASS.fullmatch(value)
        if match is None:
            raise ValueError(f'{value!r} is not like "positive adj/noun" or "negative adj >= 0.25"')
        return {
            "sentiment": match["sentiment"],
            "parts_of_speech": match["pos"].split("/"),
            "strength": float(match["strength"] or 0),
        }

    def __str__(self) -> str:
        threshold = f" >= {self.strength:g}" if self.strength else ""
        return f"{self.sentiment} {'/'.join(self.parts_of_speech)}{threshold}"


def _word_list(value: Any) -> Any:
    """Replace ``$name`` in a list of words by the shipped list of that name."""
    if not isinstance(value, list):
        return value
    words: list[Any] = []
    for item in value:
        if isinstance(item, str) and item.startswith("$"):
            try:
                words += _shipped_yaml("word_lists.yaml")[item[1:]]
            except KeyError:
                known = ", ".join("$" + name for name in _shipped_yaml("word_lists.yaml"))
                raise ValueError(f"no word list {item}; there are {known}") from None
        else:
            words.append(item)
    return words


def _rule_list(value: Any) -> Any:
    """Replace ``$name`` in a list of search rules by the shipped rule of that name."""
    if not isinstance(value, list):
        return value
    rules = _shipped_yaml("search_rules.yaml")
    for item in value:
        if isinstance(item, str) and (item[:1] != "$" or item[1:] not in rules):
            raise ValueError(
                f"no search rule {item}; there are {', '.join('$' + name for name in rules)}"
            )
    return [rules[item[1:]] if isinstance(item, str) else item for item in value]


def _pattern(value: str) -> str:
    check_pattern(value)
    return value


def _one_line(value: str) -> str:
    return " ".join(value.split())


def _without_braces(value: str) -> str:
    """Refuse what would be taken for a slot once it stands in a seed's template."""
    if "{" in value or "}" in value:
        raise ValueError(f"{value!r}: braces are only for slots and choices in a template's text")
    return value


def _distinct(value: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(value)) < len(value):
        raise ValueError("names one twice")
    return value


Pattern = Annotated[str, AfterValidator(_pattern)]
WordList = Annotated[tuple[str, ...], BeforeValidator(_word_list)]
Line = Annotated[str, Field(max_length=500), AfterValidator(_one_line)]
Wording = Annotated[str, AfterValidator(_without_braces)]
Whole = Annotated[int, Field(strict=True)]
Score = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Truth = Annotated[bool, Field(strict=True)]


class SearchRule(_Specified):
    """What a corpus sentence must be like. Every field given must hold.

    Attributes:
        label: the sentence's label.
        score_at_least, score_at_most: bounds on the corpus score, where it has one.
        words_at_least, words_below: bounds on the number of words, punctuation not counted.
        starts_with: regular expression matched at the start of the text.
        matches, matches_no: regular expressions searched in the text.
        has_one_of: at least one word of one of these classes.
        has_none_of: no word of any of these classes.
        has_words, has_no_words: forms or lemmas, lower case; ``$name`` is a shipped list.
        root: labels allowed at the root of the parse tree.
        complete: the root has a subject and a finite predicate, and ends with a full stop.
        clauses_at_most: bound on clauses (S, SINV, SQ and SBARQ nodes with a verb phrase);
            relative clauses within a noun phrase are not counted.
    """

    label: Label
    score_at_least: Score | None = None
    score_at_most: Score | None = None
    words_at_least: Whole = 1
    words_below: Whole | None = None
    starts_with: Pattern | None = None
    matches: Pattern | None = None
    matches_no: Pattern | None = None
    has_one_of: tuple[WordClass, ...] = ()
    has_none_of: tuple[WordClass, ...] = ()
    has_words: WordList = ()
    has_no_words: WordList = ()
    root: tuple[str, ...] = ()
    complete: Truth = False
    clauses_at_most: Whole | None = None

    @property
    def needs_tree(self) -> bool:
        """Whether a parse tree is needed to decide."""
        return bool(self.root) or self.complete or self.clauses_at_most is not None


class Rewrite(_Specified):
    r"""Change the start of a slot's sentence: what makes the capability, frozen afterwards.

    Attributes:
        find: regular expression matched at the start of the sentence.
        replace: replacements to choose from, with ``\1`` for groups.
    """

    find: Pattern
    replace: Annotated[tuple[Wording, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Rewrite:
        for replacement in self.replace:
            check_replacement(self.find, replacement)
        return self


class Template(_Specified):
    """How slots become a text.

    Attributes:
        text: the text with ``{slot}`` and ``{choice}``; ``{slot|unstopped}`` drops the
            sentence's final full stop.
        choices: for each choice in ``text``, the wordings to choose from.
        rewrite: slots whose start is changed.
        passes: the labels that pass, or ``label of SLOT``.
        train_on: the label to train on; by default the first that passes.
    """

    text: str
    choices: dict[str, Annotated[tuple[Wording, ...], Field(min_length=1)]] = {}
    rewrite: dict[str, Rewrite] = {}
    passes: Annotated[tuple[Label, ...], Field(min_length=1), AfterValidator(_distinct)] | str
    train_on: Label | None = None

    @model_validator(mode="after")
    def _check(self) -> Template:
        if isinstance(self.passes, str) and not re.fullmatch(r"label of \w+", self.passes):
            raise ValueError(f'passes: {self.passes!r} is neither labels nor "label of SLOT"')
        if not isinstance(self.passes, str) and self.train_on not in (None, *self.passes):
            raise ValueError(f"train_on: {self.train_on} is not among the labels that pass")
        _without_braces(_FIELD.sub("", self.text))
        unused = set(self.choices) - {match["name"] for match in self.fields()}
        if unused:
            raise ValueError(f"choices: {', '.join(sorted(unused))} not in the template's text")
        return self

    def fields(self) -> Iterator[re.Match[str]]:
        """The fields of ``text`` from left to right: slots and choices."""
        return _FIELD.finditer(self.text)

    @property
    def labelled_by(self) -> tuple[str, ...]:
        """The slot whose label passes, if any."""
        return (self.passes.removeprefix("label of "),) if isinstance(self.passes, str) else ()

    @property
    def slots(self) -> tuple[str, ...]:
        """Slots in the order of the text."""
        return tuple(m["name"] for m in self.fields() if m["name"] not in self.choices)

    @property
    def variants(self) -> int:
        """How many combinations of choices and rewrites there are."""
        return math.prod(map(len, self._options().values()))

    def variant(self, number: int) -> dict[str, str]:
        """One of the combinations: a wording for each choice and each rewritten slot.

        Args:
            number: below `variants`; the last choice varies first.
        """
        wording: dict[str, str] = {}
        options = self._options()
        for name in reversed(options):
            number, place = divmod(number, len(options[name]))
            wording[name] = options[name][place]
        return wording

    def _options(self) -> dict[str, tuple[str, ...]]:
        return self.choices | {slot: r.replace for slot, r in self.rewrite.items()}


class Choice(_Specified):
    """A narrowing or rewording of the paper's form, with the reason for it."""

    rule: Line
    reason: Line


class Form(_Specified):
    """One way to carry out a capability.

    Attributes:
        search: for each slot, the rules of which one must hold.
        templates: the templates, used in equal parts.
        keep_search_rule: expansions must still meet the rule that found their seed.
        choices_made: why this form differs from the paper's.
    """

    search: dict[
        str, Annotated[tuple[SearchRule, ...], BeforeValidator(_rule_list), Field(min_length=1)]
    ]
    templates: Annotated[tuple[Template, ...], Field(min_length=1)]
    keep_search_rule: Truth = False
    choices_made: tuple[Choice, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Form:
        for template in self.templates:
            slots = template.slots
            if not slots or len(set(slots)) < len(slots):
                raise ValueError(f"template {template.text!r} needs slots, each used once")
            if missing := set(slots) - set(self.search):
                raise ValueError(
                    f"template {template.text!r} uses {', '.join(sorted(missing))}, "
                    f"but search finds {', '.join(self.search)} and choices has no such name"
                )
            for slot in (*template.rewrite, *template.labelled_by):
                if slot not in slots:
                    raise ValueError(f"template {template.text!r} has no slot {slot}")
        if self.keep_search_rule and len(self.search) > 1:
            raise ValueError("keep_search_rule: search finds more than one slot")
        return self


class Capability(_Specified):
    """A linguistic capability: what a sentiment model must be able to do.

    Attributes:
        id: such as ``LC4``.
        title: a few words.
        expectation: the specification in one sentence.
        forms: ``fluent`` (the default) and, where the paper has the capability, ``paper``.
    """

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    title: Annotated[Line, Field(min_length=1)]
    expectation: Annotated[Line, Field(min_length=1)]
    forms: dict[FormName, Form]

    @model_validator(mode="after")
    def _check(self) -> Capability:
        if "fluent" not in self.forms:
            raise ValueError("forms: the form `fluent` is missing")
        if not is_capability_id(self.id):
            raise ValueError(f"id: `{self.id}` is taken: it names a column of tables")
        return self

    def form(self, name: FormName) -> Form:
        """The form of that name; ``fluent`` where the capability has no other.

        A capability that the paper does not have has no paper form.
        """
        return self.forms.get(name, self.forms["fluent"])


def read_capability(path: Path) -> Capability:
    """Read one capability from a YAML file.

    Raises:
        CapabilityError: the file cannot be read or does not fit, naming file and field.
    """
    data = read_yaml(path)
    try:
        return Capability.model_validate(data)
    except ValidationError as error:
        faults = list(dict.fromkeys(map(_told, error.errors(include_url=False))))
        told = "; ".join(plain(fault, 200) for fault in faults[:_FAULTS_TOLD])
        more = f"; and {len(faults) - _FAULTS_TOLD} more" if len(faults) > _FAULTS_TOLD else ""
        raise CapabilityError(
            f"{path}: {told}{more}",
            mend="mend these; `s2lct capabilities --show LC4 --yaml` prints a file that fits",
        ) from error


def _told(fault: Mapping[str, Any]) -> str:
    """A fault with its field, without pydantic's names of types."""
    field = ".".join(str(part) for part in fault["loc"] if not _TYPE_NAME.search(str(part)))
    return f"{field or 'file'}: {fault['msg']}"


def shipped_capability_files() -> tuple[Path, ...]:
    """The shipped YAML files, LC1 first."""
    folder = Path(str(resources.files(__package__)))
    return tuple(sorted(folder.glob("LC*.yaml"), key=lambda path: int(path.stem[2:])))


def capability_files(
    extra_files: Sequence[Path] = (),
) -> dict[str, tuple[Capability, Path]]:
    """Shipped capabilities and those of ``extra_files`` by id, with their files.

    Raises:
        CapabilityError: a file that does not fit, or two capabilities of one id.
    """
    known = dict(_shipped())
    ids = {name.casefold() for name in known}
    for path in extra_files:
        capability = read_capability(path)
        if capability.id.casefold() in ids:
            raise CapabilityError(
                f"{path}: there is a capability {capability.id} already",
                mend="give the capability another id",
            )
        ids.add(capability.id.casefold())
        known[capability.id] = capability, path
    return known


@cache
def _shipped() -> Mapping[str, tuple[Capability, Path]]:
    read = ((read_capability(path), path) for path in shipped_capability_files())
    return {capability.id: (capability, path) for capability, path in read}


def load_capabilities(
    names: Sequence[str] = (), extra_files: Sequence[Path] = ()
) -> tuple[Capability, ...]:
    """Shipped capabilities and those of ``extra_files``; all of them, or those named.

    Args:
        names: ids, in any case.
        extra_files: YAML files.

    Raises:
        CapabilityError: an unknown name (with the nearest known one), a file that does not fit,
            or two capabilities of one id.
    """
    known = {name: capability for name, (capability, _) in capability_files(extra_files).items()}
    chosen = spelled(names, list(known)) if names else tuple(known)
    for name in chosen:
        if name not in known:
            near = difflib.get_close_matches(name.upper()[:50], known, n=1)
            raise CapabilityError(
                f"--capability {plain(name, 60)}: unknown",
                mend=f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}",
            )
    return tuple(known[name] for name in chosen)


@cache
def judging_words() -> frozenset[str]:
    """Words that judge although the lexicon calls them neutral: the shipped list ``$judging``."""
    return frozenset(_shipped_yaml("word_lists.yaml")["judging"])


@cache
def _shipped_yaml(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data
