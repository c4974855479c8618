"""Attention: each query's average of values, weighted by how well their keys match it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod, sqrt
from typing import Any

from tensorframe import dtypes
from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import FLOAT, int32, uint32
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.indexing.searching import where
from tensorframe.frontend.operands import converted, floating, operand, reshaped
from tensorframe.frontend.random.distributions import unit
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.random.words import lanes
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.checkpoints import checkpoint
from tensorframe.graph.device import Device
from tensorframe.graph.history import history
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.elementwise import ADD, LESS_EQUAL, MULTIPLY
from tensorframe.ops.formulas import MASKED_SOFTMAX
from tensorframe.quick_tuples import NamedTuple

__all__ = ["scaled_dot_product_attention"]

_NAME = "scaled_dot_product_attention"
# scores, of which fewer are as quickly read as computed
_MANY = 1 << 20


def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    attn_mask: ArrayLike | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    dropout_key: Source = None,
) -> Tensor:
    """Averages of values, weighted by the softmax of the products of queries and keys.

    `query` is (..., heads, L, E), `key` (..., heads, S, E), `value` (..., heads, S, Ev); axes in front of the last two
    broadcast, and the result is (..., heads, L, Ev), of the dtype that the three promote to (real floating; half
    precision is computed in float32). `scale` is 1 / sqrt(E) if not given.

    `attn_mask` broadcasts to (..., heads, L, S): booleans select the keys that take part, floats are added to the
    scores. With `is_causal`, query i sees keys 0 to i only, within the mask. The result of a query that sees no key is
    zero, and has no gradient. With `enable_gqa`, each head of `key` and `value` serves a group of neighbouring heads of
    `query`, without being copied. With `dropout_p`, weights are zero with that probability, and the others are scaled
    up; `dropout_key` determines which, by default the generator that `tfr.random.seed` restarts.

    On the cpu the whole function is one step, and only a block of the scores is in memory at a time; the same holds for
    its gradient, without dropout.

    ShapeError if the sizes do not agree. DTypeError if an operand is complex, or the mask has integers. ArgumentError
    if `dropout_p` is not a probability.

    >>> x = tfr.asarray([[1.0, 0.0], [0.0, 1.0]])
    >>> tfr.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)[0].tolist()
    [1.0, 0.0]
    """
    q, k, v = floating(query, key, value)
    dtype = q.dtype
    _check_operands(q, k, v)
    _check_options(dropout_p)
    q, k, v = [converted(tensor, dtypes.wide_of(dtype)) for tensor in (q, k, v)]
    heads = q.shape[-3:-2]
    if enable_gqa:
        q, k, v = _grouped(q, k, v)
    mask = _Mask(attn_mask, is_causal, heads if enable_gqa else ())
    attend: Callable[..., Tensor] = partial(
        _attended,
        scale=1 / sqrt(max(q.shape[-1], 1)) if scale is None else scale,
        mask=mask,
        dropout=_Dropout(dropout_p, dropout_key),
    )
    if history.get() is not None and not dropout_p and _is_recomputed(q, k):
        attend = checkpoint(attend)
    result = attend(q, k, v)
    if enable_gqa:
        result = reshaped(result, (*result.shape[:-4], *heads, *result.shape[-2:]))
    return converted(result, dtype)


class _Mask(NamedTuple):
    """Which keys each query sees; `heads` are those of the queries where scores have them as groups."""

    given: Any
    is_causal: bool
    heads: Shape


class _Dropout(NamedTuple):
    """With which probability weights are dropped, and what says which."""

    probability: float
    source: Source


def _attended(
    q: Tensor, k: Tensor, v: Tensor, *, scale: float, mask: _Mask, dropout: _Dropout
) -> Tensor:
    """Return attention in ops: where two products can be one step, they are recognised by these."""
    scores = apply(MULTIPLY, q @ k.mT, scale)
    if mask.given is not None:
        scores = _masked(scores, mask.given, mask.heads)
    if mask.is_causal:
        scores = where(_causal(scores.shape, scores.device), scores, float("-inf"))
    weights = call(MASKED_SOFTMAX, scores, attrs=((scores.ndim - 1,),))
    if dropout.probability > 0:
        weights = _dropped(weights, *dropout)
    return call(MATMUL, weights, v)


def _is_recomputed(q: Tensor, k: Tensor) -> bool:
    """Whether a gradient computes scores once more, instead of keeping them.

    Where products run in one step that is as fast, and takes memory for a block of them only.
    """
    count = prod(broadcast(_NAME, q.shape[:-2], k.shape[:-2])) * q.shape[-2] * k.shape[-2]
    return count >= _MANY and capabilities(q.device).chains


def _check_operands(q: Tensor, k: Tensor, v: Tensor) -> None:
    if q.dtype not in FLOAT:
        raise DTypeError(f"{_NAME}: takes real numbers, got {q.dtype}")
    shapes = f"query {q.shape}, key {k.shape}, value {v.shape}"
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ShapeError(
            f"{_NAME}: takes (..., length, features), got {shapes}",
            suggestions=("query[None], key[None], value[None] for one position each",),
        )
    if q.shape[-1] != k.shape[-1]:
        raise ShapeError(
            f"{_NAME}: queries have {q.shape[-1]} features and keys {k.shape[-1]}: {shapes}"
        )
    if k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            f"{_NAME}: there are {k.shape[-2]} keys and {v.shape[-2]} values: {shapes}"
        )


def _check_options(dropout_p: float) -> None:
    if not 0 <= dropout_p <= 1:
        raise ArgumentError(f"{_NAME}: dropout_p is a probability, got {dropout_p!r}")


def _grouped(q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
    """Return operands in which an axis of groups stands behind that of the heads of keys: of size 1 for keys."""
    shapes = f"query {q.shape}, key {k.shape}, value {v.shape}"
    if min(q.ndim, k.ndim, v.ndim) < 3:
        raise ShapeError(f"{_NAME}: enable_gqa takes (..., heads, length, features), got {shapes}")
    heads, shared = q.shape[-3], k.shape[-3]
    if shared != v.shape[-3] or not shared or heads % shared:
        raise ShapeError(
            f"{_NAME}: {heads} heads of queries cannot share {shared} of keys and {v.shape[-3]} of values evenly: "
            f"{shapes}",
            suggestions=(
                "as many heads of keys as of values, of which those of queries are a multiple",
            ),
        )
    groups = (shared, heads // shared)
    return [
        reshaped(tensor, (*tensor.shape[:-3], *axes, *tensor.shape[-2:]))
        for tensor, axes in ((q, groups), (k, (shared, 1)), (v, (shared, 1)))
    ]


def _causal(shape: Shape, device: Device) -> Tensor:
    """Return which keys each query sees: those up to its own position. Takes no memory of rows times columns."""
    *_, rows, columns = shape
    queries, keys = [counted(size, 0, 1, int32, device) for size in (rows, columns)]
    return apply(LESS_EQUAL, keys, reshaped(queries, (rows, 1)))


def _masked(scores: Tensor, attn_mask: Any, heads: Shape) -> Tensor:
    """Return scores with a mask: -inf where booleans are false, or the sum with numbers.

    `heads` are those of the queries where scores have them as groups.
    """
    mask = operand(attn_mask, device=None if isinstance(attn_mask, Tensor) else scores.device)
    groups = scores.shape[-4:-2] if heads else ()
    whole = (*scores.shape[: -2 - len(groups)], *(heads or ()), *scores.shape[-2:])
    if not _broadcasts_to(mask.shape, whole):
        raise ShapeError(
            f"{_NAME}: a mask of shape {mask.shape} does not broadcast to the scores' {whole}, "
            "which is (..., queries, keys)",
            suggestions=("mask[:, None, None, :] for a mask of keys for each example",),
        )
    if groups and mask.ndim > 2:
        own = groups if mask.shape[-3] != 1 else (1, 1)
        mask = reshaped(mask, (*mask.shape[:-3], *own, *mask.shape[-2:]))
    if mask.dtype == dtypes.bool_:
        return where(mask, scores, float("-inf"))
    if mask.dtype not in FLOAT:
        raise DTypeError(
            f"{_NAME}: a mask is of booleans or real floating numbers, got {mask.dtype}",
            suggestions=("mask != 0 for keys that take part",),
        )
    return apply(ADD, scores, converted(mask, scores.dtype))


def _broadcasts_to(shape: Shape, whole: Shape) -> bool:
    own = whole[max(len(whole) - len(shape), 0) :]
    sizes = zip(shape, own, strict=False)
    return len(shape) <= len(whole) and all(size in (1, extent) for size, extent in sizes)


def _dropped(weights: Tensor, p: float, source: Source) -> Tensor:
    """Return weights of which some, with probability `p`, are 0, and the others larger by as much as these had.

    Positions are those of rows plus those of columns: nothing as large as the weights is counted in memory.
    """
    *outer, columns = weights.shape
    device = weights.device
    rows = reshaped(counted(prod(outer), 0, columns, uint32, device), (*outer, 1))
    places = apply(ADD, rows, counted(columns, 0, 1, uint32, device))
    keeps = unit(lanes(places, 1, source)) >= p
    return where(keeps, apply(MULTIPLY, weights, 1 / (1 - p) if p < 1 else 0.0), 0.0)
