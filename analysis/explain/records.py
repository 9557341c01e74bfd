"""What ``s2lct explain`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from s2lct.analysis.explain.attribution import Method
from s2lct.analysis.explain.words import Kind
from s2lct.analysis.records import Record, fault_of
from s2lct.errors import AnalysisError
from s2lct.files import write_text


class ExplainedWord(Record):
    """A word of an explained text, its part (see `words.Part`) and what it contributes.

    Kept words belong to the set that holds the prediction, whose estimated P is ``without`` if the
    word is left out.
    """

    text: str
    start: int
    end: int
    part: Kind
    part_name: str
    contribution: float
    kept: bool
    without: float | None = None


class Explanation(Record):
    """What holds a prediction: a case, what the model says of it, and what it rests on.

    Attributes:
        probability: P(f(T(x)) = f(x)) of the kept words, by samples that the search did not see.
        ci: the bounds of its 95 % interval (Clopper and Pearson).
        nothing_shown: the same of the fully masked text, as the search estimated it.
        samples: how many fillings ``probability`` rests on.
    """

    id: str
    capability: str
    kind: Literal["seed", "expansion"]
    seed_id: str
    text: str
    template: str
    said: str
    passes: tuple[str, ...]
    failed: bool
    words: tuple[ExplainedWord, ...]
    probability: float = Field(ge=0, le=1)
    ci: tuple[float, float]
    nothing_shown: float = Field(ge=0, le=1)
    samples: int = Field(ge=1)

    @property
    def kept(self) -> tuple[ExplainedWord, ...]:
        """The words that hold the prediction."""
        return tuple(word for word in self.words if word.kept)


class Options(Record):
    """How explanations are made.

    Attributes:
        threshold: P_thresh, the share of fillings of which the model must say the same.
        samples: fillings that the reported P rests on.
        search_samples: the most fillings of one set that the search draws.
        method: how contributions are told; None for gradients or Kernel SHAP, as the model allows.
        seed: of all samples.
    """

    threshold: float = Field(default=0.9, gt=0, le=1)
    samples: int = Field(default=100, ge=1)
    search_samples: int = Field(default=50, ge=1)
    method: Method | None = None
    seed: int = 0


class ExplanationFile(Record):
    """What ``s2lct explain`` writes."""

    format: Literal[1] = 1
    suite: str
    suite_fingerprint: str
    model: str
    model_fingerprint: str
    label_rule: str
    fillings: str
    attribution: str
    options: Options
    explanations: tuple[Explanation, ...]


def write_explanations(file: ExplanationFile, path: Path) -> None:
    """Write explanations as JSON, whole or not at all."""
    write_text(path, file.model_dump_json(indent=1) + "\n")


def read_explanations(path: Path, suite_fingerprint: str = "") -> ExplanationFile:
    """Read what ``s2lct explain`` wrote, of a suite if one is named by its fingerprint.

    Raises:
        AnalysisError: it cannot be read, is something else, or is about another suite.
    """
    mend = "make one with `s2lct explain MODEL --suite DIR --out explain.json`"
    try:
        file = ExplanationFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read ({error.strerror})", mend=mend) from error
    except ValidationError as error:
        raise AnalysisError(
            f"{path}: holds no explanations ({fault_of(error)})", mend=mend
        ) from error
    if suite_fingerprint and file.suite_fingerprint != suite_fingerprint:
        raise AnalysisError(
            f"{path}: explains cases of another suite ({file.suite_fingerprint[:12] or '?'}, the "
            f"results are of {suite_fingerprint[:12]})",
            mend="explain and score on one version of the suite",
        )
    return file
