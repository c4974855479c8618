"""Activations: elementwise rows whose slopes, also at kinks, are those that networks were trained with elsewhere.

Numbers that shape them are operands, so that other ones need no other plan. At a kink the slope is PyTorch's.
"""

from __future__ import annotations

from math import log as log_of
from math import pi
from math import sqrt as sqrt_of
from typing import Any

from tensorframe.dtypes import FLOAT, FORMAT
from tensorframe.graph.op import Op, same
from tensorframe.ops.derivatives import partials
from tensorframe.ops.elementwise import row
from tensorframe.ops.term import (
    Term,
    call,
    exp,
    expm1,
    logical_and,
    maximum,
    minimum,
    sigmoid,
    square,
    where,
)

# of self-normalising networks: Klambauer et al., arXiv 1706.02515, eq. 2
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
# of gelu's approximation: Hendrycks and Gimpel, arXiv 1606.08415, section 2
_GELU_SCALE, _GELU_CUBE = sqrt_of(2 / pi), 0.044715


def _activation(name: str, expand: Any, doc: str, **facts: Any) -> Op:
    return row(name, FLOAT, same, expand, doc, public=False, **facts)


def _negative(x: Term) -> Term:
    """Return the elements, positive ones as 0: their exponential does not overflow where it is not selected."""
    return minimum(x, 0)


def _between(x: Term, low: Any, high: Any) -> Term:
    return logical_and(x > low, x < high)


def _mish_parts(x: Term) -> tuple[Term, Term]:
    """Return w = exp(x), below where its square overflows, and w * (w + 2): tanh(softplus(x)) is n / (n + 2)."""
    most = log_of(FORMAT[x.dtype].largest)
    w = exp(minimum(x, min(40.0, int(most / 2) - 1)))
    return w, w * (w + 2)


def _mish(x: Term) -> Term:
    _, n = _mish_parts(x)
    return x * (n / (n + 2))


def _mish_slope(_out: Term, x: Term) -> Term:
    w, n = _mish_parts(x)
    return n / (n + 2) + x * (w / (n + 2)) * ((w + 1) / (n + 2)) * 4


def _gelu_angle(x: Term) -> Term:
    """Return 2u, where gelu is x (1 + tanh(u)) / 2, that is x sigmoid(2u)."""
    return x * (square(x) * _GELU_CUBE + 1) * (2 * _GELU_SCALE)


def _gelu_slope(_out: Term, x: Term) -> Term:
    # beyond, one of the two shares is 0, and the square might overflow
    x = maximum(minimum(x, 30), -30)
    angle = _gelu_angle(x)
    share = sigmoid(angle)
    steepness = (square(x) * (3 * _GELU_CUBE) + 1) * (2 * _GELU_SCALE)
    return share + x * steepness * share * sigmoid(-angle)


def _softplus(x: Term, beta: Term, threshold: Term) -> Term:
    scaled = x * beta
    return where(scaled > threshold, x, call("softplus", scaled, attrs=()) / beta)


def _softplus_slope(_out: Term, x: Term, beta: Term, threshold: Term) -> Term:
    scaled = x * beta
    return where(scaled > threshold, 1, sigmoid(scaled))


LEAKY_RELU = _activation("leaky_relu", lambda x, slope: where(x > 0, x, x * slope), "The elements, negative ones times a slope.", vjp=lambda ct, _out, x, slope: (lambda: where(x > 0, ct, ct * slope), lambda: where(x > 0, 0, ct * x)), at={(-2.0, 0.5): -1.0, (2.0, 0.5): 2.0})
ELU = _activation("elu", lambda x, alpha: where(x > 0, x, expm1(_negative(x)) * alpha), "The elements, negative ones as alpha (exp(x) - 1).", vjp=partials(lambda _out, x, alpha: where(x > 0, 1, exp(_negative(x)) * alpha), lambda _out, x, _alpha: where(x > 0, 0, expm1(_negative(x)))), at={(2.0, 1.0): 2.0})
CELU = _activation("celu", lambda x, alpha: where(x > 0, x, expm1(_negative(x) / alpha) * alpha), "The elements, negative ones as alpha (exp(x / alpha) - 1).", vjp=partials(lambda _out, x, alpha: where(x > 0, 1, exp(_negative(x) / alpha)), lambda _out, x, alpha: where(x > 0, 0, expm1(_negative(x) / alpha) - _negative(x) / alpha * exp(_negative(x) / alpha))), at={(2.0, 0.5): 2.0})
SELU = _activation("selu", lambda x: where(x > 0, x, expm1(_negative(x)) * SELU_ALPHA) * SELU_SCALE, "elu, with the two constants that leave mean 0 and variance 1 as they are.", vjp=partials(lambda _out, x: where(x > 0, SELU_SCALE, exp(_negative(x)) * (SELU_SCALE * SELU_ALPHA))), at={0.0: 0.0})
HARDTANH = _activation("hardtanh", lambda x, low, high: minimum(maximum(x, low), high), "The elements, those beyond two bounds replaced by these.", vjp=lambda ct, _out, x, low, high: (lambda: where(_between(x, low, high), ct, 0), lambda: where(logical_and(x <= low, low < high), ct, 0), lambda: where(maximum(x, low) >= high, ct, 0)), at={(2.0, -1.0, 1.0): 1.0, (0.5, -1.0, 1.0): 0.5})
HARDSIGMOID = _activation("hardsigmoid", lambda x: minimum(maximum(x + 3, 0), 6) / 6, "A line from 0 at -3 to 1 at 3, constant beyond.", vjp=lambda ct, _out, x: (lambda: where(_between(x, -3, 3), ct / 6, 0),), at={0.0: 0.5, 4.0: 1.0, -4.0: 0.0})
HARDSWISH = _activation("hardswish", lambda x: x * minimum(maximum(x + 3, 0), 6) / 6, "x times hardsigmoid(x).", vjp=lambda ct, _out, x: (lambda: where(x <= -3, 0, where(x < 3, ct * (x / 3 + 0.5), ct)),), at={4.0: 4.0, -4.0: -0.0})
MISH = _activation("mish", _mish, "x tanh(softplus(x)).", vjp=partials(_mish_slope), at={0.0: 0.0})
GELU_TANH = _activation("gelu_tanh", lambda x: x * sigmoid(_gelu_angle(x)), "gelu, with the normal distribution function approximated by a hyperbolic tangent.", vjp=partials(_gelu_slope), at={0.0: 0.0})
SOFTPLUS = _activation("scaled_softplus", _softplus, "log(1 + exp(beta x)) / beta, and x itself where beta x is above a threshold.", vjp=partials(_softplus_slope, lambda out, x, beta, threshold: where(x * beta > threshold, 0, (x * sigmoid(x * beta) - out) / beta), None), at={(30.0, 1.0, 20.0): 30.0})
TANHSHRINK = _activation("tanhshrink", lambda x: x - call("tanh", x, attrs=()), "x - tanh(x).", vjp=partials(lambda _out, x: square(call("tanh", x, attrs=()))), at={0.0: 0.0})
SOFTSHRINK = _activation("softshrink", lambda x, bound: where(x > bound, x - bound, where(x < -bound, x + bound, x * 0)), "The elements, nearer to zero by a bound, but not beyond it.", vjp=lambda ct, _out, x, bound: (lambda: where(abs(x) <= bound, 0, ct), lambda: where(x > bound, -ct, where(x < -bound, ct, 0))), at={(2.0, 0.5): 1.5, (-0.25, 0.5): 0.0})
HARDSHRINK = _activation("hardshrink", lambda x, bound: where(abs(x) <= bound, 0, x), "The elements, those within a bound of zero replaced by it.", vjp=lambda ct, _out, x, bound: (lambda: where(abs(x) <= bound, 0, ct), None), at={(2.0, 0.5): 2.0, (-0.25, 0.5): 0.0})
THRESHOLD = _activation("threshold", lambda x, bound, value: where(x <= bound, value, x), "The elements, those not above a bound replaced by a value.", vjp=lambda ct, _out, x, bound, _value: (lambda: where(x <= bound, 0, ct), None, lambda: where(x <= bound, ct, 0)), at={(0.25, 0.5, 9.0): 9.0, (0.75, 0.5, 9.0): 0.75})
