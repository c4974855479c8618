"""Neighbours: which accesses of a loop are to elements side by side, in iterations that follow each other.

The position is the number of the iteration, or, in rows of `n` elements, `row * stride + iteration % n`: then so many
iterations stay in one row, and begin at a multiple of their number, where `n` and the stride are multiples of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import (
    copied_inputs,
    expressions,
    in_order,
    own_expressions,
    substituted,
)
from tensorframe.quick_tuples import NamedTuple


class Run(NamedTuple):
    """An access to neighbours: of which buffer, where it is in the loop's text, and where the first neighbour is.

    `multiples` are numbers that have to be multiples of the number of neighbours.
    """

    buffer: ir.Buffer
    position: ir.Expr
    first: ir.Expr
    multiples: tuple[ir.Expr, ...]


class Wide(NamedTuple):
    """A loop that takes several iterations at once, and what these access side by side.

    `first` is the first of them in a loop over the grid; a loop in other loops has no more iterations than its width.
    `is_repeated` says that a thread may come by several times.
    """

    runs: list[Run]
    first: ir.Index | None
    is_repeated: bool = False


def wide_loops(kernel: ir.Kernel) -> dict[ir.Loop, Wide]:
    """Return the loops of a kernel that have a width; of those over the grid, the ones that have runs."""
    loops: dict[ir.Loop, Wide] = {}
    names: dict[ir.Expr, ir.Expr] = {}  # positions that have names

    def look(statements: Iterable[ir.Statement], *, repeated: bool = False) -> None:
        for statement in statements:
            if isinstance(statement, ir.Let):
                value = substituted(statement.value, names)
                if _is_position(value):
                    names[statement.variable] = value
            elif isinstance(statement, ir.Loop):
                wide = _wide(statement, names) if statement.width > 1 else None
                if wide is None:
                    alone = statement.over is ir.ParallelAxis.NOTHING
                    look(statement.body, repeated=repeated or alone)
                else:
                    loops[statement] = wide._replace(is_repeated=repeated)
            elif isinstance(statement, ir.If):
                look(statement.body, repeated=repeated)

    look(kernel.body)
    return loops


def reads_at_once(kernel: ir.Kernel) -> dict[ir.ReadNeighbours, Sequence[ir.Argument]]:
    """Return the statements that read several elements, and the steps by which all of them begin with a vector."""
    reads: dict[ir.ReadNeighbours, Sequence[ir.Argument]] = {}
    names: dict[ir.Expr, ir.Expr] = {}

    def look(statements: Iterable[ir.Statement]) -> None:
        for statement in statements:
            if isinstance(statement, ir.Let):
                names[statement.variable] = substituted(statement.value, names)
            elif isinstance(statement, ir.ReadNeighbours):
                factors = map(_factor, _terms(substituted(statement.position, names)))
                reads[statement] = [each for each in factors if isinstance(each, ir.Argument)]
            elif isinstance(statement, ir.Loop | ir.If):
                look(statement.body)

    if copied_inputs(kernel.body):  # few kernels read so, and names of many are long
        look(kernel.body)
    return reads


def _wide(loop: ir.Loop, names: Mapping[ir.Expr, ir.Expr]) -> Wide | None:
    innermost = not any(isinstance(statement, ir.Loop) for statement in loop.body)
    if loop.over is ir.ParallelAxis.NOTHING and innermost:
        return Wide(_inner_runs_of(loop, names), None)
    first = ir.index("first", loop.index.dtype)
    runs = _runs_of(loop, first) if loop.over is ir.ParallelAxis.GRID else []
    return Wide(runs, first) if runs else None


def _runs_of(loop: ir.Loop, first: ir.Index) -> list[Run]:
    """Return the accesses to neighbours, `first` being the first iteration; none where only some iterations write.

    They are those of a loop over the grid, whose positions are known before it.
    """
    runs = []
    for buffer, position, whole in _accesses(loop):
        parts = in_order((whole,), ())
        if any(isinstance(part, ir.Variable | ir.Load) for part in parts):
            continue  # what an iteration finds out, as by a tensor of indices, is not known before it
        multiples = _multiples(whole, loop.index)
        if multiples is not None:
            runs.append(Run(buffer, position, substituted(whole, {loop.index: first}), multiples))
    return runs


def _inner_runs_of(loop: ir.Loop, names: Mapping[ir.Expr, ir.Expr]) -> list[Run]:
    """Return the accesses to neighbours of a loop in other loops, from its first iteration on.

    `names` are those given outside of it to what is made of indices and numbers.
    """
    changing = _changed_in(loop.body)
    first: dict[ir.Expr, ir.Expr] = {loop.index: ir.literal(0, loop.index.dtype)}
    runs = []
    for buffer, position, whole in _accesses(loop):
        parts = in_order((whole,), ())
        if any(part in changing or _may_change(part) for part in parts):
            continue
        multiples = _multiples(substituted(whole, names), loop.index)
        if multiples is not None:
            runs.append(Run(buffer, position, substituted(whole, first), multiples))
    return runs


def _is_position(value: ir.Expr) -> bool:
    """Whether a value is made of indices and numbers alone, so that it stays what it is."""
    return not any(isinstance(part, ir.Variable | ir.Load) for part in in_order((value,), ()))


def _may_change(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Load) and expr.buffer.role is not ir.Role.INPUT


def _changed_in(body: Iterable[ir.Statement]) -> set[ir.Expr]:
    """Return the variables that statements change or name."""
    changed: set[ir.Expr] = set()
    for statement in body:
        if isinstance(statement, ir.Set | ir.Let):
            changed.add(statement.variable)
        elif isinstance(statement, ir.Loop | ir.If):
            changed |= _changed_in(statement.body)
    return changed


def _accesses(loop: ir.Loop) -> list[tuple[ir.Buffer, ir.Expr, ir.Expr]]:
    """Return what every iteration accesses in memory, where in its text, and where without the names of its body.

    What only some of them load may not be there for the others.
    """
    _, stores = expressions(loop.body)
    if any(store not in loop.body for store in stores):
        return []
    always = [statement for statement in loop.body if not isinstance(statement, ir.Loop | ir.If)]
    roots = [root for statement in always for root in own_expressions(statement)]
    accesses = [
        (expr.buffer, expr.position) for expr in in_order(roots, ()) if isinstance(expr, ir.Load)
    ]
    accesses += [(store.buffer, store.position) for store in stores]
    names = _named_values(loop)
    return [
        (buffer, position, substituted(position, names))
        for buffer, position in dict.fromkeys(accesses)
        if buffer.role in (ir.Role.INPUT, ir.Role.OUTPUT)
    ]


def _named_values(loop: ir.Loop) -> dict[ir.Expr, ir.Expr]:
    """Return what the names of a loop's body stand for, without other names."""
    values: dict[ir.Expr, ir.Expr] = {}
    for statement in loop.body:
        if isinstance(statement, ir.Let):
            values[statement.variable] = substituted(statement.value, values)
    return values


def _multiples(position: ir.Expr, index: ir.Index) -> tuple[ir.Expr, ...] | None:
    """Return what has to be multiples of the number of neighbours, where these are side by side; None elsewhere."""
    terms = _terms(position)
    along = [term for term in terms if term is index or _is_call(term, "remainder", index)]
    if len(along) != 1:
        return None
    rest = [term for term in terms if term is not along[0]]
    if along[0] is index:
        rows: Mapping[ir.Expr, ir.Expr] = {}
        needed: list[ir.Expr] = []
    else:
        length = along[0].operands[1]
        # all neighbours are in one row, whose number says nothing of the iteration any more
        row = ir.apply("floor_divide", index, length)
        rows, needed = {row: ir.argument("row")}, [length]
    for term in rest:
        factor = _factor(term)
        # the number of a row alone is no multiple of anything: in windows of a vector rows begin everywhere
        if index in in_order((substituted(term, rows), factor), ()):
            return None
        needed.append(factor)
    return tuple(needed)


def _terms(position: ir.Expr) -> Sequence[ir.Expr]:
    if isinstance(position, ir.Apply) and position.op == "add":
        return [term for operand in position.operands for term in _terms(operand)]
    return [position]


def _factor(term: ir.Expr) -> ir.Expr:
    """Return a number that a term is a multiple of."""
    if isinstance(term, ir.Apply) and term.op == "multiply":
        return next((x for x in term.operands if isinstance(x, ir.Argument | ir.Literal)), term)
    return term


def _is_call(expr: ir.Expr, op: str, *operands: ir.Expr) -> bool:
    return (
        isinstance(expr, ir.Apply) and expr.op == op and expr.operands[: len(operands)] == operands
    )
