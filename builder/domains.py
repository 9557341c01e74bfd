"""Domains: a domain is the topic of a corpus; it words templates and bars words of other topics.

A wording in a capability file is for every domain, or says for which:
``{film: On first viewing I thought that, else: At first I thought that}``. It may name a
``{thing}``, ``{place}`` or ``{person}`` of the domain, with a capital where a sentence begins.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from s2lct.errors import OptionError
from s2lct.plain_text import did_you_mean, plain
from s2lct.suite.read import faults_in
from s2lct.yaml_files import read_yaml

FILM, NEUTRAL, ELSE = "film", "neutral", "else"
FOLDER = Path(__file__).parent / "data" / "domains"
_LIST_OF_FIELD = {"thing": "things", "place": "places", "person": "people"}
_FIELD = re.compile(r"\{([Tt]hing|[Pp]lace|[Pp]erson)\}")


class Domain(BaseModel):
    """The things, places and people that texts of a domain are about; every list may be empty.

    Attributes:
        name: the name of its file without the ending.
        things: what is reviewed, without an article: film, movie.
        places: where people meet the thing, with an article: the theater.
        people: whom they meet there, with an article: the man at the box office.
        words: words of the domain; the words of a shipped domain are never inserted in another.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: str = NEUTRAL
    things: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def foreign_words(self) -> frozenset[str]:
        """Words of the other shipped domains, singular and plural."""
        words_of_domains = {
            word for name in shipped_domain_names() for word in shipped_domain(name).words
        }
        return _with_plurals(words_of_domains.difference(self.words))

    @property
    def word_classes(self) -> Mapping[str, frozenset[str]]:
        """The domain's things and its other words, in both numbers: ``things`` and ``domain``."""
        things = _with_plurals(self.things)
        return {"things": things, "domain": _with_plurals(self.words) - things}

    def templates(self, templates: Any) -> Any:
        """The templates of a form, as read from YAML, with this domain's wordings.

        A template is left out if one of its choices has no wording for the domain.

        Raises:
            ValueError: no template is left.
        """
        if not isinstance(templates, list):
            return templates
        filled_templates = [self._template(template) for template in templates]
        usable = [template for template in filled_templates if template is not None]
        if templates and not usable:
            raise ValueError(f"no template has a wording for the domain {self.name}: add `{ELSE}`")
        return usable

    def _template(self, template: Any) -> Any:
        """A template with this domain's wordings; None where a choice has none."""
        if not isinstance(template, dict) or not isinstance(template.get("choices"), dict):
            return template
        choices = dict(template["choices"])
        for name, wordings in choices.items():
            if isinstance(wordings, list):
                choices[name] = [text for wording in wordings for text in self._wordings(wording)]
            if wordings and not choices[name]:
                return None
        return template | {"choices": choices}

    def _wordings(self, wording: Any) -> list[Any]:
        """A wording, or a pair, for this domain: a copy for each choice of names."""
        is_pair = isinstance(wording, list)
        texts = [self._text_for_domain(text) for text in (wording if is_pair else [wording])]
        if None in texts:
            return []
        joined = " ".join(text for text in texts if isinstance(text, str))
        fields = list(dict.fromkeys(_FIELD.findall(joined)))
        names = (getattr(self, _LIST_OF_FIELD[field.lower()]) for field in fields)
        filled = [
            [_fill_fields(text, dict(zip(fields, combination, strict=True))) for text in texts]
            for combination in itertools.product(*names)
        ]
        return filled if is_pair else [text for (text,) in filled]

    def _text_for_domain(self, wording: Any) -> Any:
        """A wording's text for this domain; None if it has none."""
        if not isinstance(wording, dict):
            return wording
        if not wording or not all(isinstance(text, str) for text in wording.values()):
            raise ValueError(f"{wording!r}: write DOMAIN: TEXT, and quote what begins with {{")
        return wording.get(self.name, wording.get(ELSE))


def _with_plurals(words: Iterable[str]) -> frozenset[str]:
    return frozenset(
        form
        for word in words
        for form in (word, f"{word[:-1]}ies" if word.endswith("y") else f"{word}s")
    )


def _fill_fields(text: Any, names: Mapping[str, str]) -> Any:
    """Fill each field of a text with a name, with a capital for ``{Thing}``."""
    if isinstance(text, str):
        for field, name in names.items():
            cased = name[:1].upper() + name[1:] if field[0].isupper() else name
            text = text.replace(f"{{{field}}}", cased)
    return text


def shipped_domain_names() -> list[str]:
    """The names of the domains in the package."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def shipped_domain(name: str) -> Domain:
    """A domain of the package."""
    return _read_domain(FOLDER / f"{name}.yaml")


def load_domain(spec: str) -> Domain:
    """A domain by its name, ``neutral``, or the path of a YAML file."""
    if spec == NEUTRAL:
        return Domain()
    if spec in shipped_domain_names():
        return shipped_domain(spec)
    if spec.endswith((".yaml", ".yml")):
        return _read_domain(Path(spec))
    domains = [NEUTRAL, *shipped_domain_names()]
    raise OptionError(
        f"--domain {plain(spec, 60)}: unknown",
        hint=f"{did_you_mean(spec, domains)}there are {', '.join(domains)}, or name a YAML file",
    )


def _read_domain(path: Path) -> Domain:
    try:
        data = read_yaml(path)
        return Domain.model_validate((data or {}) | {"name": path.stem})
    except (OSError, ValueError, TypeError) as error:
        reason = (
            "; ".join(faults_in(error))
            if isinstance(error, ValidationError)
            else " ".join(str(error).split())
        )
        raise OptionError(
            f"--domain {path}: {plain(reason, 500)}",
            hint="write lists of things, places, people and words, as docs/domains.md shows",
        ) from error
