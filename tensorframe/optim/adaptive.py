"""RMSprop, Adagrad and Adafactor: steps divided by the size that gradients had so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorframe as tfr
from tensorframe.dtypes import wide_of
from tensorframe.errors import ArgumentError
from tensorframe.frontend.tensor import Tensor
from tensorframe.optim.optimizer import (
    DecayFilter,
    Number,
    Optimizer,
    Schedule,
    State,
    check_range,
    is_zero,
)


class RMSprop(Optimizer):
    """`p -= rate * g / (sqrt(v) + eps)`, where `v` averages squares of gradients.

    `centered` subtracts the square of the gradients' average from `v`; `momentum` sums steps up. Hinton, "Neural
    networks for machine learning", lecture 6e. Results are those of `torch.optim.RMSprop`.

    >>> w = tfr.asarray([1.0, -1.0])
    >>> tfr.optim.RMSprop(0.01).update(w, tfr.asarray([3.0, -0.5]))
    >>> w.numpy().round(4)
    array([ 0.9, -0.9], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Number | Schedule = 1e-2,
        alpha: Number = 0.99,
        eps: Number = 1e-8,
        weight_decay: Number = 0.0,
        momentum: Number = 0.0,
        centered: bool = False,
        decays: DecayFilter | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, decays)
        check_range("RMSprop", "alpha", alpha, 0.0, 1.0)
        check_range("RMSprop", "eps", eps, 0.0)
        check_range("RMSprop", "momentum", momentum, 0.0)
        self.alpha = alpha
        self.eps = eps
        self.momentum = momentum
        self.centered = centered

    @property
    def statistics(self) -> tuple[str, ...]:
        """The average of squares; that of gradients and the sum of steps where they are used."""
        momentum = () if is_zero(self.momentum) else ("momentum_buffer",)
        return ("square_avg", *momentum, *(("grad_avg",) if self.centered else ()))

    def rule(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        factors: Any,
        decay: Number,
    ) -> tuple[Tensor, State]:
        """Return the new value and averages."""
        if not is_zero(decay):
            gradient = gradient + decay * parameter
        squares = self.alpha * state["square_avg"] + (1 - self.alpha) * (gradient * gradient)
        new = {"square_avg": squares}
        if self.centered:
            average = self.alpha * state["grad_avg"] + (1 - self.alpha) * gradient
            new["grad_avg"] = average
            squares = squares - average * average
        change = gradient / (tfr.sqrt(squares) + self.eps)
        if "momentum_buffer" in state:
            change = new["momentum_buffer"] = self.momentum * state["momentum_buffer"] + change
        return parameter - factors * change, new


class Adagrad(Optimizer):
    """`p -= rate * g / (sqrt(s) + eps)`, where `s` sums the squares of all gradients.

    The rate falls as `rate / (1 + steps * learning_rate_decay)`. Duchi, Hazan and Singer, "Adaptive subgradient
    methods", JMLR 12 (2011). Results are those of `torch.optim.Adagrad`.

    >>> w = tfr.asarray([1.0, -1.0])
    >>> tfr.optim.Adagrad(0.5).update(w, tfr.asarray([3.0, -0.5]))
    >>> w.numpy().round(4).tolist()
    [0.5, -0.5]
    """

    @property
    def statistics(self) -> tuple[str, ...]:
        """The sum of squares."""
        return ("sum",)

    def __init__(
        self,
        learning_rate: Number | Schedule = 1e-2,
        learning_rate_decay: Number = 0.0,
        weight_decay: Number = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: Number = 1e-10,
        decays: DecayFilter | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, decays)
        check_range("Adagrad", "learning_rate_decay", learning_rate_decay, 0.0)
        check_range("Adagrad", "initial_accumulator_value", initial_accumulator_value, 0.0)
        check_range("Adagrad", "eps", eps, 0.0)
        self.learning_rate_decay = learning_rate_decay
        self.initial_accumulator_value = initial_accumulator_value
        self.eps = eps

    def first_state(self, parameter: Tensor) -> State:
        """Return the sum that the first square is added to."""
        value, dtype = self.initial_accumulator_value, wide_of(parameter.dtype)
        return {"sum": tfr.full(parameter.shape, value, dtype=dtype, device=parameter.device)}

    def factors(self, step: Tensor, rate: Number) -> Any:
        """Return the rate as it is at this step."""
        if is_zero(self.learning_rate_decay):
            return rate
        return rate / (1 + (step - 1) * self.learning_rate_decay)

    def rule(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        factors: Any,
        decay: Number,
    ) -> tuple[Tensor, State]:
        """Return the new value and sum."""
        if not is_zero(decay):
            gradient = gradient + decay * parameter
        squares = state["sum"] + gradient * gradient
        return parameter - factors * (gradient / (tfr.sqrt(squares) + self.eps)), {"sum": squares}


class Adafactor(Optimizer):
    """Squares of gradients kept by row and by column: a matrix of n by m has a state of n + m numbers.

    The step is relative to the size of the parameter, and no longer than `d` on average. Weight decay is beside the
    gradient. Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", arXiv 1804.04235.
    Results are those of `torch.optim.Adafactor`.

    >>> w = tfr.ones((2, 2))
    >>> tfr.optim.Adafactor(0.1).update(w, tfr.asarray([[1.0, 1.0], [1.0, -1.0]]))
    >>> w.numpy().round(4)
    array([[0.9, 0.9],
           [0.9, 1.1]], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Number | Schedule = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: Number = 0.0,
        decays: DecayFilter | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, decays)
        if beta2_decay > 0:
            raise ArgumentError(f"Adafactor: beta2_decay is at most 0, got {beta2_decay!r}")
        check_range("Adafactor", "eps[1]", eps[1], 0.0)
        check_range("Adafactor", "d", d, 1.0)
        self.beta2_decay = beta2_decay
        self.eps1, self.eps2 = eps
        self.d = d

    def first_state(self, parameter: Tensor) -> State:
        """Return sums for the rows and columns of a matrix, or of each in a stack; for a vector its squares."""
        shape = parameter.shape
        if len(shape) > 1:
            shapes = {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}
        else:
            shapes = {"variance": shape}
        dtype, device = wide_of(parameter.dtype), parameter.device
        return {name: tfr.zeros(size, dtype=dtype, device=device) for name, size in shapes.items()}

    def factors(self, step: Tensor, rate: Number) -> Any:
        """Return the rate, the rate bounded by the number of steps, and the part of a new square in its average."""
        return rate, tfr.minimum(1 / tfr.sqrt(step), rate), step**self.beta2_decay

    def rule(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        factors: Any,
        decay: Number,
    ) -> tuple[Tensor, State]:
        """Return the new value, and the averages of squares."""
        rate, relative, entering = factors
        eps1 = float(tfr.finfo(parameter.dtype).eps) if self.eps1 is None else self.eps1
        size = tfr.maximum(_root_mean_square(parameter), self.eps2) * relative
        if not is_zero(decay):
            parameter = parameter * (1 - rate * decay)
        squares = gradient * gradient
        new: State = {}
        if "variance" in state:
            estimate = new["variance"] = _towards(state["variance"], squares, entering)
        else:
            row = tfr.mean(squares, axis=-1, keepdims=True)
            column = tfr.mean(squares, axis=-2, keepdims=True)
            row = new["row_var"] = _towards(state["row_var"], row, entering)
            column = new["col_var"] = _towards(state["col_var"], column, entering)
            estimate = row * column / tfr.maximum(tfr.mean(row, axis=-2, keepdims=True), eps1)
        change = gradient / tfr.sqrt(tfr.maximum(estimate, eps1 * eps1))
        longest = tfr.maximum(_root_mean_square(change) / self.d, 1.0)
        return parameter - (size / longest) * change, new


def _towards(old: Tensor, new: Tensor, share: Tensor) -> Tensor:
    return old + share * (new - old)


def _root_mean_square(x: Tensor) -> Tensor:
    return tfr.sqrt(tfr.mean(x * x))
