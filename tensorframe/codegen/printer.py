"""Printers: what every dialect that is made of lines of text says, in its own words, of each kind of the kernel IR.

LLVM's is none of these (`llvm/`): its statements are no lines, but change which value a variable is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from tensorframe.dtypes import DType
from tensorframe.kernel.ir import (
    Allocate,
    Apply,
    Argument,
    Barrier,
    Buffer,
    Combine,
    Expr,
    If,
    Index,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Prefetch,
    Role,
    Set,
    Statement,
    Store,
    StreamingStore,
    Variable,
)


class Expressions(ABC):
    """Prints expressions."""

    def text(self, one: Expr) -> str:
        """Return an expression in the words of the dialect."""
        if isinstance(one, Literal):
            return self.literal(one)
        if isinstance(one, Argument | Index | Variable):
            return self.name(one.name)
        if isinstance(one, Load):
            return self.load(one)
        assert isinstance(one, Apply)
        return self.apply(one, [self.text(operand) for operand in one.arguments])

    def name(self, name: str) -> str:
        """Return what the dialect calls what has this name: not all of them allow any name."""
        return name

    @abstractmethod
    def literal(self, one: Literal) -> str:
        """Return a number."""

    @abstractmethod
    def load(self, one: Load) -> str:
        """Return an element of a buffer, as it is held."""

    @abstractmethod
    def apply(self, one: Apply, operands: list[str]) -> str:
        """Return a machine op on printed operands."""


class Statements(ABC):
    """Prints statements as lines. What only some dialects have, the others refuse."""

    @abstractmethod
    def text(self, one: Expr) -> str:
        """Return an expression in the words of the dialect."""

    def block(self, body: Iterable[Statement]) -> list[str]:
        """Return the lines of statements."""
        return [line for one in body for line in self.statement(one)]

    def statement(self, one: Statement) -> list[str]:
        """Return the lines of a statement."""
        if isinstance(one, Let):
            return self.let(one)
        if isinstance(one, Set):
            return self.set(one)
        if isinstance(one, Store):
            return self.store(one)
        if isinstance(one, Loop):
            return self.loop(one)
        if isinstance(one, If):
            return self.choice(one)
        if isinstance(one, Allocate):
            return self.allocate(one)
        if isinstance(one, Combine):
            return self.combine(one)
        if isinstance(one, Barrier):
            return self.wait(one)
        return self.stream(one) if isinstance(one, StreamingStore) else self.fetch(one)

    @abstractmethod
    def let(self, one: Let) -> list[str]:
        """Return the lines that name a value."""

    @abstractmethod
    def set(self, one: Set) -> list[str]:
        """Return the lines that change a variable."""

    @abstractmethod
    def store(self, one: Store) -> list[str]:
        """Return the lines that write an element."""

    @abstractmethod
    def loop(self, one: Loop) -> list[str]:
        """Return the lines of a loop."""

    @abstractmethod
    def choice(self, one: If) -> list[str]:
        """Return the lines of what runs only where a condition holds."""

    @abstractmethod
    def allocate(self, one: Allocate) -> list[str]:
        """Return the lines that make memory, here or before all else."""

    def combine(self, one: Combine) -> list[str]:
        """Return the lines that join the values of a group's threads."""
        raise self._refusal(one)

    def wait(self, _one: Barrier) -> list[str]:
        """Return the lines at which a group's threads wait for each other."""
        raise self._refusal(_one)

    def stream(self, one: StreamingStore) -> list[str]:
        """Return the lines that write past the caches."""
        raise self._refusal(one)

    def fetch(self, one: Prefetch) -> list[str]:
        """Return the lines that say what is read soon."""
        raise self._refusal(one)

    def _refusal(self, one: Statement) -> TypeError:
        return TypeError(f"{type(self).__module__} has no {type(one).__name__}")


class Braces(Expressions, Statements):
    """Prints kernels of work-groups in a language with braces, whose threads share memory."""

    lane: str  # the number of a thread in its group
    # counts the threads that still have something to join
    halving: ClassVar[str] = "for (int half_of = {half}; half_of > 0; half_of >>= 1) {{"

    def __init__(self, kernel: Kernel) -> None:
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
    def head(self, one: Loop) -> str:
        """Return what a loop begins with, up to its brace."""

    @abstractmethod
    def share(self, buffer: Buffer, count: Expr | int) -> None:
        """Declare memory of a group."""

    def set(self, one: Set) -> list[str]:
        """Return an assignment; variables are declared before all else."""
        name = self.name(one.variable.name)
        self.declared[name] = self.type(one.variable.dtype)
        return [f"{name} = {self.text(one.value)};"]

    def loop(self, one: Loop) -> list[str]:
        """Return a loop."""
        return [f"{self.head(one)} {{", *indented(self.block(one.body)), "}"]

    def choice(self, one: If) -> list[str]:
        """Return a choice."""
        inner = indented(self.block(one.body))
        return [f"if ({self.text(one.condition)}) {{", *inner, "}"]

    def allocate(self, one: Allocate) -> list[str]:
        """Declare memory of the group."""
        self.share(one.buffer, one.count)
        return []

    def wait(self, _one: Barrier) -> list[str]:
        """Return a barrier."""
        return [self.barrier]

    def combine(self, one: Combine) -> list[str]:
        """Return a tree over the threads of a group, in memory that they share."""
        name, other = self.name(one.variable.name), self.name(one.other.name)
        dtype = one.variable.dtype
        memory = f"lanes_{dtype.name}"
        self.declared[name] = self.declared[other] = self.type(dtype)
        lanes, lane = self.kernel.lanes, self.lane
        self.share(Buffer(memory, dtype, Role.SHARED), lanes)
        return [
            f"{memory}[{lane}] = {name};",
            self.barrier,
            self.halving.format(half=lanes // 2),
            f"    if ({lane} < half_of) {{",
            f"        {other} = {memory}[{lane} + half_of];",
            f"        {name} = {self.text(one.joined)};",
            f"        {memory}[{lane}] = {name};",
            "    }",
            f"    {self.barrier}",
            "}",
            f"{name} = {memory}[0];",
            self.barrier,
        ]


def indented(lines: Sequence[str]) -> list[str]:
    """Return the lines of an inner block."""
    return [f"    {line}" for line in lines]
