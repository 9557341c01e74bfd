"""Rates, intervals, flips and paired tests against a second, naive implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2lct.leaderboard import statistics
from s2lct.leaderboard.cases import Case
from s2lct.leaderboard.scoring import failed_cases


@st.composite
def suites(draw: st.DrawFn) -> tuple[list[Case], np.ndarray, np.ndarray]:
    """Random families of some capabilities, with two models' labels."""
    cases: list[Case] = []
    for capability in draw(st.sampled_from([["LC1"], ["LC4", "LC9"], ["LC2", "LC3", "LC10"]])):
        for family in range(draw(st.integers(1, 5))):
            seed_id = f"{capability}-{family}"
            passes = draw(st.sampled_from([{0}, {1}, {2}, {1, 2}]))
            for member in range(draw(st.integers(1, 4))):
                kind = "expansion" if member else "seed"
                name = f"{seed_id}-{member}" if member else seed_id
                cases.append(Case(name, capability, kind, seed_id, name, frozenset(passes)))
    size = len(cases)
    labels = [draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)) for _ in range(2)]
    return cases, np.array(labels[0]), np.array(labels[1])


def naive_interval(cases: list[Case], failed: list[bool], seed: int) -> tuple[float, float]:
    families: dict[str, list[bool]] = {}
    for case, fails in zip(cases, failed, strict=True):
        families.setdefault(case.seed_id, []).append(fails)
    groups = list(families.values())
    rng = np.random.default_rng(seed)
    times = rng.multinomial(len(groups), [1 / len(groups)] * len(groups), size=1_000)
    rates = []
    for sample in times:
        drawn = [f for group, n in zip(groups, sample, strict=True) for f in group * int(n)]
        rates.append(sum(drawn) / len(drawn))
    rates.sort()

    def quantile(q: float) -> float:
        place = q * (len(rates) - 1)
        low = math.floor(place)
        high = min(low + 1, len(rates) - 1)
        return rates[low] + (rates[high] - rates[low]) * (place - low)

    return quantile(0.025), quantile(0.975)


@settings(max_examples=40, deadline=None)
@given(suites())
def test_results_agree_with_a_naive_implementation(
    suite: tuple[list[Case], np.ndarray, np.ndarray],
) -> None:
    cases, labels, _ = suite
    failed = failed_cases(cases, labels)
    assert failed.tolist() == [
        label not in case.passes for case, label in zip(cases, labels.tolist(), strict=True)
    ]
    results = statistics.by_capability(cases, failed)
    assert list(results) == list(dict.fromkeys(case.capability for case in cases))
    by_id = {case.id: fails for case, fails in zip(cases, failed.tolist(), strict=True)}
    for capability, result in results.items():
        for kind in ("seed", "expansion"):
            own = [c for c in cases if (c.capability, c.kind) == (capability, kind)]
            rate = getattr(result, kind)
            assert rate.cases == len(own)
            assert rate.failures == sum(by_id[c.id] for c in own)
            if own:
                assert rate.failure_rate == pytest.approx(rate.failures / len(own))
                bounds = naive_interval(own, [by_id[c.id] for c in own], seed=0)
                assert rate.ci == pytest.approx(bounds)
        expansions = [c for c in cases if c.capability == capability and c.kind == "expansion"]
        assert result.pass_to_fail == sum(by_id[c.id] and not by_id[c.seed_id] for c in expansions)
        assert result.fail_to_pass == sum(not by_id[c.id] and by_id[c.seed_id] for c in expansions)
    overall = statistics.macro_average(cases, failed)
    means = [
        sum(by_id[c.id] for c in cases if c.capability == name)
        / sum(c.capability == name for c in cases)
        for name in results
    ]
    assert overall.failure_rate == pytest.approx(sum(means) / len(means))
    assert overall.ci[0] - 1e-12 <= overall.ci[1]


def naive_mcnemar(first_only: int, second_only: int) -> float:
    n, k = first_only + second_only, min(first_only, second_only)
    tail = sum(math.comb(n, i) for i in range(k + 1)) / 2**n
    return min(1.0, 2 * tail) if n else 1.0


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(first_only: int, second_only: int) -> None:
    assert statistics.mcnemar(first_only, second_only) == pytest.approx(
        naive_mcnemar(first_only, second_only)
    )


@settings(max_examples=40, deadline=None)
@given(suites())
def test_a_comparison_counts_disagreements_and_corrects_by_holm(
    suite: tuple[list[Case], np.ndarray, np.ndarray],
) -> None:
    cases, first_labels, second_labels = suite
    first, second = failed_cases(cases, first_labels), failed_cases(cases, second_labels)
    compared = statistics.compare(cases, first, second)
    raw = {}
    for name, one in compared.items():
        pairs = [
            (bool(a), bool(b))
            for case, a, b in zip(cases, first, second, strict=True)
            if case.capability == name
        ]
        assert one.cases == len(pairs)
        assert one.first_only == pairs.count((True, False))
        assert one.second_only == pairs.count((False, True))
        raw[name] = naive_mcnemar(one.first_only, one.second_only)
        assert one.p_value == pytest.approx(raw[name])
    for name, one in compared.items():
        smaller = [
            n for n in raw if (raw[n], list(raw).index(n)) <= (raw[name], list(raw).index(name))
        ]
        expected = max(
            min(1.0, (len(raw) - rank) * raw[n])
            for rank, n in enumerate(sorted(smaller, key=lambda n: (raw[n], list(raw).index(n))))
        )
        assert one.adjusted == pytest.approx(expected)


def test_a_family_is_resampled_whole() -> None:
    # Two families, one failing and one passing as a whole: every sample's rate is 0, 1/2 or 1,
    # which single cases, drawn apart, would hardly ever give.
    cases = [
        Case(f"{family}{n}", "LC1", "expansion" if n else "seed", f"{family}0", "", frozenset({0}))
        for family in "ab"
        for n in range(50)
    ]
    failed = np.array([case.seed_id == "a0" for case in cases])
    assert statistics.rate(cases, failed).ci == (0.0, 1.0)
