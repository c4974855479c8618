"""Products, norms and functions of matrices; transforms; ranges, which are made of numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan
from typing import Any

from tensorframe.dtypes import COMPLEX, NUMERIC, float64
from tests.values import special
from tests.values.cases import Case, each, same

# libraries add products to a zero, NumPy's loops begin with the first: a sum of -0.0 has either sign
SUMMED: dict[str, Any] = {"dtypes": NUMERIC, "zeros": False}

PRODUCTS: dict[str, list[Case]] = {
    **{
        name: [
            *same(name, special.two_matrices, **SUMMED),
            *same(name, special.equal_vectors, **SUMMED),
        ]
        for name in ("matmul", "dot", "inner")
    },
    **{name: same(name, special.equal_vectors, **SUMMED) for name in ("vdot", "vecdot")},
    "outer": [*same("outer", special.two_vectors), *same("outer", special.mixed_vectors)],
    "kron": same("kron", special.two_matrices, dtypes=NUMERIC),
    "linalg.cross": each(
        special.lines, lambda xp, x: xp.linalg.cross(x[:8], x[-8:]), dtypes=NUMERIC
    ),
    "tensordot": same("tensordot", special.two_matrices, 1, **SUMMED),
    "einsum": [
        case
        # a complex infinity times a number has parts that each library fills in another way
        for inputs, dtypes in (
            (special.two_matrices, NUMERIC - COMPLEX),
            (special.two_finite_matrices, COMPLEX),
        )
        for case in each(
            inputs,
            lambda xp, x, y: xp.einsum("ij,jk->ik", x, y),
            lambda xp, x, y: xp.einsum("ii,jj", x, y),
            dtypes=dtypes,
            zeros=False,
        )
    ],
}

CLOSE: dict[str, Any] = {"ulp": 64.0, "zeros": False, "scaled": True, "as_float": True}


def orders(name: str, inputs: Any, values: Sequence[Any], **facts: Any) -> list[Case]:
    """Return the cases of a function of matrices with an order: of a norm, or a power."""
    return each(
        inputs,
        *(lambda xp, x, order=order: getattr(xp.linalg, name)(x, order) for order in values),
        **facts,
    )


LINALG: dict[str, list[Case]] = {
    "linalg.diagonal": same("linalg.diagonal", special.oblong),
    "linalg.outer": same("linalg.outer", special.two_vectors, dtypes=NUMERIC),
    "linalg.trace": same("linalg.trace", special.oblong, **SUMMED),
    # to the last digit of what the largest element of an inverse is rounded to
    "linalg.cond": orders(
        "cond", special.matrices, (None, -2, 1, -1, inf, -inf, "fro", "nuc"), ulp=2e4, as_float=True
    ),
    "linalg.det": same("linalg.det", special.finite_matrices, **CLOSE),
    "linalg.slogdet": each(
        special.finite_matrices, lambda xp, x: tuple(xp.linalg.slogdet(x)), **CLOSE
    ),
    "linalg.inv": same("linalg.inv", special.finite_matrices, **CLOSE),
    # what counts as zero is said: by default it is the rounding of our dtype, and 1e-15 in NumPy
    "linalg.pinv": each(
        special.finite_matrices, lambda xp, x: xp.linalg.pinv(x, rtol=1e-6), **CLOSE
    ),
    "linalg.matrix_rank": same("linalg.matrix_rank", special.finite_matrices, as_float=True),
    "linalg.matrix_power": orders("matrix_power", special.matrices, (0, 1, 2, 3), **SUMMED),
    "linalg.multi_dot": each(
        special.two_matrices, lambda xp, x, y: xp.linalg.multi_dot([x, y, x]), **SUMMED
    ),
    "linalg.norm": [
        *each(
            special.lines,
            *(
                lambda xp, x, order=order: xp.linalg.norm(x, order, axis=-1)
                for order in (None, 0, 1, 2, 3, -1, inf, -inf)
            ),
            ulp=64.0,
            as_float=True,
        ),
        *orders("norm", special.finite_matrices, (None, 2, -2, "nuc"), **CLOSE),
        *orders("norm", special.oblong, (1, -1, inf, -inf, "fro"), as_float=True),
    ],
    "linalg.vector_norm": each(
        special.lines,
        *(
            lambda xp, x, order=order: xp.linalg.vector_norm(x, ord=order, axis=-1)
            for order in (0, 1, 2, 3, inf, -inf)
        ),
        ulp=64.0,
        as_float=True,
    ),
    "linalg.matrix_norm": each(
        special.oblong,
        *(
            lambda xp, x, order=order: xp.linalg.matrix_norm(x, ord=order)
            for order in ("fro", 1, -1, inf, -inf)
        ),
        as_float=True,
    ),
}

FFT: dict[str, list[Case]] = {
    **{f"fft.{name}": same(f"fft.{name}") for name in ("fftshift", "ifftshift")},
}


def made(name: str, *arguments: Sequence[Any], **facts: Any) -> list[Case]:
    """Return the cases of a function of numbers, in float64."""

    def calling(numbers: Sequence[Any]) -> Callable[..., Any]:
        return lambda xp: getattr(xp, name)(*numbers, dtype="float64")

    calls = [calling(numbers) for numbers in arguments]
    return each(special.nothing, *calls, dtypes=frozenset({float64}), **facts)


LINEAR = (
    (0, 1, 5),
    (0, 1, 1),
    (0, 1, 0),
    (1, -1, 7),
    (0, inf, 3),
    (nan, 1, 3),
    (-inf, inf, 3),
    (1, 1, 3),
    (0.1, 0.7, 11),
    (-0.0, 0.0, 3),
    (-1e308, 1e308, 5),
)
POWERS = ((0, 2, 3), (0, 15, 16), (-3, 3, 7), (0, inf, 3), (nan, 1, 2), (2, 2, 1), (0, 1, 0))
GEOMETRIC = (
    (1, 1000, 4),
    (1, 1e15, 16),
    (-1, -1000, 4),
    (1, 256, 9),
    (0.1, 0.7, 11),
    (3, 3, 4),
    (1, 2, 1),
    (1, 2, 0),
    (1000, 1, 4),
    (1e-5, 1e5, 11),
    (1, inf, 3),
    (nan, 1, 3),
    (1, nan, 3),
)

RANGES: dict[str, list[Case]] = {
    "arange": made("arange", (5,), (2, -3, -2), (0.0, 1.0, 0.1), (3, 3)),
    "linspace": made("linspace", *LINEAR),
    "logspace": made("logspace", *POWERS, ulp=2.0),
    "geomspace": made("geomspace", *GEOMETRIC, ulp=2.0),
    "eye": made("eye", (3, 4, 1)),
    "identity": made("identity", (3,)),
    "tri": made("tri", (3, 4, -1), (0,)),
    "indices": made("indices", ((2, 3),), ((0,),)),
    "fromfunction": made("fromfunction", (lambda i, j: i - j, (2, 3))),
    "tril_indices": each(special.nothing, lambda xp: xp.tril_indices(3, 1, 4)),
    "triu_indices": each(special.nothing, lambda xp: xp.triu_indices(3, 1, 4)),
    "meshgrid": each(
        special.equal_vectors,
        lambda xp, x, y: tuple(xp.meshgrid(x, y)),
        lambda xp, x, y: tuple(xp.meshgrid(x, y, indexing="ij", sparse=True)),
    ),
}
