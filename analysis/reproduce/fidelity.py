"""Table 5 of MNCOVER: does a model behind WIMASK's masks say what it says without them?

Fidelity alone is no merit: a layer that lets every word through has all of it. So the untrained
layer's stands beside, and how far training moved the probabilities of words.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from s2lct.analysis.coverage.encoder import EncoderModel, Text, load_encoder
from s2lct.analysis.coverage.suites import given, reference_and_held_out
from s2lct.analysis.coverage.wimask import learn_masks
from s2lct.analysis.reproduce import mncover_figures as paper
from s2lct.analysis.reproduce.catalogue import Reproduction
from s2lct.analysis.reproduce.paper_table import Cell, PaperTable
from s2lct.analysis.reproduce.suite_inputs import needed_models, needed_reference
from s2lct.errors import S2lctWarning
from s2lct.identity import shuffle_key

if TYPE_CHECKING:
    from s2lct.analysis.reproduce.options import ReproduceOptions
    from s2lct.builder.checkpoint import Checkpoints
    from s2lct.progress import Bars

EPOCHS = 1
_COLUMNS = (
    *("model", "held out", "fidelity", "untrained layer", "by M_W"),
    *("p(word) least", "p(word) mean", "p(word) greatest"),
    *("words kept", "words seen", "pairs kept", "pairs seen"),
)


def table5(options: ReproduceOptions, steps: Checkpoints, bars: Bars) -> Reproduction:
    """Table 5, a row a model; ``limit`` is the most texts to learn from, and to test on."""
    rows: list[list[Cell]] = []
    verdicts: list[str] = []
    models, named = needed_models(options), needed_reference(options)
    reference, held_out = reference_and_held_out(named, options.reference_cases, options.seed)
    reference, tests = parted(reference, [given(case) for case in held_out.cases], options)
    for number, model in enumerate(models):
        encoder = load_encoder(model, device=options.device)

        adapter = TypeAdapter(dict[str, Any])
        if (about := steps.kept(f"model-{number}", adapter)) is None:
            learned = about_masks(encoder, reference, tests, options.seed)
            about = steps.keep(f"model-{number}", adapter, learned)
        rows.append(row_of(model, about))
        verdicts.append(verdict_of(model, about))
        if about["words_kept"] == about["words_seen"]:
            warnings.warn(
                f"masks of {model} keep every word: fidelity says nothing of them",
                S2lctWarning,
                stacklevel=2,
            )
    rows.append(["paper", None, paper.TABLE_5, *[None] * 9])
    notes = (
        "Share of held-out texts, %, of which the model behind the masks says what it says without "
        "them: words masked by the trained layer, by the layer before its first step, and by the "
        "mask of the vocabulary, which masks every word that was not seen. p(word): probabilities "
        "that words are let through.",
        f"Learned in {EPOCHS} epoch from {len(reference):,} texts; learning rate and weights as "
        "the paper, which leaves epochs, batch, temperature and start open.",
    )
    table = PaperTable(
        "Table 5 of MNCOVER: fidelity of the masks",
        _COLUMNS,
        rows,
        notes,
        digits={name: 3 for name in _COLUMNS if name.startswith("p(word)")},
    )
    return Reproduction([table], "\n\n".join(verdicts))


def about_masks(
    encoder: EncoderModel, reference: list[Text], tests: list[Text], seed: int
) -> dict[str, Any]:
    """What learning a model's masks told."""
    learned = learn_masks(encoder, reference, tests, epochs=EPOCHS, seed=seed)
    return dict(learned.masks.about)


def parted(
    reference: list[Text], held_out: list[Text], options: ReproduceOptions
) -> tuple[list[Text], list[Text]]:
    """At most ``limit`` random texts to learn from and to test on.

    Of a corpus that holds none out (one of pairs), one text in ten is a test.
    """

    def mixed(texts: list[Text]) -> list[Text]:
        def key(text: Text) -> Any:
            parts = (text,) if isinstance(text, str) else text
            return shuffle_key(options.seed, "fidelity", *parts)

        return sorted(texts, key=key)

    reference, held_out = mixed(reference), mixed(held_out)
    if not held_out:
        tests = -(-len(reference) // 10)
        reference, held_out = reference[tests:], reference[:tests]
    return reference[: options.limit], held_out[: options.limit]


def row_of(model: str, about: dict[str, Any]) -> list[Cell]:
    """A model's row, of what learning masks told."""
    shares = ("fidelity", "fidelity_untrained", "fidelity_of_masks")
    return [
        model,
        about["held_out"],
        *(100 * about[name] for name in shares),
        *(about["word_probabilities"][name] for name in ("least", "mean", "greatest")),
        *(about[name] for name in ("words_kept", "words_seen", "pairs_kept", "pairs_seen")),
    ]


def verdict_of(model: str, about: dict[str, Any]) -> str:
    """Whether the masks keep the model's predictions, and whether that says anything."""
    trained, untrained = 100 * about["fidelity"], 100 * about["fidelity_untrained"]
    told = f"{model}: fidelity {trained:.1f} %, of the untrained layer {untrained:.1f} %"
    if about["words_kept"] == about["words_seen"]:
        return (
            f"{told}. The figure comes back, and says nothing: every word is kept, so next to "
            "nothing is masked."
        )
    kept = f"{about['words_kept']:,} of {about['words_seen']:,} words are kept"
    if trained < untrained - 1:
        return f"{told}; {kept}. Masking costs {untrained - trained:.1f} points."
    return f"{told}; {kept}, and the model says the same: the finding comes back."
