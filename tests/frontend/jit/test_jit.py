"""`jit`: the values of the plain function, recorded once for each signature and never again."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import next_serial
from tests.frontend.jit_cases import (
    FUNCTIONS,
    formula,
    rng,
    same,
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_the_function(name):
    function, calls = FUNCTIONS[name]
    jitted = tfr.jit(function)
    for _ in range(2):
        for arguments in calls:
            same(jitted(*arguments), function(*arguments))


def test_a_call_computes():
    jitted = tfr.jit(formula)
    for seed in range(3):
        assert jitted(rng(5, seed=seed), rng(5)).is_computed


def test_the_function_runs_once_for_each_kind_of_arguments():
    ran = []

    @tfr.jit
    def double(x, y=None):
        ran.append(x)
        return x * 2

    for seed in range(3):
        double(rng(3, seed=seed))
    assert len(ran) == 1
    double(rng(4))
    double(rng(3))
    assert len(ran) == 2
    double(rng(3, dtype=np.float64))
    double(rng(3).to_device("numpy"))
    double(1.0)
    double(2.5)
    double(1)
    double(True)
    double(rng(3), None)
    double(rng(3), y=None)
    double(rng(3), "text")
    double(rng(3), "other")
    double([rng(3)][0], "text")
    assert len(ran) == 11
    assert double.cache_info() == (11, 11, tfr.config.get().jit_cache)


def test_a_replay_records_only_its_results():
    jitted = tfr.jit(lambda x: (formula(x, x), tfr.sum(x)))
    x = rng(50)
    jitted(x)
    before = next_serial()
    for _ in range(10):
        jitted(x)
    assert next_serial() - before == 10 * 2 + 1


def test_options_in_force_are_part_of_the_kind():
    jitted = tfr.jit(lambda a, b: tfr.exp(a) * b + a)
    a, b = rng(300, 200), rng(300, 200, seed=1)
    assert jitted.explain(a, b).kernels == 1
    with tfr.config.override(fuse=False):
        assert jitted.explain(a, b).kernels == 3
    assert jitted.explain(a, b).kernels == 1
    assert jitted.cache_info().recorded == 2


def test_defaults_in_force_are_part_of_the_kind():
    made = tfr.jit(lambda x: tfr.zeros(3) + x)
    assert made(1).dtype == tfr.float32
    tfr.set_default_dtype("float64")
    try:
        assert made(1).dtype == tfr.float64
    finally:
        tfr.set_default_dtype("float32")
    assert made(1).dtype == tfr.float32
    with tfr.use_backend("numpy"):
        assert made(1).device == "numpy"
    assert made(1).device == tfr.zeros(1).device


def test_pending_arguments_are_computed_together():
    x = rng(50, 40)
    shared = tfr.exp(x)
    first, second = shared + 1, shared * 2
    jitted = tfr.jit(lambda a, b: a - b)
    wanted = first.numpy(copy=True) - second.numpy()
    first, second = shared + 1, shared * 2
    jitted(first, second)
    assert first.is_computed
    assert second.is_computed
    np.testing.assert_array_equal(jitted(first, second).numpy(), wanted)
