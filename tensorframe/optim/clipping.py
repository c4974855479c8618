"""Clipping: gradients bounded by the norm of all of them together, or one by one."""

from __future__ import annotations

import math
from functools import reduce
from typing import TypeVar

import tensorframe as tfr
from tensorframe.dtypes import wide_of
from tensorframe.errors import ArgumentError
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import build, flatten

Tree = TypeVar("Tree")


def clip_grad_norm(
    gradients: Tree, max_norm: float | Tensor, norm_type: float = 2.0
) -> tuple[Tree, Tensor]:
    """Return a tree of gradients scaled so that the norm of all elements together is at most `max_norm`, and that norm.

    The given gradients do not change, and the norm is that of the given gradients. With `norm_type=math.inf` it is the
    largest magnitude. If the norm is NaN or infinite, the result is not finite either, as in PyTorch. The norm needs
    all gradients, so they are materialised, and do not fuse with the update. ArgumentError if `norm_type` is not above
    0.

    >>> clipped, norm = tfr.optim.clip_grad_norm({"a": tfr.asarray([3.0]), "b": tfr.asarray([4.0])}, 1.0)
    >>> norm.item(), [round(tensor.item(), 4) for tensor in clipped.values()]
    (5.0, [0.6, 0.8])
    """
    if norm_type <= 0:
        raise ArgumentError(f"clip_grad_norm: norm_type is above 0, got {norm_type!r}")
    leaves: list[Tensor] = []
    structure = flatten(gradients, leaves)
    norm = global_norm(leaves, norm_type)
    scale = tfr.minimum(max_norm / (norm + 1e-6), 1.0)
    clipped = [leaf * scale.astype(leaf.dtype) for leaf in leaves]
    tree: Tree = build(structure, iter(clipped))
    return tree, norm


def clip_grad_value(gradients: Tree, clip_value: float | Tensor) -> Tree:
    """Return a tree of gradients with every element between `-clip_value` and `clip_value`.

    >>> tfr.optim.clip_grad_value([tfr.asarray([3.0, -0.5])], 1.0)[0].tolist()
    [1.0, -0.5]
    """
    leaves: list[Tensor] = []
    structure = flatten(gradients, leaves)
    tree: Tree = build(
        structure, (tfr.minimum(tfr.maximum(leaf, -clip_value), clip_value) for leaf in leaves)
    )
    return tree


def global_norm(leaves: list[Tensor], norm_type: float = 2.0) -> Tensor:
    """Return the norm of all elements of some tensors together, 0 without any; half precision counts in float32."""
    if not leaves:
        return tfr.asarray(0.0)
    wide = [tfr.abs(leaf.astype(wide_of(leaf.dtype))) for leaf in leaves]
    if norm_type == math.inf:
        return reduce(tfr.maximum, [tfr.max(leaf) for leaf in wide])
    if norm_type == 2:
        return tfr.sqrt(reduce(tfr.add, [tfr.sum(leaf * leaf) for leaf in wide]))
    return reduce(tfr.add, [tfr.sum(leaf**norm_type) for leaf in wide]) ** (1 / norm_type)
