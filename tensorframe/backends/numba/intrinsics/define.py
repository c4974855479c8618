"""How an intrinsic is told to Numba: a name, the types that it takes, and the LLVM code that it means.

The registries are those of kernels alone, which Numba's own functions neither see nor pay for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.imputils import Registry as LoweringRegistry
from numba.core.typing.templates import AbstractTemplate, signature
from numba.core.typing.templates import Registry as TypingRegistry

Value = Any  # LLVM's builders, types and values, and Numba's types, come without type information
Rule = Callable[
    ..., Value
]  # from the types of the arguments to that of the result; None if they do not fit
Code = Callable[..., Value]  # from a builder, the signature and the arguments to the result

BIT, BYTE, SHORT, WORD, LONG = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
HALF, FLOAT, DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()
POINTER, VOID = BYTE.as_pointer(), ir.VoidType()

SIGNED = (types.int8, types.int16, types.int32, types.int64)
UNSIGNED = (types.uint8, types.uint16, types.uint32, types.uint64)
INTEGERS = SIGNED + UNSIGNED
FLOATS = (types.float32, types.float64)
NUMBERS = INTEGERS + FLOATS
SCALARS = (types.boolean, *NUMBERS)
MACHINE = {
    types.boolean: BIT,
    **{one: ir.IntType(one.bitwidth) for one in INTEGERS},
    types.float32: FLOAT,
    types.float64: DOUBLE,
}

TYPING = TypingRegistry()
LOWERING = LoweringRegistry("tensorframe")
NAMESPACE: dict[str, Intrinsic] = {}


class Intrinsic:
    """What a printed kernel calls."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<intrinsic {self.__name__}>"


def define(name: str, rule: Rule, code: Code, *, literals: bool = False) -> None:
    """Put an intrinsic into the namespace; with `literals`, the rule sees which integers are written in the text."""
    handle = Intrinsic(name)

    def generic(self: Value, arguments: Sequence[Value], keywords: Value) -> Value:
        result = rule(*arguments)
        return None if result is None else signature(result, *arguments)

    def lower(context: Value, builder: Value, shape: Value, arguments: Sequence[Value]) -> Value:
        return code(builder, shape, *arguments)

    members = {"key": handle, "generic": generic, "prefer_literal": literals}
    template = type(name, (AbstractTemplate,), members)
    TYPING.register_global(handle, types.Function(template))
    LOWERING.lower(handle, types.VarArg(types.Any))(lower)
    NAMESPACE[name] = handle


def define_alike(name: str, arity: int, accepted: Sequence[Value], code: Code) -> None:
    """Define an op on `arity` operands of one type, which is that of the result: code(builder, type, *operands)."""

    def rule(*kinds: Value) -> Value:
        alike = len(kinds) == arity and len(set(kinds)) == 1 and kinds[0] in accepted
        return kinds[0] if alike else None

    define(
        name, rule, lambda builder, shape, *operands: code(builder, shape.return_type, *operands)
    )


def call_llvm(builder: Value, name: str, result: Value, *operands: Value) -> Value:
    """Call an intrinsic of LLVM that is overloaded on the type of its result."""
    shape = ir.FunctionType(result, [one.type for one in operands])
    return builder.call(builder.module.declare_intrinsic(name, [result], shape), operands)


def call_c(
    builder: Value, name: str, result: Value, *operands: Value, attributes: Sequence[str] = ()
) -> Value:
    """Call a function of the C library."""
    known = builder.module.globals.get(name)
    if known is None:
        shape = ir.FunctionType(result, [one.type for one in operands])
        known = ir.Function(builder.module, shape, name)
        for attribute in attributes:
            known.return_value.add_attribute(attribute)
    return builder.call(known, operands)
