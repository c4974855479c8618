"""Losses: how far an input is from a target, as one number for each element, their sum or their mean."""

from __future__ import annotations

from math import log, pi
from typing import Any

from tensorframe.errors import OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.operands import expanded, operand, promoted, reshaped, widened
from tensorframe.frontend.parameters import flag, number
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.reductions.statistics import mean
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import find
from tensorframe.graph.shape import broadcast, normalize_axis
from tensorframe.graph.tracing import TracedNumber
from tensorframe.nn.functional.normalization import norm
from tensorframe.nn.functional.operands import floating, need_shape, real_number
from tensorframe.nn.functional.reduction import (
    REDUCTIONS,
    as_given,
    beside,
    both,
    need_reduction,
    reduced,
)
from tensorframe.ops.elementwise import (
    ABS,
    EQUAL,
    EXP,
    GREATER,
    LOG,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    NEGATIVE,
    NOT_EQUAL,
    SQRT,
    SQUARE,
    SUBTRACT,
    WHERE,
)
from tensorframe.ops.formulas import VECTOR_NORM
from tensorframe.ops.losses import AT_LEAST, HUBER, RAISED

__all__ = [
    "cosine_embedding_loss",
    "cosine_similarity",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multilabel_soft_margin_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
]

_SOFTPLUS = find("softplus")
# what magnitudes of `cosine_embedding_loss` are raised by, as in PyTorch
_LEAST_SQUARE = 1e-12


def mse_loss(
    input: ArrayLike, target: ArrayLike, reduction: str = "mean", weight: ArrayLike | None = None
) -> Tensor:
    """Squared differences of `input` and `target`, which has the shape of `input` or broadcasts to it.

    `reduction` is "none", "sum" or "mean". `weight`, of the shape of `input`, is a factor of each difference; a mean is
    the sum divided by the sum of the weights. Dtypes are real floating; half precision is computed in float32.
    ShapeError if `target` does not broadcast to the shape of `input`.

    >>> tfr.nn.functional.mse_loss(tfr.asarray([1.0, 2.0]), tfr.asarray([1.0, 4.0])).item()
    2.0
    >>> tfr.nn.functional.mse_loss(tfr.asarray([1.0, 2.0]), tfr.asarray([1.0, 4.0]), weight=[1.0, 3.0]).item()
    3.0
    """
    how = need_reduction("mse_loss", reduction)
    x, y = both("mse_loss", input, target)
    losses = apply(SQUARE, apply(SUBTRACT, widened(x), widened(y)))
    return _weighted_mean("mse_loss", losses, x, how, weight)


def l1_loss(
    input: ArrayLike, target: ArrayLike, reduction: str = "mean", weight: ArrayLike | None = None
) -> Tensor:
    """Absolute differences; arguments as for `mse_loss`.

    Averaged over all elements, unless `reduction` is "sum" or "none".

    >>> tfr.nn.functional.l1_loss(tfr.asarray([1.0, 2.0]), tfr.asarray([1.0, 4.0])).item()
    1.0
    """
    how = need_reduction("l1_loss", reduction)
    x, y = both("l1_loss", input, target)
    losses = apply(ABS, apply(SUBTRACT, widened(x), widened(y)))
    return _weighted_mean("l1_loss", losses, x, how, weight)


def _weighted_mean(
    name: str, losses: Tensor, x: Tensor, how: str, weight: ArrayLike | None
) -> Tensor:
    """Return losses by their reduction; a mean is over the weights, if there are any."""
    if weight is None:
        return as_given(reduced(losses, how), x.dtype)
    factors, x = _weights(name, weight, x)
    losses = apply(MULTIPLY, losses, factors)
    return as_given(reduced(losses, how, total(factors) if how == "mean" else None), x.dtype)


def _weights(name: str, weight: ArrayLike, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weights of elements in no less than float32, and the input in the dtype that both promote to."""
    factors = beside(name, "weight", weight, x)
    need_shape(name, "weight", factors, x.shape, "an input of this shape")
    promoted_x, factors = promoted(x, factors)
    return widened(factors), promoted_x


def huber_loss(
    input: ArrayLike,
    target: ArrayLike,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: ArrayLike | None = None,
) -> Tensor:
    """Half the squared difference up to `delta`, from there on a line; other arguments as for `mse_loss`.

    A mean is over all elements here, with weights too, as in PyTorch.
    Source: P. J. Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35 (1964).

    >>> tfr.nn.functional.huber_loss(tfr.asarray([0.5, 3.0]), tfr.zeros(2), "none").tolist()
    [0.125, 2.5]
    """
    how = need_reduction("huber_loss", reduction)
    x, y = both("huber_loss", input, target)
    width = real_number("huber_loss", "delta", delta)
    if type(width) is not TracedNumber and width <= 0:
        raise OutOfRangeError(f"huber_loss: delta is positive, got {delta!r}")
    losses = apply(HUBER, widened(x), widened(y), width)
    if weight is not None:
        factors, x = _weights("huber_loss", weight, x)
        losses = apply(MULTIPLY, losses, factors)
    return as_given(reduced(losses, how), x.dtype)


def smooth_l1_loss(
    input: ArrayLike, target: ArrayLike, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """`huber_loss` over `beta`: absolute differences, rounded off where they are below `beta`.

    >>> tfr.nn.functional.smooth_l1_loss(tfr.asarray([0.5, 3.0]), tfr.zeros(2), "none").tolist()
    [0.125, 2.5]
    """
    width = number("smooth_l1_loss", "beta", beta)
    if width < 0:
        raise OutOfRangeError(f"smooth_l1_loss: beta is not negative, got {beta!r}")
    if width == 0.0:
        return l1_loss(input, target, reduction)
    how = need_reduction("smooth_l1_loss", reduction)
    x, y = both("smooth_l1_loss", input, target)
    losses = apply(HUBER, widened(x), widened(y), width) / width
    return as_given(reduced(losses, how), x.dtype)


def kl_div(
    input: ArrayLike, target: ArrayLike, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """Kullback-Leibler divergence `target * (log(target) - input)`: `input` has logarithms of probabilities.

    With `log_target`, so has `target`. `reduction` may be "batchmean", too: the sum over the size of the first axis,
    which is the divergence as it is defined; "mean" is over all elements. A target of 0 gives 0.

    >>> tfr.nn.functional.kl_div(tfr.log(tfr.asarray([0.5, 0.5])), tfr.asarray([1.0, 0.0]), "sum").item()
    0.6931471824645996
    """
    how = need_reduction("kl_div", reduction, (*REDUCTIONS, "batchmean"))
    x, y = both("kl_div", input, target)
    scores, share = widened(x), widened(y)
    if flag("kl_div", "log_target", log_target):
        losses = apply(EXP, share) * (share - scores)
    else:
        logs = apply(LOG, apply(WHERE, apply(EQUAL, share, 0), 1, share))
        losses = share * logs - share * scores
    if how == "batchmean":
        return as_given(total(losses) / float(x.shape[0] if x.ndim else 1), x.dtype)
    return as_given(reduced(losses, how), x.dtype)


def poisson_nll_loss(
    input: ArrayLike,
    target: ArrayLike,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of counts: `exp(input) - target * input`, where `input` has logarithms of expectations.

    Without `log_input`, `input` has the expectations: `input - target * log(input + eps)`. With `full`, Stirling's
    approximation of `log(target!)` is added for targets above 1.

    >>> tfr.nn.functional.poisson_nll_loss(tfr.asarray([0.0]), tfr.asarray([2.0])).item()
    1.0
    """
    name = "poisson_nll_loss"
    how = need_reduction(name, reduction)
    x, y = both(name, input, target)
    scores, counts = widened(x), widened(y)
    if flag(name, "log_input", log_input):
        losses = apply(EXP, scores) - counts * scores
    else:
        losses = scores - counts * apply(LOG, scores + real_number(name, "eps", eps))
    if flag(name, "full", full):
        many = apply(GREATER, counts, 1)
        safe = apply(WHERE, many, counts, 1)
        logs = apply(LOG, safe)
        stirling = counts * logs - counts + 0.5 * (logs + log(2 * pi))
        losses = losses + apply(WHERE, many, stirling, 0)
    return as_given(reduced(losses, how), x.dtype)


def gaussian_nll_loss(
    input: ArrayLike,
    target: ArrayLike,
    var: ArrayLike,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of `target` under normal distributions: `(log(var) + (input - target)**2 / var) / 2`.

    `var` broadcasts to `input`, or has its shape without the last axis; variances below `eps` count as `eps`.
    With `full`, `log(2 pi) / 2` is added.

    >>> tfr.nn.functional.gaussian_nll_loss(tfr.asarray([1.0]), tfr.asarray([3.0]), tfr.asarray([1.0])).item()
    2.0
    """
    name = "gaussian_nll_loss"
    how = need_reduction(name, reduction)
    x, y = both(name, input, target)
    spread = operand(var)
    if x.ndim and spread.shape == x.shape[:-1] and spread.shape != x.shape:
        spread = spread[..., None]
    spread = widened(beside(name, "var", spread, x))
    variance = apply(RAISED, spread, real_number(name, "eps", eps))
    losses = 0.5 * (apply(LOG, variance) + apply(SQUARE, widened(x) - widened(y)) / variance)
    if flag(name, "full", full):
        losses = losses + 0.5 * log(2 * pi)
    return as_given(reduced(losses, how), x.dtype)


def hinge_embedding_loss(
    input: ArrayLike, target: ArrayLike, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """Distances of what belongs together (`target` 1), and what distances of others (-1) lack to `margin`.

    >>> x, y = tfr.asarray([0.5, 0.25, 2.0]), tfr.asarray([1.0, -1.0, -1.0])
    >>> tfr.nn.functional.hinge_embedding_loss(x, y, reduction="none").tolist()
    [0.5, 0.75, 0.0]
    """
    name = "hinge_embedding_loss"
    how = need_reduction(name, reduction)
    x, y = both(name, input, target)
    distance, side = widened(x), widened(y)
    lacking = apply(AT_LEAST, real_number(name, "margin", margin) - distance, 0)
    losses = apply(WHERE, apply(NOT_EQUAL, side, 1), lacking, 0) + apply(
        WHERE, apply(NOT_EQUAL, side, -1), distance, 0
    )
    return as_given(reduced(losses, how), x.dtype)


def soft_margin_loss(input: ArrayLike, target: ArrayLike, reduction: str = "mean") -> Tensor:
    """`log(1 + exp(-target * input))`, for targets 1 and -1.

    Logistic loss of two classes; averaged, unless `reduction` is "sum" or "none".

    >>> tfr.nn.functional.soft_margin_loss(tfr.asarray([0.0]), tfr.asarray([1.0])).item()
    0.6931471824645996
    """
    how = need_reduction("soft_margin_loss", reduction)
    x, y = both("soft_margin_loss", input, target)
    losses = apply(_SOFTPLUS, apply(NEGATIVE, widened(y) * widened(x)))
    return as_given(reduced(losses, how), x.dtype)


def multilabel_soft_margin_loss(
    input: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes, the last axis, of the binary cross entropy of each; targets are 0 and 1.

    >>> tfr.nn.functional.multilabel_soft_margin_loss(tfr.zeros((1, 2)), tfr.asarray([[1.0, 0.0]])).item()
    0.6931471824645996
    """
    name = "multilabel_soft_margin_loss"
    how = need_reduction(name, reduction)
    x, y = both(name, input, target)
    scores, truth = widened(x), widened(y)
    wrong = truth * apply(_SOFTPLUS, apply(NEGATIVE, scores))
    losses = wrong + (1 - truth) * apply(_SOFTPLUS, scores)
    if weight is not None:
        losses = losses * beside(name, "weight", weight, scores)
    axis = normalize_axis(name, -1, x.ndim)
    if how == "mean":  # of the means of as many classes each
        return as_given(mean(losses), x.dtype)
    result = total(losses) if how == "sum" else total(losses, axis=axis)
    return as_given(result / float(x.shape[axis]), x.dtype)


def margin_ranking_loss(
    input1: ArrayLike,
    input2: ArrayLike,
    target: ArrayLike,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """By how much inputs lack `margin` to the requested order: 1 if the first is larger, -1 if the second is.

    >>> tfr.nn.functional.margin_ranking_loss(tfr.asarray([1.0]), tfr.asarray([3.0]), tfr.asarray([1.0])).item()
    2.0
    """
    name = "margin_ranking_loss"
    how = need_reduction(name, reduction)
    x, other = both(name, input1, input2)
    side = widened(beside(name, "target", target, x))
    lacking = real_number(name, "margin", margin) - side * (widened(x) - widened(other))
    return as_given(reduced(apply(AT_LEAST, lacking, 0), how), x.dtype)


def cosine_similarity(x1: ArrayLike, x2: ArrayLike, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors along `dim`; lengths below `eps` count as `eps`. The other axes broadcast.

    >>> tfr.nn.functional.cosine_similarity(tfr.asarray([[3.0, 4.0]]), tfr.asarray([[4.0, 3.0]])).tolist()
    [0.9600000381469727]
    """
    name = "cosine_similarity"
    first, second = _pair(name, x1, x2)
    least = real_number(name, "eps", eps)
    shape = broadcast(name, first.shape, second.shape)
    axis = normalize_axis(name, dim, len(shape))
    parts = []
    for tensor in (widened(first), widened(second)):
        sizes = [*[1] * (len(shape) - tensor.ndim), *tensor.shape]
        aligned = reshaped(tensor, tuple(sizes))
        sizes[axis] = shape[
            axis
        ]  # a vector of one element that broadcasts is as long as the other one
        vector = expanded(aligned, tuple(sizes))
        length = call(VECTOR_NORM, vector, attrs=((axis,), True))
        parts.append(vector / apply(MAXIMUM, length, least))
    return as_given(total(apply(MULTIPLY, *parts), axis=axis), first.dtype)


def cosine_embedding_loss(
    input1: ArrayLike,
    input2: ArrayLike,
    target: ArrayLike,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """`1 - cos` of vectors that belong together (`target` 1), `max(0, cos - margin)` of others (-1).

    Shapes (examples, features) twice and (examples,), or without the examples.

    >>> x, y = tfr.asarray([1.0, 0.0]), tfr.asarray([0.0, 1.0])
    >>> round(tfr.nn.functional.cosine_embedding_loss(x, y, tfr.asarray(1.0)).item(), 5)
    1.0
    """
    name = "cosine_embedding_loss"
    how = need_reduction(name, reduction)
    first, second = _pair(name, input1, input2)
    if first.shape != second.shape or first.ndim not in (1, 2):
        raise ShapeError(
            f"{name}: inputs have the shape (examples, features) or (features,), got {first.shape} and {second.shape}"
        )
    x, y = widened(first), widened(second)
    squares = [total(apply(SQUARE, tensor), axis=-1) + _LEAST_SQUARE for tensor in (x, y)]
    cosine = total(x * y, axis=-1) / apply(SQRT, apply(MULTIPLY, *squares))
    side = beside(name, "target", target, cosine)
    apart = apply(AT_LEAST, cosine - real_number(name, "margin", margin), 0)
    losses = apply(WHERE, apply(EQUAL, side, 1), 1 - cosine, 0) + apply(
        WHERE, apply(EQUAL, side, -1), apart, 0
    )
    return as_given(reduced(losses, how), first.dtype)


def pairwise_distance(
    x1: ArrayLike, x2: ArrayLike, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of `x1 - x2 + eps` along the last axis; the other axes broadcast.

    >>> tfr.nn.functional.pairwise_distance(tfr.asarray([3.0, 0.0]), tfr.asarray([0.0, 4.0]), eps=0.0).item()
    5.0
    """
    name = "pairwise_distance"
    first, second = _pair(name, x1, x2)
    apart = widened(first) - widened(second) + real_number(name, "eps", eps)
    axis = normalize_axis(name, -1, apart.ndim)
    distance = norm(apart, number(name, "p", p), (axis,))
    distance = distance if flag(name, "keepdim", keepdim) else distance[..., 0]
    return as_given(distance, first.dtype)


def triplet_margin_loss(
    anchor: ArrayLike,
    positive: ArrayLike,
    negative: ArrayLike,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """By how much `anchor` lacks `margin` to be nearer to `positive` than to `negative`, by `pairwise_distance`.

    With `swap`, the distance from `positive` to `negative` counts where it is the smaller one.
    Source: V. Balntas et al., "Learning local feature descriptors with triplets", BMVC 2016.

    >>> a, p, n = tfr.zeros((1, 1)), tfr.asarray([[1.0]]), tfr.asarray([[1.5]])
    >>> tfr.nn.functional.triplet_margin_loss(a, p, n, eps=0.0).item()
    0.5
    """
    name = "triplet_margin_loss"
    how = need_reduction(name, reduction)
    here = floating(name, "anchor", anchor)
    near = pairwise_distance(here, positive, p, eps)
    far = pairwise_distance(here, negative, p, eps)
    if flag(name, "swap", swap):
        far = apply(MINIMUM, far, pairwise_distance(positive, negative, p, eps))
    lacking = real_number(name, "margin", margin) + near - far
    return reduced(apply(AT_LEAST, lacking, 0), how)


def _pair(name: str, x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Return two floating tensors, in the dtype that they promote to, whose shapes broadcast."""
    first, second = promoted(operand(x1), operand(x2))
    floating(name, "x1", first)
    broadcast(name, first.shape, second.shape)
    return first, second
