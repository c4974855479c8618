"""Functions of `tfr.nn.functional`: values on every device, and gradients, beside references in NumPy."""

import zlib

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import on_every_device
from tests.nn.cases import activations, losses, normalization, pooling, resampling

CASES = {
    **normalization.CASES,
    **losses.CASES,
    **activations.CASES,
    **pooling.CASES,
    **resampling.CASES,
}
ALL = pytest.mark.parametrize("name", CASES)


def parts(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def of_dtype(operands, dtype):
    """The operands, those of float64 in another dtype."""
    return [
        operand.astype(dtype) if operand.dtype == np.float64 else operand for operand in operands
    ]


def check_values(name, device, dtype, rtol):
    case = CASES[name]
    operands = of_dtype(case.operands, dtype)
    given = [
        tfr.asarray(one, device=device)
        if one.dtype == dtype
        else tfr.asarray(one.astype(np.int32), device=device)
        if one.dtype.kind == "i"
        else tfr.asarray(one, device=device)
        for one in operands
    ]
    found = parts(case.call(F, *given))
    wide = [one.astype(np.float64) if one.dtype == dtype else one for one in operands]
    with np.errstate(all="ignore"):
        wanted = parts(case.reference(*wide))
    for own, one in zip(found, wanted, strict=True):
        one = np.asarray(one)
        assert own.shape == one.shape
        if one.dtype.kind == "f":
            assert own.dtype == dtype
        np.testing.assert_allclose(own.numpy().astype(one.dtype), one, rtol=rtol, atol=rtol)


@pytest.mark.sweep(2)
@ALL
@pytest.mark.parametrize("device", ["numpy", "llvm"])
def test_values(name, device):
    check_values(name, device, np.float64, 1e-9)


@ALL
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_values_in_other_dtypes(name, dtype):
    check_values(name, "cpu", np.dtype(dtype), 2e-5 if dtype == "float32" else 2e-2)


@pytest.mark.sweep(8)
@ALL
@on_every_device
def test_values_on_devices(name, device):
    check_values(name, device, np.dtype("float32"), 5e-5)


def differentiable(case):
    return [place for place, one in enumerate(case.operands) if one.dtype == np.float64]


def loss_of(case, operands):
    """The floating results of a case, each element with a weight of its own."""
    random = np.random.default_rng(3)
    total = 0.0
    for result in parts(case.call(F, *operands)):
        if result.dtype.kind == "f":
            total = total + tfr.sum(result * tfr.asarray(random.uniform(0.5, 1.5, result.shape)))
    return total


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case.slopes and differentiable(case)]
)
def test_gradients(name):
    """In a few directions, by central differences."""
    case = CASES[name]
    places = differentiable(case)
    operands = [tfr.asarray(one) for one in case.operands]
    gradients = tfr.grad(lambda *given: loss_of(case, given), places)(*operands)
    random = np.random.default_rng(zlib.crc32(name.encode()))
    for _ in range(2):
        along = {place: random.uniform(-1, 1, case.operands[place].shape) for place in places}
        ends = []
        for step in (1e-6, -1e-6):
            moved = list(operands)
            for place, direction in along.items():
                moved[place] = tfr.asarray(case.operands[place] + step * direction)
            ends.append(loss_of(case, moved).item())
        slope = sum(
            (gradient.numpy() * along[place]).sum()
            for place, gradient in zip(places, gradients, strict=True)
        )
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)
