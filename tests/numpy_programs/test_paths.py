"""What programs for NumPy are full of goes short ways: masks, operands of two dtypes, loops of small steps."""

from __future__ import annotations

import numpy as np

import tensorframe as tfr
from tensorframe.runtime.events import Moment, listen


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
