"""Benchmarks: every backend gets its turns, the device is waited for, and wrong results are not timed."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import capabilities, known_devices
from tests.frontend.off_backend import leaf, registered, set_at

DEVICES = [str(device) for device in known_devices() if not capabilities(device).chunked]


@pytest.mark.parametrize("device", DEVICES)
def test_every_engine_is_timed(device):
    found = tfr.bench(tfr.sin(leaf(200, 100)) + 1, backends=[device], rounds=3)
    row = found[device]
    assert row.error is None
    assert len(row.seconds) == 3
    assert 0 < row.best <= row.median <= max(row.seconds)
    assert row.first > 0
    assert row.bytes_per_second == 2 * 200 * 100 * 4 / row.best
    assert found.speed(device) == found["numpy"].best / row.best
    assert found.speed("numpy") == 1


def test_a_backend_is_waited_for_in_every_run():
    with registered() as backend:
        tfr.bench(leaf(100, 100) * 2, backends=["off"], rounds=4)
    assert backend.runs == backend.waits == 5  # the first one too


def test_backends_take_turns():
    turns = []

    def function(x):
        turns.append(str(x.device))
        return x * 2

    tfr.bench(function, leaf(100, 100), backends=["cpu"], rounds=3)
    assert turns[-6:] == ["numpy", "cpu", "cpu", "numpy", "numpy", "cpu"]


def test_wrong_results_are_not_timed():
    with registered(set_at((2, 3), lambda one: one + 1)):
        found = tfr.bench(leaf(100, 100) * 2, backends=["off"], rounds=2)
    assert found["off"].seconds == []
    assert found.speed("off") is None
    assert "[2, 3] is" in repr(found)
    assert "not timed" in repr(found)


def test_a_failure_in_a_later_run_ends_that_row_only():
    calls = []

    def change(array):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("the device is lost")
        return array

    with registered(change):
        found = tfr.bench(leaf(100, 100) * 2, backends=["off"], rounds=4)
    assert (len(found["off"].seconds), len(found["numpy"].seconds)) == (1, 4)
    assert "the device is lost" in repr(found)


def test_nothing_is_printed_and_nothing_changes(capsys):
    z = leaf(100, 100) * 2
    text = repr(tfr.bench(z, backends="cpu", rounds=1)).splitlines()
    assert [line.split()[0] for line in text] == ["backend", "numpy", "cpu"]
    assert capsys.readouterr().out == ""
    assert not z.is_computed
    assert np.array_equal(z.numpy(), leaf(100, 100).numpy() * 2)


def test_without_rounds_time_is_what_ends_them():
    assert len(tfr.bench(leaf(10) * 2, backends="numpy")["numpy"].seconds) > 3


@pytest.mark.parametrize("rounds", [0, -1, 1.5])
def test_rounds_are_positive_integers(rounds):
    with pytest.raises(tfr.errors.ArgumentError, match="rounds is a positive integer"):
        tfr.bench(leaf(10) * 2, rounds=rounds)
