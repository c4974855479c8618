"""Functions of Python, math and cmath inside of `elementwise`: the values of plain Python."""

from __future__ import annotations

import cmath
import inspect
import math
import pickle
import random

import numpy as np
import pytest

import tensorframe as tfr
from tests.frontend.elementwise_cases import (
    SPECIAL,
    composed,
    damped,
)


def of_python(name):
    """A function of `math`, called as Python calls it, and the points where it has values."""
    points = {"acosh": [1.0, 2.5], "log1p": [-0.5, 3.0], "pow": [2.0, 0.5], "fmod": [7.5, -2.0]}
    return points.get(name, [0.25, 0.75, 1.0 if name != "atanh" else 0.5])


UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "floor",
    "ceil",
    "trunc",
    "fabs",
    "degrees",
    "radians",
    "log",
    "isfinite",
    "isinf",
    "isnan",
]


@pytest.mark.parametrize("name", [one for one in UNARY if hasattr(math, one)])
def test_functions_of_math_under_any_name(name):
    original = getattr(math, name)
    direct = tfr.elementwise(eval(f"lambda x: math.{name}(x)"), name="direct")
    bound = tfr.elementwise(lambda x: original(x) + 0)
    points = np.array(of_python(name))
    wanted = [original(one) for one in points]
    for function in (direct, bound):
        np.testing.assert_allclose(function(points).numpy(), wanted, rtol=1e-14)


def test_other_functions_of_python():
    @tfr.elementwise
    def several(x, y):
        import math as local

        small, large = min(x, y, 2.0), max(x, 0, y)
        return (
            local.hypot(x, y, 1.0) + local.atan2(x, y) + math.copysign(x, -y) + math.log(large, 3),
            small,
            large,
            round(x),
            float(x),
            bool(x),
            int(y),
            divmod(x, y)[1],
            pow(x, y),
            math.pow(x, 2),
        )

    plain = several.__wrapped__
    for x, y in [(0.5, 2.0), (3.5, 1.25), (2.5, 0.5)]:
        got = several(np.array([x]), np.array([y]))
        for one, wanted in zip(got, plain(x, y), strict=True):
            np.testing.assert_allclose(one.numpy()[0], wanted, rtol=1e-14)
    assert [one.dtype.kind for one in got[5:7]] == ["b", "i"]


@pytest.mark.parametrize(
    "name",
    ["exp", "log", "log10", "sqrt", "sin", "cos", "tanh", "asinh", "phase", "polar", "isnan"],
)
def test_functions_of_cmath_take_real_numbers_too(name):
    function = tfr.elementwise(eval(f"lambda z: cmath.{name}(z)"))
    for values in (np.array([1 + 2j, -0.5 + 0.25j]), np.array([0.5, -2.0])):
        wanted = [getattr(cmath, name)(one) for one in values.tolist()]
        got = function(values)
        if name == "polar":
            got = tfr.stack(got, axis=1)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-13)
        assert (got.dtype.kind == "c") == isinstance(wanted[0], complex)


NAMES = {"math": math, "np": np, "sqrt": math.sqrt, "abs": abs, "min": min, "max": max}


def expression(source: random.Random, depth: int) -> str:
    """A random expression of x and y in operations that are exactly rounded, so that every engine has Python's bits."""
    if depth == 0 or source.random() < 0.1:
        return source.choice(["x", "y", "x", "y", "0.5", "3.0", "-1.25", "2"])
    a, b, c = (expression(source, depth - 1) for _ in range(3))
    form = source.choice(
        [
            "({a} + {b})",
            "({a} - {b})",
            "({a} * {b})",
            "({a} / {b})",
            "-{a}",
            "abs({a})",
            "min({a}, {b})",
            "max({a}, {b}, {c})",
            "sqrt(abs({a}))",
            "choose({a} < {b}, {b}, {c})",
            "math.copysign({a}, {b})",
            "choose(({a} == {b}) | ({a} >= {c}), {a}, {c})",
            "(math.floor(min(max({a}, -99), 99.0)) + 0.0)",
            "({a} % {b})",
        ]
    )
    return form.format(a=a, b=b, c=c)


@pytest.mark.parametrize("seed", range(24))
def test_random_expressions_have_the_values_of_plain_python(seed):
    source = random.Random(seed)
    text = f"def random_function(x, y):\n    return {expression(source, 4)} + 0 * x"
    plain, recorded = (
        {**NAMES, "choose": lambda c, a, b: a if c else b},
        {**NAMES, "choose": np.where},
    )
    exec(text, plain)
    exec(text, recorded)
    function = tfr.elementwise(recorded["random_function"])
    pairs = [(x, y) for x in SPECIAL for y in SPECIAL]
    x, y = (np.array(column) for column in zip(*pairs, strict=True))
    with tfr.config.override(small_size=0, small_nodes=0):
        results = {
            device: function(tfr.asarray(x, device=device), y).numpy()
            for device in ("numpy", "llvm")
        }
    for place, (a, b) in enumerate(pairs):
        try:
            wanted = plain["random_function"](a, b)
        except (ZeroDivisionError, OverflowError, ValueError):
            continue  # Python raises; elements are infinite or NaN
        for device, got in results.items():
            assert same_number(got[place], wanted), (text, device, a, b)


def same_number(got: float, wanted: float) -> bool:
    if math.isnan(wanted):
        return math.isnan(got)
    return got == wanted and math.copysign(1, got) == math.copysign(1, wanted)


def test_under_jit():
    @tfr.jit
    def step(x, rate):
        return damped(x, rate) - damped(x)

    x = tfr.asarray(np.linspace(0, 1, 20_000, dtype=np.float32))
    assert step.explain(x, 0.25).kernels == 1
    assert "damped" in str(step.explain(x, 0.25))
    np.testing.assert_array_equal(step(x, 0.25).numpy(), (damped(x, 0.25) - damped(x)).numpy())
    np.testing.assert_array_equal(step(x, 0.75).numpy(), (damped(x, 0.75) - damped(x)).numpy())


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    @tfr.elementwise
    def times(self, x):
        return x * self.factor

    @staticmethod
    @tfr.elementwise
    def doubled(x):
        return x * 2


def test_methods_know_their_object():
    scaled = Scaled(3)
    x = tfr.asarray([1.0, 2.0])
    assert scaled.times(x).tolist() == [3.0, 6.0]
    assert scaled.times(x).node.op is scaled.times(x).node.op
    scaled.factor = 4
    assert scaled.times(x).tolist() == [4.0, 8.0]
    assert Scaled.doubled(x).tolist() == scaled.doubled(x).tolist() == [2.0, 4.0]


def test_name_signature_documentation_and_pickle():
    assert repr(damped) == "<tensorframe elementwise damped(x, rate=0.5)>"
    assert damped.__doc__ == "Cosine that dies away."
    assert str(inspect.signature(damped)) == "(x, rate=0.5)"
    assert damped.__name__ == "damped"
    assert pickle.loads(pickle.dumps(damped)) is damped
    named = tfr.elementwise(name="twice")(lambda x: x * 2)
    assert repr(named) == "<tensorframe elementwise twice(x)>"
    assert "twice" in str(named(tfr.ones(10_000)).explain())


def test_estimate_and_verify_take_it():
    x = tfr.asarray(np.linspace(0, 1, 10_000, dtype=np.float32))
    assert tfr.estimate(composed(x, 1.0), device="cuda").kernels == 1
    report = tfr.verify(composed(x, x), backends=["cpu", "numpy"])
    assert report.agrees, report


def test_functions_that_belong_to_no_module_are_followed():
    names = {}  # without `__name__`, so their modules are None
    exec("def twice(x): return 2 * x\ndef plus_one(x): return twice(x) + 1", names)
    assert tfr.elementwise(names["plus_one"])(tfr.asarray([1.0, 2.0])).tolist() == [3.0, 5.0]
