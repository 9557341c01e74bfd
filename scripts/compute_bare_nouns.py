"""List the nouns that stand without an article in the singular, as treebanks have them: *food*.

Usage::

    python scripts/compute_bare_nouns.py --treebank treebank.zip --gum const.zip \
        --splits splits.md --out builder/data/bare_nouns.txt

A noun is listed if at least `LEAST_SHARE` of the plain noun phrases that it heads in the singular,
and `LEAST_COUNT` of them, have no determiner, no possessive, no number and no name.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from treebanks import gum, penn_treebank

from s2lct.files import write_text

LEAST_COUNT = 2
LEAST_SHARE = 1 / 6
_DETERMINING = frozenset({"DT", "PDT", "PRP$", "WP$", "POS", "CD", "NNP", "NNPS"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("treebank", "gum", "splits", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    parts = [penn_treebank(args.treebank), gum(args.gum, args.splits)]
    bare: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for trees in (part[name] for part in parts for name in ("train", "dev", "test")):
        for phrase in (node for tree in trees for node in tree.subtrees() if node.label() == "NP"):
            tags = [child.label() for child in phrase if isinstance(child[0], str)]
            if len(tags) == len(phrase) and tags[-1] == "NN" and phrase[-1][0].islower():
                total[phrase[-1][0]] += 1
                bare[phrase[-1][0]] += _DETERMINING.isdisjoint(tags)
    words = sorted(w for w in total if bare[w] >= max(LEAST_COUNT, LEAST_SHARE * total[w]))
    write_text(args.out, "\n".join(words) + "\n")
    print(f"{len(words)} nouns")


if __name__ == "__main__":
    main()
