"""CheckList's tests that capabilities stand beside."""

from __future__ import annotations

from s2lct.builder.capabilities.files import load_capabilities
from s2lct.suite.checklist import CheckListCase


def cases_beside(cases: list[CheckListCase], capability: str) -> list[CheckListCase]:
    """The cases of the test that a capability stands beside; all cases where its file names none.

    Two capabilities may divide a test's cases by the labels that pass.
    """
    test = next((one.checklist for one in load_capabilities() if one.id == capability), None)
    if test is None:
        return cases
    found = [case for case in cases if case.test == test.test and test.covers(case.passes)]
    return found or cases
