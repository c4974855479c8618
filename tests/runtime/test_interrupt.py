"""A compute may be interrupted at any point: afterwards the same tensors compute as if nothing had happened."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy import functions
from tensorframe.graph.op import find
from tensorframe.runtime.plan_cache import PLANS

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["planned", "small"])
def path(request):
    """Both ways to compute: by a plan, and op by op where that is faster."""
    options = {"small_size": 0, "small_nodes": 0} if request.param == "planned" else {}
    with tfr.config.override(**options):
        yield request.param


@pytest.fixture
def interrupted(monkeypatch):
    """Lets an op raise KeyboardInterrupt the first time it runs, as if Ctrl-C was pressed then."""

    def arm(name):
        op = find(name)
        right = functions.implementation[op]
        calls = []

        def once(*arguments, **options):
            calls.append(name)
            if len(calls) == 1:
                raise KeyboardInterrupt
            return right(*arguments, **options)

        PLANS.clear()
        monkeypatch.setitem(functions.implementation, op, once)
        return calls

    yield arm
    PLANS.clear()


def graph():
    x = tfr.asarray(np.arange(6.0).reshape(2, 3), device="numpy")  # calls what is made to raise
    total = tfr.sum(x, axis=0)
    ordered = tfr.sort(x - total)
    return x, total, tfr.cumulative_sum(ordered, axis=1) * 2.0


def expected():
    x = np.arange(6.0).reshape(2, 3)
    return x, x.sum(axis=0), np.cumsum(np.sort(x - x.sum(axis=0)), axis=1) * 2


@pytest.mark.parametrize("name", ["sum", "sort", "cumulative_sum", "multiply", "subtract"])
def test_after_an_interrupt_everything_computes(name, path, interrupted):
    calls = interrupted(name)
    tensors = graph()
    with pytest.raises(KeyboardInterrupt):
        tensors[-1].numpy()
    assert calls == [name]
    for tensor, right in zip(tensors, expected(), strict=True):
        assert np.array_equal(tensor.numpy(), right)


def test_an_interrupt_may_be_caught_as_ours(path, interrupted):
    interrupted("sort")
    tensors = graph()
    with pytest.raises(tfr.errors.CancelledError):
        tfr.compute(*tensors)
    assert [tensor.numpy().shape for tensor in tensors] == [(2, 3), (3,), (2, 3)]


def test_an_interrupt_does_not_spoil_what_was_computed(path, interrupted):
    _, total, result = graph()
    total.compute()
    before = total.numpy()
    interrupted("sort")
    with pytest.raises(KeyboardInterrupt):
        result.compute()
    assert total.numpy() is not None
    assert np.array_equal(total.numpy(), before)
    assert np.array_equal(result.numpy(), expected()[-1])


PROGRAM = """
import signal
import numpy as np
import tensorframe as tfr

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it
x = tfr.asarray(np.ones((700, 700)))
total = tfr.sum(x)
try:
    print("started", flush=True)
    for _ in range(1000):  # one of them is interrupted, on a fast machine not the first
        y = x
        for _ in range(400):
            y = (y @ x) / 700.0
        y.compute()
except KeyboardInterrupt as error:
    print(type(error).__name__, flush=True)
else:
    print("was not interrupted", flush=True)
assert total.item() == 490_000.0
assert (x @ x)[0, 0].item() == 700.0
again = x
for _ in range(3):
    again = (again @ x) / 700.0
assert again[3, 5].item() == 1.0
print("done", flush=True)
"""


def test_a_real_interrupt_ends_the_compute_and_nothing_else():
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        sleep(1.0)  # now it is in the middle of 400 matrix products, or of those that come after
        process.send_signal(signal.SIGINT)
        try:
            printed, problems = process.communicate(timeout=300)
        finally:
            process.kill()
    # between two steps it is ours, elsewhere Python's
    assert printed in ("CancelledError\ndone\n", "KeyboardInterrupt\ndone\n"), problems


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import tensorframe as tfr
from tensorframe.runtime.progress import monitor
from tensorframe.runtime.progress.phases import Compute

signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it
device, work = sys.argv[1:]
rows = tfr.asarray(np.linspace(0.5, 1.5, 400 * 400).reshape(400, 400).astype(np.float32), device=device)


def steps(x, times):
    for _ in range(100 * times):
        x = tfr.cumulative_sum(tfr.sin(x @ x), axis=0) / 400
    return x


def kernel(x, times):
    x = tfr.reshape(x, (-1, 1)) + tfr.arange(100.0 * times, device=device) / 1000
    for _ in range(12):
        x = tfr.sin(tfr.exp(-x * x) + tfr.tanh(x)) + 1
    return x


def product(x, times):
    wide = tfr.concat([x] * (6 * times), axis=0)
    return wide @ wide.T


def library(x, times):
    wide = tfr.concat([x] * (2 * times), axis=0)
    return tfr.linalg.eigvalsh(wide @ wide.T)


before = rows.numpy(copy=True)
kept = tfr.sum(rows, axis=0).compute()
aside = rows * 2
pressed = []


def running():
    # what is being planned does not run yet
    parts = [part for wait in tuple(monitor._Watch.computes) for part in wait.parts[-1:]]
    return {part for part in parts if isinstance(part, Compute)}


def press():
    while True:
        seen = running()
        time.sleep(0.1)
        # one that has run for a tenth of a second at least
        if seen & running():
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
            return


make = globals()[work]
for attempt in range(10):
    times = 1 << attempt
    threading.Thread(target=press, daemon=True).start()
    try:
        while times < 1 << 10:
            tensor = make(rows, times)
            tensor.compute()
            times *= 2
    except tfr.errors.CancelledError as error:
        print(type(error).__name__, f"{time.perf_counter() - pressed[-1]:.3f}", flush=True)
        break
    except KeyboardInterrupt:
        pass  # between two computes: the one that was seen had just ended
assert not tensor.is_computed
assert not monitor._Watch.computes
assert np.array_equal(rows.numpy(), before)
assert np.array_equal(aside.numpy(), before * 2)
np.testing.assert_allclose(kept.numpy(), before.sum(axis=0), rtol=1e-4)
small = make(rows[:20, :20], 1)
print(np.isfinite(small.numpy()).all(), small.is_computed, flush=True)
"""
# none of these tests is about speed: what never comes back is found
PATIENCE = 60.0


@pytest.mark.sweep(2)
@pytest.mark.parametrize("work", ["steps", "kernel", "product", "library"])
@pytest.mark.parametrize("device", ["numpy", "llvm", "cpu"])
def test_control_comes_back_in_the_middle_of_anything(device, work):
    interrupt(device, work)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("work", ["steps", "product"])
@pytest.mark.parametrize("device", ["opencl", "wgpu"])
def test_control_comes_back_from_devices(device, work):
    if device not in tfr.backends.available():
        pytest.skip(f"there is no {device} here")
    interrupt(device, work)


def interrupt(device, work):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, device, work],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told, after = done.stdout.splitlines()
    name, seconds = told.split()
    assert name == "CancelledError"
    assert float(seconds) < PATIENCE
    assert after == "True True"
