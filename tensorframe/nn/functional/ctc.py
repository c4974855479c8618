"""Connectionist temporal classification: the loss of sequences whose alignment with their labels is not known."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from tensorframe.dtypes import int64
from tensorframe.errors import IndexingError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.indexing.index_nodes import index_node
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.operands import converted, filled, operand, reshaped, widened
from tensorframe.frontend.parameters import flag, integer
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import default_on
from tensorframe.nn.functional.classes import (
    class_index,
    integers_in,
    known_numbers,
    positions,
)
from tensorframe.nn.functional.operands import floating, need_shape
from tensorframe.nn.functional.reduction import as_given, need_reduction, reduced
from tensorframe.ops.elementwise import LESS, LOGADDEXP, MAXIMUM, NOT_EQUAL, WHERE
from tensorframe.ops.indexing import GATHER, TAKE_ALONG_AXIS
from tensorframe.quick_tuples import NamedTuple

__all__ = ["ctc_loss"]


def ctc_loss(
    log_probs: ArrayLike,
    targets: ArrayLike,
    input_lengths: ArrayLike,
    target_lengths: ArrayLike,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of all alignments of a sequence that read as its labels.

    `log_probs` are logarithms of probabilities, as `log_softmax` gives them, of shape (steps, examples, classes), or
    (steps, classes) for one example. `targets` are class numbers, without `blank`: (examples, labels), padded with
    anything, or those of all examples one after another, of shape (sum of `target_lengths`,). Both lengths are
    integers, one for each example: how many steps and how many labels it has. An alignment gives each step a class;
    it reads as these classes without repetitions, and then without blanks.

    `reduction` is "none", "sum", or "mean": each loss over its number of labels, then the mean of the examples. A
    loss is infinite where there is no alignment, as for more labels than steps; with `zero_infinity` it is 0, and
    has no gradient. Gradients are those of `log_probs` alone: behind `log_softmax` they are PyTorch's. Real floating
    dtypes; a step is one kernel. Raises IndexingError for a length or a class that is out of range.

    Source: A. Graves, S. Fernandez, F. Gomez and J. Schmidhuber, "Connectionist temporal classification" (2006).

    >>> steps = tfr.log(tfr.asarray([[[0.5, 0.5]], [[0.25, 0.75]]]))  # two steps: blank or 1
    >>> loss = tfr.nn.functional.ctc_loss(steps, tfr.asarray([[1]]), (2,), (1,))
    >>> round(tfr.exp(-loss).item(), 4)  # 1 - 0.5 * 0.25
    0.875
    """
    name = "ctc_loss"
    how = need_reduction(name, reduction)
    without_infinity = flag(name, "zero_infinity", zero_infinity)
    given = floating(name, "log_probs", log_probs)
    if given.ndim not in (2, 3):
        raise ShapeError(
            f"{name}: log_probs has axes (steps, examples, classes), or no examples, got shape {given.shape}"
        )
    is_single = given.ndim == 2
    logs = widened(given)
    logs = reshaped(logs, (logs.shape[0], 1, logs.shape[1])) if is_single else logs
    labels = _labels(logs, targets, target_lengths, _blank(blank, logs.shape[-1]), is_single)
    losses = _losses(logs, labels, _lengths("input_lengths", input_lengths, logs, logs.shape[0]))
    if without_infinity:
        losses = apply(WHERE, apply(NOT_EQUAL, losses, inf), losses, 0.0)
    if how == "mean":
        losses = losses / converted(apply(MAXIMUM, labels.lengths, 1), losses.dtype)
    losses = reshaped(losses, ()) if is_single else losses
    return as_given(reduced(losses, how), given.dtype)


class _Labels(NamedTuple):
    """Labels of examples with a blank before, between and behind them: the states that an alignment goes through."""

    classes: Tensor  # indices of these, for each state: (examples, states)
    skips: Tensor  # what is added to come from two states before: 0, or -inf
    lengths: Tensor  # how many labels each example has


def _blank(blank: Any, classes: int) -> int:
    number = integer("ctc_loss", "blank", blank)
    if not 0 <= number < classes:
        raise IndexingError(
            f"ctc_loss: blank {number} is out of range for {classes} classes",
            suggestions=(f"blank from 0 to {classes - 1}",) if classes else (),
        )
    return number


def _lengths(argument: str, value: Any, logs: Tensor, most: int) -> Tensor:
    """Return the lengths of examples, which are refused unless they are from 0 to `most`."""
    examples = logs.shape[1]
    lengths = integers_in("ctc_loss", argument, value)
    if lengths.ndim == 0 and examples == 1:
        lengths = reshaped(lengths, (1,))
    need_shape("ctc_loss", argument, lengths, (examples,), f"log_probs of {examples} examples")
    _, index = class_index(
        "ctc_loss", argument, lengths, most + 1, what=f"lengths of at most {most}"
    )
    # read by a gather, which checks its index
    return call(GATHER, positions(index, most + 1), index, attrs=((0,), 0))


def _labels(
    logs: Tensor, targets: Any, target_lengths: Any, blank: int, is_single: bool
) -> _Labels:
    """Return the states of examples: those behind their labels are blank, whatever `targets` has there."""
    examples, classes = logs.shape[1:]
    given = integers_in("ctc_loss", "targets", targets)
    if given.ndim == 1 and is_single:
        given = reshaped(given, (1, given.shape[0]))
    if given.ndim == 1:
        given = _padded(given, target_lengths, examples)
    if given.ndim != 2 or given.shape[0] != examples:
        raise ShapeError(
            f"ctc_loss: targets have shape (examples, labels), or (all labels,), got {given.shape} "
            f"for {examples} examples"
        )
    most = given.shape[1]
    lengths = _lengths("target_lengths", target_lengths, logs, most)
    numbers, index = class_index(
        "ctc_loss", "targets", _read(given, target_lengths, lengths, blank), classes
    )
    blanks = filled((examples, most + 1), blank, index.dtype, index.device)
    states = _between(blanks, index)
    differs = apply(NOT_EQUAL, numbers[:, 1:], numbers[:, :-1])
    skips = apply(WHERE, differs, 0.0, -inf).astype(logs.dtype)
    never = filled((examples, most + 1), -inf, logs.dtype, skips.device)
    first = filled((examples, min(most, 1)), -inf, logs.dtype, skips.device)
    return _Labels(states, _between(never, concat([first, skips], axis=1)), lengths)


def _read(targets: Tensor, target_lengths: Any, lengths: Tensor, blank: int) -> Tensor:
    """Return labels with blanks behind those of each example: at once if they are known, for errors to name them."""
    known, counts = known_numbers(targets), known_numbers(operand(target_lengths))
    most = targets.shape[1]
    if known is not None and counts is not None:
        inside = np.arange(most) < counts.reshape(-1, 1)
        return operand(np.where(inside, known, blank), device=targets.device)
    numbers = converted(targets, default_on(targets.device, int64))
    is_label = apply(LESS, positions(numbers, most), reshaped(lengths, (lengths.size, 1)))
    return apply(WHERE, is_label, numbers, blank)


def _padded(targets: Tensor, lengths: Any, examples: int) -> Tensor:
    """Return labels that lie one after another as one row for each example."""
    counts = np.asarray(operand(lengths)._array()).astype(np.int64).reshape(-1)
    total = int(counts.sum())
    if counts.shape != (examples,) or counts.min(initial=0) < 0 or total != targets.shape[0]:
        raise ShapeError(
            f"ctc_loss: targets of shape {targets.shape} are the labels of all examples, but target_lengths "
            f"of {counts.size} examples, of {examples}, add up to {total}",
            suggestions=("targets of shape (examples, labels), padded",),
        )
    first = np.cumsum(counts) - counts
    places = first[:, None] + np.arange(counts.max(initial=0))
    last = max(total - 1, 0)
    index = operand(np.minimum(places, last), device=targets.device)
    return call(GATHER, targets, Tensor(index_node(index, 0, total, index.device)), attrs=((0,), 0))


def _between(outer: Tensor, inner: Tensor) -> Tensor:
    """Return columns of two matrices by turns: one of `outer` first and last."""
    rows, count = inner.shape
    pairs = concat(
        [reshaped(outer[:, :-1], (rows, count, 1)), reshaped(inner, (rows, count, 1))], axis=2
    )
    return concat([reshaped(pairs, (rows, 2 * count)), outer[:, -1:]], axis=1)


def _losses(logs: Tensor, labels: _Labels, lengths: Tensor) -> Tensor:
    """Return the loss of each example: the forward variables of its states, one step after another."""
    steps, examples, _ = logs.shape
    states = labels.classes.shape[1]
    seen = call(TAKE_ALONG_AXIS, logs, reshaped(labels.classes, (1, examples, states)), attrs=(2,))
    before = filled((examples, 2), -inf, logs.dtype, logs.device)
    # before the first step is in the first blank, from where the first label is one state away
    first = filled((examples, 1), 0.0, logs.dtype, logs.device)
    rest = filled((examples, states - 1), -inf, logs.dtype, logs.device)
    forward = concat([first, rest], axis=1)
    limits = reshaped(lengths, (examples, 1))
    for step in range(steps):
        shifted = concat([before, forward], axis=1)
        reached = apply(LOGADDEXP, forward, shifted[:, 1:-1])
        reached = apply(LOGADDEXP, reached, shifted[:, :-2] + labels.skips) + seen[step]
        forward = apply(WHERE, apply(LESS, step, limits), reached, forward)
    ends = reshaped(labels.lengths, (examples, 1)) * 2 + np.asarray([[0, 1]])
    both = call(TAKE_ALONG_AXIS, concat([before[:, :1], forward], axis=1), ends, attrs=(1,))
    return -apply(LOGADDEXP, both[:, 0], both[:, 1])
