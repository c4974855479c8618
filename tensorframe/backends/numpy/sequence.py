"""Regions of mixed ops in NumPy: cut into runs of elementwise ops, which go in blocks, and single calls.

Integers that are converted only to be summed up are one call: NumPy converts a block of them at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.backends.numpy.call import single_call
from tensorframe.backends.numpy.reduction import is_widened, widened
from tensorframe.backends.numpy.region import elementwise_program
from tensorframe.graph.node import attrs_key
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Part:
    """A program on values of the whole region: which it takes, which it makes, and which nobody needs afterwards."""

    program: Program
    takes: tuple[int, ...]
    makes: tuple[int, ...]
    blank: tuple[None, ...]
    dead: tuple[int, ...]


def sequence_program(region: Region) -> Program:
    """Return the program that runs a region of any ops part by part."""
    region = without_repeats(region)
    parts = runs(region)
    last_use = {
        source: number
        for number, run in enumerate(parts)
        for step in run
        for source in step[1].inputs
    }
    programs = [_part(region, number, run, last_use) for number, run in enumerate(parts)]
    count = len(region.inputs) + len(region.ops)

    def run(inputs: Sequence[Any], _buffers: Sequence[Any | None]) -> Sequence[Any]:
        values = [*inputs, *[None] * (count - len(inputs))]
        for part in programs:
            results = part.program([values[value] for value in part.takes], part.blank)
            for value, result in zip(part.makes, results, strict=True):
                values[value] = result
            for value in part.dead:
                values[value] = None
        return [values[output] for output in region.outputs]

    return run


def without_repeats(region: Region) -> Region:
    """Return a region that computes once what loops have at several places."""
    now = list(range(len(region.inputs)))
    known: dict[tuple[Any, ...], int] = {}
    ops: list[RegionOp] = []
    for op in region.ops:
        inputs = tuple([now[source] for source in op.inputs])
        key = (op.op, attrs_key(op.attrs), inputs, op.shape, op.dtype)
        value = known.setdefault(key, len(region.inputs) + len(ops))
        now.append(value)
        if value == len(region.inputs) + len(ops):
            ops.append(replace(op, inputs=inputs))
    return replace(
        region, ops=tuple(ops), outputs=tuple([now[output] for output in region.outputs])
    )


Run = list[tuple[int, RegionOp]]  # ops with the numbers of the values that they make


def runs(region: Region) -> list[Run]:
    """Return the ops in order: elementwise ones of one shape together, and conversions beside what sums them up."""
    return _with_widened(region, _alike(region))


def _alike(region: Region) -> list[Run]:
    """Return the ops in order, elementwise ones of one shape together."""
    parts: list[Run] = []
    for value, op in enumerate(region.ops, start=len(region.inputs)):
        last = parts[-1][-1][1] if parts else None
        alike = last is not None and last.op.kind is op.op.kind is Kind.MAP
        if last is not None and alike and last.shape == op.shape:
            parts[-1].append((value, op))
        else:
            parts.append([(value, op)])
    return parts


def _with_widened(region: Region, parts: list[Run]) -> list[Run]:
    """Return the parts with conversions beside the reductions that are all that reads them."""
    uses = Counter([source for op in region.ops for source in op.inputs] + list(region.outputs))
    joined: list[Run] = []
    for part in parts:
        ((_, op), *others) = part
        before = joined[-1] if joined and not others else []
        for place, (value, conversion) in enumerate(before):
            if op.inputs == (value,) and uses[value] == 1 and is_widened(region, conversion, op):
                del before[place]
                joined = [*filter(None, joined), [(value, conversion), *part]]
                break
        else:
            joined.append(part)
    return joined


def _part(region: Region, index: int, run: Run, last_use: dict[int, int]) -> _Part:
    made = [value for value, _ in run]
    takes = tuple(dict.fromkeys([s for _, op in run for s in op.inputs if s not in made]))
    makes = tuple(
        [value for value in made if value in region.outputs or last_use.get(value, -1) > index]
    )
    part = region.part(takes, made, makes)
    if all(op.op.kind is Kind.MAP for _, op in run):
        program = elementwise_program(part)
    else:
        program = single_call(part) if len(run) == 1 else widened(part)
    dead = tuple([v for v in takes if last_use[v] == index and v not in region.outputs])
    return _Part(program, takes, makes, (None,) * len(makes), dead)
