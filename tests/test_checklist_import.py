"""CheckList's release becomes lines of cases, and nothing in a pickle is executed."""

from __future__ import annotations

import collections
import json
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from s2lct.errors import S2lctWarning, SuiteError
from s2lct.suite.cases import load_suite
from s2lct.suite.checklist import import_checklist
from s2lct.suite.other_suites import read_cases


@pytest.fixture
def checklist() -> Iterator[types.SimpleNamespace]:
    """Classes named as CheckList's are, as long as a pickle of them is made."""
    suites, tests = (types.ModuleType(f"checklist.{name}") for name in ("test_suite", "test_types"))
    names = {suites: ["TestSuite"], tests: ["MFT", "INV", "DIR"]}
    made = types.SimpleNamespace()
    for module, classes in names.items():
        for name in classes:
            kind = type(name, (), {"__module__": module.__name__})
            setattr(module, name, kind)
            setattr(made, name, kind)
    sys.modules |= {"checklist": types.ModuleType("checklist")}
    sys.modules |= {module.__name__: module for module in names}
    yield made
    for name in ("checklist", *(module.__name__ for module in names)):
        sys.modules.pop(name, None)


def released(
    checklist: types.SimpleNamespace, *tests: tuple[str, str, list[Any], Any], protocol: int = 4
) -> bytes:
    """A pickle of a suite: tests of a type, by name, with texts and labels."""
    suite = checklist.TestSuite()
    suite.tests, suite.info = collections.OrderedDict(), collections.defaultdict(dict)
    for type_, name, data, labels in tests:
        test = getattr(checklist, type_)()
        test.name, test.data, test.labels = name, data, labels
        test.expect, test.results = os.path.join, {"preds": np.array([0, 2])}
        suite.tests[name] = test
        suite.info[name] |= {"capability": "Of mine", "type": type_}
    content = pickle.dumps(suite, protocol=protocol)
    for name in ("checklist", "checklist.test_suite", "checklist.test_types"):
        sys.modules.pop(name)
    return content


TESTS: list[tuple[str, str, list[Any], Any]] = [
    ("MFT", "single negative words", ["drab", "grim"], 0),
    ("MFT", "Q & A: no", ["Is it drab? No", "Is it lovely? No"], ["not_negative", 0]),
    ("MFT", "simple negations: not negative", ["It isn't drab."], None),
    ("INV", "typos", [["It shines.", "It shnies."]], None),
    ("DIR", "intensifiers", [["A drab tram.", "A very drab tram."]], None),
]


def imported(tmp_path: Path, content: bytes) -> list[dict[str, Any]]:
    source, out = tmp_path / "sentiment_suite.pkl", tmp_path / "out.jsonl"
    source.write_bytes(content)
    import_checklist(source, out)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("protocol", [0, pickle.HIGHEST_PROTOCOL])
def test_a_release_becomes_lines_of_cases(
    checklist: types.SimpleNamespace, tmp_path: Path, protocol: int
) -> None:
    lines = imported(tmp_path, released(checklist, *TESTS, protocol=protocol))
    assert [(line["test"], line["type"], line["texts"]) for line in lines] == [
        ("single negative words", "MFT", ["drab"]),
        ("single negative words", "MFT", ["grim"]),
        ("Q & A: no", "MFT", ["Is it drab? No"]),
        ("Q & A: no", "MFT", ["Is it lovely? No"]),
        ("simple negations: not negative", "MFT", ["It isn't drab."]),
        ("typos", "INV", ["It shines.", "It shnies."]),
        ("intensifiers", "DIR", ["A drab tram.", "A very drab tram."]),
    ]
    negative, other = ["negative"], ["positive", "neutral"]
    expected = [negative, negative, other, negative, other]
    assert [line["expected"] for line in lines[:5]] == expected
    assert {line["capability"] for line in lines} == {"Of mine"}
    suite = f"checklist:{tmp_path / 'out.jsonl'}"
    assert len(load_suite(suite).cases) == 5
    relative = [case for case in read_cases(tmp_path / "out.jsonl") if not case.passes]
    assert [case.test for case in relative] == ["typos", "intensifiers"]


def test_tests_of_which_nothing_is_known_are_left_out(
    checklist: types.SimpleNamespace, tmp_path: Path
) -> None:
    content = released(
        checklist,
        *TESTS[:1],
        ("MFT", "of mine", ["So it is."], None),
        ("MFT", "pairs", [("a", "b")], 0),
    )
    with pytest.warns(S2lctWarning) as told:
        lines = imported(tmp_path, content)
    assert {line["test"] for line in lines} == {"single negative words"}
    assert [str(one.message).partition(":")[0] for one in told] == ["of mine", "pairs"]


class Calls:
    """An object whose pickle has a function called."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_nothing_in_a_pickle_is_executed(
    checklist: types.SimpleNamespace, tmp_path: Path, protocol: int
) -> None:
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'w')"
    harmful = [
        Calls(os.system, f"touch {mark}"),
        Calls(eval, code),
        Calls(exec, code),
        Calls(getattr, Calls(__import__, "os"), "system"),
        Calls(open, str(mark), "w"),
    ]
    tests = [("MFT", str(number), [evil, "drab"], evil) for number, evil in enumerate(harmful)]
    content = released(checklist, *TESTS, *tests, protocol=protocol)
    with pytest.warns(S2lctWarning, match="left out"):
        lines = imported(tmp_path, content)
    assert len(lines) == 7
    assert not mark.exists()
    pickle.loads(pickle.dumps(harmful[-1], protocol=protocol))
    assert mark.exists()  # the same pickle does harm where it is loaded


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no pickle",
        pickle.dumps([1, 2, 3])[:-4],
        b"\x80\x05\x96\x00\x00\x00\x00\x00\x00\x00\x40.",  # 2**62 bytes claimed
        b"\x80\x05\x8e\x00\x00\x00\x00\x00\x00\x00\x40.",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"Pevil\n.",
        b"\x82\x01.",
        b"(" * 100_000 + b"t" * 100_000,
    ],
)
def test_broken_pickles_are_refused(tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "suite.pkl"
    source.write_bytes(content)
    with pytest.raises(SuiteError, match=r"suite\.pkl") as error:
        import_checklist(source, tmp_path / "out.jsonl")
    assert "https://github.com/marcotcr/checklist" in error.value.hint
    assert not (tmp_path / "out.jsonl").exists()


def test_what_can_be_no_source_or_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="suite"):
        imported(tmp_path, pickle.dumps({"a": 1}))
    with pytest.raises(SuiteError, match=r"--out .*out\.csv"):
        import_checklist(tmp_path / "sentiment_suite.pkl", tmp_path / "out.csv")
    (tmp_path / "found.py").write_text("raise SystemExit('imported')\n")
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(SuiteError):
            imported(tmp_path, b"cfound\nthing\n(S'x'\ntR.")
    finally:
        sys.path.remove(str(tmp_path))
    assert "found" not in sys.modules
