"""Common subexpression naming and loop-invariant code motion: shared values get names, as far outside as possible.

Builders write expressions where they need them. Here each one that is used more than once, or that does not change in
an inner loop, becomes a `Let` in the outermost block where all it needs is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count

from tensorframe.kernel.ir import (
    Apply,
    Combine,
    Expr,
    If,
    Index,
    Let,
    Load,
    Loop,
    Role,
    Set,
    Statement,
    Store,
    Variable,
    variable,
)
from tensorframe.kernel.ir.walk import (
    expressions,
    in_order,
    own_expressions,
    substituted,
    with_own_expressions,
)

# Nested calls that are still easy to read on one line.
_DEEP = 4


def name_values(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Return statements of the same meaning in which values have names where they are shared or hoisted."""
    return _Namer().block(tuple(statements), frozenset(), {})


class _Namer:
    def __init__(self) -> None:
        self._numbers = count()
        self._needs: dict[Expr, frozenset[Expr] | None] = {}

    def block(
        self, statements: tuple[Statement, ...], scope: frozenset[Expr], names: dict[Expr, Expr]
    ) -> tuple[Statement, ...]:
        """Name the values of a block whose loops and accumulators so far are in `scope`."""
        names = dict(names)
        done: list[Statement] = []
        roots, _ = expressions(statements)
        order = in_order(roots, names)
        stays = {value for value in order if self._stays(value, statements)}
        uses = Counter({value: n for value, n in _uses(roots, order).items() if value in stays})
        for one in statements:
            if isinstance(one, Combine):
                self._drop(one.variable, names)
            worth = self._worth_naming(one, scope, names, uses)
            done += [self._let(value, names) for value in worth]
            done.append(self._renamed(one, scope, names))
            for value in [value for value in worth if value not in stays]:
                del names[value]  # the next statement may find something else there
            if isinstance(one, Set | Combine):
                scope |= {one.variable}
                self._drop(one.variable, names)
            elif isinstance(one, Loop | If):
                for changed in _accumulated(one):
                    self._drop(changed, names)
                scope |= _accumulated(one)  # what both sides of a choice set is there afterwards
        return tuple(done)

    def _let(self, value: Expr, names: dict[Expr, Expr]) -> Let:
        name = variable(f"t{next(self._numbers)}", value.dtype)
        made = Let(name, substituted(value, names))
        names[value] = name
        return made

    def _drop(self, changed: Variable, names: dict[Expr, Expr]) -> None:
        """Forget names of values that an accumulator has changed since."""
        for value in [one for one in names if changed in (self.needs(one) or ())]:
            del names[value]

    def _renamed(
        self, one: Statement, scope: frozenset[Expr], names: dict[Expr, Expr]
    ) -> Statement:
        made = with_own_expressions(one, lambda root: substituted(root, names))
        if isinstance(made, Loop):
            return replace(made, body=self.block(made.body, scope | {made.index}, names))
        if isinstance(made, If):
            return replace(made, body=self.block(made.body, scope, names))
        return made

    def needs(self, value: Expr) -> frozenset[Expr] | None:
        """Return the loop indices and accumulators that a value depends on; None if it may change at any store."""
        if value not in self._needs:
            for one in in_order((value,), self._needs):
                self._needs[one] = self._needs_of(one)
        return self._needs[value]

    def _needs_of(self, one: Expr) -> frozenset[Expr] | None:
        if isinstance(one, Index | Variable):
            return frozenset((one,))
        if isinstance(one, Load) and one.buffer.role is not Role.INPUT:
            return None
        found: frozenset[Expr] = frozenset()
        for operand in one.operands:
            needed = self._needs[operand]
            if needed is None:
                return None
            found |= needed
        return found

    def _stays(self, value: Expr, block: Sequence[Statement]) -> bool:
        """Whether the statements of a block do not change a value: none stores to memory that it is loaded from."""
        if self.needs(value) is not None:
            return True
        if not all(isinstance(one, Set | Store) for one in block):
            return False
        stored = {one.buffer for one in block if isinstance(one, Store)}
        loads = [one for one in in_order((value,), {}) if isinstance(one, Load)]
        return stored.isdisjoint([one.buffer for one in loads])

    def _worth_naming(
        self,
        one: Statement,
        scope: frozenset[Expr],
        names: dict[Expr, Expr],
        in_block: Counter[Expr],
    ) -> list[Expr]:
        """Return values to name before a statement: what its loops do not change, and what the block uses twice."""
        if isinstance(one, Loop | If):
            inner, _ = expressions(one.body)
            changing = {*_accumulated(one), *_indices(one)}
            roots = [*inner, *own_expressions(one)]
        else:
            # threads join in several steps: what is made of the accumulator is another value in each
            roots = list(own_expressions(one))
            changing = {one.variable} if isinstance(one, Combine) else set()
        order = in_order(roots, names)
        ready: set[Expr] = {
            value
            for value in order
            if isinstance(value, Apply | Load) and self._is_ready(value, one, scope, changing)
        }
        if isinstance(one, Loop | If):
            wanted = {
                operand
                for value in order
                if value not in ready
                for operand in value.operands
                if operand in ready
            }
            wanted.update(root for root in inner if root in ready)
            if isinstance(one, If):  # what it guards may not be there otherwise
                wanted = {value for value in wanted if not _loads(value)}
            # names are given for these and, again, for what they share
            order = in_order([value for value in order if value in wanted], names)
            uses = Counter(operand for value in order for operand in value.operands)
            return self._shared_or_deep(order, uses, ready, wanted)
        # what is in memory is loaded before anything of the block is stored: it may be stored to the same place
        uses = _uses(roots, order)
        uses |= Counter({one: in_block[one] for one in order})
        if isinstance(one, Set) and uses[one.value] == 1:
            ready.discard(one.value)  # it has a name already, and what joins is looked for there
        return self._shared_or_deep(order, uses, ready, set())

    def _is_ready(
        self, value: Expr, one: Statement, scope: frozenset[Expr], changing: set[Expr]
    ) -> bool:
        needed = self.needs(value)
        if needed is None:
            return not isinstance(one, Loop | If)
        return needed <= scope and not needed & changing

    def _shared_or_deep(
        self,
        order: Sequence[Expr],
        uses: Counter[Expr],
        ready: set[Expr],
        wanted: set[Expr],
    ) -> list[Expr]:
        """Return what is wanted, or ready to be named and used twice or deeply nested; operands first."""
        depth: dict[Expr, int] = {}
        found = []
        for value in order:
            depth[value] = 1 + max([depth.get(one, 0) for one in value.operands], default=-1)
            shared = value in ready and (uses[value] > 1 or depth[value] > _DEEP)
            if shared or value in wanted:
                found.append(value)
                depth[value] = 0
        return found


def _uses(roots: Iterable[Expr], order: Iterable[Expr]) -> Counter[Expr]:
    """Return how often each value is an operand or a root."""
    uses = Counter(operand for value in order for operand in value.operands)
    uses.update(roots)
    return uses


def _loads(value: Expr) -> bool:
    return any(isinstance(one, Load) for one in in_order((value,), {}))


def _accumulated(one: Statement) -> set[Variable]:
    """Return the accumulators that a loop changes."""
    if isinstance(one, Set | Combine):
        return {one.variable}
    if isinstance(one, Loop | If):
        return set[Variable]().union(*[_accumulated(inner) for inner in one.body])
    return set()


def _indices(one: Statement) -> set[Index]:
    if isinstance(one, Loop):
        return {one.index}.union(*[_indices(inner) for inner in one.body])
    if isinstance(one, If):
        return set[Index]().union(*[_indices(inner) for inner in one.body])
    return set()
