"""Rates, intervals, chance, flips and paired tests against a second, naive implementation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from s2lct.labels import LABELS
from s2lct.leaderboard.results import comparison
from s2lct.leaderboard.scoring import figures, statistics
from s2lct.leaderboard.scoring.figures import failed_cases
from s2lct.suite.cases import Case, case_from, families_of
from s2lct.suite.tables import typed_rows

Z = 1.959963984540054


@st.composite
def suites(draw: st.DrawFn) -> tuple[list[Case], np.ndarray, np.ndarray]:
    """Random families of some capabilities, with two models' labels."""
    cases: list[Case] = []
    for capability in draw(st.sampled_from([["LC1"], ["LC4", "LC9"], ["LC2", "LC3", "LC10"]])):
        for family in range(draw(st.integers(1, 5))):
            seed_id = f"{capability}-{family}"
            passes = draw(st.sampled_from([{0}, {1}, {2}, {1, 2}]))
            sources = draw(st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("b", "a")]))
            for member in range(draw(st.integers(1, 4))):
                kind = "expansion" if member else "seed"
                name = f"{seed_id}-{member}" if member else seed_id
                cases.append(
                    Case(
                        name, capability, kind, seed_id, name, frozenset(passes),
                        ("also",) if member else (), sources,
                    )
                )  # fmt: skip
    size = len(cases)
    labels = [draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)) for _ in range(2)]
    return cases, np.array(labels[0]), np.array(labels[1])


def naive_families(cases: Sequence[Case], *, across: bool = False) -> list[list[int]]:
    groups: dict[object, list[int]] = {}
    for number, case in enumerate(cases):
        own = tuple(sorted(set(case.sources))) if case.sources else case.seed_id
        groups.setdefault((across or case.capability, own), []).append(number)
    return list(groups.values())


def naive_evidence(
    cases: Sequence[Case], failed: Sequence[bool], *, across: bool = False
) -> tuple[float, float, float]:
    """Share, the share with two families more, and the effective sample size by these."""
    families = naive_families(cases, across=across)
    sizes = [len(one) for one in families]
    counts = [sum(failed[n] for n in one) for one in families]
    mean = sum(sizes) / len(sizes)
    sizes_more, counts_more = [*sizes, mean, mean], [*counts, 0, mean]
    p = sum(counts_more) / sum(sizes_more)
    g = len(sizes_more)
    variance = (
        g / (g - 1)
        * sum((y - p * m) ** 2 for y, m in zip(counts_more, sizes_more, strict=True))
        / sum(sizes_more) ** 2
    )  # fmt: skip
    n = min(sum(sizes), p * (1 - p) / variance * sum(sizes) / sum(sizes_more))
    return sum(counts) / sum(sizes), p, n


def naive_wilson(share: float, n: float) -> tuple[float, float]:
    """The two rates whose score test is just at the level, as roots of a quadratic."""
    a, b, c = 1 + Z**2 / n, 2 * share + Z**2 / n, share**2
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    return (b - root) / (2 * a), (b + root) / (2 * a)


@given(suites())
def test_results_agree_with_a_naive_implementation(
    suite: tuple[list[Case], np.ndarray, np.ndarray],
) -> None:
    cases, labels, _ = suite
    failed = failed_cases(cases, labels)
    assert failed.tolist() == [
        label not in case.passes for case, label in zip(cases, labels.tolist(), strict=True)
    ]
    found = figures.figures(cases, (), labels)
    results = found.capabilities
    assert list(results) == list(dict.fromkeys(case.capability for case in cases))
    by_id = {case.id: fails for case, fails in zip(cases, failed.tolist(), strict=True)}
    for capability, result in results.items():
        for kind in ("seed", "expansion", "all"):
            own = [c for c in cases if c.capability == capability and kind in (c.kind, "all")]
            one = getattr(result, kind)
            assert one.cases == len(own)
            assert one.failures == sum(by_id[c.id] for c in own)
            if own:
                assert one.failure_rate == pytest.approx(one.failures / len(own))
                share, _, n = naive_evidence(own, [by_id[c.id] for c in own])
                bounds = naive_wilson(share, n)
                assert one.ci == pytest.approx(bounds, abs=1e-9)
        expansions = [c for c in cases if c.capability == capability and c.kind == "expansion"]
        assert result.pass_to_fail == sum(by_id[c.id] and not by_id[c.seed_id] for c in expansions)
        assert result.fail_to_pass == sum(not by_id[c.id] and by_id[c.seed_id] for c in expansions)
    expansions = [c for c in cases if c.kind == "expansion"]
    passing = sum(not by_id[c.seed_id] for c in expansions)
    assert len(figures.passing_expansions(cases, failed)) == passing
    overall = found.overall
    told = [
        naive_evidence(own, [by_id[c.id] for c in own])
        for own in ([c for c in cases if c.capability == name] for name in results)
    ]
    mean, p = (sum(one[n] for one in told) / len(told) for n in (0, 1))
    assert overall.failure_rate.macro == pytest.approx(mean)
    variance = sum(q * (1 - q) / n for _, q, n in told)
    of_name = {name: (q, sum(c.capability == name for c in cases)) for name, (_, q, _) in
               zip(results, told, strict=True)}  # fmt: skip
    for family in naive_families(cases, across=True):
        for one, other in itertools.product([cases[n] for n in family], repeat=2):
            if one.capability != other.capability:
                of_two = [(by_id[c.id] - of_name[c.capability][0]) / of_name[c.capability][1]
                          for c in (one, other)]  # fmt: skip
                variance += of_two[0] * of_two[1]
    variance = max(variance, sum(q * (1 - q) / n for q, n in of_name.values())) / len(told) ** 2
    rate = overall.failure_rate
    assert rate.macro_ci == pytest.approx(naive_wilson(mean, p * (1 - p) / variance), abs=1e-9)
    assert (rate.failures, rate.cases) == (int(failed.sum()), len(cases))
    share, _, n = naive_evidence(cases, failed.tolist(), across=True)
    assert rate.micro == pytest.approx(share) == rate.failures / rate.cases
    assert rate.micro_ci == pytest.approx(naive_wilson(share, n), abs=1e-9)
    assert rate.macro_ci[0] <= rate.macro <= rate.macro_ci[1]
    if len(results) == 1:
        assert rate.macro == rate.micro and rate.macro_ci == pytest.approx(rate.micro_ci, abs=1e-9)
    words = {word.item: word for word in figures.flipping_words(cases, failed)}
    for word, of in words.items():
        with_word = [c for c in expansions if word in c.inserted and not by_id[c.seed_id]]
        assert (of.pass_to_fail, of.expansions) == (
            sum(by_id[c.id] for c in with_word), len(with_word))  # fmt: skip


@settings(max_examples=100)
@given(
    families=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), min_size=1, max_size=60),
)
def test_an_interval_always_holds_its_estimate(families: list[tuple[int, int]]) -> None:
    cases = np.array([size for _, size in families], dtype=float)
    failures = np.array([min(fails, size) for fails, size in families], dtype=float)
    told = statistics.evidence(failures, cases)
    none = statistics.evidence(np.zeros(len(cases)), cases)
    for one in (told, none):
        low, high = statistics.intervals(one)
        expected = naive_wilson(float(one.share), float(one.size))
        assert (low, high) == pytest.approx(expected, abs=1e-9)
        assert low <= one.share <= high and low < high
    assert told.share == failures.sum() / cases.sum()


def alike(families: int, size: int, failing: int) -> tuple[list[Case], np.ndarray]:
    """Families whose cases fail together; so many fail."""
    cases = [
        Case(f"{f}-{n}", "LC1", "expansion" if n else "seed", f"{f}-0", "", frozenset({0}))
        for f in range(families)
        for n in range(size)
    ]
    return cases, np.repeat(np.arange(families) < failing, size)


def rate(cases: Sequence[Case], failed: np.ndarray) -> figures.Rate:
    """As of one capability, whose macro and micro figures are its own."""
    overall = figures.rates(statistics.families(cases), failed)[0]
    return figures.Rate(
        cases=overall.cases,
        failures=overall.failures,
        failure_rate=overall.macro,
        ci=overall.macro_ci,
    )


def test_no_failure_is_no_certainty_and_alike_cases_count_once() -> None:
    for failing in (0, 1, 25, 50):
        one = rate(*alike(50, 1, failing))
        many = rate(*alike(50, 13, failing))
        assert one.ci == pytest.approx(many.ci)
    none, all_of_them = rate(*alike(50, 13, 0)), rate(*alike(50, 13, 50))
    assert none.ci[0] == 0 and 0.05 < none.ci[1] < 0.1  # Wilson's upper bound of 0 in 50 is 0.071
    assert all_of_them.ci == pytest.approx((1 - none.ci[1], 1))
    assert rate(*alike(200, 13, 0)).ci[1] < none.ci[1] / 3
    # More failures never lower a bound.
    highs = [rate(*alike(50, 13, failing)).ci for failing in range(51)]
    assert highs == sorted(highs) and [h for _, h in highs] == sorted(h for _, h in highs)
    assert rate([], np.zeros(0, dtype=bool)).ci == (0.0, 1.0)
    cases, failed = alike(50, 13, 0)
    eleven = [
        replace(case, capability=f"LC{n}", seed_id=f"{n}-{case.seed_id}")
        for n in range(11)
        for case in cases
    ]
    mean = rate(eleven, np.tile(failed, 11))
    assert mean.ci[0] == 0 and none.ci[1] / 20 < mean.ci[1] < none.ci[1] / 5
    # The same families in all of them are no more than in one.
    same = [replace(case, capability=f"LC{n}") for n in range(11) for case in cases]
    known = rate(*alike(50, 13, 25))
    shared = rate(same, np.tile(alike(50, 13, 25)[1], 11))
    assert shared.ci == pytest.approx(known.ci, abs=0.01)


@pytest.mark.parametrize("alikeness", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("share", [0.02, 0.2, 0.5])
def test_intervals_hold_the_true_rate_as_often_as_they_say(share: float, alikeness: float) -> None:
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 9, size=40)
    if alikeness == 1:
        rates = (rng.random((11_000, 40)) < share).astype(float)
    else:
        both = 1 / alikeness - 1
        rates = rng.beta(share * both, (1 - share) * both, size=(11_000, 40))
    failures = rng.binomial(sizes, rates).astype(float)
    told = statistics.evidence(failures, sizes.astype(float))
    low, high = statistics.intervals(told)
    assert 0.92 <= ((low <= share) & (share <= high)).mean() <= 0.999


@pytest.mark.parametrize("share", [0.1, 0.4])
@pytest.mark.parametrize("alikeness", [0.0, 0.6, 1.0])
def test_intervals_of_unequal_capabilities_that_share_sentences_hold_the_true_mean(
    share: float, alikeness: float
) -> None:
    """Sentences that serve several capabilities and are failed, or passed, in all of them."""
    rng = np.random.default_rng(5)
    sizes = {"LC1": 16, "LC2": 46, "LC4": 149, "LC7": 90, "LC10": 60}
    true = {name: min(1.0, share * (0.5 + n / 4)) for n, name in enumerate(sizes)}
    # Each capability begins at another of 200 sentences: some serve one, others all five.
    serves = [
        (name, (25 * n + m) % 200) for n, name in enumerate(sizes) for m in range(sizes[name])
    ]
    cases = [
        Case(f"{name}-{m}", name, "seed", f"{name}-{m}", "", frozenset({0}), sources=(f"s:{m}",))
        for name, m in serves
    ]
    means = {
        "macro": sum(true.values()) / len(true),
        "micro": sum(true[c.capability] for c in cases) / len(cases),
    }
    hits = {"macro": 0, "micro": 0}
    runs = 1_000
    for _ in range(runs):
        of_sentence, own = rng.random(200), rng.random(len(cases))
        together = rng.random(200) < alikeness
        failed = np.array(
            [
                (of_sentence[m] if together[m] else own[n]) < true[name]
                for n, (name, m) in enumerate(serves)
            ]
        )
        rate = figures.rates(statistics.families(cases), failed)[0]
        hits["macro"] += rate.macro_ci[0] <= means["macro"] <= rate.macro_ci[1]
        hits["micro"] += rate.micro_ci[0] <= means["micro"] <= rate.micro_ci[1]
    assert all(0.93 <= hit / runs <= 0.98 for hit in hits.values()), hits


def test_seeds_of_the_same_sentences_are_one_family() -> None:
    def seed(name: str, ids: list[str], capability: str = "LC4") -> Case:
        row = {
            "id": name, "capability": capability, "kind": "seed", "seed_id": name, "text": name,
            "labels": [2, 1],
            "sources": [
                {"text": "Made up .", "corpus": "sst", "id": one, "split": "train"} for one in ids
            ],
        }  # fmt: skip
        return case_from(*typed_rows([row]))

    def expansion(seed: Case, number: int) -> Case:
        return replace(seed, id=f"{seed.id}+{number}", kind="expansion")

    is_not, isnt = seed("is not", ["7"]), seed("isn't", ["7"])
    assert is_not.sources == ("sst:7",)
    other = seed("other", ["8"])
    two, swapped = seed("two", ["7", "8"]), seed("swapped", ["8", "7"])
    elsewhere = seed("elsewhere", ["7"], "LC5")
    unknown = [replace(is_not, id=f"u{n}", seed_id=f"u{n}", sources=()) for n in range(2)]
    cases = [is_not, expansion(is_not, 1), isnt, expansion(isnt, 1), other, two, swapped]
    numbers = families_of([*cases, elsewhere, *unknown]).tolist()
    assert numbers == [0, 0, 0, 0, 1, 2, 2, 3, 4, 5]
    compared = comparison.compare(cases, np.ones(7, bool), np.zeros(7, bool))
    assert compared["LC4"].family_count == 3
    assert compared["LC4"].p_value == pytest.approx(2 / 2**3)
    half = rate([is_not, isnt], np.array([True, True]))
    assert half.ci == pytest.approx(rate([is_not], np.array([True])).ci)
    assert seed("none", [""]).sources == ()


def naive_sign_flip(differences: list[int]) -> float:
    observed = abs(sum(differences))
    signs = list(itertools.product((1, -1), repeat=len(differences)))
    far = [
        abs(sum(s * d for s, d in zip(sign, differences, strict=True))) >= observed
        for sign in signs
    ]
    return sum(far) / len(signs)


@given(
    st.integers(1, 8).flatmap(
        lambda size: st.lists(
            st.lists(st.integers(-5, 5), min_size=size, max_size=size), min_size=1, max_size=4
        )
    )
)
def test_the_sign_flip_test_is_the_one_over_all_assignments(pairs: list[list[int]]) -> None:
    p_values = comparison.sign_flip_p_values(np.array(pairs))
    assert p_values.tolist() == [naive_sign_flip(one) for one in pairs]
    assert (p_values == comparison.sign_flip_p_values(-np.array(pairs)[:, ::-1])).all()


@given(suites())
def test_a_comparison_counts_disagreements_and_corrects_by_holm(
    suite: tuple[list[Case], np.ndarray, np.ndarray],
) -> None:
    cases, first_labels, second_labels = suite
    first, second = failed_cases(cases, first_labels), failed_cases(cases, second_labels)
    compared = comparison.compare(cases, first, second)
    compared.pop("mean", None)
    raw = {}
    for name, one in compared.items():
        own = [n for n, case in enumerate(cases) if case.capability == name]
        pairs = [(bool(first[n]), bool(second[n])) for n in own]
        families = [family for family in naive_families(cases) if family[0] in own]
        assert (one.case_count, one.family_count) == (len(pairs), len(families))
        assert one.first_only == pairs.count((True, False))
        assert one.second_only == pairs.count((False, True))
        raw[name] = naive_sign_flip(
            [int(first[family].sum()) - int(second[family].sum()) for family in families]
        )
        assert one.p_value == pytest.approx(raw[name])
    for name, one in compared.items():
        smaller = [
            n for n in raw if (raw[n], list(raw).index(n)) <= (raw[name], list(raw).index(name))
        ]
        expected = max(
            min(1.0, (len(raw) - rank) * raw[n])
            for rank, n in enumerate(sorted(smaller, key=lambda n: (raw[n], list(raw).index(n))))
        )
        assert one.adjusted_p_value == pytest.approx(expected)


@st.composite
def unequal_capabilities(draw: st.DrawFn) -> tuple[list[Case], np.ndarray, np.ndarray]:
    """Capabilities of unequal size, with shared sentences or without, and what two models fail."""
    cases: list[Case] = []
    failed: list[tuple[bool, bool]] = []
    for name, sizes in (("LC1", st.integers(1, 16)), ("LC4", st.integers(1, 145))):
        first, second = (draw(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9, 1.0])) for _ in range(2))
        size = draw(sizes)
        sources = [(f"s:{n}",) if draw(st.booleans()) else () for n in range(size)]
        for n, own in enumerate(sources):
            ends = n / size < first, (size - n - 1) / size < second
            cases.append(Case(f"{name}-{n}", name, "seed", f"{name}-{n}", "", frozenset({1}),
                              sources=own))  # fmt: skip
            failed.append(ends)
    both = np.array(failed, dtype=bool)
    return cases, both[:, 0], both[:, 1]


def of_the_small_and_the_large() -> tuple[list[Case], np.ndarray, np.ndarray]:
    """The first fails 30 of 145 of the large one, the second all 16 of the small one."""
    cases = [
        Case(f"{name}-{n}", name, "seed", f"{name}-{n}", "", frozenset({1}))
        for name, size in (("LC1", 16), ("LC4", 145)) for n in range(size)
    ]  # fmt: skip
    numbers = np.arange(len(cases))
    return cases, (numbers >= 16) & (numbers < 46), numbers < 16


@given(unequal_capabilities())
@example(of_the_small_and_the_large())
def test_who_is_better_is_the_sign_of_what_was_tested(
    compared: tuple[list[Case], np.ndarray, np.ndarray],
) -> None:
    cases, first, second = compared
    tests = comparison.compare(cases, first, second)
    swapped = comparison.compare(cases, second, first)
    assert list(tests) == ["mean", "LC1", "LC4"]
    for name, test in tests.items():
        own = [n for n, case in enumerate(cases) if name in (case.capability, "mean")]
        parts = [[n for n in own if cases[n].capability == one] for one in ("LC1", "LC4")]
        means = [
            float(np.mean([of[part].mean() for part in parts if part])) for of in (first, second)
        ]
        assert test.rates == pytest.approx(means)
        assert (test.better is None) == (test.adjusted_p_value >= comparison.LEVEL)
        if test.better is not None:
            assert means[test.better] < means[1 - test.better]
            assert swapped[name].better == 1 - test.better
        assert test.as_json()["better"] in (None, "first", "second")
        assert test.difference == pytest.approx(means[0] - means[1], abs=0.01)


def test_a_model_that_fails_more_cases_can_be_the_better_in_the_mean() -> None:
    mean = comparison.compare(*of_the_small_and_the_large())["mean"]
    assert (mean.first_only, mean.second_only) == (30, 16)
    assert mean.rates == pytest.approx((15 / 145, 0.5)) and mean.adjusted_p_value < 0.001
    assert mean.better == 0 and mean.as_json()["better"] == "first"


@given(suites())
def test_references_are_what_such_answers_come_to(
    suite: tuple[list[Case], np.ndarray, np.ndarray],
) -> None:
    cases, _, _ = suite
    known = figures.references(cases)
    assert list(known) == ["always-negative", "always-neutral", "always-positive", "random"]
    means = []
    for number, label in enumerate(LABELS):
        constant = np.full(len(cases), number)
        one, found = known[f"always-{label}"], figures.figures(cases, (), constant)
        assert one.failure_rate.macro == pytest.approx(found.overall.failure_rate.macro)
        for name, of in found.capabilities.items():
            assert one.capabilities[name]["all"] == pytest.approx(of.all.failure_rate)
            assert one.capabilities[name]["seed"] == pytest.approx(of.seed.failure_rate)
            assert ("expansion" in one.capabilities[name]) == bool(of.expansion.cases)
        means.append(one.failure_rate.macro)
    # Every label once for every case is what a random answer is expected to do.
    assert known["random"].failure_rate.macro == pytest.approx(sum(means) / 3)
    name, least = figures.chance_of(known)
    assert least == min(means) and name != "random"
    if least:
        assert figures.chance_corrected(least, least) == 0
        assert figures.chance_corrected(0.0, least) == 1
    else:
        assert figures.chance_corrected(0.5, least) is None
