"""Common subexpression naming and loop-invariant code motion: shared values get names, as far outside as possible.

Builders write expressions where they need them. Here each one that is used more than once, or that does not change in
an inner loop, becomes a `Let` in the outermost block where all it needs is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import (
    changed_variables,
    expressions,
    in_order,
    own_expressions,
    substituted,
    with_own_expressions,
)

# Nested calls that are still easy to read on one line.
_DEEP = 4


def name_values(statements: Iterable[ir.Statement]) -> tuple[ir.Statement, ...]:
    """Return statements of the same meaning in which values have names where they are shared or hoisted."""
    return _Namer().block(tuple(statements), frozenset(), {})


class _Namer:
    def __init__(self) -> None:
        self._numbers = count()
        self._needs: dict[ir.Expr, frozenset[ir.Expr]] = {}
        self._loaded: dict[ir.Expr, frozenset[ir.Buffer]] = {}
        self._stored: dict[ir.Expr, frozenset[ir.Buffer]] = {}

    def block(
        self,
        statements: tuple[ir.Statement, ...],
        scope: frozenset[ir.Expr],
        names: dict[ir.Expr, ir.Expr],
    ) -> tuple[ir.Statement, ...]:
        """Name the values of a block whose loops and accumulators so far are in `scope`."""
        names = dict(names)
        done: list[ir.Statement] = []
        roots, _ = expressions(statements)
        order = in_order(roots, names)
        stays = self._staying(order, statements)
        uses = Counter({value: n for value, n in _uses(roots, order).items() if value in stays})
        for statement in statements:
            if isinstance(statement, ir.Combine):
                self._drop(statement.variable, names)
            worth = self._worth_naming(statement, scope, names, uses)
            done += [self._let(value, names) for value in worth]
            done.append(self._renamed(statement, scope, names))
            for value in [value for value in worth if value not in stays]:
                del names[value]  # the next statement may find something else there
            if changed_here := changed_variables(statement):
                scope |= {*changed_here}
                for changed in changed_here:
                    self._drop(changed, names)
            elif isinstance(statement, ir.Loop | ir.If):
                for changed in _accumulated(statement):
                    self._drop(changed, names)
                scope |= _accumulated(
                    statement
                )  # what both sides of a choice set is there afterwards
        return tuple(done)

    def _let(self, value: ir.Expr, names: dict[ir.Expr, ir.Expr]) -> ir.Let:
        name = ir.variable(f"t{next(self._numbers)}", value.dtype)
        made = ir.Let(name, substituted(value, names))
        names[value] = name
        return made

    def _drop(self, changed: ir.Variable, names: dict[ir.Expr, ir.Expr]) -> None:
        """Forget names of values that an accumulator has changed since."""
        for value in [name for name in names if changed in self.needs(name)]:
            del names[value]

    def _renamed(
        self, statement: ir.Statement, scope: frozenset[ir.Expr], names: dict[ir.Expr, ir.Expr]
    ) -> ir.Statement:
        made = with_own_expressions(statement, lambda root: substituted(root, names))
        if isinstance(made, ir.Loop):
            return replace(made, body=self.block(made.body, scope | {made.index}, names))
        if isinstance(made, ir.If):
            return replace(made, body=self.block(made.body, scope, names))
        return made

    def needs(self, value: ir.Expr) -> frozenset[ir.Expr]:
        """Return the loop indices and accumulators that a value depends on."""
        if value not in self._needs:
            for expr in in_order((value,), self._needs):
                is_own = isinstance(expr, ir.Index | ir.Variable)
                operands = [self._needs[operand] for operand in expr.operands]
                self._needs[expr] = frozenset((expr,) if is_own else ()).union(*operands)
        return self._needs[value]

    def _staying(self, values: Iterable[ir.Expr], block: Sequence[ir.Statement]) -> set[ir.Expr]:
        """Return the values that a block's statements leave as they are: none stores to where they are loaded from."""
        if not all(isinstance(statement, ir.Set | ir.Store) for statement in block):
            return {value for value in values if not self._changing(value)}
        stored = {statement.buffer for statement in block if isinstance(statement, ir.Store)}
        return {value for value in values if stored.isdisjoint(self._changing(value))}

    def _buffers(self, value: ir.Expr) -> frozenset[ir.Buffer]:
        """Return the buffers that a value is loaded from."""
        if value not in self._loaded:
            for expr in in_order((value,), self._loaded):
                own = (expr.buffer,) if isinstance(expr, ir.Load) else ()
                operands = [self._loaded[operand] for operand in expr.operands]
                self._loaded[expr] = frozenset(own).union(*operands)
        return self._loaded[value]

    def _changing(self, value: ir.Expr) -> frozenset[ir.Buffer]:
        """Return the buffers that a value is loaded from, and that a store may change."""
        if value not in self._stored:
            loaded = self._buffers(value)
            self._stored[value] = frozenset([x for x in loaded if x.role is not ir.Role.INPUT])
        return self._stored[value]

    def _worth_naming(
        self,
        statement: ir.Statement,
        scope: frozenset[ir.Expr],
        names: dict[ir.Expr, ir.Expr],
        in_block: Counter[ir.Expr],
    ) -> list[ir.Expr]:
        """Return values to name before a statement: what its loops do not change, and what the block uses twice."""
        if isinstance(statement, ir.Loop | ir.If):
            inner, _ = expressions(statement.body)
            changing = {*_accumulated(statement), *_indices(statement)}
            roots = [*inner, *own_expressions(statement)]
        else:
            # threads join in several steps: what is made of the accumulator is another value in each
            roots = list(own_expressions(statement))
            changing = {statement.variable} if isinstance(statement, ir.Combine) else set()
        order = in_order(roots, names)
        ready: set[ir.Expr] = {
            value
            for value in order
            if isinstance(value, ir.Apply | ir.Load)
            and self._is_ready(value, statement, scope, changing)
        }
        if isinstance(statement, ir.Loop | ir.If):
            wanted = {
                operand
                for value in order
                if value not in ready
                for operand in value.operands
                if operand in ready
            }
            wanted.update(root for root in inner if root in ready)
            if _chooses(statement):  # what a choice guards may not be there otherwise
                always = frozenset(in_order(list(_unguarded(statement)), {}))
                wanted = {value for value in wanted if value in always or not self._buffers(value)}
            # names are given for these and, again, for what they share
            order = in_order([value for value in order if value in wanted], names)
            uses = Counter(operand for value in order for operand in value.operands)
            return self._shared_or_deep(order, uses, ready, wanted)
        # what is in memory is loaded before anything of the block is stored: it may be stored to the same place
        uses = _uses(roots, order)
        uses |= Counter({each: in_block[each] for each in order})
        if isinstance(statement, ir.Set) and uses[statement.value] == 1:
            ready.discard(
                statement.value
            )  # it has a name already, and what joins is looked for there
        return self._shared_or_deep(order, uses, ready, set())

    def _is_ready(
        self,
        value: ir.Expr,
        statement: ir.Statement,
        scope: frozenset[ir.Expr],
        changing: set[ir.Expr],
    ) -> bool:
        if memory := self._changing(value):
            if not isinstance(statement, ir.Loop | ir.If):
                return True
            if not _leaves(statement, memory):
                return False
        needed = self.needs(value)
        return needed <= scope and not needed & changing

    def _shared_or_deep(
        self,
        order: Sequence[ir.Expr],
        uses: Counter[ir.Expr],
        ready: set[ir.Expr],
        wanted: set[ir.Expr],
    ) -> list[ir.Expr]:
        """Return what is wanted, or ready to be named and used twice or deeply nested; operands first."""
        depth: dict[ir.Expr, int] = {}
        chosen = []
        for value in order:
            depth[value] = 1 + max(
                [depth.get(operand, 0) for operand in value.operands], default=-1
            )
            shared = value in ready and (uses[value] > 1 or depth[value] > _DEEP)
            if shared or value in wanted:
                chosen.append(value)
                depth[value] = 0
        return chosen


def _leaves(statement: ir.Statement, memory: frozenset[ir.Buffer]) -> bool:
    """Whether a statement leaves memory of a group as it is, and waits for nobody who may have changed it."""
    if any(buffer.role is not ir.Role.SHARED for buffer in memory):
        return False
    if isinstance(statement, ir.Loop | ir.If):
        return all(_leaves(inner, memory) for inner in statement.body)
    if isinstance(statement, ir.Store | ir.CopyNeighbours):
        return statement.buffer not in memory
    return not isinstance(statement, ir.Barrier | ir.Combine)


def _chooses(statement: ir.Statement) -> bool:
    """Whether a statement is a choice, or a loop around one."""
    if isinstance(statement, ir.Loop):
        return any(map(_chooses, statement.body))
    return isinstance(statement, ir.If)


def _unguarded(statement: ir.Statement) -> Iterator[ir.Expr]:
    """Yield the expressions that a loop or a choice evaluates whatever the choices in it are."""
    yield from own_expressions(statement)
    if isinstance(statement, ir.Loop):
        for inner in statement.body:
            yield from _unguarded(inner)


def _uses(roots: Iterable[ir.Expr], order: Iterable[ir.Expr]) -> Counter[ir.Expr]:
    """Return how often each value is an operand or a root."""
    uses = Counter(operand for value in order for operand in value.operands)
    uses.update(roots)
    return uses


def _accumulated(statement: ir.Statement) -> set[ir.Variable]:
    """Return the accumulators that a loop changes."""
    if changed := changed_variables(statement):
        return {*changed}
    if isinstance(statement, ir.Loop | ir.If):
        return set[ir.Variable]().union(*[_accumulated(inner) for inner in statement.body])
    return set()


def _indices(statement: ir.Statement) -> set[ir.Index]:
    if isinstance(statement, ir.Loop):
        return {statement.index}.union(*[_indices(inner) for inner in statement.body])
    if isinstance(statement, ir.If):
        return set[ir.Index]().union(*[_indices(inner) for inner in statement.body])
    return set()
