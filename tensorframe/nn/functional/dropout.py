"""Dropout: elements, or whole channels, that are zero at random while a network is trained.

What is dropped depends on a key and on positions alone: the backward pass draws the same numbers again.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.operands import operand
from tensorframe.frontend.parameters import flag
from tensorframe.frontend.random.distributions import bernoulli
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.nn.functional.operands import floating, need_rank, probability
from tensorframe.ops.elementwise import ADD, MULTIPLY, WHERE

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d"]

# what selu tends to for large negative numbers: -scale * alpha
_SELU_LIMIT = -1.0507009873554805 * 1.6732632423543772


def dropout(
    input: ArrayLike, p: float = 0.5, training: bool = True, *, key: Source = None
) -> Tensor:
    """Zero in the place of each element with probability `p`, all others over `1 - p`; without `training`, the input.

    Shape and dtype are those of `input` (real floating). `key` is that of `tfr.random`: the same key drops the same
    elements. Nothing is stored for the gradient.
    Source: N. Srivastava et al., "Dropout", Journal of Machine Learning Research 15 (2014).

    >>> tfr.nn.functional.dropout(tfr.ones(6), 0.5, key=tfr.random.key(3)).tolist()
    [0.0, 2.0, 0.0, 0.0, 2.0, 0.0]
    >>> tfr.nn.functional.dropout(tfr.ones(2), training=False).tolist()
    [1.0, 1.0]
    """
    tensor = floating("dropout", "input", input)
    return _dropped("dropout", tensor, tensor.shape, p, training, key)


def dropout1d(
    input: ArrayLike, p: float = 0.5, training: bool = True, *, key: Source = None
) -> Tensor:
    """Drop whole channels of shape (positions,), where `dropout` drops elements; `input` is (..., channels, positions).

    >>> tfr.nn.functional.dropout1d(tfr.ones((1, 3, 2)), key=tfr.random.key(3)).tolist()
    [[[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]]
    """
    return _channels_dropped("dropout1d", input, 1, p, training, key)


def dropout2d(
    input: ArrayLike, p: float = 0.5, training: bool = True, *, key: Source = None
) -> Tensor:
    """Drop whole channels of shape (height, width), where `dropout` drops elements.

    `input` is (..., channels, height, width).

    >>> tfr.nn.functional.dropout2d(tfr.ones((1, 3, 1, 2)), key=tfr.random.key(3)).tolist()
    [[[[0.0, 0.0]], [[2.0, 2.0]], [[0.0, 0.0]]]]
    """
    return _channels_dropped("dropout2d", input, 2, p, training, key)


def dropout3d(
    input: ArrayLike, p: float = 0.5, training: bool = True, *, key: Source = None
) -> Tensor:
    """Drop whole channels of shape (depth, height, width), where `dropout` drops elements.

    `input` is (..., channels, depth, height, width).

    >>> tfr.nn.functional.dropout3d(tfr.ones((1, 3, 1, 1, 1)), key=tfr.random.key(3)).tolist()
    [[[[[0.0]]], [[[2.0]]], [[[0.0]]]]]
    """
    return _channels_dropped("dropout3d", input, 3, p, training, key)


def alpha_dropout(
    input: ArrayLike, p: float = 0.5, training: bool = False, *, key: Source = None
) -> Tensor:
    """Drop elements to what `selu` tends to, and scale all so that mean 0 and variance 1 stay what they are.

    Source: G. Klambauer et al., "Self-normalizing neural networks", arXiv 1706.02515, section "Alpha dropout".

    >>> tfr.nn.functional.alpha_dropout(tfr.ones(2), 0.5).tolist()
    [1.0, 1.0]
    """
    tensor = floating("alpha_dropout", "input", input)
    share = probability("alpha_dropout", p)
    if not flag("alpha_dropout", "training", training) or not share:
        return tensor
    if share == 1.0:
        return apply(WHERE, _kept(tensor, tensor.shape, share, key), tensor, 0.0)
    keep = 1.0 - share
    slope = 1.0 / sqrt(keep * (1.0 + share * _SELU_LIMIT**2))
    shift = -slope * share * _SELU_LIMIT
    present = apply(WHERE, _kept(tensor, tensor.shape, share, key), tensor, _SELU_LIMIT)
    return apply(ADD, apply(MULTIPLY, present, slope), shift)


def _channels_dropped(
    name: str, input: Any, positions: int, p: float, training: bool, key: Source
) -> Tensor:
    tensor = floating(name, "input", input)
    axes = ("channels", "depth", "height", "width")
    named = ("channels", "positions") if positions == 1 else ("channels", *axes[4 - positions :])
    need_rank(name, "input", tensor, positions + 1, f"(..., {', '.join(named)})")
    shape = tensor.shape[: tensor.ndim - positions] + (1,) * positions
    return _dropped(name, tensor, shape, p, training, key)


def _dropped(
    name: str, tensor: Tensor, shape: Shape, p: float, training: bool, key: Source
) -> Tensor:
    """Return the tensor with zeros in the place of what a mask of `shape` drops."""
    share = probability(name, p)
    if not flag(name, "training", training) or not share:
        return operand(tensor)
    scale = 1.0 / (1.0 - share) if share < 1.0 else 0.0
    return apply(WHERE, _kept(tensor, shape, share, key), apply(MULTIPLY, tensor, scale), 0.0)


def _kept(tensor: Tensor, shape: Shape, share: float, key: Source) -> Tensor:
    return bernoulli(shape, 1.0 - share, device=tensor.device, key=key)
