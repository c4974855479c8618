"""Ctrl-C at any moment of a build, a run or a transfer: every tensor is right afterwards, and so are new ones."""

import sys

import pytest

from tests.stress.scale import on_some_devices, program, scale


@pytest.mark.skipif(sys.platform == "win32", reason="no timer signals on Windows")
@on_some_devices("cpu", "opencl")
def test_everything_is_right_after_an_interrupt(device):
    count = scale(6, 100)
    phases = program("interrupts", device, count, 1).stdout.split()
    heard = dict(zip(phases[::2], map(int, phases[1::2]), strict=True))
    assert sum(heard.values()) == count
    assert set(heard) == {"build", "run", "transfer"}
    assert min(heard.values()) >= scale(0, 20)


@pytest.mark.skipif(sys.platform == "win32", reason="no timer signals on Windows")
@on_some_devices("wgpu")
def test_an_interrupt_of_the_very_first_use_breaks_nothing(device):
    for seed in range(2, scale(3, 22)):  # the test above has one, too
        program("interrupts", device, 0, seed)
