"""What programs for NumPy are full of goes short ways: masks, operands of two dtypes, loops of small steps."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import discover
from tensorframe.runtime.execution.events import Moment, listen
from tensorframe.site import line_of


def test_a_mask_selects_at_once_what_is_in_host_memory():
    values = np.arange(-6, 6).reshape(4, 3)
    x = tfr.asarray(values, dtype="float32").compute()
    for mask, expected in [(x > 1, values[values > 1]), (x[:, 0] > -1, values[values[:, 0] > -1])]:
        chosen = x[mask]
        assert chosen.is_computed
        np.testing.assert_array_equal(chosen.numpy(), expected)
    slope = tfr.grad(lambda x: tfr.sum(x[x > 1] ** 2))(x)
    np.testing.assert_array_equal(slope.numpy(), np.where(values > 1, 2.0 * values, 0.0))


def test_a_list_of_positions_may_change_after_it_has_selected():
    positions = np.array([0, 2])
    chosen = tfr.asarray(np.arange(3.0))[positions]
    positions[0] = 1
    assert chosen.tolist() == [0.0, 2.0]


def test_a_thousand_small_steps_run_without_a_plan():
    made = []
    with listen(lambda event: made.append(event.moment)):
        x = tfr.asarray(np.linspace(0.0, 1.0, 20, dtype=np.float32))
        held = None
        for step in range(600):
            x = x * 0.5 + 1
            held = x if step == 300 else held
        total = float(x.sum())
    assert Moment.PLAN_MADE not in made
    assert total == 40.0
    assert held.is_computed  # what is referenced is stored, as by every evaluation of small graphs


def test_operands_of_two_floating_dtypes_promote():
    real = tfr.asarray(np.arange(3.0, dtype=np.float32))
    wave = tfr.asarray(np.exp(1j * np.arange(3.0)).astype(np.complex64))
    for ours, theirs in [
        (real * wave, real.numpy() * wave.numpy()),
        (-0.5j * real, np.complex64(-0.5j) * real.numpy()),
        (wave * (real > 1), wave.numpy() * (real.numpy() > 1)),
        (real + tfr.arange(3), real.numpy() + np.arange(3, dtype=np.float32)),
        (real @ tfr.ones((3, 2)), real.numpy() @ np.ones((3, 2), np.float32)),
    ]:
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6)


def test_an_operand_of_a_loop_is_cast_once():
    real = tfr.asarray(np.arange(3.0, dtype=np.float32))
    wave = tfr.asarray(np.ones(3, np.complex64))

    def product(real, wave):
        for _ in range(4):
            wave = wave * real + real
        return wave

    result = product(real, wave)
    casts = [node for node in discover([result.node]) if node.op.name == "cast"]
    assert len(casts) == 1
    expected = product(real.numpy(), wave.numpy())
    np.testing.assert_allclose(result.numpy(), expected)
    # each of their own, for the gradient to go back along
    slope = tfr.grad(lambda real: tfr.sum(tfr.real(product(real, wave))))(real)
    x = real.numpy()
    np.testing.assert_allclose(slope.numpy(), 1 + 2 * x + 3 * x**2 + 8 * x**3)


def python_calls(function):
    """Return how many Python functions are called, this one's argument among them."""
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(frame) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(calls)


def test_what_loops_are_full_of_is_recorded_in_few_calls():
    real = tfr.asarray(np.arange(8.0, dtype=np.float32))
    wave = tfr.asarray(np.ones(8, np.complex64))
    for function, most in [
        (lambda: real * real, 3),
        (lambda: 0.5 * real, 3),
        (lambda: -0.5j * wave, 3),
        (lambda: tfr.fft.rfft(real), 6),
        (lambda: tfr.fft.irfft(wave, n=8), 6),
    ]:
        for _ in range(3):  # the second call looks up what the first one remembered
            function()
        assert python_calls(function) <= most


@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [("float32", 2), ("float32", 2.0), ("float64", 2), ("complex64", 2.0), ("int16", 2)],
)
def test_a_square_has_the_same_bits_alone_in_small_graphs_and_in_plans(dtype, exponent):
    values = np.random.default_rng(7).normal(size=4000) * 100
    x = tfr.asarray(values.astype(dtype))
    alone = x**exponent
    for square in (alone, tfr.pow(x, exponent)):
        assert square.node.op.name == "square"
        assert line_of(square.node.site)[0] == __file__
    with tfr.config.override(small_nodes=0):
        planned = (x**exponent).numpy()
    assert alone.numpy().tobytes() == planned.tobytes()
    assert (tfr.asarray([True, False]) ** 2).tolist() == [1, 0]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("size", [1000, 30_000, 1_000_001])
def test_a_mask_selects_what_numpys_does_in_memory_of_the_pool_if_that_is_much(size, share):
    values = np.arange(size, dtype=np.int64)
    mask = np.random.default_rng(5).random(size) < share
    chosen = tfr.asarray(values)[tfr.asarray(mask)]
    np.testing.assert_array_equal(chosen.numpy(), values[mask])
    is_pooled = not chosen.node.storage.handle.flags.owndata
    assert is_pooled == (size == 1_000_001 and 0.0 < share < 1.0)
