"""Every rule against central differences in float64; no op is without a rule or a reason."""

import math
import zlib

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.dtypes import float64
from tensorframe.frontend.dispatch import apply
from tensorframe.graph.node import reachable
from tensorframe.graph.op import Kind, NoGradient, rows
from tensorframe.ops.special_incomplete import FORMULAS as INCOMPLETE
from tensorframe.ops.special_zeta import FORMULAS as ZETA
from tests.gradient.differences import check

RANDOM = np.random.default_rng(5)

# what is not defined, or has a kink, on all of -2 to 2
DOMAINS = {
    "acosh": (1.2, 3.0),
    "log": (0.2, 3.0),
    "log2": (0.2, 3.0),
    "log10": (0.2, 3.0),
    "log1p": (-0.7, 3.0),
    "sqrt": (0.2, 3.0),
    "root": (0.2, 3.0),
    "cbrt": (0.2, 3.0),
    "surprisal": (0.1, 1.0),
    "asin": (-0.9, 0.9),
    "acos": (-0.9, 0.9),
    "atanh": (-0.9, 0.9),
    "pow": (0.2, 3.0),
    "divide": (0.5, 3.0),
    "reciprocal": (0.5, 3.0),
    "remainder": (0.7, 3.0),
    "fmod": (0.7, 3.0),
    "tan": (-1.4, 1.4),
    "binary_entropy": (0.1, 0.9),
    **dict.fromkeys(("gamma", "gammaln", "digamma", "trigamma"), (0.4, 3.0)),
    **dict.fromkeys(("entr", "rel_entr", "xlogy", "xlog1py"), (0.2, 3.0)),
    **dict.fromkeys(("ndtri", "logit"), (0.1, 0.9)),
    "erfinv": (-0.9, 0.9),
    "erfcinv": (0.1, 1.9),
}
CONSTANT_BETWEEN_JUMPS = {"floor", "ceil", "trunc", "round", "sign", "floor_divide", "nextafter"}


def numbers(shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape)


def operands(op):
    """Operands of an elementwise op, whichever tests ran before."""
    random = np.random.default_rng(zlib.crc32(op.name.encode()))
    return [random.uniform(*DOMAINS.get(op.name, (-2.0, 2.0)), (2, 3)) for _ in range(op.arity)]


def test_no_op_is_without_a_rule_or_a_reason():
    missing = [op.name for op in rows() if op.vjp is None and op.expand is None]
    assert missing == []


def test_reasons_are_sentences():
    for op in rows():
        if isinstance(op.vjp, NoGradient):
            assert len(op.vjp.reason) > 20


ELEMENTWISE = [
    op
    for op in rows(Kind.MAP)
    if float64 in op.accepts
    and op.result(float64, float64) is float64
    and not isinstance(op.vjp, NoGradient)
    and op.name not in ("where", "cast", "imag", "random_word")
    and op.name != "raised"  # whose slope is not that of its values
    # which have no gradient for shapes: see tests/frontend/test_special.py
    and op.name not in INCOMPLETE | ZETA
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_elementwise(op):
    check(lambda *args: apply(op, *args), *operands(op))


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_second_derivatives_of_elementwise_functions(op):
    weight = tfr.asarray(np.linspace(-1.5, 1.7, 6).reshape(2, 3))

    def gradients(*args):
        places = range(op.arity)
        found = tfr.grad(lambda *own: tfr.sum(apply(op, *own) * weight), places)(*args)
        return tfr.stack(found)

    check(gradients, *operands(op), atol=1e-7)


@pytest.mark.parametrize("name", sorted(CONSTANT_BETWEEN_JUMPS))
def test_what_is_constant_between_jumps_has_zeros(name):
    x = tfr.asarray([0.3, -1.7])
    args = (x,) if name not in ("floor_divide", "nextafter") else (x, x * 0.3)
    assert tfr.grad(lambda x, *y: getattr(tfr, name)(x, *y).sum())(*args).tolist() == [0.0, 0.0]


def vector(*values):
    return np.array(values)


# name: a function, and its arguments; integers and truth values are no variables
CASES = {
    "broadcast both": (lambda a, b: a * b + a / b, numbers((3, 1), 1, 2), numbers((1, 4), 1, 2)),
    "broadcast from nothing": (lambda a, b: a - b, numbers(()), numbers((2, 3))),
    "broadcast of no elements": (lambda a, b: a * b, numbers((0, 3)), numbers((1, 3))),
    "where": (tfr.where, numbers((3, 3)) > 0, numbers((3, 3)), numbers((3, 1))),
    "clip": (lambda x: tfr.clip(x, -0.5, 0.5), numbers((7,))),
    "cast to float32 and back": (lambda x: (x * 2).astype(tfr.float64) * x, numbers((3,))),
    "heaviside": (tfr.heaviside, vector(-1.0, 0.5, 2.0), numbers((3,))),
    "number to the power": (lambda x: 2.0**x + x**3 + x**0.5 + x**0, numbers((3,), 0.5, 2)),
    "sum": (lambda x: tfr.sum(x, axis=1), numbers((2, 3))),
    "sum kept": (lambda x: tfr.sum(x, axis=(0, 2), keepdims=True) * x, numbers((2, 3, 2))),
    "sum of nothing": (lambda x: tfr.sum(x, axis=0), numbers((0, 3))),
    "max": (lambda x: tfr.max(x, axis=1), numbers((3, 4))),
    "min of all": (tfr.min, numbers((3, 4))),
    "prod": (lambda x: tfr.prod(x, axis=1), numbers((2, 3, 2))),
    "prod of all": (tfr.prod, numbers((2, 3), 0.5, 2)),
    "prod along two": (lambda x: tfr.prod(x, axis=(0, 2)), numbers((2, 2, 3))),
    "prod with a zero": (lambda x: tfr.prod(x, axis=1), np.array([[2.0, 0, 3], [1, 2, 3]])),
    "prod with two zeros": (tfr.prod, vector(0.0, 2.0, 0.0, 3.0)),
    "prod of one": (tfr.prod, vector(3.0)),
    "cumulative_sum": (lambda x: tfr.cumulative_sum(x, axis=1), numbers((2, 4))),
    "cumulative_prod": (lambda x: tfr.cumulative_prod(x, axis=1), numbers((2, 4))),
    "cumulative_prod with zeros": (
        lambda x: tfr.cumulative_prod(x, axis=1),
        np.array([[2.0, 0, 3, 4], [1, 0, 0, 5], [0, 2, 3, 4], [1, 2, 3, 0]]),
    ),
    "mean": (lambda x: tfr.mean(x, axis=0), numbers((3, 2))),
    "var": (lambda x: tfr.var(x, axis=1, correction=1), numbers((3, 4))),
    "std": (lambda x: tfr.std(x, axis=1, keepdims=True), numbers((3, 4))),
    "softmax": (lambda x: tfr.softmax(x, axis=0), numbers((3, 2))),
    "log_softmax": (tfr.log_softmax, numbers((3, 2))),
    "logsumexp": (lambda x: tfr.logsumexp(x, axis=1), numbers((3, 2))),
    "logsumexp of all": (tfr.logsumexp, numbers((3, 2))),
    "vector_norm": (lambda x: tfr.linalg.vector_norm(x, axis=1), numbers((3, 2))),
    "norm of order 3": (lambda x: tfr.linalg.vector_norm(x, ord=3), numbers((3, 2))),
    "reshape": (lambda x: x.reshape((3, 2)), numbers((2, 3))),
    "permute": (lambda x: tfr.permute_dims(x, (2, 0, 1)), numbers((2, 3, 4))),
    "broadcast_to": (lambda x: tfr.broadcast_to(x, (4, 3, 2)), numbers((3, 1))),
    "slice": (lambda x: x[1:, :2], numbers((3, 4))),
    "slice with a step": (lambda x: x[1::2, ::3], numbers((5, 4))),
    "slice backwards": (lambda x: x[::-1, 3:0:-2], numbers((3, 4))),
    "slice of nothing": (lambda x: x[2:2], numbers((3, 4))),
    "row": (lambda x: x[1], numbers((3, 4))),
    "pad": (lambda x: tfr.pad(x, ((1, 2), (0, 1)), constant_values=3), numbers((2, 3))),
    "concat": (lambda a, b: tfr.concat([a, b, a], axis=1), numbers((2, 1)), numbers((2, 3))),
    "stack": (lambda a, b: tfr.stack([a, b]), numbers((2,)), numbers((2,))),
    "roll": (lambda x: tfr.roll(x, 2), numbers((5,))),
    "matrix by matrix": (tfr.matmul, numbers((2, 3)), numbers((3, 4))),
    "matrix by vector": (tfr.matmul, numbers((2, 3)), numbers((3,))),
    "vector by matrix": (tfr.matmul, numbers((3,)), numbers((3, 4))),
    "vector by vector": (tfr.matmul, numbers((3,)), numbers((3,))),
    "stack by matrix": (tfr.matmul, numbers((2, 2, 3)), numbers((3, 2))),
    "stack by vector": (tfr.matmul, numbers((2, 2, 3)), numbers((3,))),
    "vector by stack": (tfr.matmul, numbers((3,)), numbers((2, 3, 2))),
    "stacks": (tfr.matmul, numbers((2, 1, 2, 3)), numbers((3, 3, 2))),
    "matrix by nothing": (tfr.matmul, numbers((2, 0)), numbers((0, 3))),
    "einsum": (lambda a, b: tfr.einsum("ij,jk->ki", a, b), numbers((2, 3)), numbers((3, 4))),
    "einsum of three": (
        lambda a, b, c: tfr.einsum("ij,jk,kl->il", a, b, c),
        numbers((2, 3)),
        numbers((3, 2)),
        numbers((2, 2)),
    ),
    "einsum sums alone": (lambda a, b: tfr.einsum("ij,k->k", a, b), numbers((2, 3)), numbers((2,))),
    "einsum diagonal": (lambda a: tfr.einsum("ii->i", a), numbers((3, 3))),
    "einsum trace": (lambda a: tfr.einsum("ii->", a), numbers((3, 3))),
    "einsum diagonal in stacks": (
        lambda a, b: tfr.einsum("iji,i->j", a, b),
        numbers((3, 2, 3)),
        numbers((3,)),
    ),
    "einsum of one": (lambda a: tfr.einsum("ijk->kj", a), numbers((2, 3, 2))),
    "outer": (tfr.outer, numbers((2,)), numbers((3,))),
    "tensordot": (lambda a, b: tfr.tensordot(a, b, axes=1), numbers((2, 3)), numbers((3, 2))),
    "take": (lambda x: tfr.take(x, tfr.asarray([2, 0, 2]), axis=0), numbers((3, 2))),
    "index by tensors": (
        lambda x: x[tfr.asarray([[0, 1], [1, 1]]), :, tfr.asarray([1, 0])],
        numbers((2, 2, 3)),
    ),
    "negative indices": (lambda x: x[tfr.asarray([-1, 0, -1])], numbers((3,))),
    "mask": (lambda x: tfr.where(x > 0, x, 0)[x > 0], numbers((6,))),
    "take_along_axis": (
        lambda x, i: tfr.take_along_axis(x, i, axis=1),
        numbers((2, 4)),
        np.array([[0, 0, 3], [1, 2, 1]]),
    ),
    "set a slice": (lambda x, v: set_item(x, slice(1, 3), v), numbers((4, 2)), numbers((2, 2))),
    "set with a step": (
        lambda x, v: set_item(x, slice(None, None, -2), v),
        numbers((4,)),
        numbers((2,)),
    ),
    "set a number": (lambda x: set_item(x, 1, 5.0), numbers((3,))),
    "set at indices": (
        lambda x, v: set_item(x, tfr.asarray([2, 0]), v),
        numbers((3, 2)),
        numbers((2, 2)),
    ),
    "set at repeated indices": (
        lambda x, v: set_item(x, tfr.asarray([2, 0, 2]), v),
        numbers((3,)),
        numbers((3,)),
    ),
    "set by a mask": (lambda x: set_item(x, x > 0, 2.0) * x, numbers((6,))),
    "sort": (lambda x: tfr.sort(x, axis=0), numbers((4, 2))),
    "sort descending": (lambda x: tfr.sort(x, descending=True), numbers((2, 4))),
    "partition": (lambda x: tfr.partition(x, 2), numbers((2, 6))),
    "topk": (lambda x: tfr.topk(x, 2)[0], numbers((3, 5))),
    "median": (lambda x: tfr.median(x, axis=1), numbers((3, 5))),
    "quantile": (lambda x: tfr.quantile(x, 0.3), numbers((7,))),
    "histogram of weights": (
        lambda w: tfr.histogram(tfr.asarray([0.1, 0.5, 0.9, 1.0, 7.0]), 3, (0.0, 1.0), weights=w)[
            0
        ],
        numbers((5,)),
    ),
    "convolve": (tfr.convolve, numbers((5,)), numbers((3,))),
    "convolve same": (lambda a, b: tfr.convolve(a, b, "same"), numbers((5,)), numbers((2,))),
    "convolve valid": (lambda a, b: tfr.convolve(a, b, "valid"), numbers((5,)), numbers((3,))),
    "diff": (tfr.diff, numbers((5,))),
    "interp": (
        lambda x, f: tfr.interp(x, tfr.asarray([0.0, 1.0, 2.0]), f),
        numbers((4,), 0.1, 1.9),
        numbers((3,)),
    ),
    "trapezoid": (tfr.trapezoid, numbers((5,))),
    "cov": (tfr.cov, numbers((2, 5))),
    "cross": (tfr.linalg.cross, numbers((2, 3)), numbers((2, 3))),
    "trace": (tfr.trace, numbers((3, 3))),
    "diagonal": (lambda x: tfr.diagonal(x, offset=1), numbers((3, 3))),
    "tril": (tfr.tril, numbers((3, 3))),
    "repeat": (lambda x: tfr.repeat(x, 2), numbers((3,))),
    "tile": (lambda x: tfr.tile(x, (2, 2)), numbers((2,))),
    "nanmean": (tfr.nanmean, numbers((4,))),
    "nan_to_num": (tfr.nan_to_num, numbers((4,))),
    "index_add": (
        lambda x, v: tfr.index_add(x, tfr.asarray([1, 1, 0]), v),
        numbers((3,)),
        numbers((3,)),
    ),
}


def set_item(x, index, value):
    x = x + 0
    x[index] = value
    return x


@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    function, *args = CASES[name]
    check(function, *args)


@pytest.mark.parametrize("name", CASES)
def test_directions_and_cotangents_agree(name):
    """<u, J v> = <J' u, v>, whatever u and v are."""
    function, *args = CASES[name]
    places = [at for at, one in enumerate(args) if one.dtype.kind == "f"]
    given = [tfr.asarray(one) for one in args]

    def of_floats(*values):
        own = list(given)
        for at, value in zip(places, values, strict=True):
            own[at] = value
        return function(*own)

    points = [given[at] for at in places]
    along = [tfr.asarray(numbers(one.shape)) for one in points]
    out, pushed = tfr.jvp(of_floats, points, along)
    u = tfr.asarray(numbers(out.shape))
    pulled = tfr.vjp(of_floats, *points)[1](u)
    left = tfr.sum(u * pushed).item()
    right = sum(tfr.sum(one * v).item() for one, v in zip(pulled, along, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-11, atol=1e-12)


COMPLEX_CASES = {
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "exp": lambda a, b: tfr.exp(a) - b,
    "log": lambda a, b: tfr.log(a) * tfr.conj(b),
    "sqrt": lambda a, b: tfr.sqrt(a) + tfr.square(b),
    "abs": lambda a, b: tfr.abs(a) * b,
    "sign": lambda a, b: tfr.sign(a) * b,
    "parts": lambda a, b: tfr.real(a) * tfr.imag(b) + a,
    "sin": lambda a, b: tfr.sin(a) * tfr.cosh(b),
    "inverse": lambda a, b: tfr.atan(a) + tfr.asinh(b) + tfr.acosh(a) + tfr.acos(b) + tfr.atanh(a),
    "tan": lambda a, b: tfr.tan(a) * tfr.tanh(b),
    "reciprocal": lambda a, b: tfr.reciprocal(a) - b,
    "matmul": lambda a, b: a.reshape((2, 2)) @ b.reshape((2, 2)),
    "einsum": lambda a, b: tfr.einsum("i,j->ij", a, b),
    "prod": lambda a, b: tfr.prod(a) * b,
    "cumulative_prod": lambda a, b: tfr.cumulative_prod(a) * b,
    "var": lambda a, b: tfr.var(a) * b,
    "vector_norm": lambda a, b: tfr.linalg.vector_norm(a) * b,
    "take": lambda a, b: a[tfr.asarray([1, 1, 0, 3])] * b,
    "real beside": lambda a, b: a * tfr.real(b),
}


@pytest.mark.parametrize("name", COMPLEX_CASES)
def test_complex_functions(name):
    random = np.random.default_rng(1)
    a, b = (random.uniform(0.3, 1.2, 4) + 1j * random.uniform(-1, 1, 4) for _ in range(2))
    check(COMPLEX_CASES[name], a, b)


# a function, where it is looked at, and the gradient there, by convention or as a limit
POINTS = {
    "relu has the slope 0 at its kink": (tfr.relu, [0.0, -1.0, 1.0], [0.0, 0.0, 1.0]),
    "abs": (tfr.abs, [0.0, -0.0, -2.0], [0.0, 0.0, -1.0]),
    "maximum shares ties": (lambda x: tfr.maximum(x, 1.0), [1.0, 0.0, 2.0], [0.5, 0.0, 1.0]),
    "minimum shares ties": (lambda x: tfr.minimum(x, 1.0), [1.0, 0.0, 2.0], [0.5, 1.0, 0.0]),
    "fmax passes NaN over": (lambda x: tfr.fmax(x, math.nan), [1.0, -1.0], [1.0, 1.0]),
    "max shares ties": (tfr.max, [3.0, 1.0, 3.0], [0.5, 0.0, 0.5]),
    "min shares ties": (tfr.min, [3.0, 1.0, 1.0, 1.0], [0.0, 1 / 3, 1 / 3, 1 / 3]),
    "sinc at its top": (tfr.sinc, [0.0, 1e-9], [0.0, -3.2898681336964524e-09]),
    "sinc beside its top": (tfr.sinc, [0.01, 0.2499], [-0.0328954344817124, -0.7725678112027068]),
    "sigmoid far out": (tfr.sigmoid, [20.0, -20.0], [2.0611536139418e-09, 2.0611536139418e-09]),
    "sigmoid at infinity": (tfr.sigmoid, [math.inf, -math.inf], [0.0, 0.0]),
    "softplus": (tfr.softplus, [0.0, 800.0, -800.0], [0.5, 1.0, 0.0]),
    "log_sigmoid": (tfr.log_sigmoid, [0.0, 800.0, -800.0], [0.5, 0.0, 1.0]),
    "silu at zero": (tfr.silu, [0.0], [0.5]),
    "gelu at zero": (tfr.gelu, [0.0], [0.5]),
    "pow at zero": (lambda x: x**2 + x**1 + x**0, [0.0], [1.0]),
    "pow of tensors at zero": (
        lambda x: tfr.pow(x, tfr.asarray([2.0, 1.0, 0.0])),
        [0.0] * 3,
        [0.0, 1.0, 0.0],
    ),
    "exponent of zero": (lambda x: tfr.pow(tfr.zeros(2), x), [2.0, 0.5], [0.0, 0.0]),
    "norm of nothing": (tfr.linalg.vector_norm, [0.0, 0.0], [0.0, 0.0]),
    "norm": (tfr.linalg.vector_norm, [3.0, 4.0], [0.6, 0.8]),
    "hypot of nothing": (lambda x: tfr.hypot(x, 0.0), [0.0, 2.0], [0.0, 1.0]),
    "atan2 of nothing": (lambda x: tfr.atan2(x, 0.0), [0.0], [0.0]),
    "std of equal values": (tfr.std, [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    "where keeps NaN out of its result": (
        lambda x: tfr.where(x > 0, tfr.log(tfr.where(x > 0, x, 1.0)), 0.0),
        [2.0, -1.0],
        [0.5, 0.0],
    ),
    "logaddexp of nothing": (lambda x: tfr.logaddexp(x, x), [-math.inf], [1.0]),
    "logaddexp of large numbers": (
        lambda x: tfr.logaddexp(x, 1e10),
        [1e10, 1e10 + 1],
        [0.5, 1 / (1 + math.exp(-1))],
    ),
    "logaddexp of infinities": (
        lambda x: tfr.logaddexp(x, tfr.asarray([0.0, 0.0, math.inf, math.inf, -math.inf])),
        [math.inf, -math.inf, math.inf, 1.0, 1.0],
        [1.0, 0.0, 0.5, 0.0, 1.0],
    ),
    "logsumexp of large numbers": (tfr.logsumexp, [1e10, 1e10, -1e10], [0.5, 0.5, 0.0]),
    "logsumexp with -inf": (tfr.logsumexp, [0.0, -math.inf], [1.0, 0.0]),
    "logsumexp of nothing": (tfr.logsumexp, [-math.inf, -math.inf], [0.0, 0.0]),
    "softmax with -inf": (lambda x: tfr.softmax(x)[0], [0.0, 0.0, -math.inf], [0.25, -0.25, 0.0]),
    "prod with zeros": (tfr.prod, [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    "clip at its ends": (lambda x: tfr.clip(x, 0.0, 1.0), [-1.0, 0.5, 2.0], [0.0, 1.0, 0.0]),
    "sort of ties": (lambda x: tfr.sort(x)[0], [1.0, 1.0, 2.0], [1.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", POINTS)
def test_special_points(name):
    function, points, wanted = POINTS[name]
    found = tfr.grad(lambda x: tfr.sum(function(x)))(tfr.asarray(points, dtype=tfr.float64))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-30)


def test_the_slope_of_sinc_has_all_digits_where_its_terms_cancel():
    points = [1e-9, 0.01, 0.1, 0.2, 0.24999, 0.25001, -0.2]
    wanted = [
        math.fsum(
            (-1) ** k * 2 * k * math.pi ** (2 * k) * x ** (2 * k - 1) / math.factorial(2 * k + 1)
            for k in range(1, 20)
        )
        for x in points
    ]
    found = tfr.grad(lambda x: tfr.sum(tfr.sinc(x)))(tfr.asarray(points, dtype=tfr.float64))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=4e-15)


@pytest.mark.parametrize("function", [tfr.fmod, tfr.remainder])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_quotient_that_rounds_to_a_whole_number_is_not_counted_as_one(function, sign):
    """25 / 0.1 is 250 in floating point, but 0.1 goes 249 times into 25: the remainder is just below 0.1."""
    x, y = (
        tfr.asarray([25.0 * sign], dtype=tfr.float64),
        tfr.asarray([0.1 * sign], dtype=tfr.float64),
    )
    assert abs(function(x, y).item()) > 0.09
    assert tfr.grad(lambda y: tfr.sum(function(x, y)))(y).tolist() == [-249.0]


@pytest.mark.parametrize("function", [lambda x: tfr.logaddexp(x[0], x[1]), tfr.logsumexp])
@pytest.mark.parametrize("offset", [0.0, 1e10])
def test_curvature_of_sums_of_exponentials(function, offset):
    found = tfr.hessian(function)(tfr.asarray([offset, offset], dtype=tfr.float64))
    np.testing.assert_allclose(found.numpy(), [[0.25, -0.25], [-0.25, 0.25]], rtol=1e-14)


def test_a_complex_gradient_points_uphill():
    """PyTorch's convention: of |z - 1|^2 it is 2 (z - 1), and z - rate * gradient descends."""
    z = tfr.asarray([1.5 + 0.5j])
    assert tfr.grad(lambda z: tfr.sum(tfr.square(tfr.abs(z - 1))))(z).tolist() == pytest.approx(
        [1 + 1j]
    )
    assert tfr.grad(lambda z: tfr.sum(tfr.real(z * z)))(z).tolist() == pytest.approx([3 - 1j])


@pytest.mark.parametrize("dtype", [tfr.float16, tfr.bfloat16, tfr.float32, tfr.complex64])
def test_gradients_have_the_dtype_of_what_they_are_for(dtype):
    x = tfr.asarray([0.5, 1.5]).astype(dtype)

    def function(x):
        y = tfr.exp(x) * tfr.sin(x) / (x + 2) + x**2
        return tfr.real(tfr.sum(tfr.mean(y) * y + tfr.cumulative_sum(y) * tfr.prod(x)))

    found = tfr.grad(function)(x)
    assert found.dtype == dtype
    wanted = tfr.grad(function)(x.astype(tfr.complex128 if dtype == tfr.complex64 else tfr.float64))
    rtol = {tfr.float16: 1e-2, tfr.bfloat16: 1e-1}.get(dtype, 1e-5)
    np.testing.assert_allclose(found.astype(wanted.dtype).numpy(), wanted.numpy(), rtol=rtol)


def test_half_precision_counts_ties_beyond_what_it_can_hold():
    found = tfr.grad(tfr.max)(tfr.ones(5000, dtype=tfr.bfloat16))
    np.testing.assert_allclose(found.astype(tfr.float32).numpy(), 1 / 5000, rtol=1e-2)


@pytest.mark.parametrize(
    "pieces",
    [
        [(0, 2), (2, 5), (5, 9)],
        [(5, 9), (0, 2), (2, 5)],
        [(1, 3), (5, 6)],
        [(0, 4), (2, 6), (6, 8)],
        [(0, 3), (0, 3), (3, 9)],
        [(3, 3), (3, 9)],
    ],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_slices_side_by_side(pieces, axis):
    def function(x):
        parts = [x[a:b] if axis == 0 else x[:, a:b] for a, b in pieces]
        return sum(tfr.sum(tfr.sin(part) * (at + 1)) for at, part in enumerate(parts))

    check(function, numbers((9, 2) if axis == 0 else (2, 9)))


def test_slices_side_by_side_are_joined():
    """Not added: the sum of a thousand tensors of which each is zero but for a row would go over all of them."""
    x = tfr.asarray(numbers((1000, 3)))
    gradient = tfr.grad(lambda x: sum(tfr.sum(x[at]) * at for at in range(1000)))(x)
    ops = [node.op.name for node in reachable([gradient.node])]
    assert ops.count("concat") == 1
    assert ops.count("pad") == 0
    assert gradient[7].tolist() == [7.0, 7.0, 7.0]
