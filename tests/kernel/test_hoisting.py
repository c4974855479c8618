"""What leaves loops: values that stay the same in them, but nothing that a choice keeps from being read."""

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
