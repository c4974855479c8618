"""A backend that keeps its promises passes conformance; one that breaks any is caught."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy.engine import NumpyBackend
from tensorframe.backends.storage import Storage
from tensorframe.graph.op import rows
from tensorframe.testing.conformance import checks, conformance, operations
from tensorframe.testing.conformance.calls import CALLS, WITHOUT
from tests.testing.sample_backend import Handle, SampleBackend

SEEDS = 40


class OneDevice(SampleBackend):
    """The sample with one device: half the checks."""

    def probe(self):
        return super().probe()[:1]


@pytest.fixture(scope="module")
def report():
    """What conformance says of the sample."""
    return conformance(OneDevice(), seeds=SEEDS)


def test_the_sample_conforms(report):
    assert report.conforms, report
    assert {name.split(": ")[0] for name in report.passed} == {"sample"}


@pytest.mark.sweep
def test_it_conforms_on_both_its_devices():
    report = conformance(SampleBackend(), seeds=SEEDS)
    assert report.conforms, report
    devices = {name.split(": ")[0] for name in report.passed}
    assert devices == {"sample", "sample:1"}


def test_each_device_is_checked(report):
    names = [check.name for check in checks(SampleBackend(), seeds=SEEDS)]
    assert len(names) == 2 * len(report.passed)
    assert {name.split(": ")[0] for name in names} == {"sample", "sample:1"}


@pytest.mark.parametrize(
    "check", [check for check in checks(OneDevice(), seeds=0) if " float32" in check.name], ids=str
)
def test_checks_are_tests_of_their_own(check):
    check()


@pytest.mark.sweep
def test_numpy_conforms():
    report = conformance(NumpyBackend(), seeds=0)
    assert report.conforms, report
    assert not report.elsewhere


def test_the_report_tells_what_runs_elsewhere(report):
    assert "sort" in report.elsewhere
    assert "float32" in report.elsewhere["cholesky"]
    assert not {"add", "sum", "slice", "matmul", "gather"} & set(report.elsewhere)
    assert repr(report).startswith(f"{len(report.passed)} checks passed, 0 failed\nleft to the cpu")


def test_a_backend_is_registered_only_while_it_is_checked():
    checks(OneDevice(), seeds=0)[0]()
    with pytest.raises(tfr.errors.DeviceError):
        tfr.zeros(1, device="sample")


def test_every_row_has_a_call_of_some_dtype():
    def is_called(op):
        return any(operations.recorders(op, dtype) for dtype in sorted(op.accepts, key=str))

    missing = [op.name for op in rows() if op.name not in WITHOUT and not is_called(op)]
    assert not missing


def test_the_calls_are_of_rows():
    assert set(CALLS) | WITHOUT <= {op.name for op in rows()}


def failures(backend, *words):
    """What fails of the checks with one of these words in their names."""
    found = {}
    for check in checks(backend, seeds=0):
        if any(word in check.name for word in words):
            try:
                check()
            except Exception as error:
                found[check.name] = str(error)
    return found


def test_a_wrong_result_is_caught():
    class Wrong(OneDevice):
        def computed(self, region):
            right = super().computed(region)
            wrong = any(op.op.name == "tanh" for op in region.ops)
            return lambda arrays: [one - 1e-3 if wrong else one for one in right(arrays)]

    found = failures(Wrong(), "ops: sin", "ops: t", "ops: logsigmoid")
    assert {name for name in found if " of float" in name} == {
        f"sample: ops: {name} of {dtype}"
        for name in ("tanh", "tanhshrink")  # which is made of it
        for dtype in ("float32", "float64")
    }


def test_an_upload_that_shares_memory_is_caught():
    class Sharing(OneDevice):
        def upload(self, device, array):
            flat = np.ascontiguousarray(array)
            shared = memoryview(flat.reshape(-1).view(np.uint8))
            handle = Handle(shared, array.shape, array.dtype)
            return Storage(device, handle, array.dtype, array.shape)

    found = failures(Sharing(), "storage", "views")
    assert list(found) == ["sample: storage: an upload shares no memory"]


def test_a_download_that_shares_memory_is_caught():
    class Sharing(OneDevice):
        def download(self, storage):
            handle = storage.handle
            return np.frombuffer(handle.memory, handle.dtype).reshape(handle.shape)

    assert "sample: storage: a download shares no memory" in failures(Sharing(), "storage")


def test_a_dtype_that_is_claimed_and_not_held_is_caught():
    class Narrow(OneDevice):
        def upload(self, device, array):
            if array.dtype == np.int16:
                raise TypeError("this device has no int16")
            return super().upload(device, array)

    found = failures(Narrow(), "comes back", "add of int16", "multiply of int16")
    assert "sample: storage: int16 comes back: one element" in found
    assert "this device has no int16" in found["sample: ops: add of int16"]
    assert not any("int32 comes back" in name for name in found)


def test_a_layout_that_comes_back_otherwise_is_caught():
    class Columns(OneDevice):
        def upload(self, device, array):
            handle = Handle(bytearray(array.tobytes("A")), array.shape, array.dtype)
            return self.wrap(device, handle)

    found = failures(Columns(), "storage")
    assert "sample: storage: float32 comes back: a transposed array" in found
    assert "sample: storage: float32 comes back: rows and columns" not in found


def test_a_program_that_writes_to_its_inputs_is_caught():
    class Writing(OneDevice):
        def compile(self, region, device):
            right = super().compile(region, device)

            def run(inputs, buffers):
                results = right(inputs, buffers)
                for source in inputs:
                    if isinstance(source, Handle):
                        source.memory[:] = bytes(len(source.memory))
                return results

            return run

    found = failures(Writing(), "interface")
    promise = "sample: the interface: a program gives the region's values, each time it is called"
    assert "changed an input" in found[promise]


def test_a_program_that_threads_cannot_share_is_caught():
    class Shared(OneDevice):
        def computed(self, region):
            right = super().computed(region)
            arguments = []

            def run(arrays):
                # what a program kept in itself would be: the arguments of whichever call came last
                arguments[:] = arrays
                pause.wait(0.001)
                return right(list(arguments))

            return run

    pause = threading.Event()
    assert "sample: programs: threads compute at the same time" in failures(Shared(), "threads")


@pytest.mark.parametrize(
    ("promise", "broken"),
    [
        ("memory is allocated and freed", {"free": lambda self, handle: 1 / 0}),
        (
            "too much memory is refused with MemoryError, and the device works on",
            {"allocate": lambda self, device, nbytes: object()},
        ),
        (
            "source is text, and synchronize returns",
            {"synchronize": lambda self, device: 1 / 0},
        ),
        (
            "supports answers for every row, within the device's dtypes",
            {"supports": lambda self, *_: True},
        ),
        ("it is a Backend with a name", {"name": "two words"}),
    ],
)
def test_a_method_that_breaks_its_promise_is_caught(promise, broken):
    found = failures(type("Broken", (OneDevice,), broken)(), "interface")
    assert f"sample: the interface: {promise}" in found


def test_a_probe_that_changes_its_answer_is_caught():
    class Restless(OneDevice):
        turn = 0

        def probe(self):
            type(self).turn += 1
            return SampleBackend.probe(self)[: 1 + self.turn % 2]

    assert any("told the same twice" in name for name in failures(Restless(), "interface"))


def test_capabilities_that_are_none_are_caught():
    class Odd(OneDevice):
        def probe(self):
            told = super().probe()
            capabilities = replace(told[0].capabilities, max_inputs=0)
            return [replace(told[0], capabilities=capabilities)]

    assert any("capabilities are data" in name for name in failures(Odd(), "interface"))


@pytest.mark.parametrize("answer", ["no driver", []])
def test_a_backend_without_devices_has_nothing_to_check(answer):
    class Empty(OneDevice):
        def probe(self):
            return answer

    with pytest.raises(AssertionError, match="finds no device"):
        checks(Empty())
