"""Printers: what every dialect that is made of lines of text says, in its own words, of each kind of the kernel IR.

LLVM's is none of these (`llvm/`): its statements are no lines, but change which value a variable is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from tensorframe.dtypes import DType
from tensorframe.kernel import ir


class Expressions(ABC):
    """Prints expressions."""

    def text(self, expr: ir.Expr) -> str:
        """Return an expression in the words of the dialect."""
        if isinstance(expr, ir.Literal):
            return self.literal(expr)
        if isinstance(expr, ir.Argument | ir.Index | ir.Variable):
            return self.name(expr.name)
        if isinstance(expr, ir.Load):
            return self.load(expr)
        assert isinstance(expr, ir.Apply)
        return self.apply(expr, [self.text(operand) for operand in expr.arguments])

    def name(self, name: str) -> str:
        """Return what the dialect calls what has this name: not all of them allow any name."""
        return name

    @abstractmethod
    def literal(self, literal: ir.Literal) -> str:
        """Return a number."""

    @abstractmethod
    def load(self, load: ir.Load) -> str:
        """Return an element of a buffer, as it is held."""

    @abstractmethod
    def apply(self, expr: ir.Apply, operands: list[str]) -> str:
        """Return a machine op on printed operands."""


class Statements(ABC):
    """Prints statements as lines. What only some dialects have, the others refuse."""

    @abstractmethod
    def text(self, expr: ir.Expr) -> str:
        """Return an expression in the words of the dialect."""

    def block(self, body: Iterable[ir.Statement]) -> list[str]:
        """Return the lines of statements."""
        return [line for statement in body for line in self.statement(statement)]

    def statement(self, statement: ir.Statement) -> list[str]:
        """Return the lines of a statement."""
        if isinstance(statement, ir.Let):
            return self.let(statement)
        if isinstance(statement, ir.Set):
            return self.set(statement)
        if isinstance(statement, ir.Store):
            return self.store(statement)
        if isinstance(statement, ir.Loop):
            return self.loop(statement)
        if isinstance(statement, ir.If):
            return self.choice(statement)
        if isinstance(statement, ir.Allocate):
            return self.allocate(statement)
        if isinstance(statement, ir.Combine):
            return self.combine(statement)
        if isinstance(statement, ir.Barrier):
            return self.wait(statement)
        if isinstance(statement, ir.CopyNeighbours):
            return self.copy(statement)
        if isinstance(statement, ir.ReadNeighbours):
            return self.read(statement)
        if isinstance(statement, ir.MultiplyTiles):
            return self.multiply(statement)
        return (
            self.stream(statement)
            if isinstance(statement, ir.StreamingStore)
            else self.fetch(statement)
        )

    @abstractmethod
    def let(self, let: ir.Let) -> list[str]:
        """Return the lines that name a value."""

    @abstractmethod
    def set(self, assignment: ir.Set) -> list[str]:
        """Return the lines that change a variable."""

    @abstractmethod
    def store(self, store: ir.Store) -> list[str]:
        """Return the lines that write an element."""

    @abstractmethod
    def loop(self, loop: ir.Loop) -> list[str]:
        """Return the lines of a loop."""

    @abstractmethod
    def choice(self, branch: ir.If) -> list[str]:
        """Return the lines of what runs only where a condition holds."""

    @abstractmethod
    def allocate(self, allocation: ir.Allocate) -> list[str]:
        """Return the lines that make memory, here or before all else."""

    def combine(self, combination: ir.Combine) -> list[str]:
        """Return the lines that join the values of a group's threads."""
        raise self._refusal(combination)

    def wait(self, _one: ir.Barrier) -> list[str]:
        """Return the lines at which a group's threads wait for each other."""
        raise self._refusal(_one)

    def copy(self, copy: ir.CopyNeighbours) -> list[str]:
        """Return the lines that copy neighbouring elements to shared memory."""
        raise self._refusal(copy)

    def read(self, read: ir.ReadNeighbours) -> list[str]:
        """Return the lines that read neighbouring elements into variables."""
        raise self._refusal(read)

    def multiply(self, product: ir.MultiplyTiles) -> list[str]:
        """Return the lines by which warps add products of tiles to what their threads have."""
        raise self._refusal(product)

    def stream(self, store: ir.StreamingStore) -> list[str]:
        """Return the lines that write past the caches."""
        raise self._refusal(store)

    def fetch(self, prefetch: ir.Prefetch) -> list[str]:
        """Return the lines that say what is read soon."""
        raise self._refusal(prefetch)

    def _refusal(self, statement: ir.Statement) -> TypeError:
        return TypeError(f"{type(self).__module__} has no {type(statement).__name__}")


class Braces(Expressions, Statements):
    """Prints kernels of work-groups in a language with braces, whose threads share memory."""

    lane: str  # the number of a thread in its group

    def __init__(self, kernel: ir.Kernel) -> None:
        self.kernel = kernel
        self.declared: dict[str, str] = {}  # accumulators: name -> type
        self.shared: dict[str, str] = {}  # memory of a group: name -> declaration

    @property
    @abstractmethod
    def barrier(self) -> str:
        """The statement at which threads wait for each other."""

    @abstractmethod
    def type(self, dtype: DType) -> str:
        """Return the type that values are held in."""

    @abstractmethod
    def head(self, loop: ir.Loop) -> str:
        """Return what a loop begins with, up to its brace."""

    @abstractmethod
    def share(self, buffer: ir.Buffer, count: ir.Expr | int) -> None:
        """Declare memory of a group."""

    def set(self, assignment: ir.Set) -> list[str]:
        """Return an assignment; variables are declared before all else."""
        name = self.name(assignment.variable.name)
        self.declared[name] = self.type(assignment.variable.dtype)
        return [f"{name} = {self.text(assignment.value)};"]

    def loop(self, loop: ir.Loop) -> list[str]:
        """Return a loop."""
        return [f"{self.head(loop)} {{", *indented(self.block(loop.body)), "}"]

    def choice(self, branch: ir.If) -> list[str]:
        """Return a choice."""
        inner = indented(self.block(branch.body))
        return [f"if ({self.text(branch.condition)}) {{", *inner, "}"]

    def allocate(self, allocation: ir.Allocate) -> list[str]:
        """Declare memory of the group."""
        self.share(allocation.buffer, allocation.count)
        return []

    def wait(self, _one: ir.Barrier) -> list[str]:
        """Return a barrier."""
        return [self.barrier]


def indented(lines: Sequence[str]) -> list[str]:
    """Return the lines of an inner block."""
    return [f"    {line}" for line in lines]
