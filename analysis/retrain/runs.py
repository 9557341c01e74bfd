"""What is kept of a model trained once."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from s2lct.analysis.records import Record
from s2lct.errors import AnalysisError

RUN_FILE = "run.json"
Group = Literal["train", "validation", "test", "left_out", "unseen", "shared"]


class TrainOptions(Record):
    """How a model is fine-tuned.

    Attributes:
        epochs: times that every case is seen.
        lr: the learning rate at the start; it falls linearly to 0 (AdamW).
        batch_size: cases a step.
        mix: sentences of the corpus's own training data that are trained on beside the cases, as
            a share of that data.
        checkpoint_steps: steps between two checkpoints that an interrupted run goes on from.
    """

    epochs: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    lr: float = Field(default=2e-5, gt=0, allow_inf_nan=False)
    batch_size: int = Field(default=16, ge=1)
    mix: float = Field(default=0.0, ge=0, le=1)
    checkpoint_steps: int = Field(default=100, ge=1)


class CaseOutcome(Record):
    """A case before and after training.

    Attributes:
        id, capability, seed_id: of the case.
        group: see `splits.Split`.
        before, after: whether the model failed it.
    """

    id: str
    capability: str
    seed_id: str
    group: Group
    before: bool
    after: bool


class CorpusAccuracy(Record):
    """How well the model does on sentences of the corpus's own test split.

    Attributes:
        sentences: how many.
        left_out: sentences of the split that were trained on, as part of a case.
        before, after: accuracy; of models without a neutral class on negative and positive
            sentences, by the likelier of the two.
    """

    sentences: int = Field(ge=0)
    left_out: int = Field(ge=0)
    before: float
    after: float


class Run(Record):
    """A model trained once.

    Attributes:
        inputs: fingerprint of all that decides the outcome.
        on: the capabilities trained on.
        seed: of the split, the order of batches and dropout.
        train, validation, test: how many cases; ``train`` without those that were dropped.
        dropped_neutral: neutral cases and sentences that a model without a neutral class cannot
            learn.
        mixed: sentences of the corpus trained on beside the cases.
        steps: of the optimiser.
        validation_loss: mean negative log probability of the validation cases' labels before and
            after; None without such cases. It is told, nothing is chosen by it.
        corpus: None without a corpus.
        cases: every case of the suite.
    """

    format: Literal[1] = 1
    inputs: str
    on: tuple[str, ...]
    seed: int
    train: int
    validation: int
    test: int
    dropped_neutral: int
    mixed: int
    steps: int
    validation_loss: tuple[float, float] | None
    corpus: CorpusAccuracy | None
    cases: tuple[CaseOutcome, ...]


def read_run(folder: Path, inputs: str) -> Run | None:
    """The run that a folder holds, if any, which has to be of these inputs.

    Raises:
        AnalysisError: it is of others, or is none.
    """
    path = folder / RUN_FILE
    if not path.exists():
        return None
    try:
        run = Run.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise AnalysisError(f"{path}: is no run of ours", mend="choose another --out") from error
    if run.inputs != inputs:
        raise AnalysisError(
            f"{path}: a run of another model, suite, corpus or other options lies there",
            mend="choose another --out, or delete that folder",
        )
    return run
