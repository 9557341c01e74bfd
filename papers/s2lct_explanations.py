"""RQ4 of S²LCT: the words that hold failures, capability by capability."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import fmean

import common

import s2lct

COLUMNS = (
    *("model", "capability", "failures", "words kept", "words in all"),
    *("on the template", "on the sentence alone", "on nothing", "mean P"),
)


def main(
    model: common.Models,
    suite: common.Suite,
    limit: int = 5,
    label_map: common.LabelMap = None,
    device: common.Device = "auto",
) -> None:
    """Print figures of the words that hold failures, at most --limit of each capability."""
    rows: list[list[common.Cell]] = []
    methods: dict[str, None] = {}
    for name in model:
        with tempfile.TemporaryDirectory() as folder:
            result = s2lct.explain(
                name,
                suite=suite,
                limit=limit,
                label_map=label_map,
                device=device,
                out=Path(folder) / "explain.json",
            )
        methods[f"{result.attribution}; {result.fillings}"] = None
        for capability in dict.fromkeys(failure.capability for failure in result.explanations):
            failures = [f for f in result.explanations if f.capability == capability]
            origins_of_failures = [{word.part for word in failure.kept} for failure in failures]
            rows.append(
                [
                    *(name, capability, len(failures)),
                    fmean(len(failure.kept) for failure in failures),
                    fmean(len(failure.words) for failure in failures),
                    sum("template" in origins for origins in origins_of_failures),
                    *(origins_of_failures.count({"source"}), origins_of_failures.count(set())),
                    fmean(failure.probability for failure in failures),
                ]
            )
    notes = [
        f"At most {limit} failures of a capability. Contributions, and what fills hidden words: "
        f"{' / '.join(methods)}. A set of words holds a failure where the model gives the same "
        f"label to at least {result.threshold:.0%} of the fillings; none of its words can be left "
        "out. Mean P is of new fillings of each set. On nothing: the model gives the same label to "
        "the fully masked text.",
        "The paper gives the procedure and equation 5, and names neither the explanation method "
        "nor P_thresh nor the number of samples or sentences; its section of results is empty.",
    ]
    common.print_table("RQ4 of S²LCT: the words that hold failures", COLUMNS, rows, notes, digits=2)


if __name__ == "__main__":
    common.run(main)
