"""Convolutions that tests make: shapes, how they are convolved, and what the definition says of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tests.backends.devices import FOUND
from tests.nn.direct_convolution import direct, transposed

DEVICES = ["cpu", "numpy", "llvm", *FOUND]
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
    """Return random numbers: normal ones, or small integers."""
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
    """The definition's result of a transposed convolution, for one number for all axes or several."""
    rank = x.ndim - 2
    each = [
        tuple(np.broadcast_to(one, rank)) for one in (stride, padding, output_padding, dilation)
    ]
    return transposed(x, weight, *each, groups)
