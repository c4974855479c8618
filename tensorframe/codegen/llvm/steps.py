"""Vectorisation, found: loops whose iterations vectors can compute side by side, before anything is printed.

Elements lie next to each other, or are the same for all iterations; nothing depends on the iteration before but values
that are joined, in any order, by one op (reductions).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tensorframe.codegen.llvm.conversions import rounds_slowly
from tensorframe.dtypes import FLOAT
from tensorframe.kernel import ir
from tensorframe.kernel.ir.order import NEUTRAL
from tensorframe.kernel.ir.walk import in_order, own_expressions

# ops that join values in any order, or in that of lanes: additions and products of floats have to say so
_JOINS = frozenset({"add_reassociable", "multiply_reassociable", "maximum", "minimum"})
_JOINS_INTEGERS = frozenset({"add", "multiply", "bitwise_xor", "bitwise_or", "bitwise_and"})
_JOINS_CONDITIONS = frozenset({"logical_or", "logical_and", "maximum", "minimum"})
# vector units have no such instructions
_SCALAR = frozenset({"floor_divide", "remainder"})
# ops for an element, with each of which a loop waits for memory and not for them
_LIGHT = 6


@dataclass(slots=True)
class Steps:
    """How the values of a loop's body go from one iteration to the next."""

    index: ir.Index
    stored: frozenset[ir.Buffer]
    of: dict[ir.Expr, int | None] = field(default_factory=dict)
    """0 for what stays, 1 for positions that advance by one, None for anything else."""
    joins: dict[ir.Variable, str] = field(default_factory=dict)
    """The op of each reduction."""
    widest: int = 1
    """Bytes of the largest values that differ between iterations."""
    light: bool = False
    """Whether memory is what takes the time."""

    @property
    def has_lanes(self) -> bool:
        """Whether floats are joined in the order of lanes."""
        return any(op in NEUTRAL and one.dtype in FLOAT for one, op in self.joins.items())

    def step(self, root: ir.Expr) -> int | None:
        """Return by how much an expression advances."""
        for one in in_order((root,), self.of):
            self.of[one] = self._step(one)
        return self.of[root]

    def _step(self, one: ir.Expr) -> int | None:
        if one is self.index:
            return 1
        steps = [self.of[operand] for operand in one.operands]
        if isinstance(one, ir.Load) and one.buffer in self.stored:
            return None
        if not any(steps) and None not in steps:
            return 0
        if isinstance(one, ir.Apply) and one.dtype == ir.INDEX and one.op in ("add", "subtract"):
            return _sum(one.op, steps)
        return None


def _sum(op: str, steps: Sequence[int | None]) -> int | None:
    left, right = steps
    if left is None or right is None:
        return None
    total = left + right if op == "add" else left - right
    return total if total in (0, 1) else None


def steps_of(loop: ir.Loop) -> Steps | None:
    """Return the steps of a loop that vectors can compute, or None."""
    if not all(isinstance(one, ir.Let | ir.Set | ir.Store) for one in loop.body):
        return None
    places = {one.buffer: one.position for one in loop.body if isinstance(one, ir.Store)}
    found = Steps(loop.index, frozenset(places))
    found.of.update((one.variable, None) for one in loop.body if isinstance(one, ir.Set))
    for one in loop.body:
        for root in own_expressions(one):
            found.step(root)
        if isinstance(one, ir.Let):
            found.of[one.variable] = found.of[one.value]
        elif isinstance(one, ir.Store) and found.of[one.position] != 1:
            return None
    values = list(in_order([root for one in loop.body for root in own_expressions(one)], {}))
    if not all(_is_wide(value, found, places) for value in values):
        return None
    if not _add_reductions(found, loop.body):
        return None
    _measure(found, loop.body, values)
    return found


def _is_wide(one: ir.Expr, steps: Steps, places: Mapping[ir.Buffer, ir.Expr]) -> bool:
    """Whether a value can be computed for neighbouring iterations at once."""
    if steps.of[one] is not None:
        return True
    if not isinstance(one, ir.Load):
        return not isinstance(one, ir.Apply) or not (
            one.op in _SCALAR or one.op.startswith(ir.USER)
        )
    # what the loop has stored itself is read again at the same place only
    own = one.buffer.role is not ir.Role.INPUT and one.buffer in steps.stored
    return steps.of[one.position] == 1 and (not own or places[one.buffer] is one.position)


def _measure(steps: Steps, body: Iterable[ir.Statement], values: Iterable[ir.Expr]) -> None:
    """Note how wide values are, and whether they are soon computed."""
    varying = [one for one in values if steps.of[one] is None]
    stored = [one.value for one in body if isinstance(one, ir.Store)]
    spread = [one for one in stored if steps.of[one] is not None]
    for value in varying:
        if not isinstance(value, ir.Load):
            spread += [one for one in value.operands if steps.of[one] == 1]
    steps.widest = max([one.dtype.itemsize for one in [*varying, *spread]], default=8)
    ops = [one for one in varying if isinstance(one, ir.Apply)]
    costly = any(rounds_slowly(one.dtype) for one in varying) or any(map(steps.of.get, spread))
    steps.light = len(ops) <= _LIGHT and not costly


def _add_reductions(steps: Steps, body: Iterable[ir.Statement]) -> bool:
    """Note the op of each variable that is set; whether all of them are reductions."""
    variables = {one.variable for one in body if isinstance(one, ir.Set)}
    for one in body:
        used = [value for value in in_order(own_expressions(one), {}) if value in variables]
        if not isinstance(one, ir.Set):
            if used:
                return False
            continue
        op = _join(one.value, one.variable)
        if used != [one.variable] or op is None:
            return False
        if steps.joins.setdefault(one.variable, op) != op:
            return False
    return True


def _join(value: ir.Expr, variable: ir.Variable) -> str | None:
    """Return the op by which alone a value is joined to a variable."""
    if not isinstance(value, ir.Apply) or not _joins_in_any_order(value):
        return None
    place = value
    while True:
        holding = [one for one in place.operands if variable in in_order((one,), {})]
        if holding == [variable]:
            return value.op
        if len(holding) != 1 or not isinstance(holding[0], ir.Apply) or holding[0].op != value.op:
            return None
        place = holding[0]


def _joins_in_any_order(one: ir.Apply) -> bool:
    if one.dtype.kind == "b":
        return one.op in _JOINS_CONDITIONS
    return one.op in _JOINS or (one.op in _JOINS_INTEGERS and one.dtype not in FLOAT)


def innermost(body: Iterable[ir.Statement]) -> Iterator[ir.Loop]:
    """Yield the loops that have no loop inside."""
    for one in body:
        if isinstance(one, ir.Loop | ir.If):
            inside = list(innermost(one.body))
            yield from inside
            if isinstance(one, ir.Loop) and not inside:
                yield one
