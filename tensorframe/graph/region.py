"""Regions: ops that run together, as plain data over numbered values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tensorframe.dtypes import DType
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape


@dataclass(frozen=True, slots=True)
class RegionOp:
    """One op of a region; `inputs` count the region's inputs first, then its ops in order."""

    op: Op
    attrs: tuple[Any, ...]
    inputs: tuple[int, ...]
    shape: Shape
    dtype: DType


@dataclass(frozen=True, slots=True)
class Region:
    """Ops that run together, as plain data: what a backend compiles."""

    inputs: tuple[tuple[Shape, DType], ...]
    ops: tuple[RegionOp, ...]
    outputs: tuple[int, ...]  # values that leave the region, counted as in RegionOp.inputs
    site: Any = field(default=None, compare=False)

    def shape_of(self, value: int) -> Shape:
        """Return the shape of an input or of an op's result."""
        first = len(self.inputs)
        return self.inputs[value][0] if value < first else self.ops[value - first].shape

    def dtype_of(self, value: int) -> DType:
        """Return the dtype of an input or of an op's result."""
        first = len(self.inputs)
        return self.inputs[value][1] if value < first else self.ops[value - first].dtype

    def __str__(self) -> str:
        names = [f"in{index}" for index in range(len(self.inputs))]
        lines = []
        for index, one in enumerate(self.ops):
            arguments = ", ".join([names[at] for at in one.inputs] + [str(a) for a in one.attrs])
            names.append(f"t{index}")
            lines.append(f"t{index} = {one.op.name}({arguments}): {one.dtype}{list(one.shape)}")
        return "\n".join(lines)
