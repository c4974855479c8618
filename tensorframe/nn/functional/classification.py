"""Losses of classifiers: how far scores or probabilities are from the right classes."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.errors import DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.operands import converted, operand, reshaped, widened
from tensorframe.frontend.parameters import choice, integer, number
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import find
from tensorframe.graph.shape import Shape
from tensorframe.nn.functional.classes import class_index, positions
from tensorframe.nn.functional.operands import floating, need_rank, need_shape, real_number
from tensorframe.nn.functional.reduction import (
    as_given,
    beside,
    both,
    need_broadcast,
    need_reduction,
    reduced,
)
from tensorframe.ops.elementwise import EQUAL, MULTIPLY, NEGATIVE, NOT_EQUAL, POW, WHERE
from tensorframe.ops.formulas import LOG_SOFTMAX
from tensorframe.ops.indexing import GATHER
from tensorframe.ops.losses import AT_LEAST, BINARY_ENTROPY, CROSS_ENTROPY, LOGIT_ENTROPY, PICK

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "multi_margin_loss",
    "nll_loss",
]

_SOFTPLUS = find("softplus")


def cross_entropy(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the logarithm of the probability that the softmax of `input` gives to the right class.

    `input` has scores (logits) of shape (classes,) or (examples, classes, ...), real floating. `target` has class
    numbers, in that shape without the axis of classes, or probabilities of all classes, in that shape. `weight`, of
    shape (classes,), is a factor for each class. Examples with the class number `ignore_index` do not count.
    `label_smoothing` is the part of the probability that is spread evenly over all classes. `reduction` is "none",
    "sum", or "mean": the sum divided by the total weight of the examples' classes, or, if `target` has probabilities,
    by the number of examples.

    The forward pass reads the scores once; the gradient is `softmax(input) - one_hot(target)`.

    IndexingError if a class number is not from 0 to classes - 1. ShapeError if the shapes do not fit each other.
    DTypeError if the dtypes do not fit each other. OutOfRangeError if `label_smoothing` is not a probability.

    >>> scores = tfr.asarray([[2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    >>> round(tfr.nn.functional.cross_entropy(scores, tfr.asarray([0, 1])).item(), 4)
    1.6672
    """
    name = "cross_entropy"
    how = need_reduction(name, reduction)
    smoothing = _smoothing(label_smoothing)
    scores, axis = _scores(name, input)
    labels = operand(target)
    weights = _weights(name, weight, scores, axis)
    if labels.dtype in dtypes.FLOAT:
        return _by_probabilities(scores, labels, axis, weights, how, smoothing)
    loss = _Labelled(
        name, scores, labels, axis, weights, integer(name, "ignore_index", ignore_index)
    )
    losses = loss.weighted(loss.of(CROSS_ENTROPY))
    if smoothing:
        losses = losses * (1.0 - smoothing) + loss.smooth() * (smoothing / scores.shape[axis])
    return loss.reduced(losses, how)


def nll_loss(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Minus the logarithm of the right class's probability, where `input` has logarithms of probabilities.

    The arguments are those of `cross_entropy`, which equals `nll_loss` of `log_softmax`; `target` has class numbers.

    >>> logs = tfr.log(tfr.asarray([[0.5, 0.5], [0.25, 0.75]]))
    >>> tfr.nn.functional.nll_loss(logs, tfr.asarray([0, 0]), reduction="none").numpy().round(4)
    array([0.6931, 1.3863], dtype=float32)
    """
    name = "nll_loss"
    how = need_reduction(name, reduction)
    scores, axis = _scores(name, input)
    weights = _weights(name, weight, scores, axis)
    ignored = integer(name, "ignore_index", ignore_index)
    loss = _Labelled(name, scores, operand(target), axis, weights, ignored)
    return loss.reduced(loss.weighted(apply(NEGATIVE, loss.of(PICK))), how)


def binary_cross_entropy(
    input: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, reduction: str = "mean"
) -> Tensor:
    """`-(target * log(input) + (1 - target) * log(1 - input))`, for probabilities from 0 to 1.

    Logarithms are cut off at -100, so that no probability gives an infinite loss. `weight` broadcasts to the elements.
    NaN outside of 0 to 1. Prefer `binary_cross_entropy_with_logits` to this of `sigmoid`.

    >>> tfr.nn.functional.binary_cross_entropy(tfr.asarray([0.5, 0.0]), tfr.asarray([1.0, 1.0])).item()
    50.34657287597656
    """
    how = need_reduction("binary_cross_entropy", reduction)
    x, y = both("binary_cross_entropy", input, target)
    losses = apply(BINARY_ENTROPY, widened(x), widened(y))
    return _weighted_mean("binary_cross_entropy", losses, weight, how, x)


def binary_cross_entropy_with_logits(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    reduction: str = "mean",
    pos_weight: ArrayLike | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid(input)`, accurate for scores of any size.

    `weight` broadcasts to the elements; `pos_weight` is the weight of targets of 1, relative to targets of 0.

    >>> score = tfr.asarray([-1000.0, 0.0])
    >>> round(tfr.nn.functional.binary_cross_entropy_with_logits(score, tfr.asarray([1.0, 1.0])).item(), 2)
    500.35
    """
    name = "binary_cross_entropy_with_logits"
    how = need_reduction(name, reduction)
    x, y = both(name, input, target)
    scores, truth = widened(x), widened(y)
    if pos_weight is None:
        losses = apply(LOGIT_ENTROPY, scores, truth)
    else:
        factor = (beside(name, "pos_weight", pos_weight, scores) - 1) * truth + 1
        losses = (1 - truth) * scores + factor * apply(_SOFTPLUS, apply(NEGATIVE, scores))
    return _weighted_mean(name, losses, weight, how, x)


def multi_margin_loss(
    input: ArrayLike,
    target: ArrayLike,
    p: int = 1,
    margin: float = 1.0,
    weight: ArrayLike | None = None,
    reduction: str = "mean",
) -> Tensor:
    """By how much scores of wrong classes exceed that of the right one less `margin`, to the power `p`: their mean.

    Shapes (examples, classes) and (examples,), or (classes,) and (); `weight`, of shape (classes,), is how much each
    class counts. `p` is 1 or 2.

    >>> tfr.nn.functional.multi_margin_loss(tfr.asarray([0.5, 0.25]), tfr.asarray(0)).item()
    0.375
    """
    name = "multi_margin_loss"
    how = need_reduction(name, reduction)
    power = choice(name, "p", p, (1, 2))
    distance = real_number(name, "margin", margin)
    scores, axis = _scores(name, input, most=2)
    weights = _weights(name, weight, scores, axis)
    loss = _Labelled(name, scores, operand(target), axis, weights, None)
    right = reshaped(loss.of(PICK), loss.kept)
    excess = apply(AT_LEAST, loss.scores - right + distance, 0)
    excess = excess if power == 1 else apply(POW, excess, 2)
    excess = apply(WHERE, loss.is_class(), 0.0, excess)
    losses = loss.weighted(total(excess, axis=axis) / float(scores.shape[axis]))
    return as_given(reduced(losses, how), scores.dtype)


class _Labelled:
    """Scores beside the numbers of the right classes, some of them perhaps ignored."""

    def __init__(
        self,
        name: str,
        scores: Tensor,
        labels: Tensor,
        axis: int,
        weights: Tensor | None,
        ignored: int | None,
    ) -> None:
        shape = scores.shape[:axis] + scores.shape[axis + 1 :]
        need_shape(name, "target", labels, shape, f"an input of shape {scores.shape}")
        numbers, self.index = class_index(name, "target", labels, scores.shape[axis], ignored)
        self.dtype, self.scores, self.axis = scores.dtype, widened(scores), axis
        self.kept: Shape = (*scores.shape[:axis], 1, *scores.shape[axis + 1 :])
        self._present = None if ignored is None else apply(NOT_EQUAL, numbers, ignored)
        self._weights = weights
        self._share = None  # how much each example counts by its class
        if weights is not None:
            self._share = call(GATHER, weights, self.index, attrs=((0,), 0))

    def of(self, op: Any) -> Tensor:
        """Return a row of the scores at the classes."""
        return call(op, self.scores, self.index, attrs=(self.axis,))

    def is_class(self) -> Tensor:
        """Return, for each score, whether it is that of the right class."""
        places = positions(self.index, self.scores.shape[self.axis])
        after = (1,) * (self.scores.ndim - self.axis - 1)
        places = reshaped(places, (places.size, *after))
        return apply(EQUAL, reshaped(self.index, self.kept), places)

    def weighted(self, losses: Tensor) -> Tensor:
        """Return losses by how much their examples count."""
        return self._unless_ignored(
            losses if self._share is None else apply(MULTIPLY, losses, self._share)
        )

    def _unless_ignored(self, losses: Tensor) -> Tensor:
        """Return losses, of ignored examples 0, whatever their scores are."""
        return losses if self._present is None else apply(WHERE, self._present, losses, 0.0)

    def smooth(self) -> Tensor:
        """Return the loss of a target that is all classes alike, with their weights, times their number."""
        logs = call(LOG_SOFTMAX, self.scores, attrs=((self.axis,),))
        if self._weights is not None:
            logs = logs * _aligned(self._weights, self.scores, self.axis)
        return self._unless_ignored(apply(NEGATIVE, total(logs, axis=self.axis)))

    def reduced(self, losses: Tensor, how: str) -> Tensor:
        """Return losses by their reduction: a mean is over what examples count together."""
        count = None
        if how == "mean" and self._share is not None:
            count = total(self._unless_ignored(self._share))
        elif how == "mean" and self._present is not None:
            count = converted(total(self._present), losses.dtype)
        return as_given(reduced(losses, how, count), self.dtype)


def _aligned(weights: Tensor, scores: Tensor, axis: int) -> Tensor:
    return reshaped(weights, (weights.size, *[1] * (scores.ndim - axis - 1)))


def _by_probabilities(
    scores: Tensor,
    target: Tensor,
    axis: int,
    weights: Tensor | None,
    how: str,
    smoothing: float,
) -> Tensor:
    """Return the cross entropy with probabilities of all classes."""
    need_shape("cross_entropy", "target", target, scores.shape, "an input of that shape")
    logs = call(LOG_SOFTMAX, widened(scores), attrs=((axis,),))
    share = widened(target)
    if smoothing:
        share = share * (1.0 - smoothing) + smoothing / scores.shape[axis]
    if weights is not None:
        share = share * _aligned(weights, scores, axis)
    losses = apply(NEGATIVE, total(apply(MULTIPLY, logs, share), axis=axis))
    return as_given(reduced(losses, how), dtypes.promote(scores.dtype, target.dtype))


def _scores(name: str, input: Any, most: int | None = None) -> tuple[Tensor, int]:
    """Return scores, and the axis of their classes: the second one, or the only one."""
    scores = floating(name, "input", input)
    need_rank(name, "input", scores, 1, "(examples, classes, ...) or (classes,)")
    if most is not None and scores.ndim > most:
        raise ShapeError(f"{name}: input has shape (examples, classes), got {scores.shape}")
    axis = 1 if scores.ndim > 1 else 0
    if not scores.shape[axis]:
        raise ShapeError(f"{name}: input of shape {scores.shape} has no classes")
    return scores, axis


def _weights(name: str, weight: Any, scores: Tensor, axis: int) -> Tensor | None:
    """Return the weights of classes in the dtype of the scores, in no less than float32."""
    if weight is None:
        return None
    weights = operand(weight)
    classes = scores.shape[axis]
    need_shape(name, "weight", weights, (classes,), f"an input with {classes} classes")
    if weights.dtype in dtypes.COMPLEX:
        raise DTypeError(f"{name}: weight has real numbers, got {weights.dtype}")
    return converted(weights, dtypes.wide_of(scores.dtype))


def _smoothing(value: Any) -> float:
    smoothing = number("cross_entropy", "label_smoothing", value)
    if not 0.0 <= smoothing <= 1.0:
        raise OutOfRangeError(
            f"cross_entropy: label_smoothing is a probability from 0 to 1, got {smoothing}"
        )
    return smoothing


def _weighted_mean(name: str, losses: Tensor, weight: Any, how: str, x: Tensor) -> Tensor:
    """Return losses times weights, by their reduction; the mean is over their number."""
    if weight is not None:
        weights = operand(weight)
        need_broadcast(name, "weight", weights, losses)
        losses = losses * weights
    return as_given(reduced(losses, how), x.dtype)
