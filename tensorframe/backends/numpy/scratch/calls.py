"""Scratch of single calls of NumPy's functions: which module of this folder says it, imported when it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from math import prod
from typing import Any

from tensorframe.dtypes import ADDED, DType, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

_NAMES = {
    "linear_algebra": "cholesky det eig eigh eigvals eigvalsh inv lstsq qr slogdet solve svd svdvals",
    "orders": "argmax argmin argpartition argsort partition searchsorted select sort topk",
    "places": "arange count_nonzero cumulative_prod cumulative_sum histogram row_numbers",
    "products": "einsum matmul quantized_matmul quantized_matmul_with_zeros "
    "sampled_matmul sparse_matmul transposed_sparse_matmul",
    "signals": "convolution fftn ifftn irfftn rfftn",
}
# of rows by their names, and of all others of a kind
MODULES: dict[str | Kind, str] = {
    name: module for module, names in _NAMES.items() for name in names.split()
}
MODULES |= dict.fromkeys((Kind.GATHER, Kind.SCATTER), "places")


class Call(NamedTuple):
    """A call of one of NumPy's functions: its row, attributes, and the shapes and dtypes of operands and result."""

    op: Op
    attrs: tuple[Any, ...]
    operands: tuple[tuple[Shape, DType], ...]
    shape: Shape
    dtype: DType

    @property
    def name(self) -> str:
        """The name of its row."""
        return self.op.name

    @property
    def results(self) -> Sequence[tuple[Shape, DType]]:
        """The shape and dtype of each result."""
        if self.op.results is None:
            return [(self.shape, self.dtype)]
        return self.op.results(tuple([shape for shape, _ in self.operands]), self.kind, *self.attrs)

    @property
    def elements(self) -> int:
        """Elements of the first operand."""
        return prod(self.operands[0][0])

    @property
    def first(self) -> int:
        """Bytes of the first operand."""
        return self.elements * self.operands[0][1].itemsize

    @property
    def kind(self) -> DType:
        """The dtype of the first operand."""
        return self.operands[0][1]

    @property
    def result(self) -> int:
        """Bytes of the result."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def widened(self) -> int:
        """Bytes of a copy of the first operand in a dtype that NumPy has, if its own is none of them."""
        return self.elements * wide_of(self.kind).itemsize if self.kind in ADDED else 0


Estimate = Callable[[Call], int]


def scratch_of_call(region: Region, op: RegionOp) -> int:
    """Return what the call of an op of a region takes beside its operands and results."""
    row: str | Kind = op.op.name if op.op.name in MODULES else op.op.kind
    module = MODULES.get(row)
    if module is None or (op.op.kind is Kind.SCATTER and op.op.combination is None):
        return 0
    operands = tuple([(region.shape_of(v), region.dtype_of(v)) for v in op.inputs])
    return estimates(module)[row](Call(op.op, op.attrs, operands, op.shape, op.dtype))


@cache
def estimates(module: str) -> Mapping[str | Kind, Estimate]:
    """Return what a module of this folder says of rows, and of kinds of them."""
    said: Mapping[str | Kind, Estimate] = import_module(f"{__package__}.{module}").ESTIMATES
    return said
