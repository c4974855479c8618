"""Stochastic gradient descent, and Lion, which takes the sign of its momentum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorframe as tfr
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


class SGD(Optimizer):
    """Gradient descent: `p -= rate * g`, with momentum, Nesterov's among them, and weight decay as part of `g`.

    `buffer = momentum * buffer + (1 - dampening) * g` (the first one is `g`) takes the place of `g`; with
    `nesterov` it is `g + momentum * buffer`. Results are those of `torch.optim.SGD`.

    >>> w = tfr.asarray([1.0])
    >>> optimizer = tfr.optim.SGD(0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.update(w, tfr.asarray([1.0]))
    >>> round(w.item(), 4)
    0.71
    """

    def __init__(
        self,
        learning_rate: Number | Schedule,
        momentum: Number = 0.0,
        dampening: Number = 0.0,
        weight_decay: Number = 0.0,
        nesterov: bool = False,
        decays: DecayFilter | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, decays)
        check_range("SGD", "momentum", momentum, 0.0)
        if nesterov and (is_zero(momentum) or not is_zero(dampening)):
            raise ArgumentError("SGD: nesterov needs a momentum, and no dampening")
        self.momentum = momentum
        self.dampening = dampening
        self.nesterov = nesterov

    @property
    def statistics(self) -> tuple[str, ...]:
        """The momentum, if there is any."""
        return () if is_zero(self.momentum) else ("momentum_buffer",)

    def factors(self, step: Tensor, rate: Number) -> Any:
        """Return the learning rate, and the part of a gradient that enters the buffer."""
        if is_zero(self.dampening):
            return rate, 1.0
        return rate, 1 - self.dampening * (step > 1).astype(step.dtype)

    def rule(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        factors: Any,
        decay: Number,
    ) -> tuple[Tensor, State]:
        """Return the new value and buffer."""
        rate, entering = factors
        if not is_zero(decay):
            gradient = gradient + decay * parameter
        if not state:
            return parameter - rate * gradient, {}
        buffer = self.momentum * state["momentum_buffer"] + entering * gradient
        direction = gradient + self.momentum * buffer if self.nesterov else buffer
        return parameter - rate * direction, {"momentum_buffer": buffer}


class Lion(Optimizer):
    """The sign of an average: `p -= rate * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * p)`.

    Then `m = beta2 * m + (1 - beta2) * g`. Rates are a third to a tenth of AdamW's, weight decay as much larger.
    Chen et al., "Symbolic discovery of optimization algorithms", arXiv 2302.06675, algorithm 2.

    >>> w = tfr.asarray([1.0, -1.0])
    >>> tfr.optim.Lion(0.5).update(w, tfr.asarray([3.0, -0.01]))
    >>> w.tolist()
    [0.5, -0.5]
    """

    @property
    def statistics(self) -> tuple[str, ...]:
        """The average of gradients."""
        return ("exp_avg",)

    def __init__(
        self,
        learning_rate: Number | Schedule = 1e-4,
        betas: tuple[Number, Number] = (0.9, 0.99),
        weight_decay: Number = 0.0,
        decays: DecayFilter | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, decays)
        self.beta1, self.beta2 = betas
        check_range("Lion", "betas[0]", self.beta1, 0.0, 1.0)
        check_range("Lion", "betas[1]", self.beta2, 0.0, 1.0)

    def rule(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        factors: Any,
        decay: Number,
    ) -> tuple[Tensor, State]:
        """Return the new value and average."""
        average = state["exp_avg"]
        direction = tfr.sign(self.beta1 * average + (1 - self.beta1) * gradient)
        if not is_zero(decay):
            direction = direction + decay * parameter
        average = self.beta2 * average + (1 - self.beta2) * gradient
        return parameter - factors * direction, {"exp_avg": average}
