"""The fields of a capability file: searches for sentences, templates of texts, passing labels."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
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
from s2lct.builder.language.lexicon import SEARCH_LISTS, Pos, Sentiment
from s2lct.builder.language.operations import OPERATIONS, REPLIES, VERB_OPERATIONS
from s2lct.labels import LABELS, Label
from s2lct.plain_text import did_you_mean
from s2lct.suite.capability_ids import ID_PATTERN, is_capability_id
from s2lct.suite.tables import FormName

_WORD_CLASS_PATTERN = re.compile(
    r"(?P<sentiment>positive|neutral|negative) (?P<pos>[a-z]+(?:/[a-z]+)*)"
    r"(?: >= (?P<strength>0\.\d+))?"
)
_LABEL_FROM_SLOT = re.compile(r"(label|denial) of \w+")
_LABELS_PASSING_DENIAL: Mapping[Label, tuple[Label, ...]] = {
    "negative": ("positive", "neutral"),
    "neutral": ("neutral",),
    "positive": ("negative",),
}
_FIELD = re.compile(r"\{(?P<name>[A-Za-z_]+)(?P<operations>(?:\|[a-z ]+)*)\}")


class _FileModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WordClass(_FileModel):
    """Words of a sentiment and part of speech, written ``"positive adj/noun >= 0.25"``.

    Attributes:
        sentiment: the sentiment of the words in the lexicon.
        parts_of_speech: the parts of speech that a word may have.
        strength: the least absolute score; with 0, every word of that sentiment is in the class.
    """

    sentiment: Sentiment
    parts_of_speech: tuple[Pos, ...]
    strength: float = 0.0

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        match = _WORD_CLASS_PATTERN.fullmatch(value)
        if match is None:
            raise ValueError(f'{value!r} is not like "positive adj/noun" or "negative adj >= 0.25"')
        return {
            "sentiment": match["sentiment"],
            "parts_of_speech": match["pos"].split("/"),
            "strength": float(match["strength"] or 0),
        }


def _check_pattern(value: str) -> str:
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return value


def _insert_word_lists(value: Any) -> Any:
    """Replace each ``$name`` among words by the words of a shipped list."""
    if not isinstance(value, list):
        return value
    items: list[Any] = []
    for item in value:
        if isinstance(item, str) and item.startswith("$"):
            items += _shipped_item(item, SEARCH_LISTS, "word list")
        else:
            items.append(item)
    return items


def _insert_search_rules(value: Any) -> Any:
    """Replace each ``$name`` among search rules by the shipped rule."""
    if not isinstance(value, list):
        return value
    rules = _shipped_rules()
    return [
        _shipped_item(rule, rules, "search rule") if isinstance(rule, str) else rule
        for rule in value
    ]


def _shipped_item(name: str, items: Mapping[str, Any], kind: str) -> Any:
    if name[:1] != "$" or name[1:] not in items:
        names = ", ".join(f"${item}" for item in items)
        raise ValueError(f"no {kind} {name}; there are {names}")
    return items[name[1:]]


@cache
def _shipped_rules() -> dict[str, Any]:
    text = (DATA / "search_rules.yaml").read_text(encoding="utf-8")
    rules: dict[str, Any] = yaml.safe_load(text)
    return rules


def _check_printable(value: str) -> str:
    """Refuse invisible characters: controls, marks of direction, line breaks."""
    if hidden := next((letter for letter in value if not letter.isprintable()), ""):
        raise ValueError(f"has the character U+{ord(hidden):04X}, which nobody sees")
    return value


def _join_lines(value: str) -> str:
    return _check_printable(" ".join(value.split()))


def _check_no_braces(value: str) -> str:
    """Refuse braces, as they would mark a slot once the text is in a seed's template."""
    if "{" in value or "}" in value:
        raise ValueError(f"{value!r}: braces are only for slots and choices in a template's text")
    return _check_printable(value)


def _choose_wordings(templates: Any, info: ValidationInfo) -> Any:
    """Choose the wordings of a file's templates for the domain of a build; see `Domain`."""
    return (info.context or Domain()).templates(templates)


def _check_distinct(value: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(value)) < len(value):
        raise ValueError("names one twice")
    return value


def _check_some_label_fails(value: tuple[Label, ...]) -> tuple[Label, ...]:
    if len(value) == len(LABELS):
        raise ValueError("every label passes, so no model can fail")
    return value


def _wording_of(wording: str | tuple[str, str], side: int) -> str:
    """The wording of a choice on a side: in the case (0) or in its contrast (1)."""
    return wording if isinstance(wording, str) else wording[side]


_ONE_OR_MORE = Field(min_length=1)
Pattern = Annotated[str, AfterValidator(_check_pattern)]
WordList = Annotated[tuple[str, ...], BeforeValidator(_insert_word_lists)]
Line = Annotated[str, Field(max_length=500), AfterValidator(_join_lines)]
Wording = Annotated[str, AfterValidator(_check_no_braces)]
_Labels = Annotated[
    tuple[Label, ...],
    _ONE_OR_MORE,
    AfterValidator(_check_distinct),
    AfterValidator(_check_some_label_fails),
]
Passes = _Labels | str
Count = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
YesNo = Annotated[bool, Field(strict=True)]


class SearchRule(_FileModel):
    """Conditions on a sentence of the corpus, all of which must hold.

    Attributes:
        label: the sentence's label.
        score_at_least, score_at_most: bounds on the score that a sentence has in SST.
        words_at_least, words_below: bounds on the number of words without punctuation.
        starts_with: a regular expression that matches at the start of the text.
        matches_no: a regular expression that is not found in the text.
        has_one_of: at least one word is of one of these classes.
        has_none_of: no word is of any of these classes.
        form_first: whether words are looked up in the lexicon by form first, then by lemma;
            otherwise by lemma first.
        has_no_words: lower-case forms and lemmas, none of which the sentence may have; ``$name``
            is a shipped list.
        complete: whether the sentence must have a subject, a finite predicate and a full stop.
    """

    label: Label
    score_at_least: Number | None = None
    score_at_most: Number | None = None
    words_at_least: Count = 1
    words_below: Count | None = None
    starts_with: Pattern | None = None
    matches_no: Pattern | None = None
    has_one_of: tuple[WordClass, ...] = ()
    has_none_of: tuple[WordClass, ...] = ()
    form_first: YesNo = False
    has_no_words: WordList = ()
    complete: YesNo = False


SearchRules = Annotated[
    tuple[SearchRule, ...],
    BeforeValidator(_insert_search_rules),
    _ONE_OR_MORE,
]


class Rewrite(_FileModel):
    r"""A change at the start of a slot's sentence, in the paper form.

    Attributes:
        find: a regular expression that matches at the start of the sentence.
        replace: replacements to choose from, with ``\1`` for groups.
    """

    find: Pattern
    replace: Annotated[tuple[Wording, ...], _ONE_OR_MORE]

    @model_validator(mode="after")
    def _check(self) -> Rewrite:
        for replacement in self.replace:
            try:
                re.sub(self.find, replacement, "")  # checks the replacement even without a match
            except (re.error, IndexError) as error:
                raise ValueError(
                    f"{replacement!r} does not go with {self.find!r}: {error}"
                ) from None
        return self


def operations_of(field: re.Match[str]) -> tuple[str, ...]:
    """The names of the operations behind a slot, from left to right."""
    return tuple(filter(None, field["operations"].split("|")))


def is_reply(field: re.Match[str]) -> bool:
    """Whether a field denies or echoes the sentence of a slot elsewhere in the template."""
    return not set(operations_of(field)).isdisjoint(REPLIES)


class Contrast(_FileModel):
    """A change of a template's case, after which other labels pass.

    Attributes:
        text: the contrast's text; by default the template's. A slot of the contrast alone gets a
            sentence from that slot's search, about as long as that of the case.
        passes: the labels that pass; see `Template`.
        reword: whether a word of the sentence is replaced; see `s2lct.builder.stages.reword`. The
            new word decides which label of ``passes`` passes.
    """

    text: str | None = None
    passes: Passes
    reword: bool = False


class Template(_FileModel):
    """A pattern that makes a text of the sentences in its slots.

    Attributes:
        text: the text with ``{slot}`` and ``{choice}``; ``{slot|negate|clause}`` carries out
            operations of `s2lct.builder.language.operations` on the slot's sentence. A reply may
            name the slot again: ``I thought {N|backshift|clause}, but {N|past denial}.``
        choices: for each choice in ``text``, the wordings to choose from. Each is one text, or a
            pair: the case's wording and its contrast's. In a file, a wording may be for one domain,
            and name things of the domain (`s2lct.builder.domains`).
        rewrite: for each slot whose start is changed, the change.
        passes: the labels that pass; or ``label of SLOT``; or ``denial of SLOT``, which is negative
            for a positive sentence, positive or neutral for a negative one.
        weight: its relative frequency among templates over the same slots.
        contrast: a change of the case, after which other labels pass; None for no contrast.
    """

    text: str
    choices: dict[str, Annotated[tuple[Wording | tuple[Wording, Wording], ...], _ONE_OR_MORE]] = {}
    rewrite: dict[str, Rewrite] = {}
    passes: Passes
    weight: Annotated[float, Field(gt=0, le=100)] = 1.0
    contrast: Contrast | None = None

    @model_validator(mode="after")
    def _check(self) -> Template:
        _check_printable(self.text)
        self._check_contrast()
        if isinstance(self.passes, str) and not _LABEL_FROM_SLOT.fullmatch(self.passes):
            raise ValueError(
                f'passes: {self.passes!r} is neither labels nor "label of SLOT" or "denial of SLOT"'
            )
        _check_no_braces(_FIELD.sub("", self.text))
        for field in self.fields():
            self._check_operations(field)
        unused = set(self.choices) - {field["name"] for field in self.fields()}
        if unused:
            raise ValueError(f"choices: {', '.join(sorted(unused))} not in the template's text")
        return self

    def _check_contrast(self) -> None:
        location = f"contrast of {self.text!r}"
        if self.contrast is None:
            wordings = itertools.chain.from_iterable(self.choices.values())
            if any(isinstance(wording, tuple) for wording in wordings):
                raise ValueError(f"template {self.text!r}: wordings in pairs, but no contrast")
            return
        _check_printable(self.contrast.text or "")
        if (
            isinstance(self.passes, tuple)
            and isinstance(self.contrast.passes, tuple)
            and not set(self.passes).isdisjoint(self.contrast.passes)
        ):
            raise ValueError(f"{location}: a label passes both")
        if self.rewrite or len(self.slots_of_contrast) > 1:
            raise ValueError(f"{location}: it may neither rewrite nor add several slots")
        if self.contrast.reword and (len(self.slots) > 1 or self.has_operations):
            raise ValueError(f"{location}: only a single sentence, unchanged, can be reworded")

    def _check_operations(self, field: re.Match[str]) -> None:
        location, operations = f"template {self.text!r}", (*OPERATIONS, *REPLIES)
        names = operations_of(field)
        if unknown := set(names) - set(operations):
            raise ValueError(
                f"{location}: no operation {', '.join(sorted(unknown))}; "
                f"{did_you_mean(min(unknown), operations)}there are {', '.join(operations)}"
            )
        if len(set(names)) < len(names) or len(VERB_OPERATIONS.intersection(names)) > 1:
            raise ValueError(f"{location}: {field[0]} changes its verb twice")
        if is_reply(field) and (len(names) > 1 or field["name"] not in self.slots):
            raise ValueError(
                f"{location}: {field[0]} needs {field['name']} elsewhere in the text, and no other "
                "operation"
            )
        if names and field["name"] in self.choices:
            raise ValueError(f"{location}: {field['name']} is a choice")

    def fields(self) -> Iterator[re.Match[str]]:
        """The fields of ``text``, slots and choices, from left to right."""
        return _FIELD.finditer(self.text)

    @property
    def deciding_slots(self) -> tuple[str, ...]:
        """The slot whose sentence decides by its label which labels pass; empty if none does."""
        return (self.passes.split()[-1],) if isinstance(self.passes, str) else ()

    def passing_labels(self, labels: Mapping[str, Label]) -> tuple[Label, ...]:
        """The labels that pass, given the label of each slot's sentence."""
        if not isinstance(self.passes, str):
            return self.passes
        label = labels[self.deciding_slots[0]]
        return (label,) if self.passes.startswith("label") else _LABELS_PASSING_DENIAL[label]

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """Slots in the order of the text, replies left out."""
        return tuple(
            field["name"]
            for field in self.fields()
            if field["name"] not in self.choices and not is_reply(field)
        )

    @cached_property
    def slots_of_contrast(self) -> tuple[str, ...]:
        """The slots of the contrast alone: at most one."""
        contrast = self.as_contrast
        return tuple(slot for slot in contrast.slots if slot not in self.slots) if contrast else ()

    @property
    def has_operations(self) -> bool:
        """Whether an operation changes a slot's sentence."""
        return any(map(operations_of, self.fields()))

    @cached_property
    def variant_count(self) -> int:
        """The number of combinations of choices and rewrites."""
        return math.prod(map(len, self._options.values()))

    def variant(self, number: int) -> dict[str, str]:
        """A combination of choices and rewrites by its number; the last choice varies fastest."""
        wording: dict[str, str] = {}
        options = self._options
        for name in reversed(options):
            number, index = divmod(number, len(options[name]))
            wording[name] = options[name][index]
        return wording

    @cached_property
    def as_contrast(self) -> Template | None:
        """The template of the contrast, if there is one."""
        if self.contrast is None:
            return None
        text = self.text if self.contrast.text is None else self.contrast.text
        used = {match["name"] for match in _FIELD.finditer(text)}
        choices: dict[str, tuple[str | tuple[str, str], ...]] = {
            name: tuple(_wording_of(wording, 1) for wording in wordings)
            for name, wordings in self.choices.items()
            if name in used
        }
        return Template(text=text, choices=choices, passes=self.contrast.passes)

    def contrast_wording(self, wording: Mapping[str, str]) -> dict[str, str]:
        """The wording of each choice in the contrast of a case that has ``wording``."""
        return {
            name: next(
                _wording_of(option, 1)
                for option in options
                if _wording_of(option, 0) == wording[name]
            )
            for name, options in self.choices.items()
        }

    @cached_property
    def _options(self) -> dict[str, tuple[str, ...]]:
        """For each choice the wordings, and for each rewritten slot the replacements."""
        options = {
            name: tuple(_wording_of(wording, 0) for wording in wordings)
            for name, wordings in self.choices.items()
        }
        return options | {slot: rewrite.replace for slot, rewrite in self.rewrite.items()}


class Choice(_FileModel):
    """A difference between this form and the paper's, with its reason."""

    rule: Line
    reason: Line


class Form(_FileModel):
    """One way to test a capability.

    Attributes:
        search: for each slot, search rules; a sentence must meet one of them.
        templates: the templates, each used in proportion to its weight.
        keep_search_rule: whether an expansion must meet the search rule that its seed met.
        choices_made: the differences between this form and the paper's, with reasons.
    """

    search: dict[str, SearchRules]
    templates: Annotated[tuple[Template, ...], BeforeValidator(_choose_wordings), _ONE_OR_MORE]
    keep_search_rule: YesNo = False
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
            for slot in (*template.rewrite, *template.deciding_slots):
                if slot not in slots:
                    raise ValueError(f"template {template.text!r} has no slot {slot}")
        if self.keep_search_rule and len(self.search) > 1:
            raise ValueError("keep_search_rule: search finds more than one slot")
        return self


class CheckListTest(_FileModel):
    """The test of CheckList (Ribeiro et al. 2020) that a capability is modelled on.

    Attributes:
        test: its name.
        passes: the labels that pass in the capability's part of the test; empty for the whole test.
    """

    test: Annotated[Line, _ONE_OR_MORE]
    passes: tuple[Label, ...] = ()

    def covers(self, passes: Iterable[Label]) -> bool:
        """Whether a case of the test with these passing labels belongs to the capability."""
        return not self.passes or set(passes) <= set(self.passes)


class Capability(_FileModel):
    """A linguistic capability that a sentiment model must have.

    Attributes:
        id: such as ``LC4``.
        order: a key that sorts capabilities; those without one come last.
        title: a name of the capability in a few words.
        short: a shorter title, for tables.
        expectation: the expected behaviour of a model, in one sentence.
        raters: the criterion by which annotators judge relevance; it names no label.
        checklist: the test of CheckList for the same capability.
        forms: ``fluent`` (the default) and, where the paper has the capability, ``paper``.
    """

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    order: Number | None = None
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
