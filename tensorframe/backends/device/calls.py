"""Library calls that devices have as kernels of their own; what is not among them runs on the cpu."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tensorframe.backends.base import Program
from tensorframe.backends.device.convolution import convolution_program
from tensorframe.backends.device.factorisation import FACTORISATIONS, can_factorise
from tensorframe.backends.device.fourier import FOURIER, fourier_program
from tensorframe.backends.device.make import Make
from tensorframe.backends.device.product import product_program
from tensorframe.backends.device.search import can_search, search_program
from tensorframe.backends.device.selection import partition_program, select_program
from tensorframe.backends.device.sort import sort_program, top_program
from tensorframe.backends.device.sparse import sparse_program
from tensorframe.dtypes import DType
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.convolution import CONVOLUTION
from tensorframe.ops.sorting import (
    ARGPARTITION,
    ARGSORT,
    PARTITION,
    SEARCHSORTED,
    SELECT,
    SORT,
    TOPK,
)
from tensorframe.ops.sparse import ROW_NUMBERS, SAMPLED_MATMUL, SPARSE_MATMUL

# a region whose first op is the call -> its program
CALLS: Mapping[Op, Callable[[Region, Make], Program]] = {
    MATMUL: product_program,
    CONVOLUTION: convolution_program,
    SORT: sort_program,
    ARGSORT: sort_program,
    PARTITION: partition_program,
    ARGPARTITION: partition_program,
    SELECT: select_program,
    TOPK: top_program,
    SEARCHSORTED: search_program,
    SPARSE_MATMUL: sparse_program,
    SAMPLED_MATMUL: sparse_program,
    ROW_NUMBERS: sparse_program,
    **dict.fromkeys(FOURIER, fourier_program),
    **FACTORISATIONS,
}


def has_call(op: Op, operands: Sequence[DType]) -> bool:
    """Whether there are kernels for a library call on these dtypes."""
    if op in FACTORISATIONS:
        return can_factorise(operands)
    return op in CALLS and (op is not SEARCHSORTED or can_search(operands))
