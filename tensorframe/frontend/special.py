"""The namespace `tfr.special`: special functions by SciPy's names, elementwise like all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.elementwise.functions import FUNCTIONS, documentation, function_of
from tensorframe.frontend.reductions.softmax import log_softmax, logsumexp, softmax
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.ops import special as rows

__all__ = [
    "betainc",
    "cbrt",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "lgamma",
    "log1p",
    "log_expit",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "rel_entr",
    "sinc",
    "softmax",
    "trigamma",
    "xlog1py",
    "xlogy",
    "zeta",
]

Function = Callable[..., Tensor]


def _function(op: Op) -> Function:
    """Return the function of a row, which is named in this namespace alone."""
    function: Any = function_of(op)
    function.__module__ = "tensorframe.special"
    function.__doc__ = documentation(op).replace(f"tfr.{op.name}(", f"tfr.special.{op.name}(")
    public: Function = function
    return public


betainc = _function(rows.BETAINC)
digamma = psi = _function(rows.DIGAMMA)
entr = _function(rows.ENTR)
erfcinv = _function(rows.ERFCINV)
erfinv = _function(rows.ERFINV)
gamma = _function(rows.GAMMA)
gammainc = _function(rows.GAMMAINC)
gammaincc = _function(rows.GAMMAINCC)
gammaln = lgamma = _function(rows.GAMMALN)
i0 = _function(rows.I0)
i0e = _function(rows.I0E)
i1 = _function(rows.I1)
i1e = _function(rows.I1E)
logit = _function(rows.LOGIT)
ndtr = _function(rows.NDTR)
ndtri = _function(rows.NDTRI)
polygamma = _function(rows.POLYGAMMA)
rel_entr = _function(rows.REL_ENTR)
trigamma = _function(rows.TRIGAMMA)
xlog1py = _function(rows.XLOG1PY)
xlogy = _function(rows.XLOGY)
_riemann_zeta = _function(rows.RIEMANN_ZETA)
_hurwitz_zeta = _function(rows.ZETA)
# those that the namespace of arrays has as well
cbrt, erf, erfc, exp2 = (FUNCTIONS[name] for name in ("cbrt", "erf", "erfc", "exp2"))
expit, expm1 = FUNCTIONS["sigmoid"], FUNCTIONS["expm1"]
log1p, log_expit, sinc = (FUNCTIONS[name] for name in ("log1p", "log_sigmoid", "sinc"))


def zeta(x: ArrayLike, q: ArrayLike | None = None, /, out: Tensor | None = None) -> Tensor:
    """Hurwitz's zeta function: the sum of ``(q + k)**-x`` over k from 0 on. Without `q`, Riemann's.

    Elementwise; `x` and `q` broadcast, and integers become floating. Computed in float64 and rounded once.

    Parameters
    ----------
    x
        The exponent. With `q`, it is infinite at 1 and NaN below; without, any real number.
    q
        Where the sum begins. Infinite at 0 and at negative integers; between them, `x` has to be an integer.
    out
        The tensor that takes the result.

    Raises
    ------
    DTypeError
        Of complex operands.

    Notes
    -----
    By the Euler-Maclaurin formula (DLMF 25.11). The gradient is for `q`; of `x`, GradientError says that none is known.

    Examples
    --------
    >>> tfr.special.zeta(tfr.asarray([2.0, 0.0, -1.0], dtype="float64")).numpy()
    array([ 1.64493407, -0.5       , -0.08333333])
    >>> tfr.special.zeta(2, 3).item() == tfr.special.polygamma(1, 3).item()
    True

    """
    return _riemann_zeta(x, out=out) if q is None else _hurwitz_zeta(x, q, out=out)
