"""Special functions: elementwise rows by SciPy's names.

What has a formula in `special_math.py` is computed in float64, whatever it is given, and rounded once: half of a unit in the
last place of float32, and some units in float64. The others are written in core rows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import e, inf, nan, pi
from math import log as log_of
from math import sqrt as sqrt_of
from typing import Any

from tensorframe.dtypes import FLOAT
from tensorframe.errors import GradientError
from tensorframe.graph.op import FULL, Op, same
from tensorframe.ops.derivatives import partials
from tensorframe.ops.elementwise import core, row
from tensorframe.ops.term import (
    Term,
    call,
    equal,
    exp,
    isnan,
    log,
    log1p,
    logical_and,
    logical_or,
    sign,
    square,
    where,
)


def _tabled(name: str, doc: str, arity: int = 1, **facts: Any) -> Op:
    """Define a row that is computed in float64."""
    return core(name, arity, FLOAT, same, doc, in_standard=False, public=False, double=True, precision=FULL, **({"cost": 60} | facts))


def _written(name: str, expand: Any, doc: str, **facts: Any) -> Op:
    return row(name, FLOAT, same, expand, doc, public=False, precision=FULL, **facts)


def _named(name: str) -> Callable[[Term], Term]:
    return lambda x: call(name, x, attrs=())


_digamma, _trigamma, _i0, _i1, _i0e, _i1e = map(_named, ("digamma", "trigamma", "i0", "i1", "i0e", "i1e"))


def _or_half(x: Term, value: Term) -> Term:
    """Return what is divided by x, whose limit at 0 is half."""
    return where(equal(x, 0), 0.5, value)


def _unknown(function: str, operand: str) -> Callable[..., Term]:
    """Return a derivative that is not known: an error where one is needed."""

    def derivative(*_: Any) -> Term:
        raise GradientError(
            f"{function}: has no gradient for {operand}: no formula is known in functions that there are",
            suggestions=(f"tfr.stop_gradient({operand}), where it counts as constant",),
        )

    return derivative


def _polygamma(n: Term, x: Term) -> Term:
    return call("polygamma", n, x, attrs=())


TRIGAMMA = _tabled("trigamma", "Derivative of digamma (DLMF 5.15).", vjp=partials(lambda _out, x: _polygamma(x.filled(2, ()), x)), at={1.0: pi**2 / 6, inf: 0.0})
DIGAMMA = _tabled("digamma", "Derivative of the logarithm of gamma (DLMF 5.2.2); NaN at negative integers.", vjp=partials(lambda _out, x: _trigamma(x)), at={1.0: -0.5772156649015329, inf: inf, 0.0: -inf})
GAMMALN = _tabled("gammaln", "Logarithm of the absolute value of gamma (DLMF 5.2.1); inf at its poles.", vjp=partials(lambda _out, x: _digamma(x)), at={1.0: 0.0, 2.0: 0.0, 0.5: log_of(pi) / 2, -1.0: inf, inf: inf})
GAMMA = _tabled("gamma", "Gamma function (DLMF 5.2.1), (n - 1)! at n; NaN at negative integers.", vjp=partials(lambda out, x: out * _digamma(x)), at={1.0: 1.0, 5.0: 24.0, 0.5: sqrt_of(pi), inf: inf})
ERFINV = _tabled("erfinv", "Inverse of erf, from -1 to 1 (DLMF 7.17).", odd=True, vjp=partials(lambda out, _x: exp(square(out)) * (sqrt_of(pi) / 2)), at={0.0: 0.0, 1.0: inf, -1.0: -inf, 2.0: nan})
ERFCINV = _tabled("erfcinv", "Inverse of erfc, from 0 to 2 (DLMF 7.17).", vjp=partials(lambda out, _x: exp(square(out)) * -(sqrt_of(pi) / 2)), at={1.0: 0.0, 0.0: inf, 2.0: -inf})
NDTRI = _tabled("ndtri", "Quantiles of the standard normal distribution: the inverse of ndtr.", vjp=partials(lambda out, _x: exp(square(out) * 0.5) * sqrt_of(2 * pi)), at={0.0: -inf, 1.0: inf})
NDTR = _tabled("ndtr", "Distribution function of the standard normal distribution.", vjp=partials(lambda _out, x: exp(square(x) * -0.5) * (1 / sqrt_of(2 * pi))), at={0.0: 0.5, inf: 1.0, -inf: 0.0})
I0 = _tabled("i0", "Modified Bessel function of the first kind, of order 0 (DLMF 10.25).", vjp=partials(lambda _out, x: _i1(x)), at={0.0: 1.0, inf: inf})
I1 = _tabled("i1", "Modified Bessel function of the first kind, of order 1 (DLMF 10.25).", odd=True, vjp=partials(lambda out, x: _or_half(x, _i0(x) - out / x)), at={0.0: 0.0, -inf: -inf})
I0E = _tabled("i0e", "exp(-|x|) i0(x), which does not overflow.", vjp=partials(lambda out, x: _i1e(x) - sign(x) * out), at={0.0: 1.0, inf: 0.0})
I1E = _tabled("i1e", "exp(-|x|) i1(x), which does not overflow.", odd=True, vjp=partials(lambda out, x: _or_half(x, _i0e(x) - out * (sign(x) + 1 / x))), at={0.0: 0.0, inf: 0.0})


POLYGAMMA = _tabled("polygamma", "The n-th derivative of digamma (DLMF 5.15), which is that itself where n is 0; NaN where n is no integer from 0 to 170.", 2, cost=800, vjp=partials(_unknown("polygamma", "n"), lambda _out, n, x: _polygamma(n + 1, x)), at={(1.0, 1.0): pi**2 / 6, (0.0, 1.0): -0.5772156649015329, (2.0, inf): 0.0})
ZETA = _tabled("zeta", "Hurwitz's zeta function (DLMF 25.11): the sum of (q + k)^-x over k from 0 on; NaN where x is below 1.", 2, cost=600, vjp=partials(_unknown("zeta", "x"), lambda _out, x, q: -x * call("zeta", x + 1, q, attrs=())), at={(2.0, 1.0): pi**2 / 6, (1.0, 2.0): inf, (2.0, 0.0): inf, (2.0, inf): 0.0})
RIEMANN_ZETA = _tabled("riemann_zeta", "Riemann's zeta function (DLMF 25.2), of all real numbers.", cost=600, vjp=partials(_unknown("zeta", "x")), at={2.0: pi**2 / 6, 0.0: -0.5, 1.0: inf, -2.0: 0.0, inf: 1.0})


# --- incomplete functions


def _power_density(a: Term, x: Term) -> Term:
    """Return the density of the gamma distribution (DLMF 8.8.13)."""
    return exp(_product_with(a - 1, log(x), x) - x - call("gammaln", a, attrs=()))


def _beta_density(a: Term, b: Term, x: Term) -> Term:
    """Return the density of the beta distribution."""
    logarithm = call("gammaln", a + b, attrs=()) - call("gammaln", a, attrs=()) - call("gammaln", b, attrs=())
    return exp(_product_with(a - 1, log(x), x) + _product_with(b - 1, log1p(-x), x) + logarithm)


GAMMAINC = _tabled("gammainc", "Regularised lower incomplete gamma function P(a, x) (DLMF 8.2.4), for a and x that are not negative.", 2, cost=2000, vjp=partials(_unknown("gammainc", "a"), lambda _out, a, x: _power_density(a, x)), at={(1.0, 0.0): 0.0, (1.0, log_of(2)): 0.5, (2.0, inf): 1.0})
GAMMAINCC = _tabled("gammaincc", "Regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x) (DLMF 8.2.4), as accurate where it is small.", 2, cost=2000, vjp=partials(_unknown("gammaincc", "a"), lambda _out, a, x: -_power_density(a, x)), at={(1.0, 0.0): 1.0, (1.0, log_of(2)): 0.5, (2.0, inf): 0.0})
BETAINC = _tabled("betainc", "Regularised incomplete beta function I(x; a, b) (DLMF 8.17.2), for x from 0 to 1.", 3, cost=4000, vjp=partials(_unknown("betainc", "a"), _unknown("betainc", "b"), lambda _out, a, b, x: _beta_density(a, b, x)), at={(1.0, 1.0, 0.25): 0.25, (2.0, 2.0, 0.5): 0.5, (1.0, 2.0, 1.0): 1.0})


def _product_with(x: Term, logarithm: Term, y: Term) -> Term:
    """Return x times a logarithm of y, 0 where x is 0 whatever that is, but for NaN."""
    return where(logical_and(equal(x, 0), equal(y, y)), 0, x * logarithm)


def _logit(p: Term) -> Term:
    near = call("atanh", p * 2 - 1, attrs=()) * 2
    return where(logical_and(p > 0.25, p < 0.75), near, log(p / (1 - p)))


def _entropy(x: Term) -> Term:
    return where(x > 0, -x * log(x), where(equal(x, 0), 0, where(x < 0, -inf, x)))


def _relative(x: Term, y: Term) -> Term:
    nothing = logical_and(equal(x, 0), y >= 0)
    value = where(logical_and(x > 0, y > 0), x * log(x / y), where(nothing, x, inf))
    return where(logical_or(isnan(x), isnan(y)), nan, value)


XLOGY = _written("xlogy", lambda x, y: _product_with(x, log(y), y), "x log(y), and 0 where x is 0.", vjp=partials(lambda _out, _x, y: log(y), lambda _out, x, y: x / y), at={(0.0, 0.0): 0.0, (2.0, e): 2.0})
XLOG1PY = _written("xlog1py", lambda x, y: _product_with(x, log1p(y), y), "x log(1 + y), accurate for small y, and 0 where x is 0.", vjp=partials(lambda _out, _x, y: log1p(y), lambda _out, x, y: x / (1 + y)), at={(0.0, -1.0): 0.0, (2.0, 0.0): 0.0})
LOGIT = _written("logit", _logit, "log(p / (1 - p)), the inverse of the logistic function.", vjp=partials(lambda _out, p: 1 / (p * (1 - p))), at={0.5: 0.0, 1.0: inf, 0.0: -inf})
ENTR = _written("entr", _entropy, "-x log(x), 0 at 0 and -inf below: what an event adds to an entropy.", vjp=partials(lambda _out, x: -1 - log(x)), at={1.0: 0.0, 0.0: 0.0, -1.0: -inf})
REL_ENTR = _written("rel_entr", _relative, "x log(x / y), what an event adds to a relative entropy.", vjp=partials(lambda _out, x, y: 1 + log(x / y), lambda _out, x, y: -x / y), at={(1.0, 1.0): 0.0, (0.0, 0.0): 0.0, (1.0, 0.0): inf})
