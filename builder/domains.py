"""Domains: what a corpus speaks of, in the words that wordings need and insertions must not cross.

A wording of a capability file is for every corpus, or says for which domain it is:
``{film: On first viewing I thought that, else: At first I thought that}``. It may name a
``{thing}``, a ``{place}`` or a ``{person}`` of the domain, with a capital where a sentence begins.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
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
_NAMED = {"thing": "things", "place": "places", "person": "people"}
_FIELD = re.compile(r"\{([Tt]hing|[Pp]lace|[Pp]erson)\}")


class Domain(BaseModel):
    """What texts of a domain speak of; every list may be left out.

    Attributes:
        name: the file's.
        things: what is reviewed, without an article: film, movie.
        places: where people meet it, with one: the theater.
        people: who is met there, with one: the man at the box office.
        words: what belongs here; those of a shipped domain are inserted into texts of no other.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: str = NEUTRAL
    things: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def foreign_words(self) -> frozenset[str]:
        """Those of other domains, in both numbers."""
        others = {word for name in shipped_names() for word in shipped_domain(name).words}
        return _in_both_numbers(others.difference(self.words))

    @property
    def classes(self) -> Mapping[str, frozenset[str]]:
        """What belongs here, in both numbers: what it is about, and what that has."""
        things = _in_both_numbers(self.things)
        return {"things": things, "domain": _in_both_numbers(self.words) - things}

    def templates(self, templates: Any) -> Any:
        """Those of a form's templates, as YAML has them, that have a wording here, so worded."""
        if not isinstance(templates, list):
            return templates
        worded = [self._worded(template) for template in templates]
        found = [template for template in worded if template is not None]
        if templates and not found:
            raise ValueError(f"no template has a wording for the domain {self.name}: add `{ELSE}`")
        return found

    def _worded(self, template: Any) -> Any:
        """A template with its wordings here; None where a choice has none."""
        if not isinstance(template, dict):
            return template
        worded = dict(template)
        if isinstance(template.get("choices"), dict):
            worded["choices"] = choices = dict(template["choices"])
            for name, wordings in choices.items():
                if isinstance(wordings, list):
                    choices[name] = [text for one in wordings for text in self._wordings(one)]
                if wordings and not choices[name]:
                    return None
        return worded

    def _wordings(self, wording: Any) -> list[Any]:
        """What a wording, or a pair, is here: one for each thing, place or person that it names."""
        is_pair = isinstance(wording, list)
        texts = [self._text(each) for each in (wording if is_pair else [wording])]
        if None in texts:
            return []
        written = " ".join(each for each in texts if isinstance(each, str))
        fields = list(dict.fromkeys(_FIELD.findall(written)))
        found = []
        for chosen in itertools.product(*(getattr(self, _NAMED[f.lower()]) for f in fields)):
            filled = [_filled(each, fields, chosen) for each in texts]
            found.append(filled if is_pair else filled[0])
        return found

    def _text(self, wording: Any) -> Any:
        """What of a wording is said in this domain, if anything."""
        if not isinstance(wording, dict):
            return wording
        if not wording or not all(isinstance(text, str) for text in wording.values()):
            raise ValueError(f"{wording!r}: write DOMAIN: TEXT, and quote what begins with {{")
        return wording.get(self.name, wording.get(ELSE))


def _in_both_numbers(words: Iterable[str]) -> frozenset[str]:
    return frozenset(
        form
        for word in words
        for form in (word, f"{word[:-1]}ies" if word.endswith("y") else f"{word}s")
    )


def _filled(wording: Any, fields: Sequence[str], chosen: Sequence[str]) -> Any:
    for field, text in zip(fields, chosen, strict=True) if isinstance(wording, str) else ():
        cased = text[:1].upper() + text[1:] if field[0].isupper() else text
        wording = wording.replace(f"{{{field}}}", cased)
    return wording


def shipped_names() -> list[str]:
    """The domains that the package has files of."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def shipped_domain(name: str) -> Domain:
    """One of them."""
    return _read(FOLDER / f"{name}.yaml")


def load_domain(spec: str) -> Domain:
    """The domain of that name, ``neutral``, or one's own YAML file."""
    if spec == NEUTRAL:
        return Domain()
    if spec in shipped_names():
        return shipped_domain(spec)
    if spec.endswith((".yaml", ".yml")):
        return _read(Path(spec))
    domains = [NEUTRAL, *shipped_names()]
    raise OptionError(
        f"--domain {plain(spec, 60)}: unknown",
        hint=f"{did_you_mean(spec, domains)}there are {', '.join(domains)}, or name a YAML file",
    )


def _read(path: Path) -> Domain:
    try:
        data = read_yaml(path)
        return Domain.model_validate((data or {}) | {"name": path.stem})
    except (OSError, ValueError, TypeError) as error:
        why = (
            "; ".join(faults_in(error))
            if isinstance(error, ValidationError)
            else " ".join(str(error).split())
        )
        raise OptionError(
            f"--domain {path}: {plain(why, 500)}",
            hint="write lists of things, places, people and words, as docs/domains.md shows",
        ) from error
