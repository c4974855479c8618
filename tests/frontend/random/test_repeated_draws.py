"""Draws that a program repeats: made many at a time, and the same numbers as those that are drawn one by one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.frontend.random import repeated
from tensorframe.frontend.random.generator import Generator
from tests.runtime.small_calls import frames

Draw = Callable[[Generator], Any]

DRAWS: dict[str, Draw] = {
    "random": lambda rng: rng.random(7),
    "number": lambda rng: rng.random(),
    "uniform": lambda rng: rng.uniform(-1.0, 2.0, (2, 3)),
    "normal": lambda rng: rng.normal(size=9),
    "float64": lambda rng: rng.standard_normal((3, 1), dtype="float64"),
    "exponential": lambda rng: rng.exponential(2.0, 5),
    "integers": lambda rng: rng.integers(0, 100, 7),
    "wide integers": lambda rng: rng.integers(0, 2**40, (2, 2)),
    "permutation": lambda rng: rng.permutation(12),
    "slices": lambda rng: rng.permutation(np.arange(12.0).reshape(4, 3)),
    "choice": lambda rng: rng.choice(10, 4),
    "gamma": lambda rng: rng.gamma(2.0, size=5),
    "binomial": lambda rng: rng.binomial(9, 0.5, 4),
    "one poisson": lambda rng: rng.poisson(4.0),
    "dirichlet": lambda rng: rng.dirichlet([1.0, 2.0, 3.0], 2),
    "multinomial": lambda rng: rng.multinomial(5, [0.2, 0.8], 3),
}
# enough of them that draws are made ahead twice
TIMES = 90


def drawn(calls: list[Draw]) -> list[Any]:
    rng = tfr.random.default_rng(5)
    return [call(rng).numpy() for call in calls]


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Draw]], list[Any]]:
    """Return what draws without looking ahead."""

    def draw(calls: list[Draw]) -> list[Any]:
        with monkeypatch.context() as patched:
            patched.setattr(repeated, "_LARGEST", 0)
            return drawn(calls)

    return draw


def assert_same(actual: list[Any], desired: list[Any]) -> None:
    assert [part.dtype for part in actual] == [part.dtype for part in desired]
    for one, other in zip(actual, desired, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("name", DRAWS)
def test_repeated_draws_are_those_of_single_ones(name: str, one_by_one: Any) -> None:
    calls = [DRAWS[name]] * TIMES
    assert_same(drawn(calls), one_by_one(calls))


def test_draws_by_turns_are_those_of_single_ones(one_by_one: Any) -> None:
    few = [DRAWS[name] for name in ("normal", "random", "gamma")]
    at_odds = [few[step % 3 if step % 7 else 0] for step in range(TIMES)]
    for calls in (few * (TIMES // 3), at_odds):
        assert_same(drawn(calls), one_by_one(calls))


def test_arguments_that_are_equal_and_not_the_same_are_told_apart() -> None:
    rng = tfr.random.default_rng(1)
    for _ in range(8):  # a shape and two numbers, or two numbers: see `uniform`
        assert tfr.random.uniform(1, 2, 3, key=rng._stream).shape == (1,)
        assert tfr.random.uniform(1.0, 2, 3, key=rng._stream).shape in {(), (3,)}
        assert np.signbit(rng.exponential(-0.0, 3).numpy()).all()
        assert not np.signbit(rng.exponential(0.0, 3).numpy()).any()


def test_a_new_seed_begins_anew() -> None:
    values = []
    for _ in range(2):
        tfr.random.seed(3)
        values.append([tfr.random.random(4).tolist() for _ in range(TIMES)])
    assert values[0] == values[1]
    assert len(set(map(tuple, values[0]))) == TIMES


def test_the_default_dtype_is_that_of_the_call() -> None:
    rng = tfr.random.default_rng(1)
    for _ in range(6):
        assert rng.random(3).dtype == tfr.float32
        tfr.set_default_dtype("float64")
        try:
            assert rng.random(3).dtype == tfr.float64
        finally:
            tfr.set_default_dtype("float32")


def test_threads_share_no_numbers(one_by_one: Any) -> None:
    rng = tfr.random.default_rng(5)

    def draw(_: int) -> list[float]:
        return [rng.random(dtype="float64").item() for _ in range(200)]

    with ThreadPoolExecutor(4) as pool:
        values = [value for part in pool.map(draw, range(4)) for value in part]
    alone = one_by_one([lambda rng: rng.random(dtype="float64")] * 800)
    assert sorted(values) == sorted(value.item() for value in alone)


def test_a_jitted_function_draws_anew_in_every_call() -> None:
    @tfr.jit
    def noisy(x: tfr.Tensor) -> tfr.Tensor:
        return x + tfr.random.random(3)

    x = tfr.zeros(3)
    assert len({tuple(noisy(x).tolist()) for _ in range(6)}) == 6


def test_a_draw_that_somebody_looks_at_is_recorded() -> None:
    rng = tfr.random.default_rng(1)
    for _ in range(6):
        rng.random(5)
    assert rng.random(5).node.storage is not None
    with tfr.profile():
        assert rng.random(5).node.storage is None
    with tfr.config.override(check_nan=True):
        assert rng.random(5).node.storage is None


@pytest.mark.parametrize(
    ("name", "most"),
    [("random", 12), ("normal", 13), ("gamma", 13), ("integers", 13), ("permutation", 16)],
)
def test_repeated_draws_take_few_frames(name: str, most: int) -> None:
    rng = tfr.random.default_rng(1)
    draw = DRAWS[name]
    assert frames(lambda: draw(rng).compute()) <= most


def test_large_draws_are_recorded() -> None:
    rng = tfr.random.default_rng(1)
    for _ in range(5):
        assert rng.random(1000).node.storage is None
