"""Muon: momentum made orthogonal, for matrices; another optimiser updates what is no matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tensorframe as tfr
from tensorframe.dtypes import wide_of
from tensorframe.errors import ArgumentError, ShapeError
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

_COEFFICIENTS = (3.4445, -4.775, 2.0315)
_ADJUSTMENTS = {
    "original": lambda rows, columns: math.sqrt(max(1.0, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


class Muon(Optimizer):
    """Steps along the nearest orthogonal matrix to the momentum, found by five Newton-Schulz iterations.

    It is for weights with two axes. Others, such as biases, norms and embeddings, need an optimiser of their own, or
    `others`, whose rule updates them in the same call and whose state is beside this one's. `adjust` scales the rate by
    the shape: "original" by `sqrt(max(1, rows / columns))`, "match_rms_adamw" to the size that AdamW's steps have.
    Weight decay is beside the gradient.
    Jordan, "Muon: an optimizer for hidden layers in neural networks" (2024). `torch.optim.Muon` iterates in bfloat16;
    here it is float32.

    >>> w = {"weight": tfr.eye(2), "bias": tfr.zeros(2)}
    >>> optimizer = tfr.optim.Muon(0.1, weight_decay=0.0, others=tfr.optim.SGD(0.5))
    >>> optimizer.update(w, {"weight": tfr.asarray([[0.0, 3.0], [3.0, 0.0]]), "bias": tfr.ones(2)})
    >>> w["bias"].tolist()
    [-0.5, -0.5]
    """

    def __init__(
        self,
        learning_rate: Number | Schedule = 1e-3,
        weight_decay: Number = 0.1,
        momentum: Number = 0.95,
        nesterov: bool = True,
        coefficients: tuple[float, float, float] = _COEFFICIENTS,
        eps: float = 1e-7,
        iterations: int = 5,
        adjust: str = "original",
        others: Optimizer | None = None,
        decays: DecayFilter | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, decays)
        check_range("Muon", "momentum", momentum, 0.0, 1.0)
        if adjust not in _ADJUSTMENTS:
            listed = ", ".join(map(repr, _ADJUSTMENTS))
            raise ArgumentError(
                f"Muon: there is no adjust={adjust!r}", suggestions=(f"one of {listed}",)
            )
        self.momentum = momentum
        self.nesterov = nesterov
        self.coefficients = coefficients
        self.eps = eps
        self.iterations = iterations
        self.adjust = adjust
        self.others = others

    def first_state(self, parameter: Tensor) -> State:
        """Return the momentum of a matrix, or the state that `others` has for anything else."""
        if parameter.ndim == 2:
            return {"momentum_buffer": tfr.zeros_like(parameter, dtype=wide_of(parameter.dtype))}
        return self._other(parameter).first_state(parameter)

    def factors(self, step: Tensor, rate: Number) -> Any:
        """Return the rate, and the factors of `others`."""
        if self.others is None:
            return rate, None
        other_rate = self._current(self.others.learning_rate, step.dtype, step.device)
        return rate, self.others.factors(step, other_rate)

    def rule(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        factors: Any,
        decay: Number,
    ) -> tuple[Tensor, State]:
        """Return the new value and momentum."""
        rate, other_factors = factors
        if parameter.ndim != 2:
            other = self._other(parameter)
            other_decay = self._current(other.weight_decay, parameter.dtype, parameter.device)
            decay = 0.0 if is_zero(decay) else other_decay
            return other.rule(parameter, gradient, state, other_factors, decay)
        momentum = self.momentum
        buffer = momentum * state["momentum_buffer"] + (1 - momentum) * gradient
        direction = (1 - momentum) * gradient + momentum * buffer if self.nesterov else buffer
        change = orthogonalized(direction, self.coefficients, self.iterations, self.eps)
        if not is_zero(decay):
            parameter = parameter * (1 - rate * decay)
        scale = _ADJUSTMENTS[self.adjust](*parameter.shape)
        return parameter - (rate * scale) * change, {"momentum_buffer": buffer}

    def _other(self, parameter: Tensor) -> Optimizer:
        if self.others is None:
            raise ShapeError(
                f"Muon: a parameter has shape {parameter.shape}, and only matrices can be made orthogonal",
                suggestions=("Muon(..., others=tfr.optim.AdamW(...)) for what is no matrix",),
            )
        return self.others


def orthogonalized(
    matrix: Tensor, coefficients: tuple[float, float, float], iterations: int, eps: float
) -> Tensor:
    """Return a matrix with the same singular vectors, whose singular values are all near 1 (0.7 to 1.2)."""
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / tfr.maximum(tfr.sqrt(tfr.sum(x * x)), eps)
    for _ in range(iterations):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.T if tall else x
