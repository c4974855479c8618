"""Convolutions in blocks: every way that the cpu has, with what is done to blocks, in any number of threads."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.llvm.convolution.choice import compiled
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tensorframe.ops.convolution import Geometry
from tests.nn.convolution_cases import HOSTS, expected, numbers

SHAPES = {  # each way that there is, in several blocks
    "vectors of channels": ((2, 16, 33, 30), (64, 16, 3, 3), {"padding": 1}),
    "vectors of channels in strides": (
        (2, 16, 33, 30),
        (48, 16, 3, 3),
        {"padding": 1, "stride": 2},
    ),
    "vectors of positions": ((3, 8, 40, 41), (5, 8, 3, 3), {"padding": (2, 1)}),
    "a large kernel": ((1, 256, 6, 6), (256, 256, 3, 3), {"padding": 1}),
    "a large kernel without padding": ((2, 300, 8, 7), (270, 300, 2, 2), {"stride": (2, 1)}),
    "sums of rows of images": ((3, 17, 40, 33), (9, 17, 3, 3), {"padding": (2, 1)}),
    "sums of images in strides": ((40, 2, 25, 18), (24, 2, 3, 2), {"stride": (2, 3), "padding": 1}),
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


def test_series_of_many_channels():
    x, w = numbers(2, 48, 301), numbers(64, 48, 5, seed=1)
    found = F.conv1d(tfr.asarray(x), tfr.asarray(w), padding=3).numpy()
    np.testing.assert_allclose(found, expected(x, w, padding=3), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("shape", "weights"),
    [
        ((11, 32, 20, 21), (24, 32, 1, 1)),
        ((11, 32, 20, 21), (24, 32, 3, 3)),
        ((64, 3, 20, 21), (24, 3, 3, 3)),
        ((2, 256, 7, 7), (256, 256, 3, 3)),
    ],
)
def test_bits_do_not_depend_on_the_number_of_threads(shape, weights):
    x, w = numbers(*shape), numbers(*weights, seed=1)
    size = weights[-1]
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


@pytest.mark.parametrize("device", HOSTS)
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


@pytest.mark.parametrize("device", HOSTS)
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


@pytest.mark.parametrize("device", HOSTS)
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


def test_what_is_recorded_of_one_convolution_serves_others_of_its_sizes():
    """Other operands, operands that are one array, and other memory of the result."""
    images = [numbers(16, 16, 9, 9, seed=seed) for seed in range(3)]
    kernels = [numbers(16, 16, 9, 9, seed=seed) for seed in range(3, 6)]
    for x, w in (*zip(images, kernels, strict=True), (images[0], images[0])):
        found = F.conv2d(tfr.asarray(x), tfr.asarray(w), padding=1).numpy()
        np.testing.assert_allclose(found, expected(x, w, padding=1), rtol=1e-3, atol=1e-3)


def calls_of(function):
    """How many calls of Python's and of compiled functions a function takes."""
    count = 0

    def counting(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counting)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("way", ["forward", "by the input", "by the kernel"])
def test_python_is_called_as_often_for_many_blocks_as_for_few(way):
    def each(batch):
        x = numbers(batch, 32, 40, 40), numbers(32, 32, 3, 3), numbers(batch, 32, 38, 38)
        ones = (1, 1)
        plain = Geometry(ones, (0, 0), (0, 0), ones, ones)
        around = Geometry(ones, (2, 2), (2, 2), ones, ones)
        operands = {
            "forward": (x[0], x[1], plain),
            "by the input": (x[2], x[1].swapaxes(0, 1)[:, :, ::-1, ::-1], around),
            "by the kernel": (x[0].swapaxes(0, 1), x[2].swapaxes(0, 1), plain),
        }[way]
        made = lambda: compiled(*operands, 1).array()  # noqa: E731
        made()
        return calls_of(made)

    with tfr.config.override(threads=1):
        few, many = each(2), each(40)
    # what looks out for interrupts makes some calls for every sixteen blocks
    assert many < few + 60 < 180, (few, many)


@pytest.mark.parametrize("batch", [2, 31, 64])
def test_images_are_shared_out_evenly(batch):
    """The last of seven blocks of ten images had four, and one of two threads waited for the other."""
    ones = (1, 1)
    geometry = Geometry(ones, ones, ones, ones, ones)
    made = compiled(numbers(batch, 64, 14, 14), numbers(32, 64, 3, 3), geometry, 1)
    images = {block[0].start: block[0].stop - block[0].start for block in made.blocks}
    assert sum(images.values()) == batch
    assert max(images.values()) - min(images.values()) <= 1 or len(images) % 4 == 0
    assert len(images) >= min(batch, 4)
