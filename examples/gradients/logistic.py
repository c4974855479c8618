"""Logistic regression by Newton's method: the curvature of the loss is a Hessian, and one function call.

The data are the 569 tumours of scikit-learn's `load_breast_cancer`: 30 measurements of cells, benign or malignant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer

import tensorframe as tfr

RIDGE = 1e-2
STEPS = 10


class Fit(NamedTuple):
    """What was found: the weights, the offset last, and the loss and the length of the gradient after each step."""

    weights: tfr.Tensor
    history: list[tuple[float, float]]


def data() -> tuple[tfr.Tensor, tfr.Tensor]:
    """Return the measurements, standardised, with a column of ones, and 1 for each benign tumour."""
    values, labels = load_breast_cancer(return_X_y=True)
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    return tfr.asarray(np.column_stack([values, np.ones(len(values))])), tfr.asarray(
        labels.astype(np.float64)
    )


def loss(weights: tfr.Tensor, x: tfr.Tensor, labels: tfr.Tensor) -> tfr.Tensor:
    """Return the mean negative log likelihood, and a little of the squared weights."""
    scores = x @ weights
    likelihood = tfr.mean(tfr.softplus(scores) - labels * scores)
    return likelihood + RIDGE / 2 * tfr.sum(weights[:-1] ** 2)


@tfr.jit
def newton(
    weights: tfr.Tensor, x: tfr.Tensor, labels: tfr.Tensor
) -> tuple[tfr.Tensor, tfr.Tensor, tfr.Tensor]:
    """Return the weights after one step, and the loss and the length of the gradient before it."""
    value, gradient = tfr.value_and_grad(loss)(weights, x, labels)
    curvature = tfr.hessian(loss)(weights, x, labels)
    step = tfr.linalg.solve(curvature, gradient)
    return weights - step, value, tfr.linalg.vector_norm(gradient)


def fit(x: tfr.Tensor, labels: tfr.Tensor) -> Fit:
    """Return the weights with the least loss."""
    weights = tfr.zeros(x.shape[1], dtype=x.dtype)
    history = []
    for _ in range(STEPS):
        weights, value, slope = newton(weights, x, labels)
        history.append((value.item(), slope.item()))
    return Fit(weights, history)


def accuracy(weights: tfr.Tensor, x: tfr.Tensor, labels: tfr.Tensor) -> float:
    """Return how many of the tumours are told right."""
    right = (x @ weights > 0) == (labels > 0.5)
    return float(tfr.mean(right.astype(tfr.float64)))


def main() -> None:
    """Fit, and show how fast Newton's method converges."""
    x, labels = data()
    fitted = fit(x, labels)
    print("step   loss          |gradient|")
    for turn, (value, slope) in enumerate(fitted.history):
        print(f"{turn:4}   {value:.10f}  {slope:.1e}")
    print(f"{accuracy(fitted.weights, x, labels):.1%} of {len(labels)} tumours are told right")
