"""Pooling and windows: kernels, what is refused, and the view that windows are."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, IndexingError, ShapeError
from tensorframe.frontend.dispatch import call
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tensorframe.ops.movement import WINDOWS
from tests.backends.devices import FOUND

RANDOM = np.random.default_rng(4)
IMAGES = RANDOM.standard_normal((2, 3, 11, 12)).astype(np.float32)
WINDOW = [(2, 2, 1), (3, 1, 1), (3, 1, 2), (2, 3, 3), (1, 1, 1), (9, 1, 1)]


def windows(x, axis, size, step, dilation):
    return call(WINDOWS, x, attrs=(axis, size, step, dilation))


def wanted(x, axis, size, step, dilation):
    seen = np.lib.stride_tricks.sliding_window_view(x, (size - 1) * dilation + 1, axis)
    taken = (slice(None),) * axis + (slice(None, None, step),)
    return seen[taken][..., ::dilation]


@pytest.mark.parametrize("device", ["numpy", "llvm", *FOUND])
@pytest.mark.parametrize("window", WINDOW)
def test_windows_are_a_view_that_kernels_and_memory_both_have(window, device):
    x = tfr.asarray(IMAGES, device=device).compute()
    for axis in (1, 2, 3):
        if IMAGES.shape[axis] < (window[0] - 1) * window[2] + 1:
            continue
        expected = wanted(IMAGES, axis, *window)
        np.testing.assert_array_equal(windows(x, axis, *window).numpy(), expected)
        fused = windows(x * 2, axis, *window) + 1
        np.testing.assert_array_equal(fused.numpy(), expected * 2 + 1)


def test_windows_of_every_kind_of_dtype():
    for dtype in ("bool", "int8", "uint64", "float16", "complex64"):
        x = RANDOM.integers(0, 9, (3, 7)).astype(dtype)
        found = windows(tfr.asarray(x), 1, 3, 2, 1)
        np.testing.assert_array_equal(found.numpy(), wanted(x, 1, 3, 2, 1))
        added = (windows(tfr.asarray(x), 1, 3, 2, 1) == 1).astype("int64")
        np.testing.assert_array_equal(added.numpy(), wanted(x, 1, 3, 2, 1) == 1)


def test_windows_of_windows_are_fused_with_what_is_around_them():
    x = tfr.asarray(RANDOM.standard_normal((50, 60)).astype(np.float32)).compute()
    blocks = windows(windows(x + 1, 0, 3, 1, 1), 1, 3, 1, 1)
    plan = tfr.explain((blocks * 2).sum(axis=(2, 3)))
    assert plan.kernels == 1
    costly = tfr.explain(windows(tfr.exp(x), 1, 9, 1, 1).sum(axis=-1))
    assert costly.kernels == 2  # rather than each exponential nine times


def test_windows_map_over_examples_and_have_gradients():
    x = tfr.asarray(IMAGES)
    mapped = tfr.vmap(lambda x: windows(x, 1, 3, 2, 1))(x)
    np.testing.assert_array_equal(mapped.numpy(), wanted(IMAGES, 2, 3, 2, 1))
    for window in WINDOW[:5]:
        weight = RANDOM.standard_normal(wanted(IMAGES[0, 0], 0, *window).shape)
        weight = tfr.asarray(weight)
        tfr.check_gradient(
            lambda x: tfr.sum(windows(x, 0, *window) * weight),  # noqa: B023
            tfr.asarray(IMAGES[0, 0]),
            devices=["cpu", "numpy"],
        )
    half = tfr.asarray(IMAGES[0, 0], dtype="float16")
    gradient = tfr.grad(lambda x: windows(x, 0, 3, 1, 1).sum())(half)
    assert (gradient.dtype, gradient.numpy().max()) == (tfr.float16, 3.0)


def test_a_slice_of_windows_is_that_slice():
    x = tfr.asarray(np.arange(20.0))
    found = windows(x * 1.5, 0, 4, 3, 1)[1:4, ::-2]
    np.testing.assert_array_equal(
        found.numpy(), 1.5 * wanted(np.arange(20.0), 0, 4, 3, 1)[1:4, ::-2]
    )


POOLS = {
    "max_pool2d": lambda x: F.max_pool2d(F.relu(x), 2),
    "avg_pool2d": lambda x: F.avg_pool2d(F.relu(x), 2),
    "max_pool2d of windows that overlap": lambda x: F.max_pool2d(x, 3, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 1),
}


@pytest.mark.parametrize("name", POOLS)
def test_pooling_and_its_gradient_are_few_kernels(name):
    x = tfr.asarray(RANDOM.standard_normal((8, 16, 28, 28)).astype(np.float32)).compute()
    assert tfr.explain(POOLS[name](x)).kernels == 1
    value, gradient = tfr.value_and_grad(lambda x: POOLS[name](x).sum())(x)
    assert tfr.explain(value, gradient).kernels <= 4


@pytest.mark.parametrize(("size", "step"), [(5, 1), (3, 2)])
def test_what_flows_back_from_means_is_never_an_array_of_windows(size, step):
    x = tfr.asarray(RANDOM.standard_normal((8, 16, 28, 28)).astype(np.float32)).compute()
    gradient = tfr.grad(lambda x: (F.avg_pool2d(x, size, step, size // 2) ** 2).sum())(x)
    plan = tfr.explain(gradient)
    assert plan.kernels <= 5
    assert plan.bytes_written <= 5 * x.nbytes


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", ["numpy", "llvm", *FOUND])
@pytest.mark.parametrize(("size", "step", "dilation"), [(2, 2, 1), (3, 2, 1), (2, 1, 2), (9, 1, 1)])
def test_what_flows_to_the_largest_is_added_up(size, step, dilation, device):
    def loss(x):
        return tfr.sum(F.max_pool2d(x, size, step, 1, dilation) ** 2)

    wanted = np.zeros(IMAGES.shape)
    result, places = F.max_pool2d(IMAGES, size, step, 1, dilation, return_indices=True)
    flat = wanted.reshape(2, 3, -1)
    for place in np.ndindex(result.shape):
        flat[(*place[:2], places.numpy()[place])] += 2 * result.numpy()[place]
    found = tfr.grad(loss)(tfr.asarray(IMAGES, device=device))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_pooling_of_integers():
    x = tfr.asarray(np.arange(16).reshape(1, 4, 4) - 20)
    found, positions = F.max_pool2d(x, 2, padding=1, return_indices=True)
    assert found.tolist() == [[[-20, -18, -17], [-12, -10, -9], [-8, -6, -5]]]
    assert positions.tolist() == [[[0, 2, 3], [8, 10, 11], [12, 14, 15]]]
    assert (found.dtype, positions.dtype) == (tfr.int64, tfr.int64)


@pytest.mark.parametrize("index", [-1, 16])
def test_positions_beyond_the_image_are_refused(index):
    x, known = tfr.ones((1, 2, 2)), tfr.asarray([[[0, 1], [2, index]]])
    message = rf"max_unpool2d: indices {index} at \(0, 1, 1\) is out of range for 16 positions"
    with pytest.raises(IndexingError, match=message):
        F.max_unpool2d(x, known, 2)
    with pytest.raises(IndexingError, match="out of bounds for axis 1 with size 16"):
        F.max_unpool2d(x, known * 1, 2).compute()


@pytest.mark.parametrize("size", [2, 3])
def test_unpooling_puts_back_what_pooling_chose(size):
    windows = {"kernel_size": size, "stride": 2, "padding": size - 2}
    chosen, indices = F.max_pool2d(IMAGES, **windows, return_indices=True)
    back = F.max_unpool2d(chosen, indices, **windows, output_size=IMAGES.shape)
    places = indices.numpy().reshape(6, -1)
    wanted = np.zeros((6, 11 * 12), np.float32)
    np.put_along_axis(wanted, places, IMAGES.reshape(6, -1)[np.arange(6)[:, None], places], 1)
    np.testing.assert_array_equal(back.numpy().reshape(6, -1), wanted)


def test_nan_is_the_largest():
    x = np.zeros((1, 4), np.float32)
    x[0, 2] = np.nan
    np.testing.assert_array_equal(F.max_pool1d(x, 2).numpy(), [[0.0, np.nan]])


def test_pooling_maps_over_examples():
    x = tfr.asarray(IMAGES)
    found = tfr.vmap(lambda x: F.max_pool2d(x, 3, 2, 1))(x).numpy()
    np.testing.assert_array_equal(found, F.max_pool2d(x, 3, 2, 1).numpy())
    gradients = tfr.vmap(tfr.grad(lambda x: F.max_pool2d(x, 3, 2, 1).sum()))(x).numpy()
    whole = tfr.grad(lambda x: F.max_pool2d(x, 3, 2, 1).sum())(x).numpy()
    np.testing.assert_allclose(gradients, whole)


def test_second_derivatives():
    x = tfr.asarray(IMAGES[:1, :1, :5, :5], dtype="float64")

    def steepness(pool):
        return lambda x: tfr.sum(tfr.grad(lambda x: tfr.sum(pool(x) ** 3))(x) ** 2)

    tfr.check_gradient(steepness(lambda x: F.max_pool2d(x, 3, 2)), x)
    tfr.check_gradient(steepness(lambda x: F.avg_pool2d(x, 3, 1, 1)), x)


WRONG = {
    "a window of 5 elements is larger than an axis of 4": lambda: F.max_pool1d(tfr.ones((2, 4)), 5),
    "a window of 5 elements is larger than an axis of 4 with padding=0": lambda: F.unfold(
        tfr.ones((1, 4, 4)), 3, dilation=2
    ),
    "input has axes (examples, channels, height, width)": lambda: F.avg_pool2d(tfr.ones((4, 4)), 2),
    "has no elements to pool": lambda: F.adaptive_avg_pool1d(tfr.ones((2, 0)), 1),
    "indices has shape (1, 2, 1), but an input of shape (1, 2, 2) needs (1, 2, 2)": (
        lambda: F.max_unpool2d(tfr.ones((1, 2, 2)), tfr.zeros((1, 2, 1), dtype="int64"), 2)
    ),
    "max_unpool1d: output_size (6,) is a stride (2,) or more from (4,)": lambda: F.max_unpool1d(
        tfr.ones((1, 2)), tfr.asarray([[0, 3]]), 2, output_size=(1, 6)
    ),
    "have 4 windows of 4 elements": lambda: F.fold(tfr.ones((1, 4, 9)), (3, 3), 2),
}


@pytest.mark.parametrize("message", WRONG)
def test_windows_that_do_not_fit_are_named(message):
    with pytest.raises(ShapeError) as caught:
        WRONG[message]()
    assert message in str(caught.value)


def test_other_wrong_arguments():
    x = tfr.ones((1, 4, 4))
    with pytest.raises(ArgumentError, match="padding=2 is more than half of a window of 3"):
        F.max_pool2d(x, 3, padding=2)
    with pytest.raises(
        ArgumentError, match="kernel_size has one number, or one for each of 2 axes"
    ):
        F.max_pool2d(x, (1, 2, 3))
    with pytest.raises(ArgumentError, match="stride must be positive, got 0"):
        F.max_pool2d(x, 2, stride=0)
    with pytest.raises(DTypeError, match="kernel_size must be an integer"):
        F.max_pool2d(x, "a")
    with pytest.raises(DTypeError, match="avg_pool2d: input has a real floating dtype"):
        F.avg_pool2d(tfr.asarray([[[1]]]), 1)
    with pytest.raises(DTypeError, match="max_pool2d: takes real dtypes, got complex64"):
        F.max_pool2d(x * tfr.asarray(1j), 2)


@pytest.mark.parametrize("pool", [F.max_pool1d, F.avg_pool1d], ids=["largest", "means"])
def test_one_window_may_be_larger_than_all_there_is_if_it_may_reach_beyond_the_end(pool):
    x = tfr.asarray([[1.0, 3.0]])
    expected = 3.0 if pool is F.max_pool1d else 2.0
    for size, stride in [(3, 2), (9, 9)]:
        assert pool(x, size, stride, ceil_mode=True).tolist() == [[expected]]
        with pytest.raises(ShapeError, match="larger than an axis of 2"):
            pool(x, size, stride)
    with pytest.raises(ShapeError, match="larger than an axis of 2"):
        pool(x, 9, 2, ceil_mode=True)
