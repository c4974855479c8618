"""`zeta` and `polygamma`: within 4 units in the last place, zeros and poles included, SciPy's limits, gradients."""

from functools import cache

import mpmath as mp
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import GradientError
from tests.backends.devices import FOUND, holds

special = tfr.special


def hurwitz(x, q):
    """Hurwitz's zeta function; mpmath has as many digits of it behind the point as it is told to."""
    with mp.workdps(50 + int(max(0, x * np.log10(abs(float(q)) + 1)))):
        return mp.zeta(mp.mpf(x), mp.mpf(q))


def polygamma(n, x):
    return mp.psi(0, x) if n == 0 else (-1) ** int(n + 1) * mp.factorial(n) * hurwitz(n + 1, x)


def zeta_cases():
    """Operands of `zeta` and `polygamma`, by what they are called with; the ranges are those of EXACT's kind."""
    generator = np.random.default_rng(3)

    def spread(low, high, count=25):
        return np.exp(generator.uniform(np.log(low), np.log(high), count))

    orders = np.concatenate([generator.integers(0, 12, 25), generator.integers(12, 60, 25)])
    odd, any_order = 2.0 * generator.integers(0, 6, 25) + 1, 1.0 * generator.integers(1, 40, 25)
    powers, beside_zeros = zeros_of_zeta()
    riemann = [
        generator.uniform(low, high, 15)
        for low, high in ((-1, 1), (1, 3), (3, 60), (-9, -1), (-60, -9))
    ]
    return (
        ("zeta", mp.zeta, [np.concatenate([*riemann, 1 + spread(1e-6, 1e-2)])]),
        (
            "zeta",
            hurwitz,
            [
                np.concatenate(
                    [
                        generator.uniform(1.01, 3, 25),
                        generator.uniform(2, 20, 50),
                        1 + spread(1e-6, 1),
                    ]
                ),
                np.concatenate([spread(1e-3, 1e6), spread(0.1, 50, 50), spread(1e-2, 1e6)]),
            ],
        ),
        (
            "polygamma",
            polygamma,
            [orders * 1.0, np.concatenate([spread(0.01, 100), spread(1, 30)])],
        ),
        ("polygamma", polygamma, [odd, generator.uniform(-20, 0, 25)]),
        ("polygamma", polygamma, [any_order, generator.uniform(-20, 0, 25)]),
        ("polygamma", polygamma, [powers - 1, beside_zeros]),
        ("zeta", hurwitz, [powers, beside_zeros]),
    )


@cache
def zeros_of_zeta():
    """Odd powers, and float64 about the zeros that `zeta` and `polygamma` have for them, and in the middle of poles."""
    rows = []
    for power in (3, 5, 7, 13, 33, 61, 99):
        for pole in (-1, -2, -5, -21):
            middle = mp.mpf(pole) + 0.5
            with mp.workdps(60 + power):
                moved = -mp.zeta(power, 1 - middle) / mp.zeta(power + 1, 0.5) / -2 / power
                for _ in range(
                    3 if power < 9 else 0
                ):  # Newton's steps; others are nearer than floats
                    value, slope = (
                        hurwitz(power, middle + moved),
                        hurwitz(power + 1, middle + moved),
                    )
                    moved += value / slope / power
                nearest = float(middle + moved)
            floats = [np.nextafter(nearest, -np.inf), nearest, np.nextafter(nearest, 0.0)]
            rows += [
                (power, q)
                for q in (*floats, pole + 0.5, nearest - 1e-4, nearest + 0.02, nearest - 0.03)
            ]
    powers, values = np.array(rows).T
    return powers, values


@cache
def exact_zeta_cases(dtype):
    """What the cases are called with in a dtype, and their values, which take longer than those of any device."""
    cases = []
    with mp.workdps(50):
        for name, exact, operands in zeta_cases():
            rounded = [operand.astype(dtype) for operand in operands]
            values = [exact(*map(float, row)) for row in zip(*rounded, strict=True)]
            cases.append((name, rounded, values))
    return cases


# Lavapipe's compiler takes many seconds for the kernel of each such function
SLOW = pytest.mark.sweep


@pytest.mark.parametrize(
    ("device", "dtype"),
    [
        ("cpu", "float32"),
        *[
            pytest.param(name, "float64", marks=SLOW if name == "wgpu" else ())
            for name in ("cpu", "numpy", *FOUND)
        ],
    ],
)
def test_zeta_functions_are_within_4_units_in_the_last_place(dtype, device):
    if not holds(device, dtype):
        pytest.skip(f"{device} has no {dtype}")
    for name, operands, values in exact_zeta_cases(dtype):
        found = getattr(special, name)(*[tfr.asarray(one, device=device) for one in operands])
        assert found.dtype == dtype
        with mp.workdps(50):
            for value, one, *row in zip(values, found.numpy(), *operands, strict=True):
                if abs(value) > np.finfo(dtype).max:
                    assert np.isinf(one)
                    continue
                step = np.spacing(abs(np.dtype(dtype).type(float(value))))
                off = abs(mp.mpf(float(one)) - value) / mp.mpf(float(step))
                assert off < (4 if dtype == "float64" else 0.51), (name, row, float(off))


def test_poles_and_limits_of_zeta_functions_are_scipys():
    scipy = pytest.importorskip("scipy.special")
    values = [0.0, 1.0, 2.0, 3.0, 0.5, 2.5, -1.0, -2.0, -0.5, -3.25, 1e300, np.inf, np.nan]
    x, q = (grid.ravel() for grid in np.meshgrid(values, values))
    # SciPy has NaN where powers vanish, and infinity where an operand is NaN, or where signs alternate for ever
    known = (x < 1e300) & ~np.isnan(q) | (x == np.inf) & (q >= 0) & (q < 2)
    with np.errstate(all="ignore"):
        expected = scipy.zeta(x, q)
    found = special.zeta(tfr.asarray(x), tfr.asarray(q)).numpy()
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-13)
    assert special.zeta(np.inf, 2.0).item() == 0
    points = np.array([*values, -4.0, -300.5, -200.0, 200.0, -np.inf])
    np.testing.assert_allclose(
        special.zeta(tfr.asarray(points)).numpy(), scipy.zeta(points), rtol=1e-13
    )
    for order in (0.0, 1.0, 2.0, 5.0):
        with np.errstate(all="ignore"):
            expected = scipy.polygamma(order, np.array(values))
        found = special.polygamma(order, tfr.asarray(np.array(values))).numpy()
        known = np.array(values) < 1e300
        np.testing.assert_allclose(found[known], expected[known], rtol=1e-13)
    undefined = special.polygamma(tfr.asarray([0.5, -1.0, 171.0, np.inf, np.nan]), 2.0)
    assert tfr.all(tfr.isnan(undefined))


def test_gradients_of_zeta_functions():
    q = tfr.asarray(np.array([0.3, 1.4, 7.5, -0.4]))
    tfr.check_gradient(lambda q: tfr.sum(special.zeta(3.0, q)), q)
    tfr.check_gradient(lambda q: tfr.sum(special.polygamma(2.0, q)), q)
    for name, operands in (("zeta", (2.5,)), ("zeta", (2.5, 1.5)), ("polygamma", (2.0, 1.5))):
        with pytest.raises(GradientError, match=f"{name}: has no gradient for [xn]"):
            tfr.grad(lambda x: getattr(special, name)(x, *operands[1:]))(tfr.asarray(operands[0]))  # noqa: B023
