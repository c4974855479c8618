"""Convolutions give what their definition does, on every device, and so do their gradients."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import errors
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND
from tests.nn.direct_convolution import direct, transposed

DEVICES = ["cpu", "numpy", "llvm", *FOUND]
on_all_devices = pytest.mark.parametrize("device", DEVICES)
# of the cases, those that devices with kernels of their own have too: each takes seconds to compile there
ON_DEVICES = {
    "plain",
    "in groups",
    "everything",
    "in a volume",
    "in strides",
    "larger kernel than result",
}
HOSTS = ["cpu", "numpy", "llvm"]


def on_devices(names):
    """Cases with the devices that run them."""
    return [
        (name, device) for name in names for device in (DEVICES if name in ON_DEVICES else HOSTS)
    ]


CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return generator.integers(0, 7, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def expected(x: Any, weight: Any, stride=1, padding=0, dilation=1, groups=1) -> Any:
    """The definition's result, for one number for all axes or several."""
    rank = x.ndim - 2
    steps, zeros, apart = [np.broadcast_to(one, rank) for one in (stride, padding, dilation)]
    return direct(
        x, weight, tuple(steps), tuple(zeros), tuple(zeros), (1,) * rank, tuple(apart), groups
    )


# shapes of input and weights, and how they are convolved
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 3, 7, 6), (4, 3, 3, 2), {}),
    "padded": ((2, 3, 5, 6), (4, 3, 3, 3), {"padding": (1, 2)}),
    "in strides": ((2, 3, 9, 8), (4, 3, 3, 2), {"stride": (2, 3), "padding": 1}),
    "dilated": ((1, 2, 9, 9), (3, 2, 3, 2), {"dilation": (2, 3), "padding": 2}),
    "in groups": ((2, 6, 5, 5), (4, 3, 3, 3), {"groups": 2, "padding": 1}),
    "by channel": ((2, 5, 6, 6), (10, 1, 3, 3), {"groups": 5}),
    "of points": ((2, 5, 4, 3), (6, 5, 1, 1), {}),
    "of points in strides": ((2, 5, 5, 5), (6, 5, 1, 1), {"stride": 2, "padding": 1}),
    "one channel": ((2, 1, 8, 8), (5, 1, 5, 5), {"padding": 2}),
    "larger kernel than result": ((2, 3, 6, 7), (4, 3, 5, 6), {}),
    "along a line": ((3, 4, 11), (6, 2, 3), {"groups": 2, "stride": 2, "padding": 1}),
    "in a volume": ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"padding": (1, 0, 1), "stride": (1, 2, 1)}),
    "everything": (
        (2, 4, 8, 9),
        (6, 2, 2, 3),
        {"groups": 2, "stride": 2, "padding": 2, "dilation": 2},
    ),
}


@pytest.mark.parametrize(("name", "device"), on_devices(CASES))
def test_convolution_is_what_its_definition_says(name, device):
    shape, weights, how = CASES[name]
    x, w = numbers(*shape), numbers(*weights, seed=1)
    found = CONV[x.ndim - 2](tfr.asarray(x, device=device), tfr.asarray(w, device=device), **how)
    wanted = expected(x, w, **how)
    assert found.shape == wanted.shape
    assert str(found.device).startswith(device)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)


TRANSPOSED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 3, 4, 5), (3, 4, 3, 2), {}),
    "in strides": ((2, 3, 4, 5), (3, 4, 3, 2), {"stride": (2, 3)}),
    "longer at the end": (
        (2, 3, 4, 4),
        (3, 2, 3, 3),
        {"stride": 2, "padding": 1, "output_padding": 1},
    ),
    "more cut off than the kernel reaches": (
        (1, 2, 6, 5),
        (2, 3, 2, 2),
        {"stride": 2, "padding": 3},
    ),
    "dilated": ((1, 2, 4, 4), (2, 3, 3, 2), {"stride": (3, 2), "dilation": (2, 3)}),
    "in groups": ((2, 4, 3, 3), (4, 3, 2, 2), {"groups": 2, "stride": 2}),
    "kernel shorter than stride": ((1, 2, 4, 3), (2, 3, 1, 2), {"stride": 3}),
    "along a line": ((2, 4, 6), (4, 2, 3), {"stride": 2, "groups": 2}),
    "in a volume": ((1, 2, 2, 3, 2), (2, 3, 2, 1, 3), {"stride": (2, 1, 2)}),
}


def expected_transposed(x, weight, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    rank = x.ndim - 2
    each = [
        tuple(np.broadcast_to(one, rank)) for one in (stride, padding, output_padding, dilation)
    ]
    return transposed(x, weight, *each, groups)


@pytest.mark.parametrize(("name", "device"), on_devices(TRANSPOSED))
def test_transposed_convolution_is_what_its_definition_says(name, device):
    shape, weights, how = TRANSPOSED[name]
    x, w = numbers(*shape), numbers(*weights, seed=1)
    function = TRANSPOSE[x.ndim - 2]
    found = function(tfr.asarray(x, device=device), tfr.asarray(w, device=device), **how)
    wanted = expected_transposed(x, w, **how)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)


GRADIENTS = ["in strides", "dilated", "in groups", "by channel", "along a line", "everything"]


@pytest.mark.parametrize(
    ("name", "device"),
    [(name, host) for name in GRADIENTS for host in HOSTS]
    + [("everything", device) for device in FOUND],
)
def test_gradients_are_those_of_differences(name, device):
    shape, weights, how = CASES[name]
    x, w = numbers(*shape)[:1], numbers(*weights, seed=1)
    b = numbers(weights[0], seed=2)

    def loss(x, w, b):
        return tfr.sin(CONV[len(shape) - 2](x, w, b, **how)).mean()

    if device == "cpu":
        tfr.check_gradient(loss, *map(tfr.asarray, (x, w, b)))
        return
    wanted = tfr.grad(loss, argnums=(0, 1, 2))(*map(tfr.asarray, (x, w, b)))
    there = [tfr.asarray(one, device=device) for one in (x, w, b)]
    for one, cpus in zip(tfr.grad(loss, argnums=(0, 1, 2))(*there), wanted, strict=True):
        assert str(one.device).startswith(device)
        np.testing.assert_allclose(one.numpy(), cpus.numpy(), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["in strides", "longer at the end", "dilated", "in groups"])
def test_gradients_of_transposed_convolutions_are_those_of_differences(name):
    shape, weights, how = TRANSPOSED[name]

    def loss(x, w):
        return tfr.sin(F.conv_transpose2d(x, w, **how)).mean()

    tfr.check_gradient(loss, tfr.asarray(numbers(*shape)), tfr.asarray(numbers(*weights, seed=1)))


def test_a_gradient_of_a_gradient():
    x, w = numbers(1, 2, 5, 5), numbers(4, 1, 3, 2, seed=1)

    def slope(x, w):
        def loss(x, w):
            return tfr.sin(F.conv2d(x, w, stride=2, padding=1, groups=2)).sum()

        by_x, by_w = tfr.grad(loss, argnums=(0, 1))(x, w)
        return (by_x * by_x).mean() + (by_w * by_w).mean()

    tfr.check_gradient(slope, tfr.asarray(x), tfr.asarray(w), rtol=1e-5)


def test_complex_convolutions_and_their_gradients():
    x = numbers(1, 2, 4, 4) + 1j * numbers(1, 2, 4, 4, seed=1)
    w = numbers(3, 2, 2, 2, seed=2) + 1j * numbers(3, 2, 2, 2, seed=3)
    found = F.conv2d(tfr.asarray(x), tfr.asarray(w)).numpy()
    real, imaginary = [
        expected(one, w.real) + 1j * expected(one, w.imag) for one in (x.real, x.imag)
    ]
    np.testing.assert_allclose(found, real + 1j * imaginary, rtol=1e-4, atol=1e-5)

    def loss(x, w):
        return tfr.real(F.conv2d(x, w) * (2 - 1j)).mean()

    tfr.check_gradient(loss, tfr.asarray(x), tfr.asarray(w))


@on_all_devices
@pytest.mark.parametrize("dtype", ["int32", "float16"])
def test_other_dtypes(dtype, device):
    if not all(
        np.dtype(dtype) in info.capabilities.dtypes
        for info in tfr.backends.devices()
        if str(info.device).startswith(device)
    ):
        pytest.skip(f"{device} has no {dtype}")
    x, w = numbers(1, 40, 5, 5, dtype=dtype), numbers(3, 40, 3, 3, dtype=dtype)
    found = F.conv2d(tfr.asarray(x, device=device), tfr.asarray(w, device=device))
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_allclose(
        found.numpy(), expected(x, w), rtol=2e-3, atol=0.05 if dtype == "float16" else 0
    )


def test_dtypes_promote_as_beside_operators():
    assert F.conv1d(tfr.ones((1, 1, 3)), np.ones((1, 1, 2))).dtype == np.float64
    assert F.conv1d(
        tfr.ones((1, 1, 3), dtype="int32"), tfr.ones((1, 1, 2)), bias=[1.0]
    ).tolist() == [[[3.0, 3.0]]]


def test_same_and_valid_padding():
    x, w = numbers(1, 2, 6, 7), numbers(3, 2, 4, 2, seed=1)
    found = F.conv2d(x, w, padding="same", dilation=(1, 2))
    wanted = direct(x, w, (1, 1), (1, 1), (2, 1), (1, 1), (1, 2), 1)
    assert found.shape == (1, 3, 6, 7)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(F.conv2d(x, w, padding="valid").numpy(), F.conv2d(x, w).numpy())


def test_an_example_needs_no_batch():
    x, w, b = numbers(2, 6, 7), numbers(4, 2, 3, 3, seed=1), numbers(4, seed=2)
    alone = F.conv2d(x, w, b, padding=1)
    assert alone.shape == (4, 6, 7)
    np.testing.assert_array_equal(alone.numpy(), F.conv2d(x[None], w, b, padding=1).numpy()[0])
    back = numbers(2, 4, 3, 3, seed=3)
    assert F.conv_transpose2d(x, back).shape == (4, 8, 9)
    assert F.conv1d(numbers(2, 6), numbers(3, 2, 2)).shape == (3, 5)
    assert F.conv3d(numbers(2, 3, 4, 5), numbers(3, 2, 2, 2, 2)).shape == (3, 2, 3, 4)


@on_all_devices
def test_tensors_without_elements(device):
    w = tfr.ones((4, 2, 3, 3), device=device)
    assert F.conv2d(tfr.ones((0, 2, 5, 5), device=device), w).numpy().shape == (0, 4, 3, 3)
    nothing = F.conv2d(tfr.ones((1, 0, 5, 5), device=device), tfr.ones((4, 0, 3, 3), device=device))
    np.testing.assert_array_equal(nothing.numpy(), np.zeros((1, 4, 3, 3)))
    by_x, by_w = tfr.grad(lambda x, w: F.conv2d(x, w).sum(), argnums=(0, 1))(
        tfr.ones((0, 2, 5, 5), device=device), w
    )
    assert by_x.numpy().shape == (0, 2, 5, 5)
    np.testing.assert_array_equal(by_w.numpy(), np.zeros((4, 2, 3, 3)))


X, W = tfr.ones((2, 4, 5, 5)), tfr.ones((6, 4, 3, 3))
# what is wrong, the error, and what its message has
BAD: dict[str, tuple[Any, type[Exception], list[str]]] = {
    "channels": (lambda: F.conv2d(X, W[:, :3]), errors.ShapeError, ["4 channels", "takes 3"]),
    "groups of the input": (
        lambda: F.conv2d(X, W, groups=3),
        errors.ShapeError,
        ["4 channels", "groups=3"],
    ),
    "groups of the result": (
        lambda: F.conv2d(X, W[:5, :2], groups=2),
        errors.ShapeError,
        ["5 output channels", "groups=2"],
    ),
    "no groups": (lambda: F.conv2d(X, W, groups=0), errors.ArgumentError, ["groups", "positive"]),
    "kernel too large": (
        lambda: F.conv2d(X, tfr.ones((1, 4, 8, 3)), padding=1),
        errors.ShapeError,
        ["(8, 3)", "larger than the padded input of (7, 7)"],
    ),
    "dilation too large": (
        lambda: F.conv2d(X, W, dilation=3),
        errors.ShapeError,
        ["spreads over (7, 7)", "padded input of (5, 5)"],
    ),
    "kernel without elements": (
        lambda: F.conv2d(X, W[:, :, :0]),
        errors.ShapeError,
        ["(6, 4, 0, 3)", "no elements"],
    ),
    "axes of the input": (
        lambda: F.conv2d(X[0, 0], W),
        errors.ShapeError,
        ["(N, C, H, W)", "(5, 5)"],
    ),
    "axes of the weights": (lambda: F.conv2d(X, W[0]), errors.ShapeError, ["4 axes", "(4, 3, 3)"]),
    "another function": (lambda: F.conv1d(X, W), errors.ShapeError, ["(N, C, L)", "try: conv2d"]),
    "bias": (lambda: F.conv2d(X, W, tfr.ones(4)), errors.ShapeError, ["bias", "(6,)", "(4,)"]),
    "stride": (lambda: F.conv2d(X, W, stride=0), errors.ArgumentError, ["stride", "positive", "0"]),
    "strides": (
        lambda: F.conv2d(X, W, stride=(1, 2, 3)),
        errors.ArgumentError,
        ["stride", "(1, 2, 3)"],
    ),
    "padding": (lambda: F.conv2d(X, W, padding=-1), errors.ArgumentError, ["padding", "-1"]),
    "word for padding": (
        lambda: F.conv2d(X, W, padding="full"),
        errors.ArgumentError,
        ["'full'", "same"],
    ),
    "same in strides": (
        lambda: F.conv2d(X, W, stride=2, padding="same"),
        errors.ArgumentError,
        ["same", "stride 1"],
    ),
    "truth values": (lambda: F.conv2d(X > 0, W > 0), errors.DTypeError, ["bool", "astype"]),
    "channels of a transposed one": (
        lambda: F.conv_transpose2d(X, W),
        errors.ShapeError,
        ["4 channels", "takes 6"],
    ),
    "output padding": (
        lambda: F.conv_transpose2d(X, tfr.ones((4, 2, 3, 3)), stride=2, output_padding=2),
        errors.ArgumentError,
        ["output_padding=2", "less than stride"],
    ),
    "more cut off than there is": (
        lambda: F.conv_transpose2d(X, tfr.ones((4, 2, 3, 3)), padding=9),
        errors.ShapeError,
        ["padding=(9, 9)", "cuts more off"],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_say_what_does_not_fit_and_where(name):
    call, kind, facts = BAD[name]
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert all(fact in message for fact in (*facts, "test_convolution.py")), message


def test_the_row_itself_refuses_what_does_not_fit():
    from tensorframe.frontend.dispatch import call
    from tensorframe.ops.convolution import CONVOLUTION

    ones = (1, 1)
    with pytest.raises(errors.ShapeError, match="does not fit"):
        call(CONVOLUTION, X, W[:, :3], attrs=(ones, (0, 0), (0, 0), ones, ones, 1))


def test_random_configurations_are_what_the_definition_says():
    """Values and both gradients, of 60 configurations: the gradients are linear, so the definition gives them too."""
    generator = np.random.default_rng(7)
    done = 0
    while done < 60:
        rank = int(generator.integers(1, 4))
        groups, each, made = generator.integers(1, 4, 3)
        spatial, kernel = generator.integers(1, 9, rank), generator.integers(1, 5, rank)
        stride, dilation = generator.integers(1, 4, (2, rank))
        padding = generator.integers(0, 3, rank)
        if np.any(spatial + 2 * padding < (kernel - 1) * dilation + 1):
            continue
        done += 1
        x = generator.standard_normal((int(generator.integers(1, 4)), groups * each, *spatial))
        w = generator.standard_normal((groups * made, each, *kernel))
        how: dict[str, Any] = {
            "stride": stride.tolist(),
            "padding": padding.tolist(),
            "dilation": dilation.tolist(),
            "groups": int(groups),
        }
        wanted = expected(x, w, **how)
        ct = generator.standard_normal(wanted.shape)
        found, pull = tfr.vjp(lambda x, w: CONV[rank](x, w, **how), tfr.asarray(x), tfr.asarray(w))  # noqa: B023
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10, atol=1e-10)
        by_x, by_w = pull(tfr.asarray(ct))
        # <ct, conv(dx, w)> = <by_x, dx>, and the same for the weights
        dx, dw = generator.standard_normal(x.shape), generator.standard_normal(w.shape)
        np.testing.assert_allclose(
            (by_x.numpy() * dx).sum(), (ct * expected(dx, w, **how)).sum(), rtol=1e-8, atol=1e-8
        )
        np.testing.assert_allclose(
            (by_w.numpy() * dw).sum(), (ct * expected(x, dw, **how)).sum(), rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("size", [1, 3])
def test_bits_do_not_depend_on_the_number_of_threads(size):
    x, w = numbers(11, 32, 20, 21), numbers(24, 32, size, size, seed=1)
    results = []
    for threads in (1, 2, 3):
        with tfr.config.override(threads=threads):
            found, pull = tfr.vjp(
                lambda x, w: F.conv2d(x, w, padding=size // 2), tfr.asarray(x), tfr.asarray(w)
            )
            results.append([found.numpy(), *[one.numpy() for one in pull(tfr.ones(found.shape))]])
    for first, second in pairwise(results):
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("device", ["cpu", "llvm", "numpy"])
def test_bias_and_relu_are_part_of_the_convolutions_step(device):
    x, w, b = [
        tfr.asarray(one, device=device)
        for one in (numbers(2, 8, 20, 20), numbers(16, 8, 3, 3), numbers(16))
    ]
    plan = tfr.maximum(F.conv2d(x, w, b, padding=1), 0).explain()
    assert (plan.library_calls, plan.kernels) == (1, 0)
    assert (
        plan.flops >= 2 * 2 * 16 * 18 * 18 * 8 * 9
    )  # each product of the result, and its addition
    assert "convolution add maximum" in str(plan)


@pytest.mark.parametrize("device", ["cpu", "llvm", "numpy"])
@pytest.mark.parametrize("weights", [(32, 24, 3, 3), (3, 24, 3, 3), (24, 4, 3, 3), (32, 24, 1, 1)])
def test_what_is_done_to_blocks_is_what_is_done_to_the_whole(weights, device):
    """Bias, a scale for each channel, a residual and relu: in one step as in several."""
    given = numbers(5, 24, 40, 40), numbers(*weights, seed=1), numbers(weights[0], seed=2)
    x, w, b = [tfr.asarray(one, device=device) for one in given]
    rest = tfr.asarray(numbers(5, weights[0], 40, 40, seed=3), device=device)
    how: dict[str, Any] = {"padding": weights[-1] // 2, "groups": 24 // weights[1]}
    found = tfr.maximum(F.conv2d(x, w, b, **how) * b.reshape((-1, 1, 1)) + rest, 0)
    whole = F.conv2d(x, w, **how).compute().numpy()
    np.testing.assert_allclose(
        F.conv2d(x.transpose(0, 1, 3, 2), w.transpose(0, 1, 3, 2), **how).numpy(),
        whole.transpose(0, 1, 3, 2),
        rtol=1e-4,
        atol=1e-4,
    )
    bias = given[2][:, None, None]
    wanted = np.maximum((whole + bias) * bias + rest.numpy(), 0)
    last = (0, 2, 3, 1)  # channels last
    turned = F.conv2d(x, w, **how).transpose(last) * b + rest.transpose(last)
    for result in (found, turned):
        plan = result.explain()
        assert (plan.library_calls, plan.kernels) == (1, 0), plan
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)
    wanted = (whole * bias + rest.numpy()).transpose(last)
    np.testing.assert_allclose(turned.numpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", ["cpu", "llvm", "numpy"])
def test_steps_of_an_optimiser_are_done_to_blocks_of_the_weights_gradient(device):
    x, w = [
        tfr.asarray(one, device=device) for one in (numbers(4, 16, 24, 24), numbers(40, 16, 3, 3))
    ]

    def loss(w):
        return (F.conv2d(x, w, padding=1) * 0.01).sum()

    plan = (w - tfr.grad(loss)(w) * 0.1).explain()
    assert "convolution permute" in str(plan)
    found = (w - tfr.grad(loss)(w) * 0.1).numpy()
    np.testing.assert_allclose(
        found, w.numpy() - 0.1 * tfr.grad(loss)(w).numpy(), rtol=1e-5, atol=1e-5
    )


SHAPES = {  # each way that there is, in several blocks
    "vectors of channels": ((2, 16, 33, 30), (64, 16, 3, 3), {"padding": 1}),
    "vectors of channels in strides": (
        (2, 16, 33, 30),
        (48, 16, 3, 3),
        {"padding": 1, "stride": 2},
    ),
    "vectors of positions": ((3, 8, 40, 41), (5, 8, 3, 3), {"padding": (2, 1)}),
    "a large kernel": ((1, 256, 6, 6), (256, 256, 3, 3), {"padding": 1}),
    "by channel": ((2, 64, 30, 30), (64, 1, 3, 3), {"padding": 1, "groups": 64}),
    "by channel in strides": (
        (2, 24, 31, 50),
        (24, 1, 3, 3),
        {"padding": 1, "groups": 24, "stride": 2},
    ),
    "few channels in strides": ((3, 5, 40, 41), (3, 5, 3, 4), {"padding": 1, "stride": (3, 2)}),
    "points": ((11, 24, 19, 40), (32, 24, 1, 1), {}),
    "points of small images": ((3, 130, 5, 7), (140, 130, 1, 1), {}),
    "points in strides": ((2, 40, 21, 20), (18, 40, 1, 1), {"stride": (2, 1), "padding": 1}),
    "small images": ((40, 3, 9, 9), (20, 3, 2, 2), {}),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_way_gives_values_and_gradients_of_the_definition(name, dtype):
    shape, weights, how = SHAPES[name]
    x, w = numbers(*shape, dtype=dtype), numbers(*weights, dtype=dtype, seed=1)
    wanted = expected(x, w, **how)
    ct = numbers(*wanted.shape, dtype=dtype, seed=2)
    found, pull = tfr.vjp(lambda x, w: F.conv2d(x, w, **how), tfr.asarray(x), tfr.asarray(w))
    close = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(found.numpy(), wanted, rtol=close, atol=10 * close)
    by_x, by_w = [one.numpy() for one in pull(tfr.asarray(ct))]
    dx, dw = numbers(*shape, dtype=dtype, seed=3), numbers(*weights, dtype=dtype, seed=4)
    for slope, by, moved in ((by_x, dx, (dx, w)), (by_w, dw, (x, dw))):
        ours, theirs = (slope * by).sum(dtype=np.float64), (ct * expected(*moved, **how)).sum()
        size = np.sqrt(ct.size) * np.abs(wanted).mean()
        assert abs(ours - theirs) < 10 * close * size


@pytest.mark.parametrize("device", FOUND)
def test_devices_have_a_kernel_for_it_all(device):
    """A convolution, bias and relu are one launch, without the cpu; elements are gathered where they lie."""
    given = numbers(2, 9, 10, 6), numbers(8, 6, 3, 3, seed=1), numbers(8, seed=2)
    x, w, b = [tfr.asarray(one, device=device).compute() for one in given]
    found = tfr.maximum(F.conv2d(x.transpose(0, 3, 1, 2), w, b, padding=1), 0)
    plan = found.explain()
    assert (plan.library_calls, plan.kernels, plan.transfers, plan.fallbacks) == (1, 0, 0, 0), plan
    wanted = expected(given[0].transpose(0, 3, 1, 2), given[1], padding=1) + given[2][:, None, None]
    np.testing.assert_allclose(found.numpy(), np.maximum(wanted, 0), rtol=1e-4, atol=1e-5)
