"""Activation functions as modules, for `Sequential` and for files that name them."""

from __future__ import annotations

from tensorframe.dtypes import DTypeLike
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional
from tensorframe.nn.init import constant
from tensorframe.nn.layers.options import Options
from tensorframe.nn.module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class CELU(Options):
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`.

    The identity above zero, and a smooth approach to `-alpha` below (Barron, 2017).

    >>> [round(value, 2) + 0.0 for value in tfr.nn.CELU()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-0.86, 0.0, 2.0]
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:  # noqa: ARG002 - PyTorch's
        self.alpha = alpha

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.celu(input, self.alpha)


class ELU(Options):
    """`x` above zero, `alpha * (exp(x) - 1)` below.

    Smooth where `alpha` is 1; it saturates at `-alpha` (Clevert et al., 2015).

    >>> [round(value, 2) + 0.0 for value in tfr.nn.ELU()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-0.86, 0.0, 2.0]
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:  # noqa: ARG002 - PyTorch's
        self.alpha = alpha

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.elu(input, self.alpha)


class GELU(Options):
    """`x` times the probability that a normal number is below it; `approximate="tanh"` is a formula near it.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.GELU()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-0.05, 0.0, 1.95]
    """

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.gelu(input, self.approximate)


class GLU(Options):
    """The first half along `dim` times the sigmoid of the second.

    A gated linear unit (Dauphin et al., 2016). The axis must have an even length, and becomes half
    as long.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.GLU()(tfr.asarray([1.0, 0.0])).tolist()]
    [0.5]
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.glu(input, self.dim)


class Hardshrink(Options):
    """`x`, but zero within `lambd` of zero.

    What lies beyond `lambd` stays as it is, so the function jumps there; `Softshrink` does not.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Hardshrink()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-2.0, 0.0, 2.0]
    """

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = lambd

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.hardshrink(input, self.lambd)


class Hardsigmoid(Options):
    """A straight line from 0 at -3 to 1 at 3.

    Constant beyond, and cheaper than the `Sigmoid` that it stands for on small devices.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Hardsigmoid()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [0.17, 0.5, 0.83]
    """

    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.hardsigmoid(input)


class Hardswish(Options):
    """`x` times `Hardsigmoid` of it.

    A piecewise approximation of `SiLU` without exponentials (MobileNetV3).

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Hardswish()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-0.33, 0.0, 1.67]
    """

    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.hardswish(input)


class Hardtanh(Options):
    """`x`, but not below `min_val`, nor above `max_val`.

    A line with slope 1 between two limits, a piecewise stand-in for the hyperbolic tangent.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Hardtanh()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-1.0, 0.0, 1.0]
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:  # noqa: ARG002 - PyTorch's
        self.min_val, self.max_val = min_val, max_val

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.hardtanh(input, self.min_val, self.max_val)


class LeakyReLU(Options):
    """`x` above zero, `negative_slope * x` below.

    The small slope below zero keeps units from ending with a gradient of zero.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.LeakyReLU()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-0.02, 0.0, 2.0]
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:  # noqa: ARG002 - PyTorch's
        self.negative_slope = negative_slope

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.leaky_relu(input, self.negative_slope)


class LogSigmoid(Options):
    """The logarithm of `Sigmoid`.

    `-log(1 + exp(-x))`, computed without overflow for large negative elements.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.LogSigmoid()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-2.13, -0.69, -0.13]
    """

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.logsigmoid(input)


class LogSoftmax(Options):
    """The logarithm of `Softmax` along `dim`.

    `x - logsumexp(x)`, which keeps its digits where a probability is nearly zero; `NLLLoss` takes
    it.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.LogSoftmax()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-4.14, -2.14, -0.14]
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.log_softmax(input, self.dim)


class Mish(Options):
    """`x * tanh(softplus(x))`.

    Smooth, unbounded above and slightly negative below zero (Misra, 2019, arXiv 1908.08681).

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Mish()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-0.25, 0.0, 1.94]
    """

    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.mish(input)


class PReLU(Module):
    """`x` above zero, `weight * x` below: one parameter, or one for each channel (axis 1), that begins as `init`.

    >>> tfr.nn.PReLU()(tfr.asarray([-4.0, 1.0])).tolist()
    [-1.0, 1.0]
    """

    weight: Tensor

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.num_parameters = num_parameters
        self.weight = constant(num_parameters, init, dtype=dtype, device=device)

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of parameters."""
        return str(self.num_parameters)


class RReLU(Options):
    """`x` above zero, `slope * x` below: a slope from `lower` to `upper` for each element, after `eval()` their mean.

    >>> tfr.nn.RReLU(0.25, 0.75).eval()(tfr.asarray([-4.0, 1.0])).tolist()
    [-2.0, 1.0]
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:  # noqa: ARG002 - PyTorch's
        self.lower, self.upper = lower, upper

    def forward(self, input: ArrayLike, *, key: Source = None) -> Tensor:
        """Return the function of `input`."""
        return functional.rrelu(input, self.lower, self.upper, self.training, key=key)


class ReLU(Options):
    """`x` above zero, zero below.

    A rectified linear unit, the usual choice between layers. Its gradient at zero is zero.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.ReLU()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [0.0, 0.0, 2.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.relu(input)


class ReLU6(Options):
    """`x` from 0 to 6, which it stays within.

    A rectified linear unit with a ceiling, which suits weights of few bits.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.ReLU6()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [0.0, 0.0, 2.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.relu6(input)


class SELU(Options):
    """`ELU` with the constants that keep mean 0 and variance 1.

    For networks that normalise themselves (Klambauer et al., 2017), with `AlphaDropout` and normal
    weights of variance 1/n.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.SELU()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-1.52, 0.0, 2.1]
    """

    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.selu(input)


class SiLU(Options):
    """`x * sigmoid(x)`.

    A sigmoid-weighted linear unit, also called swish: smooth, with a least value of -0.28.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.SiLU()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-0.24, 0.0, 1.76]
    """

    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.silu(input)


class Sigmoid(Options):
    """`1 / (1 + exp(-x))`.

    The logistic function, from 0 to 1: probabilities of scores. `BCEWithLogitsLoss` takes the
    scores themselves.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Sigmoid()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [0.12, 0.5, 0.88]
    """

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.sigmoid(input)


class Softmax(Options):
    """Exponentials along `dim`, scaled to sum to one.

    Probabilities of scores, computed after subtracting the largest, so that nothing overflows.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Softmax()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [0.02, 0.12, 0.87]
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.softmax(input, self.dim)


class Softmin(Options):
    """`Softmax` of `-x`.

    The smallest element along `dim` gets the largest probability; they sum to one.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Softmin()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [0.87, 0.12, 0.02]
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.softmin(input, self.dim)


class Softplus(Options):
    """`log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x` is above `threshold`.

    A smooth `ReLU` whose results are always above zero.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Softplus()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [0.13, 0.69, 2.13]
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self.beta, self.threshold = beta, threshold

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.softplus(input, self.beta, self.threshold)


class Softshrink(Options):
    """`x` nearer to zero by `lambd`; zero within that of it.

    The proximal operator of `lambd * abs(x)`, which sparse coding applies.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Softshrink()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-1.5, 0.0, 1.5]
    """

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = lambd

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.softshrink(input, self.lambd)


class Softsign(Options):
    """`x / (1 + abs(x))`.

    From -1 to 1 like `Tanh`, which it resembles, but it tends to its limits more slowly.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Softsign()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-0.67, 0.0, 0.67]
    """

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.softsign(input)


class Tanh(Options):
    """The hyperbolic tangent.

    From -1 to 1, with slope 1 at zero; recurrent layers use it between their steps.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Tanh()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-0.96, 0.0, 0.96]
    """

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.tanh(input)


class Tanhshrink(Options):
    """`x - tanh(x)`.

    Nearly zero for small elements, `x` less one for large ones; an odd function.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Tanhshrink()(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-1.04, 0.0, 1.04]
    """

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.tanhshrink(input)


class Threshold(Options):
    """`x` above `threshold`, else `value`.

    A step in the function unless both are equal: `Threshold(0, 0)` is `ReLU`.

    >>> [round(value, 2) + 0.0 for value in tfr.nn.Threshold(0.5, -1.0)(tfr.asarray([-2.0, 0.0, 2.0])).tolist()]
    [-1.0, -1.0, 2.0]
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:  # noqa: ARG002 - PyTorch's
        self.threshold, self.value = threshold, value

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the function of `input`."""
        return functional.threshold(input, self.threshold, self.value)
