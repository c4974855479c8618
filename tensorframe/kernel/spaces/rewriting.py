"""Rewriting: a region that grows op by op and takes the place of another, with the loops that this one runs in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.dtypes import DType
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.graph.space import Space
from tensorframe.kernel.spaces.analyse import NotFusibleError, complete


class Rewriting:
    """A region over the inputs of another, while it grows.

    Its loops are those of the old one. So are the places in them of values that `stand` for old ones, and of operands
    that are `read_as` old ones; those of what is new between them follow from these.
    """

    def __init__(self, region: Region, inputs: Sequence[tuple[Shape, DType]] | None = None) -> None:
        """`inputs` are those of the new region if they are others: the old ones come first."""
        self.old = region
        self.inputs = list(region.inputs if inputs is None else inputs)
        self.ops: list[RegionOp] = []
        self._stands: dict[int, int] = {}  # value -> the old value that is at the same place
        self._reads: dict[
            int, int
        ] = {}  # value -> the old value whose operands are at the same places

    def add(
        self, op: Op, attrs: tuple[Any, ...], inputs: Sequence[int], shape: Shape, dtype: DType
    ) -> int:
        """Add an op, and return its value."""
        self.ops.append(RegionOp(op, attrs, tuple(inputs), shape, dtype))
        return len(self.inputs) + len(self.ops) - 1

    def apply(self, op: Op, *operands: int, attrs: tuple[Any, ...] = ()) -> int:
        """Add an elementwise op on values."""
        known = [self.known(value) for value in operands]
        shape = broadcast(op.name, *[shape for shape, _ in known])
        dtype = op.result(known[op.conditions][1], *attrs)
        return self.add(op, attrs, operands, shape, dtype)

    def keep(self, old: int, inputs: Sequence[int], dtype: DType | None = None) -> int:
        """Add an op of the old region, on values that stand for its operands; it may be of another dtype."""
        op = self.old.ops[old - len(self.old.inputs)]
        value = self.add(op.op, op.attrs, inputs, op.shape, op.dtype if dtype is None else dtype)
        return self.put_in_place_of(self.read_as(value, old), old)

    def put_in_place_of(self, value: int, old: int) -> int:
        """Say that a value is at the place in the loops of an old one, and return it. Numbers have no place."""
        if value >= len(self.inputs) and self.known(value)[0] == self.old.shape_of(old):
            self._stands[value] = old
        return value

    def read_as(self, value: int, old: int) -> int:
        """Say that a value reads its operands where an old one does, and return it."""
        self._reads[value] = old
        return value

    def known(self, value: int) -> tuple[Shape, DType]:
        """Return shape and dtype of a value."""
        first = len(self.inputs)
        if value < first:
            return self.inputs[value]
        op = self.ops[value - first]
        return op.shape, op.dtype

    def region(self, outputs: Sequence[int]) -> Region:
        """Return the region as it is now, without the ops that lead to no output."""
        now, ops = live(len(self.inputs), self.ops, outputs)
        region = Region(tuple(self.inputs), ops, tuple([now[value] for value in outputs]))
        if self.old.space is not None:
            region.settle(self._space(region, self.old.space, now))
        return region

    def _space(self, region: Region, old: Space, now: dict[int, int]) -> Space:
        """Return the space of the new region, whose loops are those of the old one."""
        space = Space(list(old.sizes), old.reduced, {}, dict(old.cuts), old.lengths)
        for value, stood in self._stands.items():
            if value in now and stood in old.maps:
                space.maps[now[value]] = old.maps[stood]
        for value, reader in self._reads.items():
            for index in range(len(self.ops[value - len(self.inputs)].inputs)):
                if value in now and (reader, index) in old.maps:
                    space.maps[now[value], index] = old.maps[reader, index]
        reason = complete(region, space)
        if reason is not None:
            raise NotFusibleError(reason)
        return space


def live(
    first: int, ops: Sequence[RegionOp], outputs: Sequence[int]
) -> tuple[dict[int, int], tuple[RegionOp, ...]]:
    """Return the ops that lead to outputs, and the numbers of values among them; `first` values are inputs."""
    wanted = set(outputs)
    for value in range(first + len(ops) - 1, first - 1, -1):
        if value in wanted:
            wanted.update(ops[value - first].inputs)
    now = {value: value for value in range(first)}
    kept: list[RegionOp] = []
    for value, op in enumerate(ops, start=first):
        if value in wanted:
            now[value] = first + len(kept)
            inputs = tuple([now[source] for source in op.inputs])
            kept.append(RegionOp(op.op, op.attrs, inputs, op.shape, op.dtype))
    return now, tuple(kept)


def pruned(region: Region) -> Region:
    """Return a region without the ops that lead to no output, whose loops may be fewer."""
    now, ops = live(len(region.inputs), region.ops, region.outputs)
    return Region(region.inputs, ops, tuple([now[value] for value in region.outputs]))
