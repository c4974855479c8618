"""Which engine runs a region: a function of the region, and, where both give the same bits, of how often it ran.

Never of time, or of what is on disk: a program's results are the same bits the first and the thousandth time. Where
there is no room for the compiler within a limit, NumPy goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any
from weakref import WeakValueDictionary

from tensorframe.backends.base import Program
from tensorframe.backends.bound import Bound, bound
from tensorframe.backends.foreseeing import StandIns, foresee
from tensorframe.backends.host_pool import pool
from tensorframe.backends.llvm.engine import COMPILER
from tensorframe.backends.silence import silenced
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region
from tensorframe.ops.exactness import is_exact_region
from tensorframe.ops.movement import PERMUTE

# Operations on elements that NumPy does before a kernel of exact ops is compiled: it takes some 20 ms for them, LLVM as
# long for the kernel, and three times as long to be loaded.
ENOUGH = 1 << 26
# What a call of NumPy's counts for besides its elements: so many take as long as the call itself.
_OF_A_CALL = 1 << 12
# Exact ops that take NumPy many times as long as an addition, and kernels not: how many times.
SLOW = {
    "copysign": 2.0,
    "floor_divide": 20.0,
    "fmod": 40.0,
    "logical_and": 4.0,
    "logical_not": 3.0,
    "logical_or": 4.0,
    "logical_xor": 4.0,
    "nextafter": 25.0,
    "remainder": 40.0,
    "where": 10.0,
}
# The same of operands of which one lies along other axes than another: NumPy walks across the lines of one of them.
_ACROSS = 12.0
# The same of values that are added one after the other: by a scan, or where indices say.
_COMBINED = 8.0


class _Done:
    """The operations that programs of equal regions have done in NumPy: one kernel will do for all of them."""

    __slots__ = ("__weakref__", "operations")

    def __init__(self) -> None:
        self.operations = 0


# by the keys of regions; for as long as there is a program of one
_done: WeakValueDictionary[tuple[Any, ...], _Done] = WeakValueDictionary()


class CountingProgram:
    """NumPy's program of exact ops, until so much has been done that compiling pays; then that of kernels.

    What equal regions have done counts for all of them: the turns of a loop in one plan.
    """

    quiet = True  # NumPy's warnings are silenced here: kernels give none

    def __init__(
        self,
        loops: Region,
        numpy_program: Program,
        compiled: Callable[[], Program],
        scratch: Callable[[], int],
    ) -> None:
        """`loops` are what kernels would run; `compiled` returns these, or NumPy's program where LLVM does not load.

        `scratch` returns the bytes that NumPy's program takes, which plans do not count where kernels begin at once.
        """
        self._numpy = silenced(numpy_program)
        self._compiled = compiled
        self._scratch = scratch
        self._work = _work(loops)
        self._done = _done.setdefault(loops.key(), _Done())
        self._kernels: Program | None = None

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs for these inputs."""
        if self._kernels is None:
            # the first condition is in `_pays` too: few calls have it, and each saves a call here
            if self._done.operations + self._work <= ENOUGH or not self._pays():
                self._done.operations += self._work
                if self._work > ENOUGH:  # there is no room for the compiler
                    pool.budget.take(self._scratch())
                return self._numpy(inputs, buffers)
            self._kernels = self._compiled()
        return self._kernels(inputs, buffers)

    def _pays(self) -> bool:
        """Whether kernels are to run the next call; where there is no room for the compiler, some calls later."""
        if self._done.operations + self._work <= ENOUGH:
            return False
        if pool.budget.has_room(COMPILER):
            return True
        self._done.operations = -self._work
        return False

    def settled(self, *, now: bool) -> Program | None:
        """Return the program of kernels if it runs by now, or is to do so, and there is room for the compiler."""
        if self._kernels is None and now and pool.budget.has_room(COMPILER):
            self._kernels = self._compiled()
        return self._kernels

    def bind(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Bound | None:
        """Return the calls of the kernels, which are compiled for that if there is room for the compiler."""
        if self._kernels is None:
            if not pool.budget.has_room(COMPILER):
                return None
            self._kernels = self._compiled()
        return bound(self._kernels, inputs, buffers)

    def foresee(self, operands: Sequence[Any], stand_ins: StandIns) -> Sequence[Any] | None:
        """Have the kernels made if the next call runs them."""
        if self._kernels is None:
            if not self._pays():
                return None
            self._kernels = self._compiled()
        return foresee(self._kernels, operands, stand_ins)


def begins_compiled(region: Region) -> bool:
    """Whether a region runs as kernels from the first time on: NumPy has other bits, or it is long at once."""
    return not is_exact_region(region) or _work(region) > ENOUGH


def _work(loops: Region) -> int:
    """Return what a call of NumPy's counts for: see `ENOUGH`."""
    return operations(loops) + _OF_A_CALL * len(loops.ops)


def operations(region: Region) -> int:
    """Return how many operations on elements a region is.

    A reduction reads all of its operand, a scatter combines all of its values. What takes NumPy longer than an addition
    counts for several.
    """
    total, across = 0.0, _ops_across(region)
    for place, entry in enumerate(region.ops):
        shape, cost = entry.shape, weight(entry.op)
        if place in across:
            cost = max(cost, _ACROSS)
        if entry.op.kind is Kind.REDUCE:
            shape = region.shape_of(entry.inputs[0])
        elif entry.op.kind is Kind.SCATTER and entry.op.combination is not None:
            shape, cost = region.shape_of(entry.inputs[1]), _COMBINED
        total += cost * prod(shape)
    return int(total)


def _ops_across(region: Region) -> set[int]:
    """Return which ops have operands that lie along different axes, as `x.T + y` has where both are in C order."""
    across = set()
    is_turned = [False] * len(region.inputs)
    for place, entry in enumerate(region.ops):
        lying = {
            is_turned[value]
            for value in entry.inputs
            if region.shape_of(value) == entry.shape or entry.op is PERMUTE
        }
        if len(lying) > 1:
            across.add(place)
        turns = entry.op is PERMUTE and entry.attrs[0][-1] != len(entry.shape) - 1
        is_turned.append((lying == {True}) != turns)
    return across


def weight(op: Op) -> float:
    """Return how many operations an element of an op's result counts for."""
    return max(op.cost, SLOW.get(op.name, 1.0), _COMBINED if op.kind is Kind.SCAN else 1.0)


class GradualFunction:
    """NumPy's function of an exact op that it is slow at, until so much is done that compiling pays; then a kernel."""

    __slots__ = ("_compiled", "_done", "_function", "_is_compiled", "_weight")

    def __init__(
        self, op: Op, function: Callable[..., Any], compiled: Callable[[], Callable[..., Any]]
    ) -> None:
        """`compiled` returns the kernel as a ufunc, or NumPy's function where LLVM does not load."""
        self._function = function
        self._compiled = compiled
        self._weight = weight(op)
        self._done = 0.0
        self._is_compiled = False

    def __call__(self, *arrays: Any) -> Any:
        """Return the result for these operands."""
        if not self._is_compiled:
            self._done += self._weight * arrays[-1].size
            if self._done > ENOUGH:
                self._function = self._compiled()
                self._is_compiled = True
        return self._function(*arrays)
