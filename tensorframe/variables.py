"""Variables: what a user's code calls the result of an instruction, read from its bytecode when a text is written.

A recording site is a code object and the instruction that called tensorframe. Where the instructions that follow do
nothing but store its result, their target is the result's name: `z`, `self.weight`, `layers[3]`. Recording pays
nothing for it, and code without source (a cell that was edited since, an installed .pyc) has names as well.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dis import Instruction, get_instructions
from functools import lru_cache
from operator import attrgetter
from types import CodeType

from tensorframe.site import BackwardSite, Site

# Beginnings of names: releases add endings (LOAD_FAST_BORROW), and two instructions in one have two arguments.
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
_LOADS = ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")
_STORES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")
_OPERATORS = ("BINARY_OP", "UNARY_", "COMPARE_OP")
_COPIES = ("COPY", "DUP_TOP")  # the value is stored again later: `a = b = ...`
# Instructions that leave the stack as it is: inline caches, argument counts.
_SKIPPED = frozenset({"CACHE", "PRECALL", "EXTENDED_ARG", "NOP", "RESUME", "NOT_TAKEN"})
# Methods that give the tensor itself.
_TRANSPARENT = frozenset({"compute"})


def variables_of(site: Site | None) -> tuple[str, ...]:
    """Return the names that get the result of a recording call, several where it is unpacked; none if it has none.

    >>> import sys
    >>> def recorded():
    ...     frame = sys._getframe(1)
    ...     return frame.f_code, frame.f_lasti
    >>> height = recorded()
    >>> variables_of(height)
    ('height',)
    """
    if site is None or type(site) is BackwardSite:
        return ()  # a gradient's ops have the line of what they are the gradient of
    targets = _targets(*site)
    # tools that rewrite programs have names of their own, such as pytest's for what an assert compares
    return () if any(name == "_" or name.startswith("@") for name in targets) else targets


def is_operator(site: Site) -> bool:
    """Whether an operator such as `+` recorded, and not a call: it records one node of its op."""
    code, offset = site
    instructions = _instructions(code)
    position = bisect_left(instructions, offset, key=attrgetter("offset"))
    return instructions[position].opname.startswith(_OPERATORS)


@lru_cache(maxsize=256)
def _instructions(code: CodeType) -> list[Instruction]:
    return [known for known in get_instructions(code) if known.opname not in _SKIPPED]


@lru_cache(maxsize=4096)
def _targets(code: CodeType, offset: int) -> tuple[str, ...]:
    instructions = _instructions(code)
    following = instructions[bisect_right(instructions, offset, key=attrgetter("offset")) :]
    rest = iter(_without_transparent_calls(following))
    first = next(rest, None)
    if first is None or first.opname != "UNPACK_SEQUENCE":
        name = _target(first, rest)
        return () if name is None else (name,)
    return tuple(_unpacked(first.arg or 0, rest))


def _unpacked(count: int, rest: Iterator[Instruction]) -> Sequence[str]:
    """Return the targets of so many values; none at all if one of them is stored to nothing that has a name."""
    names: list[str] = []
    while len(names) < count:
        instruction = next(rest, None)
        if instruction is not None and instruction.opname == "STORE_FAST_STORE_FAST":
            names += instruction.argval  # from Python 3.13 on
            continue
        name = _target(instruction, rest)
        if name is None:
            return ()
        names.append(name)
    return names


def _without_transparent_calls(instructions: Sequence[Instruction]) -> Sequence[Instruction]:
    """Return what follows the calls of methods that give their tensor: `y = (a + b).compute()` names the sum too."""
    while (
        len(instructions) > 1
        and instructions[0].opname in ("LOAD_METHOD", "LOAD_ATTR")
        and instructions[0].argval in _TRANSPARENT
        and instructions[1].opname == "CALL"
        and instructions[1].arg == 0
    ):
        instructions = instructions[2:]
    return instructions


def _target(instruction: Instruction | None, rest: Iterator[Instruction]) -> str | None:
    """Return the target that the top of the stack is stored to, beginning with an instruction; None if it is not."""
    stack: list[
        str
    ] = []  # what is loaded to find the target: an object, or a container and its key
    while instruction is not None:
        opname, argument = instruction.opname, instruction.argval
        if opname.startswith(_STORES) and not stack:
            # two instructions in one have two arguments: the first store takes the top
            return str(argument[0] if isinstance(argument, tuple) else argument)
        if opname == "STORE_ATTR" and len(stack) == 1:
            return f"{stack[0]}.{argument}"
        if opname == "STORE_SUBSCR" and len(stack) == 2:
            return f"{stack[0]}[{stack[1]}]"
        if opname.startswith(_CONSTANTS):
            stack.append(repr(argument))
        elif opname.startswith(_LOADS):
            stack += argument if isinstance(argument, tuple) else (argument,)
        elif opname == "LOAD_ATTR" and stack:
            stack[-1] = f"{stack[-1]}.{argument}"
        elif _subscripts(instruction) and len(stack) > 1:
            key = stack.pop()
            stack[-1] = f"{stack[-1]}[{key}]"
        elif opname not in _COPIES or stack:
            return None
        instruction = next(rest, None)
    return None


def _subscripts(instruction: Instruction) -> bool:
    """Whether an instruction takes an item: from Python 3.14 on that is one of the binary operators."""
    return instruction.opname == "BINARY_SUBSCR" or instruction.argrepr == "[]"
