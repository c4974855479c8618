"""Views by strides: NumPy's elements, and an error where NumPy reads beyond an array."""

import itertools

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, IndexingError, ShapeError

as_strided = tfr.lib.stride_tricks.as_strided
DEVICES = [name for name in ("cpu", "numpy", "opencl", "wgpu") if name in tfr.backends.available()]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64"])
def test_elements_are_numpys(device, dtype):
    values = np.arange(24).reshape(4, 6).astype(dtype)
    tensor = tfr.asarray(values).to_backend(device)
    size = values.itemsize
    shapes = [(), (3,), (0, 5), (2, 3), (4, 3, 4), (1, 1)]
    checked = 0
    for shape in shapes:
        for steps in itertools.product((0, 1, 2, 6), repeat=len(shape)):
            if sum((max(n, 1) - 1) * step for n, step in zip(shape, steps, strict=True)) >= 24:
                continue
            strides = tuple(step * size for step in steps)
            expected = np.lib.stride_tricks.as_strided(values, shape, strides)
            np.testing.assert_array_equal(as_strided(tensor, shape, strides).numpy(), expected)
            checked += 1
    assert checked > 80


def test_shape_and_strides_are_those_of_the_tensor_unless_given():
    x = tfr.reshape(tfr.arange(6), (2, 3))
    assert as_strided(x).tolist() == x.tolist()
    assert as_strided(x, (3,), (0,)).tolist() == [0, 0, 0]
    assert as_strided(x, strides=(8, 16)).tolist() == [[0, 2, 4], [1, 3, 5]]
    assert as_strided([1, 2, 3], 2, 8).tolist() == [1, 2]


@pytest.mark.parametrize(("shape", "strides"), [((7,), (8,)), ((2,), (-8,)), ((4, 2), (16, 8))])
def test_elements_beyond_the_tensor_are_refused(shape, strides):
    with pytest.raises(IndexingError, match="of a tensor with 6") as caught:
        as_strided(tfr.arange(6), shape, strides)
    assert caught.value.suggestions


def test_strides_are_whole_elements_and_one_for_each_axis():
    x = tfr.arange(6)
    with pytest.raises(ArgumentError, match="no multiples of the 8 bytes"):
        as_strided(x, (2,), (4,))
    with pytest.raises(ArgumentError, match="2 strides"):
        as_strided(x, (2,), (8, 8))
    with pytest.raises(DTypeError):
        as_strided(x, (2,), (1.5,))


def test_strides_of_an_array_in_another_order_are_refused():
    turned = np.arange(6.0).reshape(2, 3).T
    with pytest.raises(ArgumentError, match="C order"):
        as_strided(turned, (2, 2), turned.strides)
    assert as_strided(turned).tolist() == turned.tolist()
    with pytest.raises(ShapeError):
        as_strided(tfr.arange(6), (-1,), (0,))


def test_it_is_recorded_in_one_kernel_and_has_gradients():
    x = tfr.asarray(np.linspace(0, 1, 5000, dtype=np.float32))

    def windows_squared(x):
        return tfr.sum(as_strided(x, (4998, 3), (4, 4)) ** 2)

    plan = tfr.sum(as_strided(x, (4998, 3), (4, 4)), axis=1).explain()
    assert "1 kernel, 0 library calls" in str(plan)
    gradient = tfr.grad(windows_squared)(x).numpy()
    np.testing.assert_allclose(gradient[2:-2], 6 * x.numpy()[2:-2], rtol=1e-6)
