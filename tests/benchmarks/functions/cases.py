"""The functions that are measured, and their operands of each size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A function with its operands: Python text in `xp` (the namespace) and the names of `operands`.

    `is_there` says that what it gives is computed already.
    """

    name: str
    text: str
    is_there: bool = False


def _cases(template: str, names: str, suffix: str = "") -> list[Case]:
    return [Case(name + suffix, template.format(name)) for name in names.split()]


RANDOM = (
    "exponential gumbel laplace logistic lognormal normal random rayleigh "
    "standard_cauchy standard_exponential standard_normal uniform"
)

CASES: Sequence[Case] = [
    *_cases(
        "xp.{}(x)",
        "abs cbrt ceil cos cosh deg2rad degrees exp exp2 expm1 fabs fix floor isfinite isinf "
        "isnan isneginf isposinf negative "
        "positive rad2deg radians rint round sign signbit sin sinc sinh square tan tanh arctan "
        "asinh trunc nan_to_num real conj "
        "logical_not reciprocal",
    ),
    *_cases("xp.{}(p)", "sqrt log log1p log2 log10 arcsin arccos arctanh"),
    *_cases("xp.{}(p + 1)", "arccosh"),
    *_cases(
        "xp.{}(x, y)",
        "add subtract multiply divide maximum minimum fmax fmin hypot arctan2 copysign "
        "nextafter logaddexp equal not_equal less "
        "less_equal greater greater_equal logical_and logical_or logical_xor heaviside isclose "
        "allclose array_equal array_equiv",
    ),
    *_cases("xp.{}(x, p + 1)", "floor_divide remainder mod fmod"),
    *_cases("xp.{}(p, p)", "pow"),
    *_cases("xp.{}(i, j)", "bitwise_and bitwise_or bitwise_xor left_shift right_shift"),
    *_cases("xp.{}(i)", "bitwise_not bincount"),
    *_cases(
        "xp.{}(x)",
        "sum prod mean var std min max ptp argmin argmax nanmin nanmax nansum nanprod nanmean "
        "nanvar nanstd nanargmin nanargmax "
        "nanmedian median cumsum cumprod nancumsum cumulative_sum cumulative_prod count_nonzero "
        "any all average diff ediff1d "
        "gradient sort argsort flip flipud ravel atleast_1d atleast_2d atleast_3d squeeze "
        "nonzero flatnonzero argwhere unique "
        "unique_values unique_counts unique_inverse unique_all trapezoid histogram",
    ),
    *_cases(
        "xp.{}(m)",
        "fliplr diag diagonal trace tril triu transpose matrix_transpose rot90 corrcoef cov",
    ),
    *_cases("xp.{}(s)", "diagflat"),
    *_cases("xp.permute_dims(m, (1, 0))", "permute_dims"),
    *_cases("xp.{}(m, axis=0)", "sum mean max argmax std cumsum sort nanmax any", " axis 0"),
    *_cases("xp.{}(m, axis=1)", "sum mean max argmax std cumsum sort nanmax any median", " axis 1"),
    *_cases("xp.{}(x, 0.3)", "quantile nanquantile"),
    *_cases("xp.{}(x, 30)", "percentile nanpercentile"),
    *_cases("xp.{}(x, y)", "dot inner vdot vecdot"),
    *_cases("xp.{}(s, s)", "outer"),
    *_cases("xp.{}(q, q)", "matmul tensordot"),
    *_cases(
        "xp.{}((x, y))",
        "concatenate concat stack vstack hstack dstack column_stack",
    ),
    *_cases("xp.{}(x, sorted_x)", "union1d intersect1d setdiff1d"),
    *_cases("xp.{}(x, few)", "isin"),
    *_cases("xp.{}(few, x)", "append"),
    *_cases("xp.{}(x, k)", "partition argpartition"),
    *_cases("xp.{}(n)", "arange zeros ones empty"),
    *_cases("xp.{}(r)", "eye identity tri"),
    *_cases("xp.{}(x)", "zeros_like ones_like empty_like"),
    *_cases("xp.{}(0.0, 1.0, n)", "linspace"),
    *_cases("xp.{}(1.0, 10.0, n)", "geomspace"),
    *_cases("xp.{}(0.0, 1.0, n)", "logspace"),
    *_cases("xp.linalg.{}(x)", "norm vector_norm"),
    *_cases("xp.linalg.{}(m)", "matrix_norm"),
    *_cases("xp.fft.{}(x)", "fft rfft fftshift ifftshift"),
    *_cases("xp.fft.{}(m)", "fft2"),
    *_cases("xp.fft.{}(n)", "fftfreq"),
    Case("full", "xp.full(n, 1.5)"),
    Case("full_like", "xp.full_like(x, 1.5)"),
    Case("clip", "xp.clip(x, -1.0, 1.0)"),
    Case("where", "xp.where(b, x, y)"),
    Case("insert", "xp.insert(x, k, 1.0)"),
    Case("delete", "xp.delete(x, k)"),
    Case("pad constant", "xp.pad(x, 3)"),
    Case("pad reflect", "xp.pad(x, 3, mode='reflect')"),
    Case("pad edge", "xp.pad(m, 2, mode='edge')"),
    Case("pad wrap", "xp.pad(m, 2, mode='wrap')"),
    Case("roll", "xp.roll(x, 3)"),
    Case("roll m", "xp.roll(m, 3, axis=1)"),
    Case("tile", "xp.tile(s, 3)"),
    Case("repeat", "xp.repeat(x, 2)"),
    Case("take", "xp.take(x, index)"),
    Case("take_along_axis", "xp.take_along_axis(x, index, 0)"),
    Case("searchsorted", "xp.searchsorted(sorted_x, y)"),
    Case("digitize", "xp.digitize(x, few)"),
    Case("interp", "xp.interp(p, grid, grid)"),
    Case("convolve", "xp.convolve(x, few)"),
    Case("kron", "xp.kron(s, few)"),
    Case("cross", "xp.cross(three, three)"),
    Case("broadcast_to", "xp.broadcast_to(x, (2, x.shape[0]))"),
    Case("expand_dims", "xp.expand_dims(x, 0)"),
    Case("moveaxis", "xp.moveaxis(m, 0, 1)"),
    Case("swapaxes", "xp.swapaxes(m, 0, 1)"),
    Case("reshape", "xp.reshape(x, (-1, 1))"),
    Case("array_split", "xp.array_split(x, 3)"),
    Case("meshgrid", "xp.meshgrid(s, s)"),
    Case("tril_indices", "xp.tril_indices(r)"),
    Case("triu_indices", "xp.triu_indices(r)"),
    Case("einsum", "xp.einsum('i,i->', x, y)"),
    Case("einsum trace", "xp.einsum('ii->', m)"),
    Case("solve", "xp.linalg.solve(q, q)"),
    Case("inv", "xp.linalg.inv(q)"),
    Case("det", "xp.linalg.det(q)"),
    Case("nan_to_num 1", "xp.nan_to_num(x, nan=1.0)"),
    Case("astype", "xp.astype(x, xp.float64)"),
    Case("slice step", "x[::2] + 0"),
    Case("reverse", "x[::-1] + 0"),
    Case("row", "m[1] + 0"),
    Case("column", "m[:, 1] + 0"),
    Case("mask", "x[b]"),
    Case("gather", "x[index]"),
    Case("+ 1", "x + 1"),
    Case("* y + z", "x * y + y"),
    Case("** 2", "x ** 2"),
    Case("-x", "-x"),
    Case("m.T + m", "m.T + m"),
    Case("m + row", "m + m[0]"),
    Case("m - mean", "m - xp.mean(m, axis=1, keepdims=True)"),
    # what programs of NumPy's call now and then
    *_cases(
        "xp.{}(x)",
        "absolute angle around array asarray ascontiguousarray copy i0 imag iscomplex isreal "
        "modf real_if_close spacing sort_complex trim_zeros unwrap nancumprod frexp "
        "histogram_bin_edges ndim shape size",
        " of x",
    ),
    *_cases("xp.{}(p)", "acos asin atan atanh"),
    *_cases("xp.{}(x)", "arcsinh"),
    *_cases("xp.{}(x + 2)", "acosh", " of x + 2"),
    *_cases("xp.{}(x, y)", "atan2 logaddexp2 true_divide setxor1d histogram2d"),
    *_cases("xp.{}(x, p + 1)", "divmod"),
    *_cases("xp.{}(p, p)", "power float_power"),
    *_cases("xp.{}(i)", "bitwise_count bitwise_invert invert"),
    *_cases("xp.{}(i, j)", "bitwise_left_shift bitwise_right_shift gcd lcm"),
    *_cases("xp.{}(x, j)", "ldexp"),
    *_cases("xp.{}(n)", "bartlett blackman hamming hanning diag_indices"),
    *_cases("xp.{}(n, 8.6)", "kaiser"),
    *_cases("xp.{}(m)", "diag_indices_from tril_indices_from triu_indices_from unstack"),
    *_cases("xp.{}(x, 2)", "split"),
    *_cases("xp.{}(m, [2])", "hsplit vsplit"),
    *_cases("xp.{}(b, x)", "extract compress"),
    *_cases("xp.{}(few, x)", "polyval"),
    *_cases("xp.{}(x, few)", "polyadd polysub polymul correlate"),
    *_cases("xp.{}(x)", "polyder polyint"),
    *_cases("xp.{}(few)", "roots poly"),
    *_cases("xp.{}(m, s)", "matvec"),
    *_cases("xp.{}(s, m)", "vecmat"),
    *_cases("xp.{}((r, r))", "indices"),
    *_cases("xp.{}([x, y])", "lexsort block"),
    *_cases("xp.{}(b)", "packbits"),
    *_cases("xp.{}(bytes8)", "unpackbits"),
    *_cases("xp.{}(x, (n + 3,))", "resize"),
    *_cases("xp.{}(m, 1)", "rollaxis"),
    Case("polyfit", "xp.polyfit(x, y, 2)"),
    Case("polydiv", "xp.polydiv(small, few)"),
    Case("broadcast_arrays", "xp.broadcast_arrays(m, s)"),
    Case("choose", "xp.choose(j % 2, (x, y))"),
    Case("histogramdd", "xp.histogramdd(three, bins=4)"),
    Case("ix_", "xp.ix_(index, index)"),
    Case("piecewise", "xp.piecewise(x, [x < 0, x >= 0], [-1.0, 1.0])"),
    Case("select", "xp.select([x < 0, x > 1], [x, y], 0.0)"),
    Case("ravel_multi_index", "xp.ravel_multi_index((j, j), (8, 8))"),
    Case("unravel_index", "xp.unravel_index(index, (n,))"),
    Case("vander", "xp.vander(x, 3)"),
    Case("fromfunction", "xp.fromfunction(lambda i, j: i + j, (r, r))"),
    Case("apply_along_axis", "xp.apply_along_axis(xp.sum, 1, wide)"),
    Case("fill_diagonal", "changed(m, lambda t: xp.fill_diagonal(t, 1.0))"),
    Case("copyto", "changed(x, lambda t: xp.copyto(t, y))"),
    Case("put", "changed(x, lambda t: xp.put(t, index, 1.0))"),
    Case("place", "changed(x, lambda t: xp.place(t, b, few))"),
    Case("putmask", "changed(x, lambda t: xp.putmask(t, b, y))"),
    Case("put_along_axis", "changed(x, lambda t: xp.put_along_axis(t, index, 1.0, 0))"),
    *_cases("xp.linalg.{}(spd)", "cholesky eigh eigvalsh cond matrix_rank pinv slogdet svd qr"),
    *_cases("xp.linalg.{}(spd)", "svdvals eig eigvals"),
    Case("lstsq", "xp.linalg.lstsq(q, q[0])"),
    Case("matrix_power", "xp.linalg.matrix_power(q, 3)"),
    Case("multi_dot", "xp.linalg.multi_dot((q, q, q))"),
    *_cases("xp.fft.{}(x)", "ifft irfft hfft ihfft"),
    *_cases("xp.fft.{}(m)", "fftn ifft2 ifftn irfft2 irfftn rfft2 rfftn"),
    *_cases("xp.fft.{}(n)", "rfftfreq"),
    *_cases("xp.random.{}(size=n)", RANDOM),
    *_cases("xp.random.{}(2.0, size=n)", "standard_gamma chisquare standard_t pareto weibull"),
    *_cases("xp.random.{}(2.0, size=n)", "power zipf", " numbers"),
    *_cases("xp.random.{}(2.0, 3.0, size=n)", "beta f vonmises wald noncentral_chisquare"),
    *_cases("xp.random.{}(4.0, size=n)", "poisson"),
    *_cases("xp.random.{}(0.3, size=n)", "geometric logseries"),
    Case("binomial", "xp.random.binomial(20, 0.3, size=n)"),
    Case("negative_binomial", "xp.random.negative_binomial(5, 0.3, size=n)"),
    Case("hypergeometric", "xp.random.hypergeometric(30, 40, 20, size=n)"),
    Case("noncentral_f", "xp.random.noncentral_f(3.0, 5.0, 1.0, size=n)"),
    Case("triangular", "xp.random.triangular(0.0, 1.0, 2.0, size=n)"),
    Case("multinomial", "xp.random.multinomial(10, [0.2, 0.3, 0.5], size=r)"),
    Case("dirichlet", "xp.random.dirichlet([1.0, 2.0, 3.0], size=r)"),
    Case("randint", "xp.random.randint(0, 100, size=n)"),
    Case("rand", "xp.random.rand(n)"),
    Case("randn", "xp.random.randn(n)"),
    Case("permutation", "xp.random.permutation(n)"),
    Case("choice", "xp.random.choice(n, size=n)"),
    Case("shuffle", "changed(x, lambda t: xp.random.shuffle(t))"),
    Case("setitem", "put(x, 3, 1.0)"),
    Case("setitem slice", "put(x, slice(2, 8), 1.0)"),
    Case("setitem mask", "put(x, b, 1.0)"),
    Case("setitem index", "put(x, index, 1.0)"),
]

# What takes an array apart, object by object, and computes nothing: no function of the namespace.
APART: Sequence[Case] = [
    Case("a slice", "x[1:-1]"),
    Case("an element", "x[3]"),
    Case("10,000 elements: list", "list(small)", is_there=True),
    Case("10,000 elements: Python's sum", "sum(small)", is_there=True),
    Case("10,000 elements: Python's max", "max(small)", is_there=True),
    Case("1,000 rows of eight", "[row for row in wide]", is_there=True),
]


def operands(size: int) -> dict[str, Any]:
    """Return arrays of `size` elements, or that are made into as many, and numbers."""
    draw = np.random.default_rng(0)
    side = max(int(size**0.5), 2)
    few = np.sort(draw.normal(size=5)).astype(np.float32)
    x = draw.normal(size=size).astype(np.float32)
    base = np.random.default_rng(1).normal(size=(min(side, 100),) * 2)
    return {
        "x": x,
        "y": draw.normal(size=size).astype(np.float32),
        "p": draw.uniform(0.1, 0.9, size).astype(np.float32),
        "i": draw.integers(0, 100, size).astype(np.int32),
        "j": draw.integers(0, 7, size).astype(np.int32),
        "b": draw.uniform(size=size) < 0.5,
        "index": draw.integers(0, size, size),
        "sorted_x": np.sort(x),
        "grid": np.linspace(0, 1, 20, dtype=np.float32),
        "few": few,
        "m": draw.normal(size=(side, side)).astype(np.float32),
        "q": draw.normal(size=(min(side, 200),) * 2).astype(np.float32),
        "s": draw.normal(size=side).astype(np.float32),
        "wide": draw.normal(size=(min(size, 1000), 8)).astype(np.float32),
        "small": draw.normal(size=min(size, 10_000)).astype(np.float32),
        "three": draw.normal(size=(max(size // 3, 1), 3)).astype(np.float32),
        "spd": (base @ base.T + np.eye(len(base))).astype(np.float32),
        "bytes8": draw.integers(0, 256, max(size // 8, 1)).astype(np.uint8),
        "k": size // 2,
        "n": size,
        "r": side,
    }
