"""Gradients are PyTorch's: of every differentiable function that it has too, and at kinks."""

import inspect
import math
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tests.gradient.pytorch import agree, imaginary, real, slopes, torch
from tests.gradient.test_pytorch_linalg import MATRICES, OBLONG, SEVERAL_AXES, TRANSFORMS

# --- elementwise functions


def words(text, value=()):
    return dict.fromkeys(text.split(), value)


# of which names, and the range of the arguments, if not that of `real`
ELEMENTWISE = {
    **words("abs absolute add arcsinh arctan arctan2 asinh atan atan2 ceil conj copysign cos cosh"),
    **words("deg2rad erf erfc exp exp2 expm1 fix floor fmax fmin hypot logaddexp maximum minimum"),
    **words("multiply nan_to_num negative positive rad2deg real relu round sigmoid sign sin sinc"),
    **words("sinh square subtract tan tanh trunc"),
    **words("divide log log10 log1p log2 pow sqrt true_divide", (0.2, 3.0)),
    **words("fmod reciprocal remainder", (0.7, 3.0)),
    **words("acos arccos arcsin arctanh asin atanh", (-0.9, 0.9)),
    **words("acosh arccosh", (1.2, 3.0)),
}
BINARY = {
    **words("add arctan2 atan2 copysign divide fmax fmin fmod hypot logaddexp maximum minimum"),
    **words("multiply pow remainder subtract true_divide"),
}
COMPLEX = {
    **words("abs acos acosh add asin asinh atan atanh conj cos cosh divide exp expm1 imag log"),
    **words("log10 log1p log2 multiply negative pow real reciprocal sin sinh sqrt square subtract"),
    **words("tan tanh"),
}


# two arguments for each, of which functions of one take the first
NUMBERS = {
    name: [real(2, 3, low=low, high=high) for _ in range(2)]
    for name, (low, high) in ((name, limits or (-2.0, 2.0)) for name, limits in ELEMENTWISE.items())
}
Z, W, X = imaginary(2, 3), imaginary(2, 3), real(2, 1, low=0.3, high=1.5)


def arguments(name, x, y):
    return (x, y) if name in BINARY else (x,)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    args = arguments(name, *NUMBERS[name])
    agree(getattr(tfr, name), getattr(torch, name), *args)
    agree(*slopes(getattr(tfr, name), getattr(torch, name)), *args)


@pytest.mark.parametrize("name", COMPLEX)
def test_elementwise_of_complex_numbers(name):
    agree(getattr(tfr, name), getattr(torch, name), *arguments(name, Z, W))


@pytest.mark.parametrize("name", sorted(BINARY.keys() & COMPLEX.keys()))
def test_real_numbers_beside_complex_ones(name):
    agree(getattr(tfr, name), getattr(torch, name), X, Z)
    agree(getattr(tfr, name), getattr(torch, name), Z, X)


# --- functions that are called the same way: of a namespace, and tensors

ORDER = np.array([2, 0, 2])
PLACES = np.array([[0, 0, 3], [1, 2, 1]])
CHOICE = real(3, 4) > 0


def array(xp, values):
    return xp.asarray(values)


SAME: dict[str, tuple[Any, ...]] = {
    "sum": (lambda xp, x: xp.sum(x, axis=1), real(2, 3)),
    "sum of all": (lambda xp, x: xp.sum(x), real(2, 3)),
    "mean": (lambda xp, x: xp.mean(x, axis=0), real(2, 3)),
    "prod": (lambda xp, x: xp.prod(x, axis=1), real(2, 3)),
    "prod of all": (lambda xp, x: xp.prod(x), real(2, 3)),
    "prod complex": (lambda xp, x: xp.prod(x, axis=1), imaginary(2, 3)),
    "amax": (lambda xp, x: xp.amax(x, axis=1), real(3, 4)),
    "amin": (lambda xp, x: xp.amin(x, axis=0), real(3, 4)),
    "max": (lambda xp, x: xp.max(x), real(3, 4)),
    "min": (lambda xp, x: xp.min(x), real(3, 4)),
    "var": (lambda xp, x: xp.var(x, axis=1, correction=1), real(3, 4)),
    "std": (lambda xp, x: xp.std(x, axis=0, correction=1), real(3, 4)),
    "nansum": (lambda xp, x: xp.nansum(x, axis=0), real(3, 4)),
    "nanmean": (lambda xp, x: xp.nanmean(x, axis=0), real(3, 4)),
    "cumsum": (lambda xp, x: xp.cumsum(x, axis=1), real(2, 4)),
    "cumsum complex": (lambda xp, x: xp.cumsum(x, axis=0), imaginary(2, 4)),
    "cumprod": (lambda xp, x: xp.cumprod(x, axis=1), real(2, 4)),
    "cumprod complex": (lambda xp, x: xp.cumprod(x, axis=1), imaginary(2, 4)),
    "logsumexp": (lambda xp, x: xp.logsumexp(x, axis=1), real(2, 4)),
    "softmax": (lambda xp, x: xp.softmax(x, axis=0), real(2, 4)),
    "log_softmax": (lambda xp, x: xp.log_softmax(x, axis=1), real(2, 4)),
    "clip": (lambda xp, x: xp.clip(x, -0.5, 0.5), real(9)),
    "where": (lambda xp, x, y: xp.where(array(xp, CHOICE), x, y), real(3, 4), real(4)),
    "where complex": (
        lambda xp, x, y: xp.where(array(xp, CHOICE), x, y),
        imaginary(3, 1),
        imaginary(4),
    ),
    "matmul": (lambda xp, x, y: xp.matmul(x, y), real(2, 1, 3, 4), real(5, 4, 2)),
    "matmul complex": (lambda xp, x, y: xp.matmul(x, y), imaginary(3, 4), imaginary(4)),
    "einsum": (
        lambda xp, x, y, z: xp.einsum("bij,jk,lk->bil", x, y, z),
        real(2, 3, 4),
        real(4, 2),
        real(3, 2),
    ),
    "einsum diagonal": (lambda xp, x: xp.einsum("iji->j", x), real(3, 2, 3)),
    "einsum complex": (
        lambda xp, x, y: xp.einsum("ij,kj->ki", x, y),
        imaginary(2, 3),
        imaginary(2, 3),
    ),
    "inner": (lambda xp, x, y: xp.inner(x, y), real(2, 3), real(4, 3)),
    "dot": (lambda xp, x, y: xp.dot(x, y), imaginary(3), imaginary(3)),
    "vdot": (lambda xp, x, y: xp.vdot(x, y), imaginary(3), imaginary(3)),
    "outer": (lambda xp, x, y: xp.outer(x, y), real(2), real(3)),
    "kron": (lambda xp, x, y: xp.kron(x, y), real(2, 2), real(3, 1)),
    "linalg.vecdot": (lambda xp, x, y: xp.linalg.vecdot(x, y), imaginary(2, 3), imaginary(2, 3)),
    "linalg.matmul": (lambda xp, x, y: xp.linalg.matmul(x, y), real(2, 3), real(3, 2)),
    "linalg.cross": (lambda xp, x, y: xp.linalg.cross(x, y), real(2, 3), real(2, 3)),
    "linalg.diagonal": (lambda xp, x: xp.linalg.diagonal(x, offset=1), real(2, 3, 4)),
    "linalg.multi_dot": (
        lambda xp, x, y, z: xp.linalg.multi_dot([x, y, z]),
        real(2, 3),
        real(3, 4),
        real(4, 2),
    ),
    "tensordot": (lambda xp, x, y: xp.tensordot(x, y, 2), real(2, 3, 4), real(3, 4, 2)),
    "trace": (lambda xp, x: xp.trace(x), real(3, 3)),
    "tril": (lambda xp, x: xp.tril(x, -1), real(3, 4)),
    "triu": (lambda xp, x: xp.triu(x, 1), real(3, 4)),
    "diag": (lambda xp, x: xp.diag(x), real(3, 3)),
    "diagflat": (lambda xp, x: xp.diagflat(x), real(3)),
    "diagonal": (lambda xp, x: xp.diagonal(x, 1), real(3, 4)),
    "diff": (lambda xp, x: xp.diff(x, n=2), real(2, 5)),
    "cov": (lambda xp, x: xp.cov(x), real(3, 5)),
    "corrcoef": (lambda xp, x: xp.corrcoef(x), real(3, 5)),
    "flip": (lambda xp, x: xp.flip(x, (0,)), real(3, 2)),
    "fliplr": (lambda xp, x: xp.fliplr(x), real(3, 2)),
    "flipud": (lambda xp, x: xp.flipud(x), real(3, 2)),
    "roll": (lambda xp, x: xp.roll(x, 2), real(3, 2)),
    "rot90": (lambda xp, x: xp.rot90(x), real(3, 2)),
    "reshape": (lambda xp, x: xp.reshape(x, (3, 2)), real(2, 3)),
    "ravel": (lambda xp, x: xp.ravel(x), real(2, 3)),
    "squeeze": (lambda xp, x: xp.squeeze(x, 1), real(2, 1, 3)),
    "swapaxes": (lambda xp, x: xp.swapaxes(x, 0, 1), real(2, 3)),
    "moveaxis": (lambda xp, x: xp.moveaxis(x, 0, 2), real(2, 3, 2)),
    "tile": (lambda xp, x: xp.tile(x, (2, 3)), real(2, 2)),
    "broadcast_to": (lambda xp, x: xp.broadcast_to(x, (3, 2, 4)), real(2, 1)),
    "atleast_1d": (lambda xp, x: xp.atleast_1d(x), real()),
    "atleast_2d": (lambda xp, x: xp.atleast_2d(x), real(3)),
    "atleast_3d": (lambda xp, x: xp.atleast_3d(x), real(3)),
    "concat": (lambda xp, x, y: xp.concat([x, y, x]), real(2), real(3)),
    "concatenate": (lambda xp, x, y: xp.concatenate([x, y], 1), real(2, 1), real(2, 2)),
    "stack": (lambda xp, x, y: xp.stack([x, y], 1), real(3), real(3)),
    "hstack": (lambda xp, x, y: xp.hstack([x, y]), real(2, 1), real(2, 2)),
    "vstack": (lambda xp, x, y: xp.vstack([x, y]), real(2), real(2)),
    "dstack": (lambda xp, x, y: xp.dstack([x, y]), real(2, 2), real(2, 2)),
    "column_stack": (lambda xp, x, y: xp.column_stack([x, y]), real(2), real(2, 2)),
    "trapezoid": (lambda xp, x, y: xp.trapezoid(x, y), real(5), real(5)),
    "index": (
        lambda xp, x: x[array(xp, ORDER)] * x[:, None, 1:2][array(xp, CHOICE[:, 0])].sum(),
        real(3, 4),
    ),
    "split": (lambda xp, x: xp.split(x, 2)[1] * xp.split(x, 2)[0], real(4, 2)),
    "vsplit": (lambda xp, x: xp.vsplit(x, 2)[1], real(4, 2)),
    "hsplit": (lambda xp, x: xp.hsplit(x, 2)[1], real(2, 4)),
    "dsplit": (lambda xp, x: xp.dsplit(x, 2)[1], real(2, 1, 4)),
    "mask": (lambda xp, x: x[array(xp, CHOICE)], real(3, 4)),
}


@pytest.mark.parametrize("name", SAME)
def test_functions_that_are_called_the_same_way(name):
    function, *args = SAME[name]
    agree(lambda *own: function(tfr, *own), lambda *own: function(torch, *own), *args)


@pytest.mark.parametrize("name", [one for one in SAME if SAME[one][1].dtype == np.float64])
def test_second_derivatives(name):
    function, *args = SAME[name]
    bound = [lambda *own, xp=xp: function(xp, *own) for xp in (tfr, torch)]
    agree(*slopes(*bound), *args)


# --- functions that are called otherwise

I = torch.tensor
F = torch.nn.functional

OTHER: dict[str, tuple[Any, ...]] = {
    "gelu": (tfr.gelu, F.gelu, real(7)),
    "silu": (tfr.silu, F.silu, real(7)),
    "softplus": (tfr.softplus, F.softplus, real(7)),
    "softsign": (tfr.softsign, F.softsign, real(7)),
    "log_sigmoid": (tfr.log_sigmoid, F.logsigmoid, real(7)),
    "sign complex": (tfr.sign, torch.sgn, imaginary(5)),
    "cbrt": (tfr.cbrt, lambda x: x ** (1 / 3), real(5, low=0.3)),
    "fabs": (tfr.fabs, torch.abs, real(5)),
    "take": (
        lambda x: tfr.take(x, tfr.asarray(ORDER), axis=0),
        lambda x: torch.index_select(x, 0, I(ORDER)),
        real(3, 2),
    ),
    "take_along_axis": (
        lambda x: tfr.take_along_axis(x, tfr.asarray(PLACES), axis=1),
        lambda x: torch.take_along_dim(x, I(PLACES), 1),
        real(2, 4),
    ),
    "index_add": (
        lambda x, v: tfr.index_add(x, tfr.asarray(ORDER), v),
        lambda x, v: x.index_add(0, I(ORDER), v),
        real(4, 2),
        real(3, 2),
    ),
    "segment_sum": (
        lambda x: tfr.segment_sum(x, tfr.asarray(ORDER), 4),
        lambda x: torch.zeros(4, 2, dtype=x.dtype).index_add(0, I(ORDER), x),
        real(3, 2),
    ),
    **{
        f"segment_{name}": (
            lambda x, name=name: getattr(tfr, f"segment_{name}")(x, tfr.asarray(ORDER), 3)[::2],
            lambda x, reduce=reduce: torch.zeros(3, 2, dtype=x.dtype).scatter_reduce(
                0, I(ORDER)[:, None].expand(3, 2), x, reduce, include_self=False
            )[::2],
            real(3, 2),
        )
        for name, reduce in [("prod", "prod"), ("max", "amax"), ("min", "amin"), ("mean", "mean")]
    },
    "sort": (
        lambda x: tfr.sort(x, axis=0, descending=True),
        lambda x: torch.sort(x, 0, descending=True).values,
        real(5, 2),
    ),
    "topk": (lambda x: tfr.topk(x, 3).values, lambda x: torch.topk(x, 3).values, real(2, 6)),
    "median": (
        lambda x: tfr.median(x, axis=1),
        lambda x: torch.median(x, 1).values,
        real(3, 5),
    ),
    "quantile": (
        lambda x: tfr.quantile(x, 0.3, axis=1),
        lambda x: torch.quantile(x, 0.3, 1),
        real(2, 7),
    ),
    "nanquantile": (
        lambda x: tfr.nanquantile(x, 0.7),
        lambda x: torch.nanquantile(x, 0.7),
        real(7),
    ),
    "pad": (lambda x: tfr.pad(x, ((1, 2), (0, 3))), lambda x: F.pad(x, (0, 3, 1, 2)), real(2, 3)),
    "pad reflect": (
        lambda x: tfr.pad(x, ((0, 0), (2, 1)), mode="reflect"),
        lambda x: F.pad(x, (2, 1), mode="reflect"),
        real(2, 5),
    ),
    "pad edge": (
        lambda x: tfr.pad(x, ((0, 0), (2, 1)), mode="edge"),
        lambda x: F.pad(x, (2, 1), mode="replicate"),
        real(2, 5),
    ),
    "repeat": (
        lambda x: tfr.repeat(x, 3, axis=1),
        lambda x: torch.repeat_interleave(x, 3, 1),
        real(2, 3),
    ),
    "permute_dims": (
        lambda x: tfr.permute_dims(x, (2, 0, 1)),
        lambda x: x.permute(2, 0, 1),
        real(2, 3, 4),
    ),
    "cross": (tfr.cross, torch.linalg.cross, real(2, 3), real(2, 3)),
    "vecdot": (tfr.vecdot, torch.linalg.vecdot, imaginary(2, 3), imaginary(2, 3)),
    "convolve": (
        tfr.convolve,
        lambda x, y: F.conv1d(x[None, None], y.flip(0)[None, None], padding=2)[0, 0],
        real(5),
        real(3),
    ),
    "interp": (
        lambda x, f: tfr.interp(x, tfr.asarray([0.0, 1.0, 2.0]), f),
        lambda x, f: f[x.long()] + (x - x.floor().detach()) * (f[x.long() + 1] - f[x.long()]),
        real(5, low=0.1, high=1.9),
        real(3),
    ),
    "ptp": (tfr.ptp, lambda x: x.max() - x.min(), real(5)),
    "transpose": (tfr.transpose, lambda x: x.mT, real(2, 3)),
    "matrix_transpose": (tfr.matrix_transpose, lambda x: x.mT, real(2, 2, 3)),
    "nanmedian": (tfr.nanmedian, torch.nanmedian, real(5)),
    "average": (
        lambda x, w: tfr.average(x, weights=w),
        lambda x, w: (x * w).sum() / w.sum(),
        real(5),
        real(5, low=0.2),
    ),
    "meshgrid": (
        lambda x, y: tfr.stack(tfr.meshgrid(x, y, indexing="ij")),
        lambda x, y: torch.stack(torch.meshgrid(x, y, indexing="ij")),
        real(2),
        real(3),
    ),
    "gradient": (tfr.gradient, lambda x: torch.gradient(x)[0], real(6)),
}


@pytest.mark.parametrize("name", OTHER)
def test_functions_that_are_called_otherwise(name):
    function, other, *args = OTHER[name]
    agree(function, other, *args)


# --- kinks and ends, where the conventions are the same

KINKS = {
    "abs": (lambda xp, x: xp.abs(x), [0.0, -1.0]),
    "complex abs": (lambda xp, x: xp.abs(x), [0j, 3 + 4j]),
    "relu": (lambda xp, x: xp.relu(x), [0.0, -1.0, 2.0]),
    "maximum": (lambda xp, x: xp.maximum(x, x * 0), [0.0, 1.0, -1.0]),
    "minimum": (lambda xp, x: xp.minimum(x, x * 0), [0.0, 1.0, -1.0]),
    "max": (lambda xp, x: xp.max(x), [1.0, 3.0, 3.0, 3.0]),
    "amax": (lambda xp, x: xp.amax(x, axis=0), [1.0, 3.0, 3.0, 3.0]),
    "amin": (lambda xp, x: xp.amin(x, axis=0), [1.0, 1.0, 3.0]),
    "norm": (lambda xp, x: xp.linalg.vector_norm(x), [0.0, 0.0]),
    "norm of one": (lambda xp, x: xp.linalg.vector_norm(x, ord=1), [0.0, -2.0]),
    "norm inf": (lambda xp, x: xp.linalg.vector_norm(x, ord=math.inf), [2.0, -2.0, 1.0]),
    "prod": (lambda xp, x: xp.prod(x), [0.0, 2.0, 3.0]),
    "prod of two zeros": (lambda xp, x: xp.prod(x), [0.0, 2.0, 0.0]),
    "cumprod": (lambda xp, x: xp.cumprod(x, axis=0), [2.0, 0.0, 3.0, 0.0, 4.0]),
    "sqrt": (lambda xp, x: xp.sqrt(x), [0.0, 4.0]),
    "log": (lambda xp, x: xp.log(x), [0.0, 2.0, math.inf]),
    "log1p": (lambda xp, x: xp.log1p(x), [-1.0, 1e-20]),
    "expm1": (lambda xp, x: xp.expm1(x), [1e-20, -1e-20, -800.0]),
    "reciprocal": (lambda xp, x: 1 / x, [0.0, math.inf]),
    "pow": (lambda xp, x: x**2 + x**1 + x**0, [0.0, -1.0]),
    "root": (lambda xp, x: x**0.5, [0.0, 4.0]),
    "exponent": (lambda xp, x: xp.pow(x * 0, x), [2.0, 0.5]),
    "tanh": (lambda xp, x: xp.tanh(x), [0.0, 20.0, -400.0]),
    "sigmoid": (lambda xp, x: xp.sigmoid(x), [0.0, 40.0, -800.0, 800.0]),
    "sinc": (lambda xp, x: xp.sinc(x), [0.0, 1.0]),
    "atan2": (lambda xp, x: xp.atan2(x, x * 0), [0.0, 1.0, -1.0]),
    "logaddexp": (lambda xp, x: xp.logaddexp(x, x * 0), [0.0, 800.0, -800.0]),
    "logsumexp": (lambda xp, x: xp.logsumexp(x, axis=0), [0.0, -math.inf, 1.0]),
    "softmax": (lambda xp, x: xp.softmax(x, axis=0), [0.0, -math.inf, 1.0]),
    "log_softmax": (lambda xp, x: xp.log_softmax(x, axis=0), [0.0, 800.0, -800.0]),
    "where": (lambda xp, x: xp.where(x > 0, x, x * 0), [0.0, math.inf, -1.0]),
    "round": (lambda xp, x: xp.round(x) + xp.floor(x) + xp.sign(x), [0.0, 0.5, 1.0]),
    "asin": (lambda xp, x: xp.asin(x), [1.0, -1.0]),
    "acosh": (lambda xp, x: xp.acosh(x), [1.0]),
    "atanh": (lambda xp, x: xp.atanh(x), [1.0, -1.0]),
    "nansum": (lambda xp, x: xp.nansum(x * x), [1.0, math.nan]),
    "nan_to_num": (lambda xp, x: xp.nan_to_num(x), [1.0, math.nan, math.inf]),
    "median": (lambda xp, x: xp.max(xp.median(x)), [3.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks(name):
    function, points = KINKS[name]
    agree(lambda x: function(tfr, x), lambda x: function(torch, x), np.array(points))


# --- nothing is forgotten

# integers, truth values, steps, what no tensor of floats goes into, and transformations
CONSTANT = {
    **words("all allclose any arange argmax argmin argsort argwhere asarray bincount bitwise_and"),
    **words("bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor can_cast"),
    **words("broadcast_shapes count_nonzero empty empty_like equal eye finfo floor_divide full"),
    **words("fft.fftfreq fft.rfftfreq from_dlpack full_like get_default_dtype greater"),
    **words("greater_equal heaviside histogram iinfo isclose isfinite isin isinf isnan isneginf"),
    **words(
        "isposinf jit less less_equal linalg.matrix_rank linspace load logical_and logical_not"
    ),
    **words("logical_or logical_xor logspace nextafter nonzero not_equal ones ones_like vmap"),
    **words("promote_types result_type save searchsorted set_default_dtype signbit tril_indices"),
    **words("triu_indices unique zeros zeros_like"),
}


def test_every_function_that_both_have_is_compared():
    spaces = [(tfr, torch, ""), (tfr.linalg, torch.linalg, "linalg."), (tfr.fft, torch.fft, "fft.")]
    shared = {
        prefix + name
        for own, other, prefix in spaces
        for name in own.__all__
        if hasattr(other, name) and inspect.isfunction(getattr(own, name))
    }
    of_matrices = (f"linalg.{name}" for name in [*MATRICES, *OBLONG, "vector_norm"])
    transforms = (f"fft.{name}" for name in [*TRANSFORMS, *SEVERAL_AXES])
    tables = [*ELEMENTWISE, *COMPLEX, *SAME, *OTHER, *of_matrices, *transforms]
    compared = {name.partition(" ")[0] for name in tables}
    assert len(shared) > 200
    assert sorted(shared - compared - CONSTANT.keys()) == []
