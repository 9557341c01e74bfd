"""Forms for annotators: what stands on them, and what comes back, from tables and browsers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2lct.errors import S2lctError
from s2lct.suite.annotation import Annotation, Form, Item, Question, read_annotations

HOSTILE = (
    "</script><script>document.title='broken'</script><img src=x onerror=alert(1)> \u2028 & \"x\""
)
QUESTIONS = (
    Question("label", "Which?", "As read.", {"neg": "negative", "pos": "positive"}),
    Question("natural", "Fluent?", "All of it.", {"0": "no", "1": "nearly", "2": "yes"}, True),
)
ITEMS = [
    Item("12e4567890123456", HOSTILE, "<b>title</b>", "What it shows."),
    Item("aaaaaaaaaaaaaaaa", "W" * 300, "Other", "What else."),
    Item("1-002", "A third text.", "Third", ""),
]
IDS = [item.id for item in ITEMS]
FORM = Form("mine-1", "Set 1", ("Read on.",), ITEMS, QUESTIONS)
ANNOTATIONS = st.dictionaries(
    st.tuples(st.sampled_from(["Ada", "Émile", 'x, "y"', "=1+1"]), st.sampled_from(IDS)),
    st.fixed_dictionaries(
        {}, optional={one.name: st.sampled_from(list(one.answers)) for one in QUESTIONS}
    ),
    max_size=9,
).map(lambda found: [Annotation(*who, answers) for who, answers in found.items()])


def as_table(annotations: Sequence[Annotation], annotator: str) -> str:
    table = io.StringIO()
    writer = csv.writer(table, delimiter=";")
    writer.writerow(["ID", "annotator", "label", "natural"])
    for one in annotations:
        label, natural = (one.answers.get(name, "") for name in ("label", "natural"))
        words = QUESTIONS[0].answers
        # Spreadsheets make decimals of numbers.
        writer.writerow([one.item, annotator, words.get(label, ""), natural and f"{natural}.0"])
    return "\ufeff" + table.getvalue()


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(annotations=ANNOTATIONS, data=st.data())
def test_annotations_come_back_whatever_the_files_and_their_order(
    tmp_path: Path, annotations: list[Annotation], data: st.DataObject
) -> None:
    by_name: dict[str, list[Annotation]] = {}
    for one in data.draw(st.permutations(annotations)):
        by_name.setdefault(one.annotator, []).append(one)
    paths: list[Path] = []
    for number, (name, own) in enumerate(by_name.items()):
        # What was handed in before is handed in again with the rest.
        for part in (own[: data.draw(st.integers(0, len(own)))], own):
            path = tmp_path / f"{number}-{len(paths)}.answers"
            path.write_text(as_table(part, name), encoding="utf-8")
            paths.append(path)
    read = read_annotations(data.draw(st.permutations(paths)), QUESTIONS, IDS)
    assert sorted(read, key=str) == sorted(annotations, key=str)


def test_a_table_that_is_filled_in_is_read_and_called_as_its_file(tmp_path: Path) -> None:
    rows = list(csv.reader(io.StringIO(FORM.csv().removeprefix("\ufeff"))))
    assert rows[0] == ["id", "title", "description", "text", "label", "natural"]
    assert [row[3:] for row in rows[1:]] == [[item.text, "", ""] for item in ITEMS]
    rows[1][4:] = ["Positive", "2"]
    with (tmp_path / "Ada.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    read = read_annotations([tmp_path / "Ada.csv"], QUESTIONS, IDS)
    assert read == [
        Annotation("Ada", IDS[0], {"label": "pos", "natural": "2"}),
        *(Annotation("Ada", id, {}) for id in IDS[1:]),
    ]
    bare = Form("f", "F", (), [Item("a", "=1+1")], QUESTIONS[:1]).csv()
    assert list(csv.reader(io.StringIO(bare)))[1] == ["ia", "'=1+1", ""]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"\xff\xfe\x00", ""),
        (b"", "columns"),
        (b"id,label\nx,pos\n", "row 2"),
        (f"id,label\n{IDS[0]},6\n".encode(), "label"),
        (f"id,label\n{IDS[0]},pos\n{IDS[0]},neg\n".encode(), IDS[0]),
        (f"id,natural\n{IDS[0]},3\n".encode(), "natural"),
        (b"id\n" + b"x" * 200_000, ""),
    ],
)
def test_a_bad_file_gets_one_error_that_names_it(
    tmp_path: Path, content: bytes, named: str
) -> None:
    path = tmp_path / "bad.answers"
    path.write_bytes(content)
    with pytest.raises(S2lctError) as error:
        read_annotations([path], QUESTIONS, IDS)
    assert "bad.answers" in error.value.problem
    assert named in error.value.problem
    with pytest.raises(S2lctError) as error:
        read_annotations([tmp_path / "none.csv"], QUESTIONS, IDS)
    assert "none.csv" in error.value.problem


# The form, in a browser.


def opened(browser: Any, page_file: Path) -> Any:
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.failures = []
    page.on("pageerror", lambda error: page.failures.append(str(error)))
    page.on("request", lambda request: page.failures.append(request.url))
    page.goto(page_file.as_uri())
    page.failures.remove(page_file.as_uri())
    return page


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def saved(page: Any, folder: Path) -> list[Annotation]:
    with page.expect_download() as download:
        page.keyboard.press("s")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return read_annotations([path], QUESTIONS, IDS)


@pytest.mark.browser
def test_the_form_is_filled_with_the_keyboard_and_goes_on_after_a_reload(
    browser: Any, tmp_path: Path
) -> None:
    (tmp_path / "form.html").write_text(FORM.html(), encoding="utf-8")
    page = opened(browser, tmp_path / "form.html")
    press(page, "Enter")
    assert page.is_visible("#start")  # a name comes first
    page.keyboard.type("Ada Łovelace")
    press(page, "Enter", "2", "2", "Enter", "1")
    page.reload()
    assert page.text_content("#text") == ITEMS[1].text
    assert page.locator('[aria-checked="true"] b').all_inner_texts() == ["neg"]
    press(page, "e")
    assert page.locator("#open button").all_inner_texts() == ["2", "3"]
    answers = [{"label": "pos", "natural": "2"}, {"label": "neg"}, {}]
    expected = [Annotation("Ada Łovelace", *one) for one in zip(IDS, answers, strict=True)]
    assert saved(page, tmp_path) == expected
    page.click("#open button >> nth=0")
    press(page, "0", "Enter", "2", "0", "ArrowUp", "x", "ArrowLeft", "ArrowUp", "2", "e")
    answers = [answers[0], {"label": "pos", "natural": "0"}, {"natural": "0"}]
    assert [one.answers for one in saved(page, tmp_path)] == answers
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["form.html", "mine-1-Ada-Łovelace.csv"]
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("#anew")
    page.reload()
    assert page.inner_text("#count") == "0 of 3 answered"
    page.context.close()


@pytest.mark.browser
def test_a_phone_shows_it_whole_and_texts_are_only_texts(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "form.html").write_text(FORM.html(), encoding="utf-8")
    page = opened(browser, tmp_path / "form.html")
    page.fill("#annotator", "<i>D</i>")
    page.click("#begin")
    for item in ITEMS:
        assert page.text_content("#text") == item.text
        assert page.inner_text(".about .title") == item.title
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.click('[data-question="label"] button >> nth=1')
        page.click('[data-question="natural"] button >> nth=0')
        page.click("#next")
    assert page.inner_text("#end-title") == "Thank you, that was all"
    assert page.title() == "Set 1"
    assert {str(one.answers) for one in saved(page, tmp_path)} == {
        str({"label": "pos", "natural": "0"})
    }
    assert [url for url in page.failures if not url.startswith("blob:")] == []
    page.context.close()
