"""Regions: ops that run together, as plain data over numbered values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tensorframe.dtypes import DType
from tensorframe.graph.node import attrs_key
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape
from tensorframe.graph.space import Space
from tensorframe.quick_dataclasses import dataclass, field


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
    """Ops that run together, as plain data: what a backend compiles.

    `space` are the loops that they run in: fusion found them when it let the ops run together. A region that is made of
    another one's parts by `dataclasses.replace` has none, since they may be others.
    """

    inputs: tuple[tuple[Shape, DType], ...]
    ops: tuple[RegionOp, ...]
    outputs: tuple[int, ...]  # values that leave the region, counted as in RegionOp.inputs
    site: Any = field(default=None, compare=False)
    space: Space | None = field(default=None, init=False, compare=False, repr=False)

    def settle(self, space: Space) -> None:
        """Keep the loops of the region, which are a function of its ops."""
        object.__setattr__(self, "space", space)

    def shape_of(self, value: int) -> Shape:
        """Return the shape of an input or of an op's result."""
        first = len(self.inputs)
        return self.inputs[value][0] if value < first else self.ops[value - first].shape

    def dtype_of(self, value: int) -> DType:
        """Return the dtype of an input or of an op's result."""
        first = len(self.inputs)
        return self.inputs[value][1] if value < first else self.ops[value - first].dtype

    def key(self) -> tuple[Any, ...]:
        """Return what regions have in common only if they are the same: equal ones may differ in the sign of a zero."""
        return (self, *[attrs_key(op.attrs) for op in self.ops])

    def part(self, takes: Sequence[int], made: Iterable[int], gives: Iterable[int]) -> Region:
        """Return the ops that make some values, from others that become the inputs; `gives` are its outputs."""
        made = list(made)
        number = {value: place for place, value in enumerate((*takes, *made))}
        ops = [self.ops[value - len(self.inputs)] for value in made]
        return Region(
            tuple([(self.shape_of(value), self.dtype_of(value)) for value in takes]),
            tuple(
                [replace(op, inputs=tuple([number[source] for source in op.inputs])) for op in ops]
            ),
            tuple([number[value] for value in gives]),
        )

    def __str__(self) -> str:
        names = [f"in{index}" for index in range(len(self.inputs))]
        lines = []
        for index, op in enumerate(self.ops):
            arguments = ", ".join(
                [names[source] for source in op.inputs] + [str(a) for a in op.attrs]
            )
            names.append(f"t{index}")
            lines.append(f"t{index} = {op.op.name}({arguments}): {op.dtype}{list(op.shape)}")
        return "\n".join(lines)
