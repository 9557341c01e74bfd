"""What stages of a build are given: rules, and models whose answers are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from s2lct.builder.annotations import Annotations
from s2lct.builder.config import BuildConfig
from s2lct.builder.domains import load_domain
from s2lct.builder.kept_models import CachedModels, LazyModels
from s2lct.builder.models import EMBEDDED
from s2lct.builder.rules import AllBut, BuildRules, rules_with_annotators, rules_without_annotators
from s2lct.cache import Cache
from s2lct.engines import InProcessEngine


def rules_for(annotations: Annotations | None = None, **changes: Any) -> BuildRules:
    """The rules of a build of the embedded corpus, with some changes."""
    config = BuildConfig.checked(out="out")
    of_build = config, load_domain(config.domain), ()
    if annotations is None:
        return replace(rules_without_annotators(*of_build), **changes)
    return replace(rules_with_annotators(*of_build, annotations), **changes)


def accepting_rules(**changes: Any) -> BuildRules:
    """The rules of a build for which annotators accepted everything."""
    everything: dict[str, Any] = {
        "accepted_parts": AllBut(),
        "annotations": Annotations(accepts_undecided=True),
    }
    return replace(rules_for(Annotations()), **(everything | changes))


def models() -> CachedModels:
    """The embedded models, or the stubs that stand for them."""
    loaded = LazyModels(EMBEDDED, EMBEDDED, EMBEDDED)
    return CachedModels(loaded, InProcessEngine(loaded), Cache())
