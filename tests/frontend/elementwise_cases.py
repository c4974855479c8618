"""Functions of scalars, and their formulas on tensors."""

from __future__ import annotations

import cmath
import math

import numpy as np

import tensorframe as tfr

RATE = 0.5


DEVICES = [
    name for name in ("cpu", "numpy", "llvm", "opencl", "wgpu") if name in tfr.backends.available()
]


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    2.5,
    1e-310,
    1e300,
    -1e300,
    math.inf,
    -math.inf,
    math.nan,
    0.1,
    7.0,
]


def steeper(x):
    return math.tanh(x) * RATE


@tfr.elementwise
def damped(x, rate=0.5):
    """Cosine that dies away."""
    return math.exp(-rate * x) * math.cos(x)


@tfr.elementwise
def newton(x, guess):
    for _ in range(4):
        guess = 0.5 * (guess + x / guess)
    return guess


@tfr.elementwise
def polar(z):
    return abs(z), cmath.phase(z)


@tfr.elementwise
def moebius(z, w):
    return (z - w) / (1 - w.conjugate() * z)


@tfr.elementwise
def composed(x, y):
    return damped(x) + max(steeper(y), 0) - np.where(x < y, x, y)


def moebius_written(z, w):
    return (z - w) / (1 - tfr.conj(w) * z)


def newton_written(x, guess):
    for _ in range(4):
        guess = 0.5 * (guess + x / guess)
    return guess


def composed_written(x, y):
    damp = tfr.exp(-0.5 * x) * tfr.cos(x)
    steep = tfr.tanh(y) * RATE
    return damp + tfr.where(steep < 0, 0, steep) - tfr.where(x < y, x, y)


# a function, its formula on tensors, and the dtype of operands
FORMULAS = {
    "damped": (damped, lambda x: tfr.exp(-0.5 * x) * tfr.cos(x), "float32"),
    "newton": (newton, newton_written, "float32"),
    "polar": (polar, lambda z: (tfr.abs(z), tfr.atan2(tfr.imag(z), tfr.real(z))), "complex64"),
    "moebius": (moebius, moebius_written, "complex64"),
    "composed": (composed, composed_written, "float32"),
}


def operands(function, dtype, size=20_000):
    count = 1 if function in (damped, polar) else 2
    generator = np.random.default_rng(3)
    found = [generator.uniform(0.5, 2, size) for _ in range(count)]
    if dtype == "complex64":
        found = [0.4 * one * np.exp(1j * one) for one in found]
    return [one.astype(dtype) for one in found]


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)
