"""`elementwise`: what a Python function of scalars computes, as one op that fuses like its formula written out."""

from __future__ import annotations

import cmath
import inspect
import math
import pickle
import random
import re

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, ShapeError, TracingError

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


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", FORMULAS)
def test_is_its_formula_on_every_device(name, device):
    function, written, dtype = FORMULAS[name]
    tensors = [tfr.asarray(operand, device=device) for operand in operands(function, dtype)]
    got, wanted = as_tuple(function(*tensors)), as_tuple(written(*tensors))
    plans = [tfr.explain(*got), tfr.explain(*wanted)]
    assert plans[0].kernels == plans[1].kernels == 1
    assert plans[0].fallbacks == 0
    assert plans[0].transfers == plans[1].transfers
    assert plans[0].flops == plans[1].flops
    assert plans[0].bytes_written == plans[1].bytes_written
    ops = [[op.op for op in plan.steps[0].region.ops] for plan in plans]
    assert sorted(map(str, ops[0])) == sorted(map(str, ops[1]))
    for one, other in zip(got, wanted, strict=True):
        assert one.dtype == other.dtype
        # on the cpu, one may run in NumPy and the other in a kernel
        exactly = 2e-6 if device == "cpu" else 0
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=exactly, atol=exactly)


def test_fuses_with_its_neighbours_and_plans_know_its_name():
    x = tfr.asarray(np.linspace(0, 1, 10_000, dtype=np.float32))
    plan = tfr.sum(damped(x * 2) + composed(x, 1.0)).explain()
    assert plan.kernels == 1
    (step,) = plan.steps
    assert step.name.split() == ["multiply", "damped", "composed", "add", "sum"]
    assert "multiply damped composed add sum(" in str(plan)
    assert "damped(" in repr(damped(x).node)


def test_several_results_share_what_they_have_in_common():
    @tfr.elementwise
    def both(x):
        common = math.exp(math.sin(x))
        return common + 1, common * x

    x = tfr.asarray(np.linspace(0, 1, 10_000, dtype=np.float32))
    first, second = both(x)
    plan = tfr.explain(first, second)
    names = [op.op.name for step in plan.steps for op in step.region.ops]
    assert plan.kernels == 1
    assert names.count("exp") == names.count("sin") == 1
    np.testing.assert_array_equal(first.numpy() - 1, tfr.exp(tfr.sin(x)).numpy() + 1 - 1)


def test_it_is_recorded_once_for_its_dtypes_and_again_when_a_constant_changes():
    calls = []

    class Scale:
        factor = 2.0

    scale, offset = Scale(), 1.0

    def counting(x):
        return x + offset

    def with_attribute(x):
        return x * scale.factor

    counted, attribute = tfr.elementwise(counting), tfr.elementwise(with_attribute)
    x = tfr.asarray([1.0, 2.0])
    first, again = counted(x).node.op, counted(x).node.op
    assert first is again
    assert counted(tfr.asarray([1])).node.op is not first
    offset = 5.0
    assert counted(x).tolist() == [6.0, 7.0]
    assert attribute(x).node.op is attribute(x).node.op
    scale.factor = 3.0
    assert attribute(x).tolist() == [3.0, 6.0]
    assert not calls


def test_operands_keep_their_dtypes_and_numbers_are_weak():
    @tfr.elementwise
    def chosen(mask, x, n):
        return np.where(mask, x, n * 2)

    mask, x = tfr.asarray([True, False]), tfr.asarray([0.5, 1.5], dtype="float64")
    result = chosen(mask, x, tfr.asarray([[1], [2]], dtype="int8"))
    assert (result.dtype, result.shape) == (np.float64, (2, 2))
    assert result.tolist() == [[0.5, 2.0], [0.5, 4.0]]
    half = tfr.asarray([0.1], dtype="float16")
    assert damped(half, 0.3).dtype == np.float16
    assert damped(half, np.ones(1)).dtype == np.float64
    assert damped(tfr.asarray([1, 2])).dtype == np.float32
    assert damped([1.0, 2.0], rate=1).shape == (2,)
    assert damped(1.0).shape == ()


@pytest.mark.parametrize("size", [1, 50, 30_000])
def test_results_that_depend_on_no_operand_or_on_some_broadcast(size):
    @tfr.elementwise
    def parts(x, y):
        return 1, x, 2.5, y + 1

    x, y = tfr.asarray(np.arange(size, dtype=np.float32)), tfr.asarray([[1], [2]])
    one, same, number, more = parts(x, y)
    assert [t.dtype for t in (one, same, number, more)] == ["int64", "float32", "float32", "int64"]
    tfr.compute(one, same, number, more)
    assert {t.shape for t in (one, same, number, more)} == {(2, size)}
    np.testing.assert_array_equal(one.numpy(), np.ones((2, size)))
    np.testing.assert_array_equal(same.numpy(), np.broadcast_to(x.numpy(), (2, size)))
    np.testing.assert_array_equal(more.numpy(), np.broadcast_to([[2], [3]], (2, size)))
    assert tfr.sum(number).item() == 2.5 * 2 * size
    assert parts(1.0, 2)[0].item() == 1


def test_parameters_that_are_left_out_are_constants():
    @tfr.elementwise
    def power(x, n=3, shift=None):
        result = 1
        for _ in range(n):
            result = result * x
        return result if shift is None else result + shift

    x = tfr.asarray([2.0, 3.0])
    assert power(x).tolist() == [8.0, 27.0]
    assert power(x, shift=1).tolist() == [9.0, 28.0]
    with pytest.raises(TypeError, match="at least one operand"):
        tfr.elementwise(lambda x=1: x)()


def test_static_parameters_are_constants():
    @tfr.elementwise(static_argnames=("n", "negate"))
    def power(x, n, negate=False):
        result = x
        for _ in range(n - 1):
            result = result * x
        return -result if negate else result

    x = tfr.asarray([2.0, 3.0])
    assert power(x, 2).tolist() == power(x, n=2).tolist() == [4.0, 9.0]
    assert power(x, 3, negate=True).tolist() == [-8.0, -27.0]
    assert power(x, 2).node.op is power(x, 2).node.op
    with pytest.raises(TypeError, match="at least one operand"):
        tfr.elementwise(static_argnames="n")(lambda n: n)(3)
    with pytest.raises(ArgumentError, match="no parameter 'm'"):
        tfr.elementwise(static_argnames="m")(power.__wrapped__)


def test_numbers_do_not_change_under_other_names():
    @tfr.elementwise
    def alias(x):
        y = x
        y += 1
        z = math.fabs(y)
        w = z
        w *= 10
        return x + y + z + w

    x = np.array([-3.0, 0.5])
    np.testing.assert_allclose(alias(x).numpy(), x + (x + 1) + 11 * np.abs(x + 1))


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


# --- random expressions ---

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


# --- under jit, on objects, and what Python sees of it ---


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


# --- errors ---

kept: list[object] = []
counter = 0


def refused_effects():
    around = 0

    def prints(x):
        print(x)  # noqa: T201 - which is refused
        return x

    def assigns(x):
        global counter  # noqa: PLW0603 - which is refused
        counter = x
        return x

    def assigns_around(x):
        nonlocal around
        around = x
        return x

    def appends(x):
        kept.append(x)
        return x

    def sets_item(x):
        kept[int(x) + 1] = x * 2
        return x

    def adds_to_item(x):
        kept[0] += x
        return x

    def sets_attribute(x):
        x.seen = True
        return x

    def yields(x):
        yield x

    def within(x):
        def inner(y):
            kept.append(y)
            return y

        return inner(x)

    return {
        "prints": (prints, "calls print", "print(x)"),
        "assigns": (assigns, "global 'counter'", "counter = x"),
        "assigns_around": (assigns_around, "'around' of the function around it", "around = x"),
        "appends": (appends, "changes 'kept'", "kept.append(x)"),
        "sets_item": (sets_item, "sets an item of 'kept'", "kept[int(x) + 1] = x * 2"),
        "adds_to_item": (adds_to_item, "sets an item of 'kept'", "kept[0] += x"),
        "sets_attribute": (sets_attribute, "sets the attribute 'seen'", "x.seen = True"),
        "yields": (yields, "one by one", "def yields(x):"),
        "within": (within, "changes 'kept'", "kept.append(y)"),
    }


@pytest.mark.parametrize("name", refused_effects())
def test_side_effects_are_refused_when_it_is_decorated(name):
    function, what, line = refused_effects()[name]
    with pytest.raises(ArgumentError, match=re.escape(what)) as caught:
        tfr.elementwise(function)
    assert line in caught.value.location


def test_side_effects_of_functions_that_it_calls_are_refused_at_first_use():
    inner = refused_effects()["appends"][0]
    outer = tfr.elementwise(lambda x: inner(x) + 1)
    with pytest.raises(ArgumentError, match="changes 'kept'"):
        outer(1.0)
    assert not kept


def test_own_lists_may_change():
    @tfr.elementwise
    def horner(x):
        terms = [x]
        for power in range(2, 4):
            terms.append(x**power)  # noqa: PERF401 - a list that changes
        terms[0] = 2.0
        terms[max(0, 1)] += 0
        return sum(terms)

    np.testing.assert_allclose(horner(np.array([2.0])).numpy(), [2 + 4 + 8])


def test_functions_inside_may_change_what_belongs_to_the_function():
    @tfr.elementwise
    def total(x):
        found = [x]
        count = 1

        def add(term):
            nonlocal count
            found.append(term)
            found[0] = x + 1
            count += 1

        add(x * 2)
        return sum(found) + count

    assert total(np.array([1.0])).tolist() == [6.0]


def test_what_is_no_function_of_scalars_is_refused():
    with pytest.raises(ArgumentError, match="any number of arguments"):
        tfr.elementwise(lambda *values: values[0])
    with pytest.raises(ArgumentError, match="no parameters"):
        tfr.elementwise(lambda: 1)
    with pytest.raises(DTypeError, match="written in Python"):
        tfr.elementwise(math.exp)


@pytest.mark.parametrize(
    ("function", "error", "match"),
    [
        (lambda x: None, DTypeError, "returns None"),
        (lambda x: "text", DTypeError, "returns str"),
        (lambda x: [x, x], DTypeError, "returns list"),
        (lambda x: (), DTypeError, "empty tuple"),
        (lambda x: x + np.ones(3), TracingError, "not among its arguments"),
        (lambda x: tfr.sum(x) + 1, TracingError, "sum is no function of scalars"),
        (lambda x: math.exp(x * 1j), DTypeError, "cmath.exp"),
        (lambda x: x & 1, DTypeError, "bitwise_and"),
        (lambda x: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
)
def test_results_that_are_no_numbers_are_refused_at_first_use(function, error, match):
    with pytest.raises(error, match=match):
        tfr.elementwise(function)(tfr.ones(3))


def test_operands_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match=r"composed\(x, y\): missing a required argument: 'y'"):
        composed(1.0)
    with pytest.raises(TypeError, match=r"damped\(x, rate=0.5\): too many positional"):
        damped(1.0, 2.0, 3.0)
    with pytest.raises(ShapeError, match="composed: shapes"):
        composed(np.ones(3), np.ones(4))
    with pytest.raises(DTypeError):
        damped("text")


def test_what_jit_does_not_know_yet_has_to_be_an_argument():
    @tfr.jit
    def step(x, rate):
        return tfr.elementwise(lambda y: y * rate)(x)

    with pytest.raises(TracingError, match="does not know yet"):
        step(tfr.ones(3), 2.0)


def test_numbers_that_are_equal_and_not_the_same_are_told_apart():
    """0.0 == -0.0, also as a part of a complex number: nodes of numbers are kept, and must not be mixed up."""
    x = tfr.asarray(np.array([1.0, -1.0]))
    z = tfr.asarray(np.array([1 + 1j]))
    for _ in range(2):
        assert np.signbit((x * -0.0).numpy()).tolist() == [True, False]
        assert np.signbit((x * 0.0).numpy()).tolist() == [False, True]
        for number in (complex(0.5, 0.0), complex(0.5, -0.0)):
            constant = (z + number).node.inputs[1]
            assert str(constant.attrs[0]) == str(number)


@pytest.mark.parametrize("name", ["real", "conj", "positive"])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_what_leaves_real_elements_alone_records_nothing(name, dtype):
    x = tfr.asarray(np.array([1, -2]), dtype=dtype)
    result = getattr(tfr, name)(x)
    assert result.node is x.node
    result[0] = 5
    assert x.tolist() == [1, -2]
    with pytest.raises(tfr.errors.DTypeError):
        tfr.positive(x > 0)
