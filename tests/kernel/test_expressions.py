"""Equal expressions, and equal buffers, are one object, whoever else makes them meanwhile."""

import gc
import sys
import threading
from itertools import count

import numpy as np
import pytest

from tensorframe.kernel.ir import Buffer, Role, apply, argument, index, literal, load, variable
from tensorframe.kernel.ir.expressions import _interned

FLOAT = np.dtype(np.float32)
X = variable("x", FLOAT)
KINDS = {
    "buffer": lambda: Buffer("x7", FLOAT, Role.INPUT),
    "literal": lambda: literal(0.625, FLOAT),
    "argument": lambda: argument("n7"),
    "index": lambda: index("i7"),
    "variable": lambda: variable("v7", FLOAT),
    "load": lambda: load(Buffer("x7", FLOAT, Role.INPUT), argument("n")),
    "apply": lambda: apply("hypot", X, X),
}


def interrupted_after(work, instructions, meanwhile):
    """Return what `work` returns, and in a tuple what `meanwhile` did in the middle of it if it got so far."""
    left, before = count(instructions, -1), sys.gettrace()
    called = []

    def step(frame, event, _):
        frame.f_trace_opcodes = True
        if event == "opcode" and next(left) == 0:
            sys.settrace(None)
            # all of it at once, as a signal handler or another thread may
            called.append(meanwhile())
        return step

    sys.settrace(step)
    try:
        found = work()
    finally:
        sys.settrace(before)
    done = tuple(called)
    called.clear()  # `step` refers to itself and to this
    return found, done


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", ["never made", "gone", "here"])
def test_the_same_expression_made_between_any_two_instructions_is_one(kind, before):
    make = KINDS[kind]
    for instructions in count():
        kept = make() if before == "here" else None
        if before == "gone":
            make()
        found, meanwhile = interrupted_after(make, instructions, make)
        if not meanwhile:
            break
        assert found is meanwhile[0] is make(), f"after {instructions} instructions"
        assert kept is None or kept is found
        del found, meanwhile
    assert instructions > 20


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_goes_between_any_two_instructions_is_not_returned_half_gone(kind):
    make = KINDS[kind]
    for instructions in count():
        held = [make()]
        found, called = interrupted_after(make, instructions, held.clear)
        if not called:
            break
        assert found is make()
    assert instructions > 20


def test_expressions_that_nobody_uses_are_forgotten():
    chain = X
    for step in range(200):
        chain = apply("add", chain, literal(step + 0.375, FLOAT))
    last = chain
    del chain
    gc.collect()
    before = len(_interned)
    del last
    literal(0.4375, FLOAT)  # whoever makes one forgets those that are gone
    assert len(_interned) <= before - 399  # and enters its own


def test_threads_that_make_equal_expressions_get_the_same():
    rounds, threads = 200, 4
    made = [[None] * threads for _ in range(rounds)]
    gates = [threading.Barrier(threads) for _ in range(rounds)]

    def work(number):
        for turn in range(rounds):
            gates[turn].wait(timeout=60)
            chain = variable(f"v{turn}", FLOAT)
            for step in range(10):
                chain = apply("add", chain, literal(turn + step / 8, FLOAT))
            made[turn][number] = chain

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert all(one is turn[0] for turn in made for one in turn)
