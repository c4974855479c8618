"""The comparison: a call in NumPy's namespace and in ours, on operands of several dtypes and layouts."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tensorframe as tfr
from tensorframe.frontend.tensor import Tensor
from tests.numpy_names.calls import CALLS, WRITING, listed

Arrays = dict[str, Any]


def plain(dtype: str) -> Arrays:
    """Operands of a dtype."""
    draw = np.random.default_rng(20)
    matrix = draw.normal(size=(3, 3)) * 2
    operands: Arrays = {
        "x": draw.normal(size=(3, 4)) * 3,
        "v": draw.normal(size=6) * 3,
        "w": draw.normal(size=6) * 3,
        "m": matrix,
        "h": matrix @ matrix.T + np.eye(3) * 4,
        "z": np.asarray(2.5),
    }
    operands = {name: array.astype(dtype) for name, array in operands.items()}
    real = dtype if np.dtype(dtype).kind == "f" else "f8"
    return operands | {
        "i": draw.integers(-9, 9, (3, 4)),
        "k": draw.integers(0, 9, 6),
        "b": draw.random(6) > 0.4,
        "c": (draw.normal(size=6) + 1j * draw.normal(size=6)).astype(
            "c8" if real == "f4" else "c16"
        ),
        "q": draw.random(6).astype(real),
        "o": np.asarray([-2.0, -1.0, 0.5, 1.0, 2.0, 4.0]).astype(real),
        "n": np.asarray([1.0, np.nan, -2.0, 3.0, np.nan, 0.5]).astype(real),
    }


def strided(dtype: str) -> Arrays:
    """The same elements with gaps between them, and from back to front."""
    return {name: _with_gaps(array) for name, array in plain(dtype).items()}


def _with_gaps(array: Any) -> Any:
    if not array.ndim:
        return array
    wide = np.repeat(array[..., ::-1], 2, axis=-1)
    return wide[..., ::-2]


def empty(dtype: str) -> Arrays:
    """Vectors and matrices without elements; square matrices, and what is in order, have some."""
    return {name: array if name in "mhzo" else array[:0] for name, array in plain(dtype).items()}


ENVIRONMENTS: dict[str, Callable[[], Arrays]] = {
    "float64": lambda: plain("f8"),
    "float32": lambda: plain("f4"),
    "int64": lambda: plain("i8"),
    "strided": lambda: strided("f4"),
    "empty": lambda: empty("f4"),
}


class Outcome(NamedTuple):
    """What a call gave: values, or an error."""

    values: list[Any]
    error: Exception | None = None


def run(space: Any, call: str, operands: Arrays, *, writes: bool = False) -> Outcome:
    """Return what a call gives in a namespace: the first operand, where it writes to it."""
    names = {name: getattr(space, name) for name in (*dir(space),) if name[0] != "_"}
    own = {"float": float, "int": int, "bool": bool, "range": range, "list": list, "slice": slice}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = eval(call, {"__builtins__": builtins.__dict__}, names | own | operands)
            return Outcome(list(flat(operands["x"] if writes else result)))
    except Exception as error:
        return Outcome([], error)


def flat(value: Any) -> Iterator[Any]:
    """Yield the arrays in nested results; what has no elements stays as it is."""
    if isinstance(value, tuple | list) and value and not isinstance(value[0], slice):
        for item in value:
            yield from flat(item)
    elif isinstance(value, str | slice) or value is None:
        yield value
    else:
        yield np.asarray(value)


def tensors(operands: Arrays) -> Arrays:
    """Return operands as tensors that are not computed yet."""
    return {
        name: tfr.asarray(array).to_device("cpu").__copy__() for name, array in operands.items()
    }


def difference(expected: Outcome, actual: Outcome) -> str:
    """Return what differs, in a few words; nothing where both agree, or where NumPy has no answer."""
    if expected.error is not None:
        return ""
    if actual.error is not None:
        return f"raises {type(actual.error).__name__}: {str(actual.error).splitlines()[0]}"
    if len(expected.values) != len(actual.values):
        return f"gives {len(actual.values)} results, NumPy {len(expected.values)}"
    return next(filter(None, map(_of_values, expected.values, actual.values)), "")


def _of_values(expected: Any, actual: Any) -> str:
    if not isinstance(expected, np.ndarray) or expected.dtype.kind in "OU":
        return "" if str(expected) == str(actual) else f"gives {actual!r}, NumPy {expected!r}"
    if expected.shape != actual.shape:
        return f"has shape {actual.shape}, NumPy's {expected.shape}"
    if expected.dtype.kind != actual.dtype.kind:
        return f"is {actual.dtype}, NumPy's {expected.dtype}"
    precise = actual.dtype.itemsize >= expected.dtype.itemsize and expected.dtype != np.float32
    close = np.allclose(
        actual,
        expected,
        rtol=1e-9
        if precise and expected.dtype.kind in "fc" and expected.dtype.itemsize > 8
        else 2e-4,
        atol=1e-5,
        equal_nan=True,
    )
    return "" if close else f"gives {actual.tolist()!r:.120}, NumPy {expected.tolist()!r:.120}"


def every_call() -> Iterator[tuple[str, str, bool]]:
    """Yield each name, each of its calls, and whether it writes to its first operand."""
    for text, writes in ((CALLS, False), (WRITING, True)):
        for name, calls in listed(text).items():
            for call in calls:
                yield name, call, writes


def differences(name: str) -> dict[str, str]:
    """Return what differs in the calls of a name, by call and environment."""
    found = {}
    for own, call, writes in every_call():
        if own != name:
            continue
        for environment, make in ENVIRONMENTS.items():
            expected = run(np, call, make(), writes=writes)
            actual = run(tfr, call, tensors(make()), writes=writes)
            words = difference(expected, actual)
            if words:
                found[f"{call} [{environment}]"] = words
    return found


def computes(name: str) -> bool:
    """Whether calls of a name evaluate their operands."""
    for own, call, writes in every_call():
        if own == name:
            operands = {
                key: tensor + tensor if tensor.dtype != bool else tensor | tensor
                for key, tensor in tensors(plain("f4")).items()
            }
            leaves = [tensor for tensor in operands.values() if isinstance(tensor, Tensor)]
            run(tfr, call, operands, writes=writes)
            if any(tensor.node.storage is not None for tensor in leaves):
                return True
    return False
