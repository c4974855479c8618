"""Convolutions that cannot be: each error says what does not fit, and where."""

from __future__ import annotations

from typing import Any

import pytest

import tensorframe as tfr
from tensorframe import errors
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it

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
    assert all(fact in message for fact in (*facts, "test_convolution_errors.py")), message


def test_the_row_itself_refuses_what_does_not_fit():
    from tensorframe.frontend.dispatch import call
    from tensorframe.ops.convolution import CONVOLUTION

    ones = (1, 1)
    with pytest.raises(errors.ShapeError, match="does not fit"):
        call(CONVOLUTION, X, W[:, :3], attrs=(ones, (0, 0), (0, 0), ones, ones, 1))


@pytest.mark.parametrize("wrong", [{"padding": 1.0}, {"padding": (1.0, 1)}, {"groups": 1.0}])
def test_arguments_that_equal_right_ones_are_refused_after_these(wrong):
    x, w = tfr.ones((1, 2, 5, 5)), tfr.ones((3, 2, 3, 3))
    for how in ({"padding": 1}, {"padding": (1, 1)}):
        assert F.conv2d(x, w, **how).shape == (1, 3, 5, 5)
    with pytest.raises((errors.ArgumentError, errors.DTypeError), match=next(iter(wrong))):
        F.conv2d(x, w, **({"padding": 1} | wrong))
