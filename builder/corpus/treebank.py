"""The Stanford Sentiment Treebank as a corpus."""

from __future__ import annotations

from s2lct.builder.corpus import sst
from s2lct.builder.corpus.collect import Collector, Corpus
from s2lct.builder.corpus.spec import CorpusSpec, local_path
from s2lct.download import download, is_url
from s2lct.labels import Label
from s2lct.natural_text import detokenise, mend_mojibake
from s2lct.sentence_case import capitalise_first, sentence_case


def read_sst(spec: CorpusSpec) -> Corpus:
    """Read it from a folder, a zip or an address.

    Raises:
        CorpusError: it is not there, or broken.
    """
    if is_url(spec.location):
        path = download(spec.location, sst.files_in_zip, mend=sst.MEND)
    else:
        path = local_path(spec)
    sentences = sst.read_treebank(path)
    collector = Collector("sst", skip_duplicates=False)
    if note := sst.note_on(sentences):
        collector.notes.append(note)
    for one in sentences:
        text = detokenise(mend_mojibake(one.raw))
        if text.islower():
            text = sentence_case(text)
        elif not text.startswith("..."):
            text = capitalise_first(text)
        if collector.usable(text):
            label = _label_of_score(one.score)
            collector.add(
                one.number,
                text,
                label,
                split=one.split,
                score=one.score,
                raw=one.raw,
                where=one.where,
            )
    return collector.corpus(
        where=str(path),
        description="Stanford Sentiment Treebank: sentences of film reviews from "
        "rottentomatoes.com with crowd-sourced sentiment (Socher et al., EMNLP 2013)",
        licence="none stated by its authors",
    )


def _label_of_score(score: float) -> Label:
    if score <= 0.4:
        return "negative"
    return "neutral" if score <= 0.6 else "positive"
