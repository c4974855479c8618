"""NumPy's ufuncs on tensors: np.sin(t) records, and what we have no op for runs in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.dtypes import ANY, BOOL
from tensorframe.frontend.elementwise import functions as elementwise
from tensorframe.frontend.indexing.assignment import combined_at
from tensorframe.frontend.operand_nodes import data_node
from tensorframe.frontend.operands import weakly
from tensorframe.frontend.outputs import deliver
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.op import Kind, Op, rows
from tensorframe.ops.indexing import SCATTER_ADD, SCATTER_MAX, SCATTER_MIN, SCATTER_PROD
from tensorframe.quick_tuples import NamedTuple

Function = Callable[..., Any]

# what an operand may be; anything else has its own way with ufuncs, and is asked first
OPERANDS = (Tensor, np.ndarray, np.generic, bool, int, float, complex, list, tuple, range)


def _divmod(x1: Any, x2: Any, /) -> tuple[Tensor, Tensor]:
    quotient, rest = elementwise.FUNCTIONS["floor_divide"], elementwise.FUNCTIONS["remainder"]
    return quotient(x1, x2), rest(x1, x2)


# formulas that are loaded when they are named
_COMPOSED = frozenset(
    {
        *(np.bitwise_count, np.fabs, np.float_power, np.frexp, np.gcd, np.lcm, np.ldexp),
        *(np.logaddexp2, np.matmul, np.matvec, np.modf, np.rint, np.spacing, np.vecdot, np.vecmat),
    }
)
RECORDED: dict[np.ufunc, Function] = {np.divmod: _divmod} | {
    ufunc: elementwise.FUNCTIONS[op.name]
    for op in rows(Kind.MAP)
    if op.name in elementwise.FUNCTIONS
    and isinstance(ufunc := getattr(np, op.numpy or op.name, None), np.ufunc)
}
_REDUCTIONS = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}
_SCATTERS: dict[np.ufunc, Op] = {
    np.add: SCATTER_ADD,
    np.multiply: SCATTER_PROD,
    np.maximum: SCATTER_MAX,
    np.minimum: SCATTER_MIN,
}
_SCANS = {np.add: "cumulative_sum", np.multiply: "cumulative_prod"}


@method
def __array_ufunc__(_self: Tensor, ufunc: np.ufunc, how: str, *inputs: Any, **options: Any) -> Any:
    out = options.pop("out", ())
    if not all(isinstance(operand, OPERANDS) for operand in (*inputs, *out) if operand is not None):
        return NotImplemented
    if how == "at":
        _join_at(ufunc, *inputs, **options)
        return None
    record = _recorder(ufunc, how)
    if record is not None and _simple(record, options):
        result = record(*inputs, **options)
    else:
        if "where" in options:
            # elements outside of the condition stay as they are in `out`
            options["out"] = (
                tuple(None if target is None else np.array(target) for target in out) or None
            )
        result = through_numpy(getattr(ufunc, how), inputs, options)
    return _delivered(result, out) if out else result


def _join_at(ufunc: np.ufunc, target: Any, *arguments: Any, **options: Any) -> None:
    """Join values to the selected elements of a target: of a Tensor by our op if there is one for its dtype."""
    op = _SCATTERS.get(ufunc)
    if isinstance(target, Tensor) and op is not None and target.dtype in op.accepts - BOOL:
        key, values = arguments
        target._rebind(combined_at(op, target.node, key, values))
    else:
        written_to(ufunc.at, target, *arguments, **options)


def _recorder(ufunc: np.ufunc, how: str) -> Function | None:
    """Return what records this use of the ufunc, or None if nothing does."""
    if how == "__call__":
        return RECORDED.get(ufunc) or (_public(ufunc.__name__) if ufunc in _COMPOSED else None)
    if how == "reduce" and ufunc in _REDUCTIONS:
        return _reduction(_REDUCTIONS[ufunc])
    if how == "accumulate" and ufunc in _SCANS:
        return _scan(_public(_SCANS[ufunc]))
    if how == "outer" and ufunc in RECORDED:
        return _outer(RECORDED[ufunc])
    return None


def _simple(record: Function, options: dict[str, Any]) -> bool:
    """Whether the recording function takes these options."""
    accepted = getattr(record, "options", frozenset[str]())
    return options.keys() <= accepted


# what reductions take by name: sums and products a dtype and a first value, extremes a first value
_REDUCING = {
    "sum": frozenset({"axis", "dtype", "keepdims", "initial", "where"}),
    "prod": frozenset({"axis", "dtype", "keepdims", "initial", "where"}),
    "max": frozenset({"axis", "keepdims", "initial", "where"}),
    "min": frozenset({"axis", "keepdims", "initial", "where"}),
    "all": frozenset({"axis", "keepdims", "where"}),
    "any": frozenset({"axis", "keepdims", "where"}),
}


def _reduction(name: str) -> Function:
    function = _public(name)

    def record(x: Tensor, axis: Any = 0, **options: Any) -> Any:
        return function(x, axis=axis, **options)

    record.options = _REDUCING[name]  # type: ignore[attr-defined] # a function's own attribute
    return record


def _scan(function: Function) -> Function:
    def record(x: Tensor, axis: int = 0, dtype: Any = None) -> Any:
        return function(x, axis=axis, dtype=dtype)

    record.options = frozenset({"axis", "dtype"})  # type: ignore[attr-defined] # a function's own attribute
    return record


def _outer(function: Function) -> Function:
    def record(x1: Any, x2: Any) -> Any:
        first, second = weakly((x1, x2))
        return function(first.reshape(first.shape + (1,) * second.ndim), second)

    return record


def _public(name: str) -> Function:
    import tensorframe

    function: Function = getattr(tensorframe, name)
    return function


def _delivered(result: Any, out: tuple[Any, ...]) -> Any:
    """Write results where `out=` says: a Tensor is rebound to them, an array is filled."""
    results = result if isinstance(result, tuple) else (result,)
    written = [
        result if target is None else deliver(result, target)
        for result, target in zip(results, out, strict=True)
    ]
    return tuple(written) if isinstance(result, tuple) else written[0]


def through_numpy(function: Function, arguments: Any, options: dict[str, Any]) -> Any:
    """Return what a NumPy function gives for the computed elements, as Tensors on the device of the first one."""
    given = _Given([], [])
    arrays = _unwrap(arguments, given)
    result = function(*arrays, **_unwrap(options, given))
    return _wrap(result, given)


def written_to(function: Function, target: Any, *arguments: Any, **options: Any) -> None:
    """Have a NumPy function write to its first argument; a Tensor becomes a handle on what it was made."""
    rest, options = _unwrap((arguments, options), _Given([], []))
    if not isinstance(target, Tensor):
        function(target, *rest, **options)
        return
    array = target.numpy(copy=True)
    function(array, *rest, **options)
    target._rebind(data_node(array, target.device))


class _Given(NamedTuple):
    """What a NumPy function was given: the devices of Tensors, and the user's own arrays."""

    devices: list[Device]
    arrays: list[np.ndarray[Any, Any]]


def _unwrap(value: Any, given: _Given) -> Any:
    """Return `value` with arrays in place of Tensors, in lists and dictionaries too, and note what it holds."""
    if isinstance(value, Tensor):
        given.devices.append(value.device)
        return value.numpy()
    if isinstance(value, np.ndarray):
        given.arrays.append(value)
    if type(value) in (list, tuple):
        return type(value)(_unwrap(item, given) for item in value)
    if type(value) is dict:
        return {key: _unwrap(item, given) for key, item in value.items()}
    return value


def _wrap(value: Any, given: _Given) -> Any:
    """Return `value` with Tensors in place of the arrays and NumPy numbers that a Tensor can hold.

    Parts of the user's own arrays are copied: they can be written to. Masked elements are more than a Tensor says.
    """
    if hasattr(value, "mask"):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype in ANY:
        array = np.asarray(value)
        if any(np.may_share_memory(array, memory) for memory in given.arrays):
            array = array.copy()
        return Tensor(data_node(array, given.devices[0] if given.devices else CPU))
    if isinstance(value, list):
        return [_wrap(item, given) for item in value]
    if isinstance(value, tuple):
        parts = [_wrap(item, given) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


__all__: list[str] = []
