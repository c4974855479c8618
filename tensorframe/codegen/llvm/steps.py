"""Vectorisation, found: loops whose iterations vectors can compute side by side, before anything is printed.

Elements lie next to each other, or are the same for all iterations; nothing depends on the iteration before but values
that are joined, in any order, by one op (reductions).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tensorframe.codegen.llvm.conversions import rounds_slowly
from tensorframe.dtypes import FLOAT
from tensorframe.kernel import ir
from tensorframe.kernel.ir.order import NEUTRAL
from tensorframe.kernel.ir.walk import in_order, own_expressions
from tensorframe.quick_dataclasses import dataclass, field

# ops that join values in any order, or in that of lanes: additions and products of floats have to say so
_JOINS = frozenset({"accumulate_add", "accumulate_multiply", "maximum", "minimum"})
_JOINS_INTEGERS = frozenset({"add", "multiply", "bitwise_xor", "bitwise_or", "bitwise_and"})
_JOINS_CONDITIONS = frozenset({"logical_or", "logical_and", "maximum", "minimum"})
# vector units have no such instructions
_SCALAR = frozenset({"floor_divide", "remainder"})
# ops for an element, with each of which a loop waits for memory and not for them; and so few that it does nothing else
_LIGHT, _LIGHTEST = 6, 2


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
    lightest: bool = False
    """Whether there is next to nothing to compute."""

    @property
    def has_lanes(self) -> bool:
        """Whether floats are joined in the order of lanes."""
        return any(op in NEUTRAL and variable.dtype in FLOAT for variable, op in self.joins.items())

    def step(self, root: ir.Expr) -> int | None:
        """Return by how much an expression advances."""
        for expr in in_order((root,), self.of):
            self.of[expr] = self._step(expr)
        return self.of[root]

    def _step(self, expr: ir.Expr) -> int | None:
        if expr is self.index:
            return 1
        steps = [self.of[operand] for operand in expr.operands]
        if isinstance(expr, ir.Load) and expr.buffer in self.stored:
            return None
        if not any(steps) and None not in steps:
            return 0
        if isinstance(expr, ir.Apply) and expr.dtype == ir.INDEX and expr.op in ("add", "subtract"):
            return _sum(expr.op, steps)
        return None


def _sum(op: str, steps: Sequence[int | None]) -> int | None:
    left, right = steps
    if left is None or right is None:
        return None
    total = left + right if op == "add" else left - right
    return total if total in (0, 1) else None


def steps_of(loop: ir.Loop) -> Steps | None:
    """Return the steps of a loop that vectors can compute, or None."""
    if not all(isinstance(statement, ir.Let | ir.Set | ir.Store) for statement in loop.body):
        return None
    places = {
        statement.buffer: statement.position
        for statement in loop.body
        if isinstance(statement, ir.Store)
    }
    steps = Steps(loop.index, frozenset(places))
    steps.of.update(
        (statement.variable, None) for statement in loop.body if isinstance(statement, ir.Set)
    )
    for statement in loop.body:
        for root in own_expressions(statement):
            steps.step(root)
        if isinstance(statement, ir.Let):
            steps.of[statement.variable] = steps.of[statement.value]
        elif isinstance(statement, ir.Store) and steps.of[statement.position] != 1:
            return None
    values = list(
        in_order([root for statement in loop.body for root in own_expressions(statement)], {})
    )
    if not all(_is_wide(value, steps, places) for value in values):
        return None
    if not _add_reductions(steps, loop.body):
        return None
    _measure(steps, loop.body, values)
    return steps


def _is_wide(expr: ir.Expr, steps: Steps, places: Mapping[ir.Buffer, ir.Expr]) -> bool:
    """Whether a value can be computed for neighbouring iterations at once."""
    if steps.of[expr] is not None:
        return True
    if not isinstance(expr, ir.Load):
        return not isinstance(expr, ir.Apply) or not (
            expr.op in _SCALAR or expr.op.startswith(ir.USER)
        )
    # what the loop has stored itself is read again at the same place only
    own = expr.buffer.role is not ir.Role.INPUT and expr.buffer in steps.stored
    return steps.of[expr.position] == 1 and (not own or places[expr.buffer] is expr.position)


def _measure(steps: Steps, body: Iterable[ir.Statement], values: Iterable[ir.Expr]) -> None:
    """Note how wide values are, and whether they are soon computed."""
    varying = [expr for expr in values if steps.of[expr] is None]
    stored = [statement.value for statement in body if isinstance(statement, ir.Store)]
    spread = [expr for expr in stored if steps.of[expr] is not None]
    for value in varying:
        if not isinstance(value, ir.Load):
            spread += [operand for operand in value.operands if steps.of[operand] == 1]
    steps.widest = max([expr.dtype.itemsize for expr in [*varying, *spread]], default=8)
    ops = [expr for expr in varying if isinstance(expr, ir.Apply)]
    costly = any(rounds_slowly(expr.dtype) for expr in varying) or any(map(steps.of.get, spread))
    steps.light = len(ops) <= _LIGHT and not costly
    steps.lightest = steps.light and len(ops) <= _LIGHTEST


def _add_reductions(steps: Steps, body: Iterable[ir.Statement]) -> bool:
    """Note the op of each variable that is set; whether all of them are reductions."""
    variables = {statement.variable for statement in body if isinstance(statement, ir.Set)}
    for statement in body:
        used = [value for value in in_order(own_expressions(statement), {}) if value in variables]
        if not isinstance(statement, ir.Set):
            if used:
                return False
            continue
        op = _join(statement.value, statement.variable)
        if used != [statement.variable] or op is None:
            return False
        if steps.joins.setdefault(statement.variable, op) != op:
            return False
    return True


def _join(value: ir.Expr, variable: ir.Variable) -> str | None:
    """Return the op by which alone a value is joined to a variable."""
    if not isinstance(value, ir.Apply) or not _joins_in_any_order(value):
        return None
    place = value
    while True:
        holding = [operand for operand in place.operands if variable in in_order((operand,), {})]
        if holding == [variable]:
            return value.op
        if len(holding) != 1 or not isinstance(holding[0], ir.Apply) or holding[0].op != value.op:
            return None
        place = holding[0]


def _joins_in_any_order(expr: ir.Apply) -> bool:
    if expr.dtype.kind == "b":
        return expr.op in _JOINS_CONDITIONS
    return expr.op in _JOINS or (expr.op in _JOINS_INTEGERS and expr.dtype not in FLOAT)


def innermost(body: Iterable[ir.Statement]) -> Iterator[ir.Loop]:
    """Yield the loops that have no loop inside."""
    for statement in body:
        if isinstance(statement, ir.Loop | ir.If):
            inside = list(innermost(statement.body))
            yield from inside
            if isinstance(statement, ir.Loop) and not inside:
                yield statement
