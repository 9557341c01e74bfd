"""Checks of a model as JUnit XML, which GitHub's and GitLab's pages and Jenkins show as tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from s2lct.plain_text import plain


class JUnitCase(NamedTuple):
    """A test that passed, or failed where ``failure`` says why; ``told`` is what it found."""

    name: str
    told: str
    failure: str = ""


def junit_xml(
    suite: str, classname: str, cases: Sequence[JUnitCase], properties: Mapping[str, str]
) -> bytes:
    """One test suite as XML in UTF-8; what XML cannot hold is replaced. The same gives the same.

    Args:
        suite: the suite's name.
        classname: under which readers put the tests together.
        cases: the tests.
        properties: facts about all of them; empty ones are left out.
    """
    failures = sum(bool(case.failure) for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", counts)
    own = ElementTree.SubElement(root, "testsuite", {"name": plain(suite), **counts})
    of_all = ElementTree.SubElement(own, "properties")
    for name, value in properties.items():
        if value:
            ElementTree.SubElement(of_all, "property", name=plain(name), value=plain(value))
    for case in cases:
        named = {"classname": plain(classname), "name": plain(case.name), "time": "0"}
        test = ElementTree.SubElement(own, "testcase", named)
        if case.failure:
            failure = ElementTree.SubElement(
                test, "failure", message=plain(case.failure), type="AssertionError"
            )
            failure.text = plain(case.failure)
        ElementTree.SubElement(test, "system-out").text = plain(case.told)
    ElementTree.indent(root)
    xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml + b"\n"
