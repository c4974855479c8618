"""A call that is made of tensorframe and of NumPy, with which arrays, and what may differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from tensorframe.dtypes import ANY, DType
from tests.values import special
from tests.values.special import Arguments

Inputs = Callable[[DType], Iterable[Arguments]]
Call = Callable[..., Any]


class Case(NamedTuple):
    """A call, `call(namespace, *arrays)`, the arrays that it is made with, and dtypes that these have."""

    call: Call
    inputs: Inputs
    dtypes: frozenset[DType] = ANY
    reference: Call | None = None  # what NumPy is called with, where that is another call
    ulp: float = 8.0
    # distances count in spacings at the largest element: what cancels to zero is as far off as its terms were
    scaled: bool = False
    # whether a zero has one sign: not where any of several equal elements is taken, and not where zeros are summed,
    # which engines begin with a zero of either sign, or with the first element
    zeros: bool = True
    # whether both parts of a complex number that is not finite are compared: not where a plan drops a division by one,
    # which would make NaN of the other part
    parts: bool = True
    # integers and bools reach NumPy as float32, in which we compute: narrow ones would wrap there, bools be refused
    as_float: bool = False
    # "promoted": by our promotion; "own": the floating one of the operands, where NumPy widens; "first": that of the
    # first operand; "numpy": as NumPy has it
    dtype: Literal["promoted", "own", "first", "numpy"] = "promoted"


def each(inputs: Inputs, *calls: Call, **facts: Any) -> list[Case]:
    """Return a case for each call, with the same arrays and facts."""
    return [Case(call, inputs, **facts) for call in calls]


def same(name: str, inputs: Inputs = special.stacks, *args: Any, **facts: Any) -> list[Case]:
    """Return the case of a function that takes the arrays, and `args` behind them."""
    find = attrgetter(name)
    return each(inputs, lambda xp, *arrays: find(xp)(*arrays, *args), **facts)
