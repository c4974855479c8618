"""Sources: values that exist without inputs; generators are never materialised for their own sake."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import ANY
from tensorframe.graph.op import NONE, Kind, Op, register, same


def source(name: str, doc: str, *attributes: str, **facts: Any) -> Op:
    """Define a source row; shape and dtype are said when it is recorded."""
    return register(Op(name, Kind.SOURCE, 0, ANY, same, doc, attributes=attributes, vjp=NONE, **facts))


CONSTANT = source("constant", "A Python or NumPy number; an argument of the kernels that use it.", "value")
DATA = source("data", "Values that the user handed in.")
FULL = source("full", "One value everywhere.", "value")
ARANGE = source("arange", "start + step * (first + stride * i) along the one axis.", "start", "step", "first", "stride")
FILE = source("file", "Values in a file, read when they are needed.", "reader", costly=True)
ARGUMENT = source("argument", "An argument of a function that is recorded: every call gives its values.", "argument")
