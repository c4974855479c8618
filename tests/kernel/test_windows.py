"""Kernels of convolutions, interpreted: the definition's results, in the bounds of operands, whatever the windows."""

import numpy as np
import pytest

from tensorframe.backends.device.convolution import WindowedProduct
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms import blocking
from tensorframe.ops.convolution import CONVOLUTION, Geometry
from tensorframe.ops.elementwise import ADD, MAXIMUM
from tests.kernel.test_product import run, some
from tests.nn.direct_convolution import direct

# input, weights, stride, before, after, input dilation, dilation, groups
CASES = {
    "plain": ((2, 3, 5, 4), (4, 3, 2, 3), (1, 1), (0, 0), (0, 0), (1, 1), (1, 1), 1),
    "padded": ((1, 2, 4, 5), (3, 2, 3, 3), (1, 2), (1, 2), (2, 1), (1, 1), (1, 1), 1),
    "cut off": ((1, 2, 6, 7), (3, 2, 2, 2), (1, 1), (-1, 1), (-2, -1), (1, 1), (1, 1), 1),
    "dilated": ((1, 2, 7), (3, 2, 2), (2,), (2,), (0,), (1,), (3,), 1),
    "in groups": ((2, 4, 5), (6, 2, 2), (1,), (1,), (1,), (1,), (1,), 2),
    "transposed": ((2, 2, 3, 4), (3, 2, 3, 2), (1, 1), (2, 1), (2, 2), (2, 3), (1, 2), 1),
    "both": ((1, 2, 3), (2, 2, 3), (2,), (1,), (3,), (3,), (2,), 1),
    "in a volume": (
        (1, 1, 3, 3, 3),
        (2, 1, 2, 2, 2),
        (1, 2, 1),
        (0, 1, 0),
        (1, 0, 0),
        (1, 1, 1),
        (1, 1, 1),
        1,
    ),
}


def region(x, weight, *attrs):
    shape = (len(x), len(weight), *Geometry(*attrs[:-1]).sizes(x.shape[2:], weight.shape[2:]))
    inputs = tuple([(one.shape, one.dtype) for one in (x, weight)])
    return Region(inputs, (RegionOp(CONVOLUTION, attrs, (0, 1), shape, x.dtype),), (2,))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_window(name, monkeypatch):
    shape, weights, *attrs = CASES[name]
    x, weight = some(*shape), some(*weights, seed=1)
    for enough in (1, 1 << 20):  # large tiles and small ones
        monkeypatch.setattr(blocking, "_ENOUGH_TILES", enough)
        found, kernels = run(WindowedProduct(region(x, weight, *attrs)), [x, weight])
        assert len(kernels) == 1
        np.testing.assert_array_equal(found, direct(x, weight, *attrs))


def test_operands_lie_anywhere():
    _, _, *attrs = CASES["padded"]
    x = some(5, 4, 2, 2)[::-2].transpose(3, 2, 1, 0)[1:]
    x, weight = np.repeat(x, 2, axis=3), some(3, 3, 2, 3, seed=1).transpose(3, 2, 0, 1)[:, :, ::-1]
    found, _ = run(WindowedProduct(region(x, weight, *attrs)), [x, weight])
    np.testing.assert_array_equal(found, direct(x, weight, *attrs))


def test_what_follows_is_in_the_same_kernel():
    shape, weights, *attrs = CASES["in groups"]
    x, weight, bias = some(*shape), some(*weights, seed=1), some(6, 1, seed=2)
    alone = region(x, weight, *attrs)
    inputs = (*alone.inputs, (bias.shape, bias.dtype))
    whole = alone.ops[0].shape
    ops = (
        alone.ops[0],
        RegionOp(ADD, (), (3, 2), whole, x.dtype),
        RegionOp(MAXIMUM, (), (4, 2), whole, x.dtype),
    )
    found, kernels = run(WindowedProduct(Region(inputs, ops, (5,))), [x, weight, bias])
    assert len(kernels) == 1
    np.testing.assert_array_equal(found, np.maximum(direct(x, weight, *attrs) + bias, bias))


@pytest.mark.parametrize("dtype", ["int8", "complex64"])
def test_other_numbers(dtype):
    shape, weights, *attrs = CASES["padded"]
    x, weight = some(*shape, dtype=dtype), some(*weights, dtype=dtype, seed=1)
    found, _ = run(WindowedProduct(region(x, weight, *attrs)), [x, weight])
    if dtype == "int8":
        wanted = direct(x, weight, *attrs).astype(dtype)
    else:
        parts = [
            direct(one, weight.real, *attrs) + 1j * direct(one, weight.imag, *attrs)
            for one in (x.real, x.imag)
        ]
        wanted = parts[0] + 1j * parts[1]
    np.testing.assert_array_equal(found, wanted)
