"""`tfr.backends.supports` says what really happens, for every operation, dtype and device."""

import re
import warnings
from pathlib import Path

import pytest

import tensorframe as tfr
from tensorframe.backends import supports
from tensorframe.backends.registry import backend_of, info_of
from tensorframe.errors import ArgumentError, DeviceError, DTypeError, FallbackWarning
from tensorframe.testing.boxed import BoxedBackend
from tensorframe.testing.conformance.subject import subjects
from tensorframe.testing.conformance.support import operations
from tests.backends.devices import on_every_device
from tests.support import DTYPES, answers, disagreements

PAGE = Path(__file__).parents[2] / "docs" / "support.md"
HERE = [name for name in ("cpu", "opencl", "wgpu") if name in tfr.backends.available()]


class Likeness(BoxedBackend):
    """A device that has what another one has, and computes by NumPy: nothing has to be compiled."""

    def __init__(self, device):
        self.original = tfr.Device(device)
        super().__init__("likeness", dtypes=info_of(self.original).capabilities.dtypes)

    def supports(self, op, operands, result, _device):
        return backend_of(self.original).supports(op, operands, result, self.original)


@pytest.mark.parametrize("device", HERE)
def test_what_is_said_is_what_happens(device):
    """`python -m tests.support --check` does so for all dtypes of each operation, on the devices themselves."""
    (subject,) = subjects(Likeness(device), 16, 0)
    held = subject.dtypes()
    # one of them for each, all in turns
    pairs = [(op, held[index % len(held)]) for index, op in enumerate(operations())]
    assert not disagreements(subject, pairs)


@on_every_device
def test_a_few_on_the_device_itself(device):
    (subject,) = subjects(backend_of(tfr.Device(device)), 16, 0)[:1]
    float32, complex64 = tfr.dtypes.float32, tfr.dtypes.complex64
    pairs = [("topk", float32), ("svd", float32), ("sort", float32), ("concat", complex64)]
    assert not disagreements(subject, pairs)


def test_the_page_says_what_is_so():
    """Of two dtypes, which tell all that fall back."""
    text = PAGE.read_text(encoding="utf-8")
    for device in HERE:
        section = text.partition(f"\n## {device}\n")[2].partition("\n## ")[0]
        whole, _, table = section.partition("\n| falls back")
        known = answers(device, (tfr.dtypes.float32, tfr.dtypes.complex64))
        ours = {op for op, told in known.items() if all(told.values())}
        # what is new may not be there yet
        wrong = (set(re.findall("`(.*?)`", whole)) & set(known)) - ours
        wrong |= set(re.findall("`(.*?)`", table)) & ours
        assert not wrong, f"python -m tests.support --markdown docs/support.md: {wrong}"


@on_every_device
def test_a_fallback_says_why(device):
    answer = supports("svd", device, "float32")
    assert not answer
    assert answer.falls_back
    assert answer.runs_on == "cpu"
    assert answer.reason == f"{device} has no svd for it"
    assert str(answer) == f"falls back to cpu, because {device} has no svd for it"


def test_what_is_not_defined_falls_back_nowhere():
    answer = supports("bitwise_and", "cpu", "float32")
    assert not answer
    assert not answer.falls_back
    assert "takes" in answer.reason
    boxed = BoxedBackend("narrow", dtypes=frozenset({tfr.dtypes.float32}))
    tfr.backends.register(boxed)
    try:
        assert supports("add", "narrow", "float32")
        assert str(supports("add", "narrow", "int8")) == "False: narrow holds no int8"
    finally:
        tfr.backends.unregister("narrow")


def test_functions_are_answered_too():
    assert supports(tfr.exp, "cpu", "float32").op == "exp"
    assert supports(tfr.std, "numpy", "int16")
    assert supports(lambda x: x @ x.T + 1, "cpu", "float64")


def test_nothing_is_said_and_nothing_counts_as_said():
    boxed = BoxedBackend("refusing", refuses=lambda op, _: op.name == "tan")
    tfr.backends.register(boxed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with tfr.transfer_policy("error"):
                assert supports("tan", "refusing", "float32").falls_back
        assert not boxed.counts
        x = tfr.ones((300, 300), device="refusing")
        with pytest.warns(FallbackWarning, match="tan"):
            tfr.tan(x).numpy()
    finally:
        tfr.backends.unregister("refusing")


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        (("expp", "cpu", "float32"), ArgumentError, "there is no operation 'expp'"),
        ((3, "cpu", "float32"), ArgumentError, "there is no operation 3"),
        (("exp", "cqu", "float32"), DeviceError, "there is no device 'cqu'"),
        (("exp", None, "float32"), DeviceError, "supports"),
        (("exp", "cpu", "float33"), DTypeError, "'float33' is not a dtype"),
    ],
)
def test_what_cannot_be_asked_is_told(asked, error, said):
    with pytest.raises(error, match=re.escape(said)):
        supports(*asked)


def test_every_dtype_is_asked_about():
    assert set(DTYPES) == tfr.dtypes.ANY
