"""`elementwise`: a Python function of scalars becomes a row, which fuses with everything around it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any, overload

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.errors import ArgumentError, DTypeError, TracingError
from tensorframe.frontend.dispatch import device_of
from tensorframe.frontend.operands import weakly
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.user_functions.compiled import compile_elementwise
from tensorframe.frontend.user_functions.outside import Rebuilt, Written
from tensorframe.frontend.user_functions.record import key_of, record
from tensorframe.frontend.user_functions.scalar import Scalar, ValueNeededError
from tensorframe.frontend.user_functions.side_effects import refuse_side_effects
from tensorframe.graph.holding import holder
from tensorframe.graph.node import Node, attrs_key
from tensorframe.graph.op import Op
from tensorframe.graph.shape import broadcast
from tensorframe.ops.user import Formula, compiled_row, user_row
from tensorframe.site import describe, recording_site

__all__ = ["elementwise"]

_OF_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# Rows that a function keeps for constants that it was recorded with.
_ROWS_KEPT = 256


class Rows:
    """The rows of one function for operands of certain dtypes, one for each result."""

    def __init__(self, source: Rebuilt, rows: tuple[Op, ...], is_tuple: bool) -> None:
        self.source = source
        self.rows = rows
        self.is_tuple = is_tuple


class Elementwise(Written):
    """What `elementwise` makes of a function of scalars: called with tensors, it records one op for each result."""

    def __init__(
        self,
        function: FunctionType,
        name: str | None,
        static: frozenset[str],
        owner: Any = None,
    ) -> None:
        super().__init__(function)
        update_wrapper(self, function)
        self._name = name
        self._static = static
        self._owner = owner
        self._title = name or function.__name__
        self._signature = _signature(function, self._title, is_bound=owner is not None)
        self.__signature__ = self._signature
        # the names of parameters, where all of them may be given by position
        self._positional = _positional(self._signature)
        # rows for names and dtypes of operands (and the default dtype), and all rows by what they compute
        self._known: dict[tuple[Any, ...], Rows] = {}
        self._rows: dict[tuple[Any, ...], Op] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Record the function of operands, which promote inside of it and broadcast."""
        given = self._given(args, kwargs)
        constants = (
            {name: given.pop(name) for name in self._static.intersection(given)}
            if self._static
            else {}
        )
        values = list(given.values())
        if not values:
            raise TypeError(f"{self._title}{self._signature}: at least one operand is needed")
        nodes = _nodes(values)
        rows = self._rows_for(tuple(given), tuple([node.dtype for node in nodes]), constants)
        shape = broadcast(self._title, *[node.shape for node in nodes])
        device, site = device_of(nodes), recording_site()
        kind = Scalar if any(isinstance(value, Scalar) for value in values) else Tensor
        results = []
        for op in rows.rows:
            dtype = op.result()
            home = holder(device, dtype, op.name)
            results.append(kind(Node(op, nodes, (), shape, dtype, home, site)))
        return tuple(results) if rows.is_tuple else results[0]

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the values of the parameters that a call gives; others are constants."""
        if not kwargs and len(args) == len(self._positional):  # the usual call, in half the time
            return dict(zip(self._positional, args, strict=True))
        try:
            given = self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{self._title}{self._signature}: {error}") from None
        return given

    def _rows_for(
        self, names: tuple[str, ...], operands: tuple[DType, ...], constants: dict[str, Any]
    ) -> Rows:
        key = (dtypes.default_float(), names, operands, *_constants_key(constants))
        rows = self._known.get(key)
        if rows is None or not rows.source.is_current():
            rows = self._known[key] = self._recorded(names, operands, constants)
        return rows

    def _recorded(
        self, names: tuple[str, ...], operands: tuple[DType, ...], constants: dict[str, Any]
    ) -> Rows:
        # attributes of an object may be others in every call
        source = Rebuilt(self._function, settled=self._owner is None)
        try:
            recorded = record(
                self._title, source, names, operands, partial(self._placed, constants)
            )
        except ValueNeededError as asked:
            return self._compiled(dict(zip(names, operands, strict=True)), constants, asked)
        rows = []
        for formula in recorded.formulas:
            key = key_of(formula)
            if key not in self._rows:
                if len(self._rows) >= _ROWS_KEPT:
                    self._rows.clear()
                self._rows[key] = self._row(formula)
            rows.append(self._rows[key])
        return Rows(source, tuple(rows), recorded.is_tuple)

    def _row(self, formula: Formula) -> Op:
        return user_row(formula, inspect.getdoc(self) or "")

    def _compiled(
        self, operands: dict[str, DType], constants: dict[str, Any], asked: ValueNeededError
    ) -> Rows:
        """Return rows of machine code: the function reads values."""
        if self._owner is not None:
            raise TracingError(
                f"{self._title}: {asked.message}, and methods are not compiled",
                suggestions=(*asked.suggestions, "a function that is given the object's numbers"),
                location=asked.location,
            )
        source, results, is_tuple = compile_elementwise(
            self._title, self._function, self._signature, operands, constants, asked
        )
        doc = inspect.getdoc(self) or ""
        rows = [
            compiled_row(self._title, len(operands), result.dtype, result.compiled, doc)
            for result in results
        ]
        return Rows(source, tuple(rows), is_tuple)

    def _placed(
        self, constants: dict[str, Any], scalars: dict[str, Scalar]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call with these values for parameters."""
        bound = inspect.BoundArguments(self._signature, {**scalars, **constants})
        bound.apply_defaults()
        return ((self._owner, *bound.args) if self._owner is not None else bound.args), bound.kwargs

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        method = Elementwise(self._function, self._name, self._static, instance)
        method._rows = self._rows
        return method

    def __reduce__(self) -> str:
        return self._function.__qualname__  # by reference, as functions are

    def __repr__(self) -> str:
        return f"<tensorframe elementwise {self._title}{self._signature}>"


def _nodes(values: list[Any]) -> tuple[Node, ...]:
    """Return operands as nodes."""
    if all(type(value) is Tensor for value in values):
        return tuple([value.node for value in values])
    return tuple([tensor.node for tensor in weakly(values)])


def _positional(signature: inspect.Signature) -> tuple[str, ...]:
    parameters = signature.parameters.values()
    by_name = any(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters)
    return () if by_name else tuple(signature.parameters)


def _constants_key(constants: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return a key of static values, in which 1, 1.0 and True differ."""
    return [(name, type(value), *attrs_key((value,))) for name, value in sorted(constants.items())]


def _signature(function: FunctionType, title: str, *, is_bound: bool) -> inspect.Signature:
    """Return the signature without annotations; ArgumentError if the number of operands is not known."""
    parameters = list(inspect.signature(function).parameters.values())[int(is_bound) :]
    for parameter in parameters:
        if parameter.kind in _OF_ANY_NUMBER:
            raise ArgumentError(
                f"{title}: takes any number of arguments ({parameter}), and a row has so many operands",
                location=describe((function.__code__, 0)),
                suggestions=("a parameter for each operand",),
            )
    if not parameters:
        raise ArgumentError(
            f"{title}: has no parameters, so no elements to compute from",
            location=describe((function.__code__, 0)),
            suggestions=("tfr.full(shape, value) for a tensor of one number",),
        )
    empty = inspect.Parameter.empty
    return inspect.Signature([parameter.replace(annotation=empty) for parameter in parameters])


@overload
def elementwise(
    function: Callable[..., Any],
    /,
    *,
    name: str | None = None,
    static_argnames: str | Iterable[str] = (),
) -> Elementwise: ...
@overload
def elementwise(
    *, name: str | None = None, static_argnames: str | Iterable[str] = ()
) -> Callable[[Callable[..., Any]], Elementwise]: ...
def elementwise(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    static_argnames: str | Iterable[str] = (),
) -> Any:
    """Return a Python function of scalars as a function of tensors, elementwise and fused with what is around it.

    Operands are tensors, arrays, sequences and Python numbers; they broadcast. Each keeps its dtype, and each operation
    inside promotes as it would written out with tensors: calling the function and writing its formula out are the same
    kernel. A tuple of numbers gives a tuple of tensors, whose common parts are computed once. Plans and errors know the
    function by `name`, its own unless another is given.

    The function runs once for each combination of dtypes, on scalars without values; parameters that a call leaves out
    are constants, and so are those in `static_argnames`: a number of steps, a flag. It may use operators and
    comparisons, `abs`, `min`, `max`, `round`, `float`, `int`, functions of `math`, `cmath`, NumPy's and tensorframe's,
    `where`, and functions that are written in these. Constants from outside are looked up at every call. Where Python
    raises (1 / 0, `math.log(-1)`), elements become infinite or NaN.

    A function that reads values (`if x > 0`, `while`, `and`) is compiled by Numba, where the extra
    `tensorframe-lazy[numba]` is installed, and inlined in the kernels of the cpu; for other devices it runs there.

    Raises ArgumentError if the function takes `*args` or has side effects, TracingError if it reads values and
    is not compiled, DTypeError if it returns something else than numbers.

    >>> @tfr.elementwise
    ... def damped(x, rate=0.5):
    ...     return math.exp(-rate * x) * math.cos(x)
    >>> damped(tfr.asarray([0.0, 1.0, 2.0])).numpy().round(4)
    array([ 1.    ,  0.3277, -0.1531], dtype=float32)
    >>> damped
    <tensorframe elementwise damped(x, rate=0.5)>
    """
    if function is None:
        return partial(elementwise, name=name, static_argnames=static_argnames)
    if not isinstance(function, FunctionType):
        raise DTypeError(
            f"elementwise: takes a function written in Python, got {type(function).__name__}",
            suggestions=("lambda x: f(x)",),
        )
    refuse_side_effects(function)
    static = frozenset((static_argnames,) if isinstance(static_argnames, str) else static_argnames)
    unknown = static.difference(inspect.signature(function).parameters)
    if unknown:
        raise ArgumentError(
            f"elementwise: {function.__qualname__} has no parameter {min(unknown)!r}",
            suggestions=("static_argnames=... of parameters",),
        )
    return Elementwise(function, name, static)
