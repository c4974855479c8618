"""Complex functions of kernels against mpmath: errors in units of the last place of the results' magnitude."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.ir import argument
from tensorframe.kernel.ir.interpret import evaluate
from tensorframe.kernel.math.complex import algebraic, exponential, inverse, logarithm, powers
from tensorframe.kernel.math.scalars import element
from tensorframe.ops.term import Term


def expm1(z):
    x, y = z.real, z.imag
    real = mpmath.expm1(x) * mpmath.cos(y) - 2 * mpmath.sin(y / 2) ** 2
    return mpmath.mpc(real, mpmath.exp(x) * mpmath.sin(y))


def log1p(z):
    x, y = z.real, z.imag
    return mpmath.mpc(mpmath.log1p(x * (2 + x) + y * y) / 2, mpmath.atan2(y, 1 + x))


# formula, exact function, largest error of a part
CASES = [
    (algebraic.reciprocal, lambda z: 1 / z, 2),
    (algebraic.square, lambda z: z * z, 2),
    (algebraic.sqrt, mpmath.sqrt, 1.5),
    (algebraic.sign, lambda z: z / abs(z), 2),
    (exponential.exp, mpmath.exp, 2),
    (exponential.expm1, expm1, 3),
    (exponential.sinh, mpmath.sinh, 3.3),
    (exponential.cosh, mpmath.cosh, 3),
    (exponential.tanh, mpmath.tanh, 5.5),
    (exponential.sin, mpmath.sin, 3.3),
    (exponential.cos, mpmath.cos, 3),
    (exponential.tan, mpmath.tan, 5.5),
    (logarithm.log, mpmath.log, 1.5),
    (logarithm.log2, lambda z: mpmath.log(z) / mpmath.log(2), 2.5),
    (logarithm.log10, lambda z: mpmath.log(z) / mpmath.log(10), 2.5),
    (logarithm.log1p, log1p, 4),
    (inverse.asin, mpmath.asin, 3.5),
    (inverse.acos, mpmath.acos, 3.5),
    (inverse.atan, mpmath.atan, 3.5),
    (inverse.asinh, mpmath.asinh, 3.5),
    (inverse.acosh, mpmath.acosh, 3.5),
    (inverse.atanh, mpmath.atanh, 3.5),
]


def run(formula, *numbers):
    """The results of a formula, computed as kernels compute it."""
    dtype = numbers[0].real.dtype

    def apply(op, *operands):
        values = [
            operand if isinstance(operand, np.ndarray) else dtype.type(operand)
            for operand in operands
        ]
        scalars = [argument(f"x{index}", value.dtype) for index, value in enumerate(values)]
        root = element(op, (), scalars, op.result(values[op.conditions].dtype))
        return np.asarray(evaluate(root, dict(zip(scalars, values, strict=True))))

    parts = [Term(part.copy(), apply) for number in numbers for part in (number.real, number.imag)]
    found = np.empty_like(numbers[0])
    found.real, found.imag = [one.node for one in formula(*parts)]
    return found


def points(dtype, count, seed=0):
    """Numbers of all sizes, both parts alike or not, near the unit circle, and near cuts and poles."""
    random = np.random.default_rng(seed)
    top = np.finfo(dtype).maxexp

    def sizes(low, high):
        return random.choice([-1, 1], count) * 2.0 ** random.uniform(low, high, count)

    unit = np.exp(1j * random.uniform(-np.pi, np.pi, count))
    small = sizes(-top / 2, 0) + 1j * sizes(-top / 2, 0)
    beyond = random.choice([-1, 1], count) * random.uniform(2, 1.1 * top, count)
    kinds = [
        random.normal(scale=3, size=count) + 1j * random.normal(scale=3, size=count),
        sizes(-10, 10) + 1j * sizes(-10, 10),
        sizes(2 - top, top - 1) + 1j * sizes(2 - top, top - 1),
        sizes(-top / 8, top / 8) + 1j * sizes(-30, 30),
        (1 + sizes(-40, 0) * 0.5) * unit,
        random.choice([1, -1, 1j, -1j], count) + small,
        beyond + 1j * sizes(-8, 8),
        sizes(-8, 8) + 1j * beyond,
    ]
    found = np.concatenate(kinds)
    return with_dtype(found[abs(found.real) + abs(found.imag) > 0], dtype)


def with_dtype(numbers, dtype):
    return numbers.astype(np.result_type(dtype, np.complex64))


def error(found, exact, dtype):
    """The larger error of a part in units of the last place of the magnitude; 0 beyond the range of the dtype."""
    info, size = np.finfo(dtype), abs(exact)
    if not size or not mpmath.isfinite(size) or size > float(info.max):
        return 0.0
    place = max(mpmath.mag(size) - 1, info.minexp) - info.nmant
    apart = [abs(mpmath.mpf(x) - y) for x, y in zip(parts(found), parts(exact), strict=True)]
    return float(mpmath.ldexp(max(apart), -place))


def parts(number):
    return number.real, number.imag


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("formula", "function", "bound"), CASES)
def test_errors_are_a_few_units_of_the_magnitude(formula, function, bound, dtype):
    numbers = points(dtype, 60)
    found = run(formula, numbers)
    # as many digits as it takes to tell the smallest numbers from one
    with mpmath.workprec(2600 if dtype == np.float64 else 500):
        errors = [
            error(one, function(mpmath.mpc(point)), dtype)
            for one, point in zip(found.tolist(), numbers.tolist(), strict=True)
        ]
    worst = int(np.argmax(errors))
    assert errors[worst] < bound, (numbers[worst], found[worst])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quotients_do_not_overflow_on_the_way(dtype):
    info = np.finfo(dtype)
    largest, least = float(info.max), float(info.smallest_subnormal)
    ends = [largest, largest / 2, 1.0, 3.0, float(info.tiny), 5 * least, 12345 * least]
    numbers = with_dtype(np.array([complex(a, b) for a in ends for b in (*ends, 0.0)]), dtype)
    above, below = [one.ravel() for one in np.meshgrid(numbers, numbers)]
    found = run(algebraic.divide, above, below)
    with mpmath.workprec(200):
        errors = [
            error(one, mpmath.mpc(a) / mpmath.mpc(b), dtype)
            for one, a, b in zip(found.tolist(), above.tolist(), below.tolist(), strict=True)
        ]
    assert max(errors) < 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_integers_to_small_integers_are_exact(dtype):
    bases = np.array([2 + 1j, -2, 1j, 3 - 2j, 1 + 1j, 0.5])
    for exponent in (1, 2, 3, 5):
        exact = [mpmath.mpc(base) ** exponent for base in bases.tolist()]
        numbers = with_dtype(bases, dtype)
        found = run(powers.pow_, numbers, np.full_like(numbers, exponent))
        assert found.tolist() == [complex(one) for one in exact]
        inverse = run(powers.pow_, numbers, np.full_like(numbers, -exponent))
        errors = map(error, inverse.tolist(), [1 / one for one in exact], [dtype] * len(exact))
        assert max(errors) < 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_lose_as_many_units_as_their_exponent_of_e_is_large(dtype):
    random = np.random.default_rng(3)
    parts = random.normal(scale=3, size=(4, 500))
    bases, exponents = (with_dtype(parts[at] + 1j * parts[at + 1], dtype) for at in (0, 2))
    found = run(powers.pow_, bases, exponents)
    with mpmath.workprec(200):
        for one, z, w in zip(found.tolist(), bases.tolist(), exponents.tolist(), strict=True):
            exponent = mpmath.mpc(w) * mpmath.log(mpmath.mpc(z))
            assert error(one, mpmath.exp(exponent), dtype) < 3 + 3 * abs(exponent)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_two_lose_no_more_than_their_angle_is_rounded(dtype):
    info = np.finfo(dtype)
    ends = [float(info.maxexp), float(info.maxexp + info.nmant), float(info.minexp), 0.5, -3.25]
    numbers = with_dtype(np.array([complex(x, y) for x in ends for y in (0, 1e-9, 0.7, -9)]), dtype)
    found = run(exponential.exp2, numbers)
    with mpmath.workprec(200):
        for one, z in zip(found.tolist(), numbers.tolist(), strict=True):
            assert error(one, mpmath.mpf(2) ** mpmath.mpc(z), dtype) < 2.5 + abs(z.imag), z


UNARY = "abs square sqrt sign reciprocal exp exp2 expm1 log log2 log10 log1p "
UNARY += "sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh"


def test_everything_runs_in_one_kernel():
    with tfr.use_backend("llvm"):
        z = tfr.asarray(np.linspace(-2, 2, 600) + 0.5j)
        total = z
        for name in UNARY.split():
            total = getattr(tfr, name)(total) * 0.5 + z
            plan = tfr.explain(tfr.divide(total, tfr.pow(z, 1.5)))
    assert plan.kernels == 1
    assert "numpy" not in str(plan)
