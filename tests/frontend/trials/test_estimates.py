"""What a computation takes is known before it runs: counts as planned, and the memory that really is allocated."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.execution.events import listen
from tests.runtime.new_memory import new_memory

SHAPE = (1000, 1000)
# small arrays, blocks that threads work on, and Python's own objects
TOLERANCE = 0.15


def leaf(device, shape=SHAPE, seed=0):
    values = np.random.default_rng(seed).random(shape, dtype=np.float32)
    return tfr.asarray(values + np.float32(0.5), device=device)


# on any engine, values between steps and results are all that is allocated
EVERYWHERE = {
    "elementwise": lambda x: tfr.exp(x) * 2 + 1,
    "product": lambda x: tfr.exp(x) @ tfr.exp(x.T),
    "epilogue": lambda x: tfr.sin(x @ x + 1),
    "two products": lambda x: (x @ x.T) @ x,
    "sorted in between": lambda x: tfr.sort(tfr.exp(x), axis=1) * 2,
    "a value seen through a view": lambda x: tfr.exp(x) + tfr.exp(x)[::-1],
    "one after the other": lambda x: tfr.sort(tfr.sort(tfr.sort(x) + 1, axis=0) + 1, axis=1),
    "gather": lambda x: tfr.take(x * 2, tfr.argsort(x[:, 0]), axis=0),
}
# the cpu runs these op by op until their kernel is compiled, with temporary arrays that are not counted
IN_KERNELS = {
    "softmax": lambda x: tfr.softmax(x, axis=1),
    "sums": lambda x: tfr.sum(x * x) + tfr.max(x),
    "concat": lambda x: tfr.concat([x * 2, x + 1]),
    "scan": lambda x: tfr.cumulative_sum(x * 2, axis=1),
}
CASES = [(one, device) for one in EVERYWHERE for device in ("numpy", "llvm", "cpu")]
CASES += [(one, device) for one in IN_KERNELS for device in ("numpy", "llvm")]


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("name", "device"), CASES)
def test_the_peak_is_what_is_allocated(name, device):
    if device == "llvm":
        pytest.importorskip("llvmlite")
    make = (EVERYWHERE | IN_KERNELS)[name]
    x = leaf(device)
    make(x).compute()  # what is compiled is kept, and no part of the peak
    y = make(x)
    expected = sum(tfr.estimate(y).peak.values())
    # each thread has blocks of its own, however many cores there are
    with new_memory() as taken, tfr.config.override(threads=2):
        y.compute()
    assert x.nbytes + taken.peak == pytest.approx(expected, rel=TOLERANCE)


def test_nothing_runs():
    events = []
    y = tfr.sort(tfr.exp(leaf("cpu"))) @ leaf("cpu", seed=1)
    with listen(lambda event: events.append(event.moment.value)):
        tfr.estimate(y)
        tfr.estimate(y, device="cuda")
    assert set(events) <= {"plan made"}
    assert not y.is_computed


def test_counts_are_those_of_the_plan():
    x, y = leaf("cpu"), leaf("numpy", (1000,), seed=1)
    z = tfr.sort(x * 2, axis=1) + y
    plan, found = tfr.explain(z), tfr.estimate(z)
    for name in ("kernels", "library_calls", "transfers", "bytes_read", "bytes_written", "flops"):
        assert getattr(found, name) == getattr(plan, name)
    assert (found.kernels, found.library_calls, found.transfers) == (2, 1, 1)


def test_devices_that_share_memory_move_nothing():
    z = leaf("cpu") + leaf("numpy", (1000,))
    assert (tfr.estimate(z).transfers, tfr.estimate(z).bytes_moved) == (1, 0)


def test_bytes_that_cross_are_counted():
    x, row = leaf("cpu"), leaf("cpu", (1000,), seed=1)
    found = tfr.estimate(x + tfr.sort(row.to_device("dry")))
    assert (found.transfers, found.bytes_moved) == (2, 2 * row.nbytes)  # there, and back
    assert found.peak[tfr.Device("dry")] == 2 * row.nbytes


@pytest.mark.parametrize("device", ["dry", "numpy", "cuda", "cuda:3", "wgpu", "opencl:7"])
def test_leaves_count_as_if_they_were_elsewhere(device):
    x, w = leaf("cpu"), leaf("numpy", seed=1)
    found = tfr.estimate(tfr.exp(x) @ w, device=device)
    there = tfr.Device(device)
    assert found.inputs == {there: x.nbytes + w.nbytes}
    assert found.results == {there: x.nbytes}
    assert found.peak == {there: 4 * x.nbytes}
    assert (found.transfers, found.bytes_moved, found.library_calls) == (0, 0, 1)
    assert x.device == "cpu"


def test_a_device_that_is_not_here_runs_whole_rows_in_a_kernel():
    assert tfr.estimate(tfr.softmax(leaf("cpu"), axis=1), device="rocm").kernels == 1


def test_files_are_not_read(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.ones((300, 300)))
    x = tfr.load(path)
    found = tfr.estimate(x * 2, device="cuda")
    assert found.inputs[tfr.Device("cuda")] == 300 * 300 * 8
    assert not x.is_computed


def test_what_is_still_held_counts_as_a_result():
    x = leaf("cpu")
    total = tfr.sort(x * 2)
    for device in (None, "cuda"):
        assert sum(tfr.estimate(total + 1, device=device).results.values()) == 2 * x.nbytes


def test_all_tensors_of_a_call_that_gives_several_are_counted():
    x = leaf("cpu", (300, 300))
    found = tfr.estimate(*tfr.linalg.svd(x))
    results = 3 * x.nbytes + 300 * 4
    # LAPACK works on copies in double precision, and in memory of its own
    assert results < sum(found.peak.values()) <= results + 18 * x.nbytes


def test_what_is_computed_takes_nothing_more():
    x = leaf("cpu")
    found = tfr.estimate(x)
    assert (found.peak, found.results, found.kernels) == ({x.device: x.nbytes}, {}, 0)
    assert repr(tfr.estimate()).startswith("peak      0 B")


def test_text_has_units():
    found = tfr.estimate(leaf("cpu", (1024, 1024)) * 2)
    assert repr(found).splitlines() == [
        "peak      8 MiB on cpu (inputs 4 MiB, results 4 MiB)",
        "reads     4 MiB",
        "writes    4 MiB",
        "moves     0 B between devices",
        "computes  1.05 Mflop",
        "runs      1 kernel, 0 library calls, 0 transfers",
    ]


def test_a_name_that_no_backend_has_is_refused():
    x = leaf("cpu")
    with pytest.raises(tfr.errors.DeviceError, match="no device 'cudda'"):
        tfr.estimate(x * 2, device="cudda")
    with pytest.raises(tfr.errors.DTypeError, match="takes tensors, got list"):
        tfr.estimate([x])
