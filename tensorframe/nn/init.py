"""Initial values: tensors that are recorded and made when they are used, so a model costs nothing before.

Each function makes a tensor of a shape. The one of the same name with an underscore behind it gives a tensor that
exists, such as the parameter of a layer, new values in its own shape, dtype and device, as those of `torch.nn.init` do.
Random ones take a `key`, or draw from the generator that `tfr.random.seed` restarts: the same key gives the same bits
everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import FLOAT, NARROW, DTypeLike, default_float, float32, float64
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation import filled
from tensorframe.frontend.creation.triangles import eye as eye_matrix
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.elementwise.limits import clip
from tensorframe.frontend.indexing.searching import where
from tensorframe.frontend.linalg.decompositions import qr
from tensorframe.frontend.operands import converted
from tensorframe.frontend.random import distributions
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape, as_shape
from tensorframe.ops.elementwise import ERF, EXP, LOG1P, SQRT

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "trunc_normal",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros",
    "zeros_",
]

Sizes = Any

# gains that keep the variance of what passes a layer, by what follows it
_GAINS = {"relu": math.sqrt(2.0), "selu": 0.75, "tanh": 5.0 / 3.0}
_LINEAR = {
    "linear",
    "sigmoid",
    *[f"conv{kind}{count}d" for kind in ("", "_transpose") for count in (1, 2, 3)],
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor of standard deviations that makes up for what an activation does to them.

    `param` is the slope below zero of "leaky_relu", 0.01 if not given. ArgumentError for a name that is not known.

    >>> tfr.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _LINEAR:
        return 1.0
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1.0 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        known = ", ".join(sorted({*_LINEAR, *_GAINS, "leaky_relu"}))
        raise ArgumentError(
            f"calculate_gain: there is no gain for {nonlinearity!r}",
            suggestions=(f"one of {known}",),
        )
    return _GAINS[nonlinearity]


def zeros(shape: Sizes, *, dtype: DTypeLike | None = None, device: OnDevice = None) -> Tensor:
    """Zeros.

    The usual first values of biases; a shape and a dtype are all that this initialiser takes.

    >>> tfr.nn.init.zeros(2).tolist()
    [0.0, 0.0]
    """
    return filled.zeros(shape, dtype=dtype, device=device)


def ones(shape: Sizes, *, dtype: DTypeLike | None = None, device: OnDevice = None) -> Tensor:
    """Ones.

    The usual first values of the scales of normalising layers; a shape and a dtype are all it
    takes.

    >>> tfr.nn.init.ones(2).tolist()
    [1.0, 1.0]
    """
    return filled.ones(shape, dtype=dtype, device=device)


def constant(
    shape: Sizes, val: float, *, dtype: DTypeLike | None = None, device: OnDevice = None
) -> Tensor:
    """One number everywhere.

    An initialiser takes a shape, dtype and key; this one has no use for its key.

    >>> tfr.nn.init.constant(2, 0.5).tolist()
    [0.5, 0.5]
    """
    own = default_float() if dtype is None else dtype
    return filled.full(shape, val, dtype=own, device=device)


def eye(shape: Sizes, *, dtype: DTypeLike | None = None, device: OnDevice = None) -> Tensor:
    """A matrix with ones on its diagonal. ShapeError if `shape` has not two axes.

    >>> tfr.nn.init.eye((2, 3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    sizes = as_shape(shape)
    if len(sizes) != 2:
        raise ShapeError(f"eye: a matrix has two axes, got the shape {sizes}")
    return eye_matrix(*sizes, dtype=dtype, device=device)


def uniform(
    shape: Sizes,
    a: float = 0.0,
    b: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers from `a` to below `b`, all equally likely.

    Drawn from a key when the weights are first used, in a shape and dtype that the layer gives.

    >>> bool((tfr.nn.init.uniform(100, -1.0, 1.0) < 1).all())
    True
    """
    return distributions.uniform(shape, a, b, dtype=dtype, device=device, key=key)


def normal(
    shape: Sizes,
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the normal distribution.

    With the given mean and standard deviation, drawn from a key when the weights are first used.

    >>> tfr.nn.init.normal((2, 3), std=0.02).shape
    (2, 3)
    """
    return distributions.normal(shape, mean, std, dtype=dtype, device=device, key=key)


def trunc_normal(
    shape: Sizes,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Numbers of the normal distribution given that they are between `a` and `b`.

    Made by inverting the distribution function. Source of the inverse of erf: M. Giles, "Approximating the erfinv
    function", GPU Computing Gems, Jade Edition (2011); a step of Newton's method follows in float64.

    >>> bool((abs(tfr.nn.init.trunc_normal(100)) <= 2).all())
    True
    """
    if not a < b:
        raise ArgumentError(f"trunc_normal: a={a} is not below b={b}")
    real = _real("trunc_normal", dtype)
    computed = float32 if real in NARROW else real
    low, high = (math.erf((bound - mean) / (std * math.sqrt(2.0))) for bound in (a, b))
    places = distributions.uniform(shape, low, high, dtype=computed, device=device, key=key)
    drawn = _inverse_erf(places) * (std * math.sqrt(2.0)) + mean
    return converted(clip(drawn, a, b), real)


def xavier_uniform(
    shape: Sizes,
    gain: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Uniform numbers with a variance of `2 * gain**2 / (fan_in + fan_out)`.

    Weights have shape (out, in, ...); what a kernel covers counts for both. Source: X. Glorot and Y. Bengio,
    "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010.

    >>> bool((abs(tfr.nn.init.xavier_uniform((3, 3))) <= 1).all())
    True
    """
    fan_in, fan_out = _fans("xavier_uniform", shape)
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return uniform(shape, -bound, bound, dtype=dtype, device=device, key=key)


def xavier_normal(
    shape: Sizes,
    gain: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Normal numbers with a variance of `2 * gain**2 / (fan_in + fan_out)`, as for `xavier_uniform`.

    >>> tfr.nn.init.xavier_normal((3, 5)).shape
    (3, 5)
    """
    fan_in, fan_out = _fans("xavier_normal", shape)
    std = gain * math.sqrt(2.0 / (fan_in + fan_out))
    return normal(shape, 0.0, std, dtype=dtype, device=device, key=key)


def kaiming_uniform(
    shape: Sizes,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Uniform numbers with a variance of `gain**2 / fan`: of the inputs, or by `mode="fan_out"` of the outputs.

    The gain is `calculate_gain(nonlinearity, a)`. Source: K. He et al., "Delving deep into rectifiers", ICCV 2015.

    >>> bool((abs(tfr.nn.init.kaiming_uniform((3, 6))) <= 1).all())
    True
    """
    bound = math.sqrt(3.0) * _kaiming_std("kaiming_uniform", shape, a, mode, nonlinearity)
    return uniform(shape, -bound, bound, dtype=dtype, device=device, key=key)


def kaiming_normal(
    shape: Sizes,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """Normal numbers with a variance of `gain**2 / fan`, as for `kaiming_uniform`.

    >>> tfr.nn.init.kaiming_normal((8, 3, 5, 5), mode="fan_out", nonlinearity="relu").shape
    (8, 3, 5, 5)
    """
    std = _kaiming_std("kaiming_normal", shape, a, mode, nonlinearity)
    return normal(shape, 0.0, std, dtype=dtype, device=device, key=key)


def orthogonal(
    shape: Sizes,
    gain: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """A matrix with orthonormal rows or columns, whichever are fewer, times `gain`; later axes count as columns.

    Source: A. Saxe et al., "Exact solutions to the nonlinear dynamics of learning", arXiv 1312.6120.

    >>> w = tfr.nn.init.orthogonal((2, 5), key=tfr.random.key(0))
    >>> (w @ w.T).numpy().round(4).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    sizes = as_shape(shape)
    if len(sizes) < 2:
        raise ShapeError(f"orthogonal: takes two axes or more, got the shape {sizes}")
    rows, columns = sizes[0], math.prod(sizes[1:])
    real = _real("orthogonal", dtype)
    tall = (max(rows, columns), min(rows, columns))
    computed = float32 if real in NARROW else real
    q, r = qr(normal(tall, dtype=computed, device=device, key=key))
    # without the signs of R's diagonal, Q depends on how the library goes about it
    q = q * where(r.diagonal() < 0, -1.0, 1.0).astype(computed)
    matrix = q if rows >= columns else q.T
    return converted((matrix * gain).reshape(sizes), real)


def _real(name: str, dtype: Any) -> Any:
    real = distributions.real_dtype(name, dtype)
    if real not in FLOAT:
        raise DTypeError(f"{name}: gives real floating numbers, not {real}")
    return real


def _fans(name: str, shape: Sizes) -> tuple[int, int]:
    """Return how many inputs an output depends on, and how many outputs on an input."""
    sizes: Shape = as_shape(shape)
    if len(sizes) < 2:
        raise ShapeError(
            f"{name}: a weight has shape (out, in, ...), got {sizes}",
            suggestions=("init.uniform or init.zeros for biases",),
        )
    covered = math.prod(sizes[2:])
    return sizes[1] * covered, sizes[0] * covered


def _kaiming_std(name: str, shape: Sizes, a: float, mode: str, nonlinearity: str) -> float:
    fans = dict(zip(("fan_in", "fan_out"), _fans(name, shape), strict=True))
    if mode not in fans:
        raise ArgumentError(f"{name}: mode is 'fan_in' or 'fan_out', not {mode!r}")
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fans[mode], 1))


# coefficients of both polynomials, the highest power first: Giles, table 5
_NEAR = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_FAR = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


def _inverse_erf(y: Tensor) -> Tensor:
    """Return the x with erf(x) = y, for -1 < y < 1."""
    w: Any = -apply(LOG1P, -y * y)
    near, far = _polynomial(_NEAR, w - 2.5), _polynomial(_FAR, apply(SQRT, w) - 3.0)
    x: Any = where(w < 5.0, near, far) * y
    if y.dtype == float64:
        slope = 2.0 / math.sqrt(math.pi)
        for _ in range(2):
            x = x - (apply(ERF, x) - y) / (slope * apply(EXP, -x * x))
    result: Tensor = x
    return result


def _polynomial(coefficients: tuple[float, ...], w: Any) -> Any:
    value: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * w + coefficient
    return value


def _filling(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function that gives a tensor the values that `make` makes for its shape."""

    def fill(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise DTypeError(
                f"{make.__name__}_: takes a Tensor, got {type(tensor).__name__}",
                suggestions=(f"init.{make.__name__}(shape) makes a new one",),
            )
        made = make(tensor.shape, *args, dtype=tensor.dtype, device=tensor.device, **kwargs)
        tensor._rebind(made.node)
        return tensor

    argument = ", 0.5" if make is constant else ""
    fill.__name__ = fill.__qualname__ = f"{make.__name__}_"
    fill.__doc__ = f"""Give `tensor` the values of `{make.__name__}` in its own shape, dtype and device; return it.

    Further arguments are those of `{make.__name__}`. Other tensors do not change, those that are tied to this one do.

    >>> weight = tfr.zeros((4, 4))
    >>> tfr.nn.init.{make.__name__}_(weight{argument}) is weight
    True
    """
    return fill


constant_ = _filling(constant)
eye_ = _filling(eye)
kaiming_normal_ = _filling(kaiming_normal)
kaiming_uniform_ = _filling(kaiming_uniform)
normal_ = _filling(normal)
ones_ = _filling(ones)
orthogonal_ = _filling(orthogonal)
trunc_normal_ = _filling(trunc_normal)
uniform_ = _filling(uniform)
xavier_normal_ = _filling(xavier_normal)
xavier_uniform_ = _filling(xavier_uniform)
zeros_ = _filling(zeros)
