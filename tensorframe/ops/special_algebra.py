"""What formulas of special functions compute with: NumPy's arrays, or expressions of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Value = Any


class Algebra(Protocol):
    """What formulas need beside operators; functions are called by the names of rows."""

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        """Return x where the condition holds, else y."""

    def seldom(
        self, condition: Value, costly: Callable[..., Value], cheap: Value, *operands: Value
    ) -> Value:
        """Return a costly function of operands where the condition holds, as few elements need, else what is cheap."""

    def digits(
        self, condition: Value, costly: Callable[..., Value], cheap: Value, *operands: Value
    ) -> Value:
        """Return what `seldom` does for results of float64; what is cheap for others, if it has all of their digits."""

    def both(self, x: Value, y: Value) -> Value:
        """Return whether two conditions hold."""

    def equal(self, x: Value, y: Value) -> Value:
        """Return whether x equals y."""

    def product(self, x: Value, y: Value) -> tuple[Value, Value]:
        """Return the product, rounded, and what rounding took from it."""

    def power(self, base: Value, exponent: Value) -> Value:
        """Return a power of a number that is not negative, and finite; so is the exponent."""

    def call(self, name: str, *operands: Value) -> Value:
        """Return another elementwise function."""

    def horner(self, t: Value, coefficients: tuple[float, ...]) -> Value:
        """Return a polynomial, whose coefficient of the highest power comes first."""


Formula = Callable[..., Value]  # of operands, and the algebra
