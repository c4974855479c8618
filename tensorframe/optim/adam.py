"""Adam and AdamW: steps scaled by running averages of the gradients and of their squares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorframe as tfr
from tensorframe.frontend.tensor import Tensor
from tensorframe.optim.optimizer import (
    DecayFilter,
    Number,
    Optimizer,
    Schedule,
    State,
    check_range,
    is_zero,
    one_minus_power,
)
from tensorframe.quick_tuples import NamedTuple


class _Factors(NamedTuple):
    """What every parameter's step needs: the rate, the rate without bias, the scale of the root of the squares."""

    rate: Any
    step_size: Any
    root_scale: Any


class Adam(Optimizer):
    """`p -= rate * m / (sqrt(v) + eps)`, where `m` and `v` average gradients and squares, without their first bias.

    Weight decay is part of the gradient; see `AdamW` for the other way. `amsgrad` divides by the largest `v` so far.
    Kingma and Ba, "Adam: a method for stochastic optimization", arXiv 1412.6980. Results are those of
    `torch.optim.Adam`.

    >>> w = tfr.asarray([1.0, -1.0])
    >>> tfr.optim.Adam(0.5).update(w, tfr.asarray([3.0, -0.01]))
    >>> w.numpy().round(4).tolist()
    [0.5, -0.5]
    """

    decoupled = False

    def __init__(
        self,
        learning_rate: Number | Schedule = 1e-3,
        betas: tuple[Number, Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        weight_decay: Number = 0.0,
        amsgrad: bool = False,
        decays: DecayFilter | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, decays)
        self.beta1, self.beta2 = betas
        self.eps = eps
        self.amsgrad = amsgrad
        title = type(self).__name__
        check_range(title, "betas[0]", self.beta1, 0.0, 1.0)
        check_range(title, "betas[1]", self.beta2, 0.0, 1.0)
        check_range(title, "eps", eps, 0.0)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The averages, and the largest one of squares with `amsgrad`."""
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if self.amsgrad else 2]

    def factors(self, step: Tensor, rate: Number) -> Any:
        """Return the rate, and the corrections of both averages' bias towards zero."""
        root_scale = 1 / tfr.sqrt(one_minus_power(self.beta2, step))
        return _Factors(rate, rate / one_minus_power(self.beta1, step), root_scale)

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
            if self.decoupled:
                parameter = parameter * (1 - factors.rate * decay)
            else:
                gradient = gradient + decay * parameter
        average = self.beta1 * state["exp_avg"] + (1 - self.beta1) * gradient
        squares = self.beta2 * state["exp_avg_sq"] + (1 - self.beta2) * (gradient * gradient)
        new = {"exp_avg": average, "exp_avg_sq": squares}
        if self.amsgrad:
            squares = new["max_exp_avg_sq"] = tfr.maximum(state["max_exp_avg_sq"], squares)
        root = tfr.sqrt(squares) * factors.root_scale + self.eps
        return parameter - factors.step_size * (average / root), new


class AdamW(Adam):
    """Adam with weight decay beside the gradient: `p *= 1 - rate * weight_decay` before the step.

    Loshchilov and Hutter, "Decoupled weight decay regularization", arXiv 1711.05101. Results are those of
    `torch.optim.AdamW`. `decays=lambda name, p: p.ndim > 1` leaves biases and norms alone, as is usual.

    >>> w = tfr.asarray([1.0, -1.0])
    >>> tfr.optim.AdamW(0.5, weight_decay=0.1).update(w, tfr.asarray([3.0, -0.01]))
    >>> w.numpy().round(4)
    array([ 0.45, -0.45], dtype=float32)
    """

    decoupled = True

    def __init__(
        self,
        learning_rate: Number | Schedule = 1e-3,
        betas: tuple[Number, Number] = (0.9, 0.999),
        eps: Number = 1e-8,
        weight_decay: Number = 1e-2,
        amsgrad: bool = False,
        decays: DecayFilter | None = None,
    ) -> None:
        super().__init__(learning_rate, betas, eps, weight_decay, amsgrad, decays)
