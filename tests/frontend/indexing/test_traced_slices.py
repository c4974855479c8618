"""Slices whose bounds jit does not know: recorded once, NumPy's elements, an error where NumPy's slice is shorter."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, IndexingError, TracingError
from tests.backends.counts import counted
from tests.backends.devices import FOUND, on_every_device

X = np.arange(2 * 3 * 16, dtype=np.float32).reshape(2, 3, 16)

on_all = pytest.mark.parametrize("device", ["cpu", "numpy", *FOUND])
# what a bound may be: a number among the arguments, or a tensor of any integers
BOUNDS = {
    "number": lambda t, _: t,
    "tensor": lambda t, device: tfr.asarray(t, device=device),
    "int32 of the host": lambda t, _: tfr.asarray(np.int32(t)),
}
of_every_bound = pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)


def _set(x, t, value):
    x[:, :, t : t + 2] = value
    return x


def _set_two(x, t, value):
    x[t + 1 : t + 2, 1:, t : t + 5 : 2] = value
    return x


READS = {
    "pair": lambda x, t: x[:, :, t : t + 2] * 1,
    "before": lambda x, t: x[:, 1, t - 1 : t] + 0,
    "steps": lambda x, t: x[0, ..., t : t + 5 : 2] * 1,
    "empty": lambda x, t: x[..., t:t] * 1,
    "with indices": lambda x, t: x[[1, 0, 1], :, t : t + 2] * 1,
}


@on_all
@pytest.mark.parametrize("name", READS)
def test_elements_are_those_of_numpy(name, device):
    read, x = tfr.jit(READS[name]), tfr.asarray(X, device=device)
    for t in (1, 9, -6):
        np.testing.assert_array_equal(read(x, t).numpy(), READS[name](X, t))
    assert read.cache_info().recorded == 1


@on_all
@of_every_bound
def test_bounds_are_numbers_and_tensors(bound, device):
    read, x = tfr.jit(READS["pair"]), tfr.asarray(X, device=device)
    for t in (0, 3, 14, -6):
        np.testing.assert_array_equal(read(x, bound(t, device)).numpy(), X[:, :, t : t + 2])
    for t in (15, 16, 100, -1, -2, -17):  # what NumPy cuts short
        with pytest.raises(IndexingError):
            read(x, bound(t, device)).numpy()
    assert read.cache_info().recorded == 1


def test_a_bound_may_be_an_argument_beside_a_tensor_that_is_computed():
    known, made = tfr.asarray(3), tfr.asarray(1) + 2
    made.compute()
    for other in (known, made):
        read = tfr.jit(lambda x, t, other=other: x[..., t + other : t + other + 2] * 1)
        for t in (0, tfr.asarray(4)):
            start = 3 + int(t)
            np.testing.assert_array_equal(
                read(tfr.asarray(X), t).numpy(), X[..., start : start + 2]
            )


def test_what_is_made_of_an_argument_is_not_known():
    other = tfr.asarray(3)
    for read in (float, lambda t: t.item(), np.asarray):
        with pytest.raises(TracingError, match="the argument t are not known"):
            tfr.jit(lambda x, t, read=read: x * read(other + t))(tfr.asarray(X), 2)


@on_all
@of_every_bound
def test_elements_are_set(bound, device):
    write = tfr.jit(_set)
    for t in (0, 5, 14, -3):
        found = write(tfr.asarray(X, device=device), bound(t, device), 7.5)
        np.testing.assert_array_equal(found.numpy(), _set(X.copy(), t, 7.5))
    assert write.cache_info().recorded == 1


@on_all
def test_slices_of_several_axes_are_set(device):
    write = tfr.jit(_set_two)
    values = -np.ones((1, 2, 3), np.float32)
    found = write(tfr.asarray(X, device=device), 0, tfr.asarray(values, device=device))
    np.testing.assert_array_equal(found.numpy(), _set_two(X.copy(), 0, values))


def test_an_error_of_a_number_leaves_the_argument_as_it_was():
    write = tfr.jit(_set, updates="x", donate=True)
    x = tfr.asarray(X.copy())
    write(x, 3, 1.0)
    before = x.numpy().copy()
    with pytest.raises(IndexingError, match="slice 15:17 of axis 2 with size 16 has 1 position"):
        write(x, 15, 2.0)
    np.testing.assert_array_equal(x.numpy(), before)


@on_all
def test_gradients(device):
    x = tfr.asarray(X, device=device)
    slope = tfr.jit(lambda x, t: tfr.grad(lambda x: tfr.sum(x[:, :, t : t + 3] ** 2))(x))
    expected = np.zeros_like(X)
    expected[:, :, 4:7] = 2 * X[:, :, 4:7]
    np.testing.assert_allclose(slope(x, 4).numpy(), expected)

    def replaced(x, v, t):
        x = x * 1
        x[:, :, t : t + 3] = v
        return tfr.sum(x * x)

    both = tfr.jit(tfr.grad(replaced, argnums=(0, 1)))
    of_x, of_v = both(x, x[:, :, :3], 4)
    expected = 2 * X
    expected[:, :, 4:7] = 0
    np.testing.assert_allclose(of_x.numpy(), expected)
    np.testing.assert_allclose(of_v.numpy(), 2 * X[:, :, :3])


@on_all
def test_vmap_takes_a_start_for_each_row(device):
    rows = tfr.vmap(lambda row, t: row[t : t + 3])
    starts = [0, 5, 13]
    expected = np.stack([X[0, i, t : t + 3] for i, t in enumerate(starts)])
    x = tfr.asarray(X[0], device=device)
    for function in (rows, tfr.jit(rows)):
        found = function(x, tfr.asarray(starts, device=device))
        np.testing.assert_array_equal(found.numpy(), expected)


@on_every_device
def test_a_donated_tensor_is_set_where_it_is(device):
    write = tfr.jit(_set, updates="x", donate=True)
    x = tfr.asarray(np.zeros((8, 64, 64), np.float32), device=device)
    tfr.compute(x)
    write(x, 1, 1.0)
    with counted(device) as counts:
        write(x, 7, 2.0)
    assert counts["fresh"] < 8 * 64 * 64 * 4 // 16  # positions and values
    assert [float(x[0, 0, t]) for t in (0, 1, 2, 7, 8)] == [0, 1, 1, 2, 2]


OF_UNKNOWN_LENGTH = {
    "no stop": lambda x, t: x[t:],
    "no start": lambda x, t: x[:t],
    "as long as it starts": lambda x, t: x[t : 2 * t],
    "twice": lambda x, t: x[t : t + t],
    "a known stop": lambda x, t: x[t:5],
    "a stop of a tensor": lambda x, t: x[t : tfr.sum(x).astype("int64")],
}


@pytest.mark.parametrize("read", OF_UNKNOWN_LENGTH.values(), ids=OF_UNKNOWN_LENGTH)
def test_a_length_that_is_not_known_is_an_error(read):
    with pytest.raises(TracingError, match=r"length of the slice .* is not known") as caught:
        tfr.jit(read)(tfr.arange(10), 1)
    assert "x[t : t + n]" in str(caught.value)


def test_bounds_are_integers_and_steps_not_zero():
    x = tfr.arange(10)
    with pytest.raises(IndexingError, match="integers and None"):
        tfr.jit(lambda x, t: x[t : t + 1])(x, 1.0)
    with pytest.raises(IndexingError, match="integers and None"):
        tfr.jit(lambda x, t: x[t : t + 1])(x, tfr.asarray(1.0))
    with pytest.raises(ArgumentError, match="zero"):
        tfr.jit(lambda x, t: x[t : t + 1 : 0])(x, 1)
