"""What leaves loops: values that stay the same in them, but nothing that a choice keeps from being read.

Of what a group shares nothing leaves that threads may have changed in between.
"""

import pytest

from tensorframe.dtypes import float32
from tensorframe.kernel import ir
from tensorframe.kernel.ir.formula import negation
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.ir.walk import expressions, in_order
from tensorframe.kernel.nest.passes.hoist import name_values

_LEFT, _RIGHT = [ir.Buffer(name, float32, ir.Role.INPUT) for name in ("x0", "x1")]
_OUT = ir.Buffer("y0", float32, ir.Role.OUTPUT)


def hoisted(*, is_guarded: bool) -> set[ir.Buffer]:
    """The buffers that are read before an inner loop that reads one of two, or both."""
    row, column = ir.index("i"), ir.index("k")
    part = ir.variable("part", float32)
    left, right = ir.load(_LEFT, row), ir.load(_RIGHT, row - 4)
    if is_guarded:
        is_first = ir.compare("less", row, 4)
        take: list[ir.Statement] = [
            ir.If(is_first, (ir.Set(part, left),)),
            ir.If(negation(is_first), (ir.Set(part, right),)),
        ]
    else:
        take = [ir.Set(part, left + right)]
    inner = ir.Loop(column, ZERO, ir.STOP, (*take, ir.Store(_OUT, row + column, part)))
    (outer,) = name_values((ir.Loop(row, ZERO, ir.STOP, (inner,)),))
    assert isinstance(outer, ir.Loop)
    before = [statement for statement in outer.body if not isinstance(statement, ir.Loop)]
    roots, _ = expressions(before)
    return {read.buffer for read in in_order(roots, {}) if isinstance(read, ir.Load)}


@pytest.mark.parametrize("is_guarded", [False, True])
def test_what_a_choice_guards_is_read_behind_it(is_guarded: bool) -> None:
    """Beyond the end of the first of two joined tensors there is nothing, however often a loop reads it."""
    assert hoisted(is_guarded=is_guarded) == (set() if is_guarded else {_LEFT, _RIGHT})


_SHARED, _OTHER = [ir.Buffer(name, float32, ir.Role.SHARED) for name in ("made0", "made1")]
_ROW, _COLUMN = ir.index("i"), ir.index("k")
_NONE, _LANES = ir.ParallelAxis.NOTHING, ir.ParallelAxis.LANES


def loads_before(memory: ir.Buffer, *more: ir.Statement, over: ir.ParallelAxis = _NONE) -> int:
    """How often memory is read before an inner loop that reads it, and does something more."""
    total = ir.variable("total", float32)
    taken = ir.Set(total, total + ir.load(memory, _ROW) * ir.load(_LEFT, _COLUMN))
    inner = ir.Loop(_COLUMN, ZERO, ir.STOP, (*more, taken), over=over)
    begin = (ir.Set(total, ir.load(_LEFT, _ROW)), inner, ir.Store(_OUT, _ROW, total))
    (outer,) = name_values((ir.Loop(_ROW, ZERO, ir.STOP, begin),))
    assert isinstance(outer, ir.Loop)
    (place,) = [n for n, statement in enumerate(outer.body) if isinstance(statement, ir.Loop)]
    roots, _ = expressions(outer.body[:place])
    reads = [read for read in in_order(roots, {}) if isinstance(read, ir.Load)]
    return sum(read.buffer is memory for read in reads)


@pytest.mark.parametrize("over", [_NONE, _LANES])
def test_what_a_group_shares_is_read_before_a_loop_that_leaves_it(over: ir.ParallelAxis) -> None:
    assert loads_before(_SHARED, over=over) == 1
    assert loads_before(_SHARED, ir.Store(_OTHER, _COLUMN, ir.load(_LEFT, _COLUMN))) == 1


@pytest.mark.parametrize(
    ("memory", "more"),
    [
        (_SHARED, ir.Store(_SHARED, _COLUMN, ir.literal(0, float32))),
        (_SHARED, ir.CopyNeighbours(_SHARED, ZERO, _RIGHT, ZERO, ir.literal(4, ir.INDEX))),
        (_SHARED, ir.Barrier()),
        (_SHARED, ir.If(ir.compare("less", _COLUMN, 4), (ir.Barrier(),))),
        (
            ir.Buffer("w0", float32, ir.Role.SCRATCH),
            ir.Store(_OUT, _COLUMN, ir.literal(0, float32)),
        ),
        (_OUT, ir.Store(_SHARED, _COLUMN, ir.literal(0, float32))),
    ],
    ids=["stored", "copied", "awaited", "awaited by a choice", "scratch", "a result"],
)
def test_what_threads_may_have_changed_is_read_in_its_loop(
    memory: ir.Buffer, more: ir.Statement
) -> None:
    assert loads_before(memory, more) == 0
