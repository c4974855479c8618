"""Threads that plan and build the same kernels at the same moment all get the right results."""

import sys
import threading

import pytest

import tensorframe as tfr
from tensorframe.backends.cpu import choice
from tests.builds import forget_builds
from tests.stress import computations
from tests.stress.scale import on_each_device, scale

THREADS = 4


@pytest.fixture
def busy(monkeypatch):
    """The interpreter goes from thread to thread every few instructions, and every plan is made."""
    monkeypatch.setattr(choice, "ENOUGH", -1)
    before, interval = tfr.config.get(), sys.getswitchinterval()
    tfr.config.configure(**computations.PLANNED)
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    tfr.config.configure(**{name: getattr(before, name) for name in computations.PLANNED})


@on_each_device
def test_threads_build_the_same_kernels(busy, device):
    names = list(computations.expected(*computations.operands(0)))
    problems = []
    for seed in range(scale(8, 200)):
        arrays = computations.operands(seed)
        name = names[seed % len(names)]
        value = {name: computations.expected(*arrays)[name]}
        gate = threading.Barrier(THREADS)

        def work(arrays=arrays, name=name, value=value, gate=gate, seed=seed):
            tensors = [tfr.asarray(array, device=device) for array in arrays]
            gate.wait(60)
            try:
                made = {name: computations.results(*tensors)[name]}
                problems.extend((seed, one) for one in computations.wrong(made, value))
            except Exception as error:
                problems.append((seed, name, error))

        forget_builds()
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
    assert not problems
