"""The compiled functions of products: what packs right factors, and what makes blocks. Which products they make."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from tensorframe.backends.llvm.functions import begin as compiled_ahead
from tensorframe.backends.llvm.functions import placed
from tensorframe.backends.llvm.load import Function, Placed
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.tiles import is_for_tiles
from tensorframe.codegen.llvm.indirect_product import shape_for
from tensorframe.codegen.llvm.packed import print_packed
from tensorframe.codegen.llvm.packed.slots import (
    CHAIN,
    FIXED,
    MULTIPLY,
    PACK_COLUMNS,
    PACK_ROWS,
    VARYING,
)
from tensorframe.codegen.llvm.packed.words import panel_width
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any

VARYING_SLOTS = "Q" * len(VARYING)
varying_slots = struct.Struct(f"={VARYING_SLOTS}").pack
_FIXED = struct.Struct(f"={len(FIXED)}q")


def fixed_slots(values: Mapping[str, int]) -> bytes:
    """Return the fixed slots of a call: what is not named is 0."""
    return _FIXED.pack(*[values.get(name, 0) for name in FIXED])


class Functions(NamedTuple):
    """The compiled functions for a dtype, how many elements a vector has, and how many vectors a panel at most."""

    code: Placed  # that keeps them in memory
    pack_rows: Function
    pack_columns: Function
    multiply: Function
    chain: Function
    lanes: int
    wide: int


@cache
def begin(dtype: DType) -> None:
    """Have the functions for a dtype compiled ahead."""
    compiled_ahead(*_module(dtype))


def _module(dtype: DType) -> tuple[str, str]:
    """Return the name and the text of the functions for a dtype."""
    text = print_packed(target(), str(target_machine().target_data), dtype)
    return f"packed_products_{dtype.name}", text


@lru_cache
def functions(dtype: DType) -> Functions:
    """Return the functions for a dtype, float32 or float64."""
    symbols = PACK_ROWS, PACK_COLUMNS, MULTIPLY, CHAIN
    code = placed(*_module(dtype), symbols)
    rows, columns, multiply, chain = map(code.function, symbols)
    shape = shape_for(target(), dtype)
    return Functions(code, rows, columns, multiply, chain, shape.lanes, panel_width(shape))


def packs(x: Array, y: Array, shape: Shape) -> bool:
    """Whether the product of these stacks of matrices, which has this shape, is made by tiles: by sizes alone."""
    return x.dtype == y.dtype and is_for_tiles(x.shape, y.shape, shape, x.dtype) and has_tiles()


@cache
def has_tiles() -> bool:
    """Whether tiles are as fast as BLAS here: where there are registers for them, and BLAS is not the system's own."""
    machine = target()
    return machine.has_tiles and machine.data_offset is not None and blas.can_be_limited()
