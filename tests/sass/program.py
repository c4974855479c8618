"""What a program is whose kernels are looked at, and what its machine code is to be like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tensorframe as tfr

ROWS, LENGTH = 4096, 1024


@dataclass(frozen=True)
class Program:
    """An expression of matrices of `dtypes`; `contiguous` says that it does nothing but read and write side by side.

    `rows` says that it takes in rows of float32, whose sums are mostly of float32, and `once` that several passes need
    them; `share` is what it is to use of the bandwidth at least. `columns` have such sums, too. Each kernel has at most
    so many `barriers`.
    So many of its kernels, `wide_values`, add integers of 64 bits that are no positions.
    """

    expression: Callable[..., tfr.Tensor | tuple[tfr.Tensor, ...]]
    dtypes: tuple[str, ...] = ("float32",)
    contiguous: bool = False
    rows: bool = False
    once: bool = False
    columns: bool = False
    shape: tuple[int, ...] = (ROWS, LENGTH)
    barriers: int = 4
    share: float = 0.9
    wide_values: int = 0


TWO = ("float32", "float32")
INDEXED = ("float32", "int32")
