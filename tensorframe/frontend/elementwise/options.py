"""Options of elementwise functions: `out=`, `where=`, `casting=` and `dtype=`, as NumPy's ufuncs take them.

Loaded by the first call that has one: calls without options never come here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature
from typing import Any

from tensorframe.dtypes import (
    BOOL,
    COMPLEX,
    DType,
    DTypeLike,
    as_dtype,
    complex_of,
    promote,
    real_of,
)
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.dtypes.casting import CASTINGS, raise_unless_allowed
from tensorframe.frontend.elementwise.functions import OPTIONS
from tensorframe.frontend.elementwise.ufunc_methods import attach
from tensorframe.frontend.operands import converted, expanded, operand, weakly
from tensorframe.frontend.outputs import Array, deliver, target_of
from tensorframe.frontend.parameters import choice, items
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op, boolean, real_part
from tensorframe.graph.shape import broadcast
from tensorframe.ops.elementwise import MAXIMUM, WHERE

Record = Callable[..., Tensor]


def with_options(
    op: Op,
    record: Record,
    operands: tuple[Any, ...],
    out: Any = None,
    *,
    where: Any = True,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: DTypeLike | None = None,
    subok: Any = True,
    signature: Any = None,
    converts: int | None = None,
    called: str | None = None,
) -> Any:
    """Return what `record` makes of the operands, computed and put where the options say.

    `order` and `subok` are NumPy's, and change nothing: tensors have one order, and no subclasses. Of a `signature`
    counts what it says of the result: `dtype` in other words. Where the condition `where` is false, elements are those
    of `out`, and zeros without one. A dtype is that of the first `converts` operands (all of them for None).
    Errors name the function that was `called`, where it is not that of the op.
    """
    del order, subok
    name = op.name if called is None else called
    choice(name, "casting", casting, CASTINGS)
    target = target_of(name, out)
    dtype = _of_signature(name, signature, len(operands)) if dtype is None else dtype
    if dtype is not None:
        counted = len(operands) if converts is None else converts
        chosen = _in_dtype(name, op, operands[:counted], as_dtype(dtype), casting)
        operands = (*chosen, *operands[counted:])
    elif casting not in ("same_kind", "unsafe"):
        _check_operands(name, operands, casting)
    result = record(*operands)
    if where is not True:
        result = _where(name, where, result, target)
    if target is None:
        return result
    if result.shape != target.shape and broadcast(name, result.shape, target.shape) == target.shape:
        result = expanded(result, target.shape)
    if casting != "same_kind":
        raise_unless_allowed(name, result.dtype, as_dtype(target.dtype), casting)
        result = converted(result, as_dtype(target.dtype))
    return deliver(result, target)


def _of_signature(name: str, signature: Any, arity: int) -> Any:
    """Return the dtype of the (first) result that a signature such as "dd->d" names, if it names one."""
    if isinstance(signature, str) and "->" in signature:
        operands, _, results = signature.partition("->")
        signature = (*operands, *results)
    if not isinstance(signature, tuple):
        return signature
    if len(signature) <= arity:
        raise ArgumentError(
            f"{name}: a signature has {arity} dtypes of operands and one of the result, got {signature}"
        )
    return signature[arity]


def _in_dtype(
    name: str, op: Op, operands: tuple[Any, ...], dtype: DType, casting: str
) -> tuple[Tensor, ...]:
    """Return the operands in the dtype that the result is computed in, which the casting rule has to allow."""
    tensors = weakly(operands)
    if op.result is boolean and BOOL.isdisjoint({dtype}):
        raise DTypeError(
            f"{name}: gives bool, not {dtype}",
            suggestions=("x.astype(...) of the result",),
        )
    if op.result is boolean:
        return tuple(tensors)
    is_complex = op.result is real_part and not COMPLEX.isdisjoint(t.dtype for t in tensors)
    work = complex_of(dtype) if is_complex and dtype not in COMPLEX else dtype
    for tensor, value in zip(tensors, operands, strict=True):
        own = real_of(tensor.dtype) if is_complex else tensor.dtype
        if not isinstance(
            value, bool | int | float
        ):  # numbers of Python's have a kind, and no width
            raise_unless_allowed(name, own, dtype, casting)
    return tuple(converted(tensor, work) for tensor in tensors)


def _check_operands(name: str, operands: tuple[Any, ...], casting: str) -> None:
    """Raise DTypeError unless the rule allows to convert the operands to the dtype that they promote to."""
    tensors = weakly(operands)
    common = promote(*[tensor.dtype for tensor in tensors])
    for tensor in tensors:
        raise_unless_allowed(name, tensor.dtype, common, casting)


def _where(name: str, where: Any, result: Tensor, target: Tensor | Array | None) -> Tensor:
    """Return the result where a condition is true, elsewhere the elements of the target."""
    condition = operand(where)
    if condition.dtype not in BOOL:
        raise DTypeError(
            f"{name}: where= takes a condition of bools, got {condition.dtype}",
            suggestions=("where=x != 0",),
        )
    shape = broadcast(name, condition.shape, result.shape)
    rest: Any = 0 if target is None else converted(operand(target), result.dtype)
    if target is not None:
        shape = broadcast(name, shape, tuple(target.shape))
    return expanded(apply(WHERE, condition, result, rest), shape)


def clipped(clip: Record, a: Any, low: Any, high: Any, out: Any, options: dict[str, Any]) -> Any:
    """Return what `clip` gives, computed and put where the options of an elementwise function say."""
    bounds = [bound for bound in (low, high) if bound is not None]

    def record(x: Tensor, *given: Any) -> Tensor:
        rest = iter(given)
        return clip(x, *[None if bound is None else next(rest) for bound in (low, high)])

    _check_names("clip", options)
    return with_options(MAXIMUM, record, (a, *bounds), out, **options, called="clip")


_NAMES = frozenset({"where", "casting", "order", "dtype", "subok", "signature"})


def composed(
    like: Op, *names: str, converts: int | None = None
) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Give a formula, whose results have dtypes like those of an op, the options of elementwise functions.

    A dtype among them is that of the first `converts` operands (all of them for None).
    """

    def decorate(formula: Callable[..., Tensor]) -> Callable[..., Tensor]:
        if len(names) == 1:

            @wraps(formula)
            def unary(x: Any, /, out: Any = None, **options: Any) -> Tensor:
                if not options and out is None:
                    return formula(x)
                return _of_formula(like, formula, (x,), out, options, converts)

            return _signed(unary, names)

        @wraps(formula)
        def two(x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Tensor:
            if not options and out is None:
                return formula(x1, x2)
            return _of_formula(like, formula, (x1, x2), out, options, converts)

        attach(two, formula.__name__)
        return _signed(two, names)

    return decorate


def _signed(function: Callable[..., Tensor], names: tuple[str, ...]) -> Callable[..., Tensor]:
    """Return a function that says its operands and options when it is asked for its signature."""
    parameters = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    function.__signature__ = Signature([*parameters, *OPTIONS])  # type: ignore[attr-defined]
    return function


def _of_formula(
    like: Op,
    formula: Callable[..., Any],
    operands: tuple[Any, ...],
    out: Any,
    options: dict[str, Any],
    converts: int | None,
) -> Tensor:
    name = formula.__name__
    _check_names(name, options)
    result: Tensor = with_options(
        like, formula, operands, out, **options, converts=converts, called=name
    )
    return result


def several(
    like: Op,
    formula: Callable[..., tuple[Tensor, ...]],
    operands: tuple[Any, ...],
    out: Any,
    options: dict[str, Any],
) -> Any:
    """Return the results of a formula that has several, each put where the options say."""
    if not options and out is None:
        return formula(*operands)
    _check_names(like.name, options)
    dtype, casting = options.get("dtype"), options.get("casting", "same_kind")
    if dtype is None:
        dtype = _of_signature(like.name, options.get("signature"), len(operands))
    if dtype is not None:
        operands = _in_dtype(like.name, like, operands, as_dtype(dtype), casting)
    results = formula(*operands)
    targets = (None,) * len(results) if out is None else items(like.name, "out", out)
    if len(targets) != len(results):
        raise ArgumentError(
            f"{like.name}: out has {len(targets)} places for {len(results)} results"
        )
    where = options.get("where", True)
    return tuple(
        [
            with_options(like, lambda value: value, (result,), target, where=where)
            for result, target in zip(results, targets, strict=True)
        ]
    )


def _check_names(name: str, options: dict[str, Any]) -> None:
    unknown = options.keys() - _NAMES
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument {min(unknown)!r}")
