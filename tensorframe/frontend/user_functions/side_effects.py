"""Side effects: what a function of scalars must not do, found in its bytecode before it runs."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Iterator, Sequence

from tensorframe.errors import ArgumentError
from tensorframe.quick_tuples import NamedTuple
from tensorframe.site import Site, describe

_WORLD = frozenset(
    {"print", "input", "open", "exec", "eval", "compile", "setattr", "delattr", "breakpoint"}
)
_MUTATORS = frozenset(
    """
    add append appendleft clear discard extend insert pop popleft popitem remove reverse setdefault sort update write
    """.split()  # noqa: SIM905 - a table reads better than twenty quoted names
)
_OUTSIDE = frozenset({"LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


class Effect(NamedTuple):
    """What a function does besides computing, and the offset of the instruction."""

    what: str
    offset: int


def refuse_side_effects(function: types.FunctionType) -> None:
    """Raise ArgumentError if a function of scalars does something besides computing its result."""
    code = function.__code__
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise ArgumentError(
            f"{function.__qualname__}: gives its results one by one or later",
            location=describe((code, 0)),
            suggestions=("return a tuple of numbers",),
        )
    own = {name for part in codes(code) for name in part.co_cellvars}
    for part in codes(code):
        for effect in _effects(part, frozenset(part.co_freevars) - own):
            raise ArgumentError(
                f"{function.__qualname__}: {effect.what}; a function of scalars computes its result and "
                "does nothing else, since one call stands for all elements",
                location=describe((part, effect.offset)),
                suggestions=(
                    "return what is to be kept: a tuple of numbers gives a tuple of tensors",
                ),
            )


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def _effects(code: types.CodeType, around: frozenset[str]) -> Iterator[Effect]:
    """Yield what code does besides computing; `around` are its variables that belong to functions around."""
    instructions = [
        instruction
        for instruction in dis.get_instructions(code)
        if instruction.opname not in ("CACHE", "EXTENDED_ARG")
    ]
    for index, instruction in enumerate(instructions):
        name = instruction.argval
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            yield Effect(f"assigns to the global {name!r}", instruction.offset)
        elif instruction.opname in ("STORE_DEREF", "DELETE_DEREF") and name in around:
            yield Effect(f"assigns to {name!r} of the function around it", instruction.offset)
        elif instruction.opname in ("STORE_ATTR", "DELETE_ATTR"):
            yield Effect(f"sets the attribute {name!r}", instruction.offset)
        elif instruction.opname in ("STORE_SUBSCR", "DELETE_SUBSCR"):
            source = _container(instructions[:index], around)
            if source is not None:
                yield Effect(
                    f"sets an item of {source!r}, which is not its own", instruction.offset
                )
        elif instruction.opname == "LOAD_GLOBAL" and name in _WORLD:
            yield Effect(f"calls {name}", instruction.offset)
        elif index + 1 < len(instructions) and _is_outside(instruction, around):
            following = instructions[index + 1]
            if following.opname in _ATTRIBUTES and following.argval in _MUTATORS:
                yield Effect(f"changes {name!r}, which is not its own", instruction.offset)


def _is_outside(instruction: dis.Instruction, around: frozenset[str]) -> bool:
    return instruction.opname in _OUTSIDE and (
        instruction.opname != "LOAD_DEREF" or instruction.argval in around
    )


def _container(before: Sequence[dis.Instruction], around: frozenset[str]) -> str | None:
    """Return the name outside of the function, or the parameter, whose item is set after these instructions."""
    # the key is on top of the container; `x[key] += value` has computed the value by then, too
    wanted = 3 if before[-1].opname == "SWAP" else 2
    pushed = 0
    for instruction in reversed(before):
        pushed += dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if pushed >= wanted:
            return instruction.argval if _is_outside(instruction, around) else None
    return None


def first_raise(code: types.CodeType) -> Site | None:
    """Return where a function raises on purpose, or None."""
    return next(
        (
            (part, instruction.offset)
            for part in codes(code)
            for instruction in dis.get_instructions(part)
            if instruction.opname == "RAISE_VARARGS"
        ),
        None,
    )
