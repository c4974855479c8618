"""Activation functions, with the argument names of `torch.nn.functional` and its slopes at kinks."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import FLOAT, DTypeLike, as_dtype
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.operands import converted, operand, reshaped
from tensorframe.frontend.parameters import choice, flag
from tensorframe.frontend.random.distributions import exponential, uniform
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.reductions import softmax as reductions
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op, find
from tensorframe.graph.shape import normalize_axis
from tensorframe.graph.tracing import TracedNumber
from tensorframe.nn.functional.operands import floating, real_number
from tensorframe.ops import activations as rows
from tensorframe.ops.elementwise import ADD, EQUAL, LOG, MULTIPLY, NEGATIVE, SUBTRACT
from tensorframe.ops.movement import SLICE, STOP_GRADIENT
from tensorframe.ops.reduction import ARGMAX

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "swiglu",
    "tanh",
    "tanhshrink",
    "threshold",
]

_RELU, _SIGMOID, _SILU = find("relu"), find("sigmoid"), find("silu")
_GELU, _LOG_SIGMOID, _SOFTSIGN, _TANH = (
    find("gelu"),
    find("log_sigmoid"),
    find("softsign"),
    find("tanh"),
)


def _of(op: Op, name: str, input: Any, **numbers: Any) -> Tensor:
    """Return an elementwise row of a floating tensor and the numbers that shape it."""
    tensor = floating(name, "input", input)
    return apply(op, tensor, *[real_number(name, *named) for named in numbers.items()])


def relu(input: ArrayLike) -> Tensor:
    """The elements, negative ones replaced by 0. The slope at 0 is 0.

    A rectified linear unit; NaN stays NaN.

    >>> tfr.nn.functional.relu(tfr.asarray([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return _of(_RELU, "relu", input)


def relu6(input: ArrayLike) -> Tensor:
    """The elements, limited to 0 and 6.

    A rectified linear unit with a ceiling, whose gradient is zero at and beyond both limits.

    >>> tfr.nn.functional.relu6(tfr.asarray([-1.0, 2.0, 8.0])).tolist()
    [0.0, 2.0, 6.0]
    """
    return _of(rows.HARDTANH, "relu6", input, low=0.0, high=6.0)


def leaky_relu(input: ArrayLike, negative_slope: float = 0.01) -> Tensor:
    """The elements, negative ones times `negative_slope`.

    The small slope below zero keeps units from ending with a gradient of zero.

    >>> tfr.nn.functional.leaky_relu(tfr.asarray([-2.0, 2.0]), 0.5).tolist()
    [-1.0, 2.0]
    """
    return _of(rows.LEAKY_RELU, "leaky_relu", input, negative_slope=negative_slope)


def prelu(input: ArrayLike, weight: ArrayLike) -> Tensor:
    """`leaky_relu` with a slope that is learned: `weight` has one for all, or one for each channel (axis 1).

    Source: K. He, X. Zhang, S. Ren and J. Sun, "Delving deep into rectifiers", arXiv 1502.01852.

    >>> tfr.nn.functional.prelu(tfr.asarray([[-2.0, -2.0]]), tfr.asarray([0.5, 0.25])).tolist()
    [[-1.0, -0.5]]
    """
    tensor = floating("prelu", "input", input)
    slopes = floating("prelu", "weight", weight)
    channels = tensor.shape[1] if tensor.ndim > 1 else 1
    if slopes.ndim > 1 or slopes.size not in (1, channels):
        raise ShapeError(
            f"prelu: weight has one slope, or one for each of {channels} channels, got shape {slopes.shape}"
        )
    aligned = (slopes.size, *[1] * (tensor.ndim - 2)) if slopes.size != 1 else ()
    return apply(rows.LEAKY_RELU, tensor, reshaped(slopes, aligned))


def rrelu(
    input: ArrayLike,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    *,
    key: Source = None,
) -> Tensor:
    """`leaky_relu` with the slope halfway from `lower` to `upper`; with `training`, a random one for each element.

    >>> tfr.nn.functional.rrelu(tfr.asarray([-2.0, 2.0]), 0.25, 0.75).tolist()
    [-1.0, 2.0]
    """
    tensor = floating("rrelu", "input", input)
    low, high = real_number("rrelu", "lower", lower), real_number("rrelu", "upper", upper)
    if type(low) is not TracedNumber is not type(high) and low > high:
        raise OutOfRangeError(f"rrelu: lower={lower!r} is above upper={upper!r}")
    slope: Any = (low + high) / 2
    if flag("rrelu", "training", training):
        slope = uniform(tensor.shape, low, high, dtype=tensor.dtype, device=tensor.device, key=key)
    return apply(rows.LEAKY_RELU, tensor, slope)


def elu(input: ArrayLike, alpha: float = 1.0) -> Tensor:
    """The elements, negative ones as `alpha * (exp(x) - 1)`.

    Source: D.-A. Clevert, T. Unterthiner and S. Hochreiter, "Exponential linear units", arXiv 1511.07289.

    >>> tfr.nn.functional.elu(tfr.asarray([-1000.0, 2.0])).tolist()
    [-1.0, 2.0]
    """
    return _of(rows.ELU, "elu", input, alpha=alpha)


def celu(input: ArrayLike, alpha: float = 1.0) -> Tensor:
    """The elements, negative ones as `alpha * (exp(x / alpha) - 1)`: without a kink, whatever `alpha` is.

    Source: J. T. Barron, "Continuously differentiable exponential linear units", arXiv 1704.07483.

    >>> tfr.nn.functional.celu(tfr.asarray([-1000.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]
    """
    scale = real_number("celu", "alpha", alpha)
    if type(scale) is float and scale == 0.0:
        raise ArgumentError("celu: alpha must not be 0", suggestions=("F.relu, which it tends to",))
    return _of(rows.CELU, "celu", input, alpha=scale)


def selu(input: ArrayLike) -> Tensor:
    """`elu` with the two constants that bring mean and variance of activations to 0 and 1.

    Source: G. Klambauer et al., "Self-normalizing neural networks", arXiv 1706.02515.

    >>> tfr.nn.functional.selu(tfr.asarray([-1000.0, 1.0])).tolist()
    [-1.7580993175506592, 1.0507010221481323]
    """
    return _of(rows.SELU, "selu", input)


def gelu(input: ArrayLike, approximate: str = "none") -> Tensor:
    """`x` times the normal distribution function of `x`; with `approximate="tanh"`, by a hyperbolic tangent.

    Source: D. Hendrycks and K. Gimpel, "Gaussian error linear units", arXiv 1606.08415.

    >>> tfr.nn.functional.gelu(tfr.asarray([-10.0, 0.0, 10.0])).numpy().round(6).tolist()
    [-0.0, 0.0, 10.0]
    """
    how = choice("gelu", "approximate", approximate, ("none", "tanh"))
    return _of(_GELU if how == "none" else rows.GELU_TANH, "gelu", input)


def silu(input: ArrayLike) -> Tensor:
    """`x * sigmoid(x)`, also called swish.

    A sigmoid-weighted linear unit: smooth, with a least value of -0.28 near -1.28.

    >>> tfr.nn.functional.silu(tfr.asarray([0.0, 100.0])).tolist()
    [0.0, 100.0]
    """
    return _of(_SILU, "silu", input)


def mish(input: ArrayLike) -> Tensor:
    """`x * tanh(softplus(x))`.

    Source: D. Misra, "Mish: a self regularized non-monotonic activation function", arXiv 1908.08681.

    >>> tfr.nn.functional.mish(tfr.asarray([0.0, 100.0])).tolist()
    [0.0, 100.0]
    """
    return _of(rows.MISH, "mish", input)


def softplus(input: ArrayLike, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, and `x` itself where `beta * x` is above `threshold`.

    A smooth `relu`, whose derivative is the sigmoid of `beta * x`.

    >>> tfr.nn.functional.softplus(tfr.asarray([-1000.0, 1000.0]), beta=2.0).tolist()
    [0.0, 1000.0]
    """
    return _of(rows.SOFTPLUS, "softplus", input, beta=beta, threshold=threshold)


def softsign(input: ArrayLike) -> Tensor:
    """`x / (1 + |x|)`.

    From -1 to 1 like `tanh`, but it tends to its limits more slowly.

    >>> tfr.nn.functional.softsign(tfr.asarray([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """
    return _of(_SOFTSIGN, "softsign", input)


def tanh(input: ArrayLike) -> Tensor:
    """Hyperbolic tangent.

    From -1 to 1, with slope 1 at zero: `(exp(x) - exp(-x)) / (exp(x) + exp(-x))`.

    >>> tfr.nn.functional.tanh(tfr.asarray([0.0, 100.0])).tolist()
    [0.0, 1.0]
    """
    return _of(_TANH, "tanh", input)


def sigmoid(input: ArrayLike) -> Tensor:
    """`1 / (1 + exp(-x))`.

    The logistic function, from 0 to 1, computed without overflow at either end.

    >>> tfr.nn.functional.sigmoid(tfr.asarray([0.0, 100.0])).tolist()
    [0.5, 1.0]
    """
    return _of(_SIGMOID, "sigmoid", input)


def logsigmoid(input: ArrayLike) -> Tensor:
    """Logarithm of `sigmoid`, accurate where that is nearly 0 or 1.

    `-log(1 + exp(-x))`, which does not overflow for large negative elements.

    >>> tfr.nn.functional.logsigmoid(tfr.asarray([-1000.0])).tolist()
    [-1000.0]
    """
    return _of(_LOG_SIGMOID, "logsigmoid", input)


def hardtanh(input: ArrayLike, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """The elements, limited to `min_val` and `max_val`.

    The gradient is one between the limits and zero at and beyond them.

    >>> tfr.nn.functional.hardtanh(tfr.asarray([-3.0, 0.5])).tolist()
    [-1.0, 0.5]
    """
    low = real_number("hardtanh", "min_val", min_val)
    high = real_number("hardtanh", "max_val", max_val)
    if type(low) is float and type(high) is float and low > high:
        raise ArgumentError(f"hardtanh: min_val={low} is above max_val={high}")
    return _of(rows.HARDTANH, "hardtanh", input, min_val=low, max_val=high)


def hardsigmoid(input: ArrayLike) -> Tensor:
    """A line from 0 at -3 to 1 at 3, constant beyond.

    `clip(x / 6 + 1/2, 0, 1)`: a sigmoid without exponentials.

    >>> tfr.nn.functional.hardsigmoid(tfr.asarray([-4.0, 0.0, 4.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return _of(rows.HARDSIGMOID, "hardsigmoid", input)


def hardswish(input: ArrayLike) -> Tensor:
    """`x * hardsigmoid(x)`.

    A piecewise approximation of `silu` without exponentials: 0 below -3, `x` above 3.

    Source: A. Howard et al., "Searching for MobileNetV3", arXiv 1905.02244.

    >>> tfr.nn.functional.hardswish(tfr.asarray([0.0, 4.0])).tolist()
    [0.0, 4.0]
    """
    return _of(rows.HARDSWISH, "hardswish", input)


def tanhshrink(input: ArrayLike) -> Tensor:
    """`x - tanh(x)`.

    An odd function: nearly zero for small elements, and `x` less one for large ones.

    >>> tfr.nn.functional.tanhshrink(tfr.asarray([0.0, 100.0])).tolist()
    [0.0, 99.0]
    """
    return _of(rows.TANHSHRINK, "tanhshrink", input)


def softshrink(input: ArrayLike, lambd: float = 0.5) -> Tensor:
    """The elements, nearer to 0 by `lambd`, but not beyond it.

    The proximal operator of `lambd * abs(x)`: those within `lambd` of 0 become 0.

    >>> tfr.nn.functional.softshrink(tfr.asarray([-2.0, 0.25])).tolist()
    [-1.5, 0.0]
    """
    return _of(rows.SOFTSHRINK, "softshrink", input, lambd=_not_negative("softshrink", lambd))


def hardshrink(input: ArrayLike, lambd: float = 0.5) -> Tensor:
    """The elements, those from `-lambd` to `lambd` replaced by 0.

    Those beyond `lambd` stay as they are, so the function jumps there.

    >>> tfr.nn.functional.hardshrink(tfr.asarray([-2.0, 0.25])).tolist()
    [-2.0, 0.0]
    """
    return _of(rows.HARDSHRINK, "hardshrink", input, lambd=_not_negative("hardshrink", lambd))


def _not_negative(name: str, lambd: Any) -> Any:
    bound = real_number(name, "lambd", lambd)
    if type(bound) is float and bound < 0:
        raise ArgumentError(f"{name}: lambd must not be negative, got {bound}")
    return bound


def threshold(input: ArrayLike, threshold: float, value: float) -> Tensor:
    """The elements, those not above `threshold` replaced by `value`.

    With 0 for both it is `relu`; the gradient is zero where elements were replaced.

    >>> tfr.nn.functional.threshold(tfr.asarray([0.25, 0.75]), 0.5, 9.0).tolist()
    [9.0, 0.75]
    """
    return _of(rows.THRESHOLD, "threshold", input, threshold=threshold, value=value)


def glu(input: ArrayLike, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second half; ShapeError for an odd size.

    Source: Y. N. Dauphin et al., "Language modeling with gated convolutional networks", arXiv 1612.08083.

    >>> tfr.nn.functional.glu(tfr.asarray([2.0, 0.0])).tolist()
    [1.0]
    """
    first, second = _halves("glu", input, dim)
    return apply(MULTIPLY, first, apply(_SIGMOID, second))


def swiglu(input: ArrayLike, dim: int = -1) -> Tensor:
    """`silu` of the first half along `dim` times the second half; ShapeError for an odd size.

    Source: N. Shazeer, "GLU variants improve transformer", arXiv 2002.05202.

    >>> tfr.nn.functional.swiglu(tfr.asarray([100.0, 2.0])).tolist()
    [200.0]
    """
    first, second = _halves("swiglu", input, dim)
    return apply(MULTIPLY, apply(_SILU, first), second)


def _halves(name: str, input: Any, dim: int) -> tuple[Tensor, Tensor]:
    tensor = floating(name, "input", input)
    axis = normalize_axis(name, dim, tensor.ndim)
    size = tensor.shape[axis]
    if size % 2:
        raise ShapeError(f"{name}: axis {axis} of shape {tensor.shape} has no two halves")
    sizes = (*tensor.shape[:axis], size // 2, *tensor.shape[axis + 1 :])
    steps = (1,) * tensor.ndim
    starts = [
        tuple([start if place == axis else 0 for place in range(tensor.ndim)])
        for start in (0, size // 2)
    ]
    first, second = [call(SLICE, tensor, attrs=(start, sizes, steps)) for start in starts]
    return first, second


def softmax(input: ArrayLike, dim: int = -1, *, dtype: DTypeLike | None = None) -> Tensor:
    """Exponentials of `input` along `dim`, scaled to sum to one: `tfr.softmax` under PyTorch's argument names.

    Shape and dtype are those of `input`. With `dtype`, `input` is converted first, which admits integers and keeps the
    digits of half precision. DTypeError if `input`, or `dtype`, is not real floating.

    >>> tfr.nn.functional.softmax(tfr.asarray([0.0, 0.0]), dim=0).tolist()
    [0.5, 0.5]
    >>> tfr.nn.functional.softmax(tfr.asarray([0, 0]), dim=0, dtype="float32").tolist()
    [0.5, 0.5]
    """
    return reductions.softmax(_in_dtype("softmax", input, dtype), axis=dim)


def log_softmax(input: ArrayLike, dim: int = -1, *, dtype: DTypeLike | None = None) -> Tensor:
    """Logarithm of `softmax`, accurate where softmax is nearly 0 or 1; arguments are the same.

    >>> tfr.nn.functional.log_softmax(tfr.asarray([0.0, 1000.0]), dim=0).tolist()
    [-1000.0, 0.0]
    """
    return reductions.log_softmax(_in_dtype("log_softmax", input, dtype), axis=dim)


def softmin(input: ArrayLike, dim: int = -1, *, dtype: DTypeLike | None = None) -> Tensor:
    """`softmax` of the negated elements: the smallest has the largest share. Arguments are the same.

    Shares along `dim` sum to one.

    >>> tfr.nn.functional.softmin(tfr.asarray([0.0, 0.0]), dim=0).tolist()
    [0.5, 0.5]
    """
    return reductions.softmax(apply(NEGATIVE, _in_dtype("softmin", input, dtype)), axis=dim)


def _in_dtype(name: str, input: ArrayLike, dtype: DTypeLike | None) -> Tensor:
    """Return an input in the dtype that is asked for, or its own; DTypeError unless that is real floating."""
    if dtype is None:
        return floating(name, "input", input)
    wanted = as_dtype(dtype)
    if wanted not in FLOAT:
        raise DTypeError(
            f"{name}: dtype is a real floating one, got {wanted}",
            suggestions=("dtype=tfr.float32",),
        )
    return converted(operand(input), wanted)


def gumbel_softmax(
    logits: ArrayLike, tau: float = 1.0, hard: bool = False, dim: int = -1, *, key: Source = None
) -> Tensor:
    """A random choice along `dim` with probabilities `softmax(logits)`, softened so that it has a gradient.

    `tau` is the temperature: the lower, the nearer to a one among zeros. With `hard` the result is that, and has the
    gradient of the soft choice. `key` is that of `tfr.random`.
    Source: E. Jang, S. Gu and B. Poole, "Categorical reparameterization with Gumbel-softmax", arXiv 1611.01144.

    >>> tfr.nn.functional.gumbel_softmax(tfr.asarray([0.0, 100.0]), hard=True, key=tfr.random.key(0)).tolist()
    [0.0, 1.0]
    """
    tensor = floating("gumbel_softmax", "logits", logits)
    axis = normalize_axis("gumbel_softmax", dim, tensor.ndim)
    wait = exponential(tensor.shape, dtype=tensor.dtype, device=tensor.device, key=key)
    noisy = apply(SUBTRACT, tensor, apply(LOG, wait))
    soft = reductions.softmax(noisy / real_number("gumbel_softmax", "tau", tau), axis=axis)
    if not flag("gumbel_softmax", "hard", hard) or not tensor.size:
        return soft
    best = call(ARGMAX, soft, attrs=((axis,), True))
    places = operand(range(tensor.shape[axis]), dtype=best.dtype, device=best.device)
    after = (1,) * (tensor.ndim - axis - 1)
    chosen = apply(EQUAL, best, reshaped(places, (places.size, *after))).astype(soft.dtype)
    # what is added is zero, exactly, but for its gradient
    return apply(ADD, chosen, soft - call(STOP_GRADIENT, soft))
