"""What a capability file must be: what to search for, how to build a text, which labels pass."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property, partial
from typing import Annotated, Any

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from s2lct.builder.domains import Domain
from s2lct.builder.language import DATA
from s2lct.builder.language.lexicon import Pos, Sentiment
from s2lct.builder.language.operations import OF_THE_VERB, OPERATIONS, REPLIES
from s2lct.labels import LABELS, Label
from s2lct.plain_text import did_you_mean
from s2lct.suite.capability_ids import ID_PATTERN, is_capability_id
from s2lct.suite.tables import FormName

_WORD_LISTS = "word_lists.yaml"
_WORD_CLASS = re.compile(
    r"(?P<sentiment>positive|neutral|negative) (?P<pos>[a-z]+(?:/[a-z]+)*)"
    r"(?: >= (?P<strength>0\.\d+))?"
)
_OF_SLOT = re.compile(r"(label|denial) of \w+")
_DENIED: Mapping[Label, tuple[Label, ...]] = {
    "negative": ("positive", "neutral"),
    "neutral": ("neutral",),
    "positive": ("negative",),
}
_FIELD = re.compile(r"\{(?P<name>[A-Za-z_]+)(?P<operations>(?:\|[a-z ]+)*)\}")


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


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return value


def _with_shipped(value: Any, file: str) -> Any:
    """Replace each ``$name`` in a list by what the shipped file has of that name."""
    if not isinstance(value, list):
        return value
    shipped, found = _shipped(file), []
    for item in value:
        if not isinstance(item, str) or (file == _WORD_LISTS and item[:1] != "$"):
            found.append(item)
        elif item[:1] == "$" and item[1:] in shipped:
            named = shipped[item[1:]]
            found += named if isinstance(named, list) else [named]
        else:
            kind = "word list" if file == _WORD_LISTS else "search rule"
            known = ", ".join(f"${name}" for name in shipped)
            raise ValueError(f"no {kind} {item}; there are {known}")
    return found


@cache
def _shipped(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((DATA / name).read_text(encoding="utf-8"))
    return data


def _shown(value: str) -> str:
    """Refuse what nobody sees in a text: control characters, marks of direction, line breaks."""
    if hidden := next((each for each in value if not each.isprintable()), ""):
        raise ValueError(f"has the character U+{ord(hidden):04X}, which nobody sees")
    return value


def _one_line(value: str) -> str:
    return _shown(" ".join(value.split()))


def _without_braces(value: str) -> str:
    """Refuse what would be taken for a slot once it stands in a seed's template."""
    if "{" in value or "}" in value:
        raise ValueError(f"{value!r}: braces are only for slots and choices in a template's text")
    return _shown(value)


def _in_domain(templates: Any, info: ValidationInfo) -> Any:
    """Word a file's templates for the domain that is built for; see `Domain`."""
    return (info.context or Domain()).templates(templates)


def _distinct(value: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(value)) < len(value):
        raise ValueError("names one twice")
    return value


def _can_be_failed(value: tuple[Label, ...]) -> tuple[Label, ...]:
    if len(value) == len(LABELS):
        raise ValueError("every label passes, so no model can fail")
    return value


def _of_pair(wording: str | tuple[str, str], number: int) -> str:
    """The case's wording (0) or its contrast's (1), which may be the same."""
    return wording if isinstance(wording, str) else wording[number]


_ONE_OR_MORE = Field(min_length=1)
Pattern = Annotated[str, AfterValidator(_pattern)]
WordList = Annotated[tuple[str, ...], BeforeValidator(partial(_with_shipped, file=_WORD_LISTS))]
Line = Annotated[str, Field(max_length=500), AfterValidator(_one_line)]
Wording = Annotated[str, AfterValidator(_without_braces)]
_Labels = Annotated[
    tuple[Label, ...], _ONE_OR_MORE, AfterValidator(_distinct), AfterValidator(_can_be_failed)
]
Passes = _Labels | str
Whole = Annotated[int, Field(strict=True)]
Score = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Truth = Annotated[bool, Field(strict=True)]


class SearchRule(_Specified):
    """What a corpus sentence must be like. Every field given must hold.

    Attributes:
        label: the sentence's label.
        score_at_least, score_at_most: bounds on the score that SST gives its sentences.
        words_at_least, words_below: bounds on the number of words, punctuation not counted.
        starts_with: regular expression matched at the start of the text.
        matches_no: regular expression that is not found in the text.
        has_one_of: at least one word of one of these classes.
        has_none_of: no word of any of these classes.
        form_first: the lexicon is asked for a word's form, and for its lemma only where it does
            not list the form; else the other way round.
        has_no_words: forms or lemmas, lower case; ``$name`` is a shipped list.
        complete: the root has a subject and a finite predicate, and ends with a full stop.
    """

    label: Label
    score_at_least: Score | None = None
    score_at_most: Score | None = None
    words_at_least: Whole = 1
    words_below: Whole | None = None
    starts_with: Pattern | None = None
    matches_no: Pattern | None = None
    has_one_of: tuple[WordClass, ...] = ()
    has_none_of: tuple[WordClass, ...] = ()
    form_first: Truth = False
    has_no_words: WordList = ()
    complete: Truth = False


SearchRules = Annotated[
    tuple[SearchRule, ...],
    BeforeValidator(partial(_with_shipped, file="search_rules.yaml")),
    _ONE_OR_MORE,
]


class Rewrite(_Specified):
    r"""Change the start of a slot's sentence: what makes the capability, frozen afterwards.

    Attributes:
        find: regular expression matched at the start of the sentence.
        replace: replacements to choose from, with ``\1`` for groups.
    """

    find: Pattern
    replace: Annotated[tuple[Wording, ...], _ONE_OR_MORE]

    @model_validator(mode="after")
    def _check(self) -> Rewrite:
        for replacement in self.replace:
            try:
                # `re` looks at the replacement even where nothing is replaced.
                re.sub(self.find, replacement, "")
            except (re.error, IndexError) as error:
                raise ValueError(
                    f"{replacement!r} does not go with {self.find!r}: {error}"
                ) from None
        return self


def operations_of(field: re.Match[str]) -> tuple[str, ...]:
    """The names of a field's operations, in their order."""
    return tuple(filter(None, field["operations"].split("|")))


def is_reply(field: re.Match[str]) -> bool:
    """Whether a field only takes up a sentence that stands elsewhere."""
    return not set(operations_of(field)).isdisjoint(REPLIES)


class Contrast(_Specified):
    """How a template's case is changed so that no label passes both.

    Attributes:
        text: the text; by default the template's. A slot that the template lacks takes a sentence
            of the slot's search that is about as long as the case's.
        passes: see `Template`.
        reword: whether a word of the sentence is changed; see `s2lct.builder.stages.reword`. The
            label that passes is the new word's, one of ``passes``.
    """

    text: str | None = None
    passes: Passes
    reword: bool = False


class Template(_Specified):
    """How slots become a text.

    Attributes:
        text: the text with ``{slot}`` and ``{choice}``; ``{slot|negate|clause}`` carries out
            operations of `s2lct.builder.language.operations` on the slot's sentence. A slot may
            stand a second time with a reply to it: ``I thought {N|backshift|clause}, but
            {N|past denial}.``
        choices: for each choice in ``text``, the wordings to choose from, each one text, or two:
            the case's and its contrast's. In a file, each may be for a domain, and name what the
            domain has (`s2lct.builder.domains`).
        rewrite: slots whose start is changed.
        passes: the labels that pass; or ``label of SLOT``, or ``denial of SLOT``: of a positive
            sentence negative, of a negative one positive or neutral.
        weight: how often it is used, beside other templates over the same slots.
        contrast: the same case, changed so that other labels pass, if there is one.
    """

    text: str
    choices: dict[str, Annotated[tuple[Wording | tuple[Wording, Wording], ...], _ONE_OR_MORE]] = {}
    rewrite: dict[str, Rewrite] = {}
    passes: Passes
    weight: Annotated[float, Field(gt=0, le=100)] = 1.0
    contrast: Contrast | None = None

    @model_validator(mode="after")
    def _check(self) -> Template:
        _shown(self.text)
        if self.contrast is not None:
            _shown(self.contrast.text or "")
            both = [each.passes for each in (self, self.contrast) if isinstance(each.passes, tuple)]
            if len(both) == 2 and not set(both[0]).isdisjoint(both[1]):
                raise ValueError(f"contrast of {self.text!r}: a label passes both")
            if self.rewrite or len(self.slots_of_contrast) > 1:
                raise ValueError(
                    f"contrast of {self.text!r}: it may neither rewrite nor add several slots"
                )
            if self.contrast.reword and (len(self.slots) > 1 or self.has_operations):
                raise ValueError(
                    f"contrast of {self.text!r}: only a single sentence, unchanged, can be reworded"
                )
        elif any(isinstance(each, tuple) for of in self.choices.values() for each in of):
            raise ValueError(f"template {self.text!r}: wordings in pairs, but no contrast")
        if isinstance(self.passes, str) and not _OF_SLOT.fullmatch(self.passes):
            raise ValueError(
                f'passes: {self.passes!r} is neither labels nor "label of SLOT" or "denial of SLOT"'
            )
        _without_braces(_FIELD.sub("", self.text))
        operations = (*OPERATIONS, *REPLIES)
        for field in self.fields():
            names = operations_of(field)
            if unknown := set(names) - set(operations):
                raise ValueError(
                    f"template {self.text!r}: no operation {', '.join(sorted(unknown))}; "
                    f"{did_you_mean(min(unknown), operations)}there are {', '.join(operations)}"
                )
            if len(set(names)) < len(names) or len(OF_THE_VERB.intersection(names)) > 1:
                raise ValueError(f"template {self.text!r}: {field[0]} changes its verb twice")
            if is_reply(field) and (len(names) > 1 or field["name"] not in self.slots):
                raise ValueError(
                    f"template {self.text!r}: {field[0]} needs {field['name']} elsewhere in the "
                    "text, and no other operation"
                )
            if names and field["name"] in self.choices:
                raise ValueError(f"template {self.text!r}: {field['name']} is a choice")
        unused = set(self.choices) - {match["name"] for match in self.fields()}
        if unused:
            raise ValueError(f"choices: {', '.join(sorted(unused))} not in the template's text")
        return self

    def fields(self) -> Iterator[re.Match[str]]:
        """The fields of ``text`` from left to right: slots and choices."""
        return _FIELD.finditer(self.text)

    @property
    def labelled_by(self) -> tuple[str, ...]:
        """The slot whose label says which passes, if any."""
        return (self.passes.split()[-1],) if isinstance(self.passes, str) else ()

    def passing(self, labels: Mapping[str, Label]) -> tuple[Label, ...]:
        """The labels that pass, given those of the slots' sentences."""
        if not isinstance(self.passes, str):
            return self.passes
        label = labels[self.labelled_by[0]]
        return (label,) if self.passes.startswith("label") else _DENIED[label]

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """Slots in the order of the text, without those that only reply to one."""
        return tuple(
            field["name"]
            for field in self.fields()
            if field["name"] not in self.choices and not is_reply(field)
        )

    @cached_property
    def slots_of_contrast(self) -> tuple[str, ...]:
        """Slots that only the contrast has: at most one."""
        slots = () if (contrast := self.as_contrast) is None else contrast.slots
        return tuple(slot for slot in slots if slot not in self.slots)

    @property
    def has_operations(self) -> bool:
        """Whether a slot's sentence is changed."""
        return any(map(operations_of, self.fields()))

    @cached_property
    def variants(self) -> int:
        """How many combinations of choices and rewrites there are."""
        return math.prod(map(len, self._options.values()))

    def variant(self, number: int) -> dict[str, str]:
        """Combination ``number``, the last choice varying first: what choices and rewrites say."""
        wording: dict[str, str] = {}
        options = self._options
        for name in reversed(options):
            number, place = divmod(number, len(options[name]))
            wording[name] = options[name][place]
        return wording

    @cached_property
    def as_contrast(self) -> Template | None:
        """The template of the contrast, if there is one."""
        if self.contrast is None:
            return None
        text = self.text if self.contrast.text is None else self.contrast.text
        used = {match["name"] for match in _FIELD.finditer(text)}
        choices: dict[str, tuple[str | tuple[str, str], ...]] = {
            name: tuple(_of_pair(each, 1) for each in wordings)
            for name, wordings in self.choices.items()
            if name in used
        }
        return Template(text=text, choices=choices, passes=self.contrast.passes)

    def contrast_wording(self, wording: Mapping[str, str]) -> dict[str, str]:
        """What the contrast of a case of that wording says in place of each choice."""
        return {
            name: _of_pair(next(each for each in of if _of_pair(each, 0) == wording[name]), 1)
            for name, of in self.choices.items()
        }

    @cached_property
    def _options(self) -> dict[str, tuple[str, ...]]:
        options = {
            name: tuple(_of_pair(each, 0) for each in of) for name, of in self.choices.items()
        }
        return options | {slot: r.replace for slot, r in self.rewrite.items()}


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

    search: dict[str, SearchRules]
    templates: Annotated[tuple[Template, ...], BeforeValidator(_in_domain), _ONE_OR_MORE]
    keep_search_rule: Truth = False
    choices_made: tuple[Choice, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Form:
        contrasts = [template.as_contrast for template in self.templates]
        for template in (*self.templates, *filter(None, contrasts)):
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


class CheckListTest(_Specified):
    """The test of CheckList's (Ribeiro et al. 2020) that a capability was modelled on.

    Attributes:
        test: its name.
        passes: only the cases that pass with these labels; empty for all of them.
    """

    test: Annotated[Line, _ONE_OR_MORE]
    passes: tuple[Label, ...] = ()

    def covers(self, passes: Iterable[Label]) -> bool:
        """Whether a case that passes with these labels belongs to the capability."""
        return not self.passes or set(passes) <= set(self.passes)


class Capability(_Specified):
    """A linguistic capability: what a sentiment model must be able to do.

    Attributes:
        id: such as ``LC4``.
        order: its place among the capabilities; those without one come last.
        title: a few words.
        short: fewer, for tables.
        expectation: the specification in one sentence.
        raters: what people who rate cases judge relevance by. The expectation names the label
            that passes, which they must not see.
        checklist: the test that it stands beside.
        forms: ``fluent`` (the default) and, where the paper has the capability, ``paper``.
    """

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    order: Score | None = None
    title: Annotated[Line, _ONE_OR_MORE]
    short: Annotated[Line, Field(min_length=1, max_length=30)] | None = None
    expectation: Annotated[Line, _ONE_OR_MORE]
    raters: Annotated[Line, _ONE_OR_MORE] | None = None
    checklist: CheckListTest | None = None
    forms: dict[FormName, Form]

    @model_validator(mode="after")
    def _check(self) -> Capability:
        if "fluent" not in self.forms:
            raise ValueError("forms: the form `fluent` is missing")
        if any(template.rewrite for template in self.forms["fluent"].templates):
            raise ValueError("forms: a rewrite is for the paper form; the fluent has {S|negate}")
        if not is_capability_id(self.id):
            raise ValueError(f"id: `{self.id}` is taken: it names a column of tables")
        return self

    def form(self, name: FormName) -> Form:
        """The form of that name; ``fluent`` where the paper does not have the capability."""
        return self.forms.get(name, self.forms["fluent"])
