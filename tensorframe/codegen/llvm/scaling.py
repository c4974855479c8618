"""Instruction selection: exponentials end with a product by a power of two, which AVX-512 has an instruction for.

`kernel/math/exponential.py` writes it for every language: the power is put together from its bits, larger than it is
where a float could not hold it, and the product made as much smaller afterwards. The instruction rounds once, as that
does, and takes the place of five operations: the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import is_

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.types import VALUE, vector
from tensorframe.dtypes import DType, float32
from tensorframe.kernel import ir
from tensorframe.kernel.ir.machine_ops import WIDE
from tensorframe.kernel.ir.walk import in_order, own_expressions, substituted, substituted_in
from tensorframe.machine import HOST

# of a float and a whole number: the float times two to the power of that number
SCALE = "scale"
_AS_SET = 4  # how to round

Values = Mapping[ir.Expr, ir.Expr]


def scaled(b: Builder, dtype: DType, x: str, power: str) -> str:
    """Write the instruction, for each register that the lanes fill."""
    kind, each = VALUE[dtype], min(b.lanes, HOST.line // dtype.itemsize)
    parts = [
        _in_register(
            b, dtype, each, *[b.part(kind, value, b.lanes, start, each) for value in (x, power)]
        )
        for start in range(0, b.lanes, each)
    ]
    while len(parts) > 1:
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        parts = [b.together(kind, low, high, each) for low, high in pairs]
        each *= 2
    return parts[0]


def _in_register(b: Builder, dtype: DType, lanes: int, x: str, power: str) -> str:
    kind, bits, mask = vector(VALUE[dtype], lanes), 8 * lanes * dtype.itemsize, f"i{max(lanes, 8)}"
    name = f"@llvm.x86.avx512.mask.scalef.{'ps' if dtype == float32 else 'pd'}.{bits}"
    rounds = bits == 8 * HOST.line  # functions of smaller registers take no such operand
    b.declare(f"{kind} {name}({kind}, {kind}, {kind}, {mask}{', i32' if rounds else ''})")
    given = f"{kind} {x}, {kind} {power}, {kind} zeroinitializer, {mask} -1"
    return b.value(f"call {kind} {name}({given}{f', i32 {_AS_SET}' if rounds else ''})")


def with_scales(body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
    """Return statements with `SCALE` in long loops, which fill whole registers; the same tuple if there is none."""
    changed = [_changed(statement) for statement in body]
    same = all(map(is_, changed, body))
    return body if same else tuple(changed)


def _changed(statement: ir.Statement) -> ir.Statement:
    if not isinstance(statement, ir.Loop | ir.If):
        return statement
    if isinstance(statement, ir.Loop) and statement.long:
        inner = _in_loop(statement.body)
    else:
        inner = with_scales(statement.body)
    return statement if inner is statement.body else replace(statement, body=inner)


def _in_loop(body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
    """Return a loop's statements with `SCALE`, and without what nobody needs any more."""
    roots = [root for statement in body for root in own_expressions(statement)]
    choices = [expr for expr in in_order(roots, {}) if _is_candidate(expr)]
    if not choices:
        return body
    values: dict[ir.Expr, ir.Expr] = {}
    whole: dict[ir.Expr, ir.Expr] = {}
    for statement in body:
        if isinstance(statement, ir.Let):
            values[statement.variable] = statement.value
            whole[statement.variable] = substituted(statement.value, whole)
    scales = {choice: _scale(choice, values, whole) for choice in choices}
    made = {choice: scale for choice, scale in scales.items() if scale is not None}
    return tuple(_needed(substituted_in(body, made))) if made else body


def _is_candidate(expr: ir.Expr) -> bool:
    """Whether an expression is a choice between a float and that float times something."""
    if not isinstance(expr, ir.Apply) or expr.op != "where" or expr.dtype not in WIDE:
        return False
    product, single = expr.arguments[1:]
    return (
        isinstance(product, ir.Apply)
        and product.op == "multiply"
        and product.arguments[0] is single
    )


def _scale(choice: ir.Expr, values: Values, whole: Values) -> ir.Expr | None:
    """Return the same as a choice, if `raised` has made that; `whole` are values without names for parts of them."""
    from tensorframe.kernel.math.exponential import raised  # loaded where there is one
    from tensorframe.kernel.math.parts import LAYOUTS

    assert isinstance(choice, ir.Apply)
    condition, _, result = [values.get(operand, operand) for operand in choice.arguments]
    if not isinstance(condition, ir.Apply) or not isinstance(result, ir.Apply):
        return None
    n, twice = condition.arguments[0], result.arguments[0]
    rounded = values.get(n, n)
    if not isinstance(rounded, ir.Apply) or rounded.op != "subtract":
        return None
    shifted = rounded.arguments[0]
    n_whole, shifted_whole, twice_whole = [substituted(x, whole) for x in (n, shifted, twice)]
    layout = LAYOUTS[choice.dtype]
    if n_whole is not shifted_whole - (layout.shifter + (layout.bias - 1)):
        return None
    if substituted(choice, whole) is not raised(twice_whole, n_whole, shifted_whole):
        return None
    return ir.apply(SCALE, twice, n - 1.0)


def _needed(statements: Sequence[ir.Statement]) -> Iterable[ir.Statement]:
    """Return the statements of a loop but for names that are not used."""
    used: set[ir.Expr] = set()
    kept = []
    for statement in reversed(statements):
        if not isinstance(statement, ir.Let) or statement.variable in used:
            kept.append(statement)
            used.update(in_order(own_expressions(statement), {}))
    return reversed(kept)
