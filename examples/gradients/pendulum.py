"""A pendulum from its motion: length and friction are found by differentiating through the simulation.

The simulation is 40 steps of Runge and Kutta's method, written as one would write them with NumPy. Under `jit` all of
it, and the way back through it, is recorded once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tensorframe as tfr

GRAVITY, INTERVAL, STEPS = 9.81, 0.1, 40
LENGTH, FRICTION = 1.3, 0.25
EVERY = 1  # steps between two observations


class Fit(NamedTuple):
    """What was found, and how far from the observations it was after each round."""

    length: float
    friction: float
    misfits: list[float]


def simulate(length: tfr.Tensor, friction: tfr.Tensor) -> tfr.Tensor:
    """Return the angles at which the pendulum is seen, from an angle of 1 and at rest."""

    def change(angle: tfr.Tensor, speed: tfr.Tensor) -> tuple[tfr.Tensor, tfr.Tensor]:
        return speed, -(GRAVITY / length) * tfr.sin(angle) - friction * speed

    angle, speed = length * 0 + 1.0, length * 0
    seen = []
    h = INTERVAL
    for step in range(STEPS):
        a1, s1 = change(angle, speed)
        a2, s2 = change(angle + h / 2 * a1, speed + h / 2 * s1)
        a3, s3 = change(angle + h / 2 * a2, speed + h / 2 * s2)
        a4, s4 = change(angle + h * a3, speed + h * s3)
        angle = angle + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        speed = speed + h / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
        if step % EVERY == EVERY - 1:
            seen.append(angle)
    return tfr.stack(seen)


def observations() -> tfr.Tensor:
    """Return what a camera saw of the true pendulum: with errors of a hundredth."""
    exact = simulate(
        tfr.asarray(LENGTH, dtype=tfr.float64), tfr.asarray(FRICTION, dtype=tfr.float64)
    )
    errors = np.random.default_rng(0).normal(scale=0.01, size=exact.shape)
    return exact + tfr.asarray(errors)


@tfr.jit
def improved(
    parameters: tfr.Tensor, seen: tfr.Tensor, damping: float
) -> tuple[tfr.Tensor, tfr.Tensor]:
    """Return parameters after a step of Levenberg and Marquardt, and the misfit before it."""

    def residuals(parameters: tfr.Tensor) -> tfr.Tensor:
        return simulate(tfr.exp(parameters[0]), tfr.exp(parameters[1])) - seen

    misfit = residuals(parameters)
    slopes = tfr.jacobian(residuals)(parameters)
    curvature = slopes.T @ slopes + damping * tfr.eye(2, dtype=tfr.float64)
    step = tfr.linalg.solve(curvature, slopes.T @ misfit)
    return parameters - step, tfr.sum(misfit**2)


def fit(seen: tfr.Tensor, rounds: int = 8) -> Fit:
    """Return length and friction, from a guess that is far off; logarithms keep both positive."""
    parameters = tfr.log(tfr.asarray([1.0, 0.1], dtype=tfr.float64))
    misfits = []
    for turn in range(rounds):
        parameters, misfit = improved(parameters, seen, 10.0**-turn)
        misfits.append(misfit.item())
    length, friction = tfr.exp(parameters).tolist()
    return Fit(length, friction, misfits)


def main() -> None:
    """Fit, and compare with the truth."""
    fitted = fit(observations())
    print("round  misfit")
    for turn, misfit in enumerate(fitted.misfits):
        print(f"{turn:5}  {misfit:.6f}")
    print(f"length   {fitted.length:.4f}  (true {LENGTH})")
    print(f"friction {fitted.friction:.4f}  (true {FRICTION})")
