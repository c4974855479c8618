"""The comparison: a call in NumPy's namespace and in ours, on operands of several dtypes and layouts."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import tensorframe as tfr
from tensorframe.frontend.tensor import Tensor
from tensorframe.runtime import evaluate as runtime
from tests.numpy_names.environments import ENVIRONMENTS, Arrays, contiguous
from tests.numpy_names.signatures import every_call, written_calls

Differences = dict[str, str]  # what differs, by call and environment


class Precision(NamedTuple):
    """How exact the operands of a call are: whether floats among them have 64 bits, and what half precision costs."""

    wide: bool
    tolerance: float

    @classmethod
    def of(cls, call: str, operands: Arrays) -> Precision:
        """Return the precision of the operands that a call computes with, or of the dtype that it names."""
        dtypes = {array.dtype for array in _used(call, operands)}
        is_wide = '"f8"' in call or not dtypes.isdisjoint({np.dtype("f8"), np.dtype("c16")})
        return cls(is_wide, _tolerance(np.dtype("f2")) if np.dtype("f2") in dtypes else 0.0)


class Outcome(NamedTuple):
    """What a call gave: values, or an error."""

    values: list[Any]
    error: Exception | None = None


NUMPYS_OWN = {
    "np_save": np.save,
    "np_load": np.load,
}  # the other half of what a call writes or reads


@cache
def names_of(space: Any) -> dict[str, Any]:
    """Return what a call may name: a namespace, Python's own classes, and files."""
    names = {name: getattr(space, name) for name in dir(space) if name[0] != "_"}
    own = {"float": float, "int": int, "bool": bool, "range": range, "list": list, "slice": slice}
    files = {"BytesIO": BytesIO, "StringIO": StringIO, "saved": saved, "written": written}
    return names | own | files | NUMPYS_OWN | {"__builtins__": builtins.__dict__}


def saved(save: Callable[[BytesIO], Any]) -> bytes:
    """Return the bytes that a function writes to a file."""
    file = BytesIO()
    save(file)
    return file.getvalue()


def written(content: bytes) -> BytesIO | str:
    """Return the path of a file with this content, which is there as long as the process."""
    path = Path(mkdtemp()) / "content"
    path.write_bytes(content)
    return str(path)


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out warnings, of which tensors give none."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def run(space: Any, call: str, operands: Arrays, *, writes: bool = False) -> Outcome:
    """Return what a call gives in a namespace: the first operand, where it writes to it."""
    try:
        with quiet():
            result = evaluated(space, call, operands)
            return Outcome(list(flat(operands["x"] if writes else result)))
    except Exception as error:
        return Outcome([], error)


def evaluated(space: Any, call: str, operands: Arrays) -> Any:
    """Return what a call returns in a namespace; a tensor of ours need not be computed yet."""
    with quiet():
        return eval(_compiled(call), names_of(space) | operands)


@cache
def _compiled(call: str) -> Any:
    return compile(call, call, "eval")


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


def difference(expected: Outcome, actual: Outcome, precision: Precision) -> str:
    """Return what differs, in a few words; nothing where both agree."""
    if actual.error is not None:
        return f"raises {type(actual.error).__name__}: {str(actual.error).splitlines()[0]}"
    if len(expected.values) != len(actual.values):
        return f"gives {len(actual.values)} results, NumPy {len(expected.values)}"
    pairs = zip(expected.values, actual.values, strict=True)
    return next((words for pair in pairs if (words := _of_values(*pair, precision))), "")


def _of_values(expected: Any, actual: Any, precision: Precision) -> str:
    if not isinstance(expected, np.ndarray) or expected.dtype.kind in "OUV":
        return "" if str(expected) == str(actual) else f"gives {actual!r}, NumPy {expected!r}"
    if expected.shape != actual.shape:
        return f"has shape {actual.shape}, NumPy's {expected.shape}"
    if not _same_dtype(expected.dtype, actual.dtype, wide=precision.wide):
        return f"is {actual.dtype}, NumPy's {expected.dtype}"
    tolerance = max(precision.tolerance, _tolerance(expected.dtype), _tolerance(actual.dtype))
    close = np.allclose(actual, expected, rtol=tolerance, atol=tolerance / 20, equal_nan=True)
    return "" if close else f"gives {actual.tolist()!r:.120}, NumPy {expected.tolist()!r:.120}"


def _same_dtype(expected: Any, actual: Any, *, wide: bool) -> bool:
    """Whether dtypes are equal, but for floats that NumPy makes wider (or narrower, of small integers) than ours.

    Integers become the default real dtype here, and functions stay in the dtype of the floats that they are given.
    """
    is_own = actual in (np.float16, np.float32, np.complex64) and not wide
    return bool(expected == actual or (is_own and expected.kind == actual.kind))


def _tolerance(dtype: Any) -> float:
    narrow = {"float16": 2e-2, "float32": 2e-4, "complex64": 2e-4}
    return narrow.get(dtype.name, 1e-9 if dtype.kind in "fc" else 0.0)


def differences(
    name: str, environments: Callable[[str], Iterable[str]] | None = None
) -> Differences:
    """Return what differs in the calls of a name, in all environments or those that a function chooses for a call.

    A call that NumPy refuses in all of them is a difference, since it compares nothing.
    """
    result = {}
    for calls, writes in ((every_call(), False), (written_calls(), True)):
        for call in calls.get(name, ()):
            answered = False
            for environment in environments(call) if environments else ENVIRONMENTS:
                make = ENVIRONMENTS[environment]
                operands = make()
                expected = run(np, call, operands, writes=writes)
                if expected.error is not None:
                    continue
                answered = True
                actual = run(tfr, call, tensors(make()), writes=writes)
                precision = Precision.of(call, make())
                words = difference(expected, actual, precision)
                if words:
                    result[f"{call} [{environment}]"] = words
            if not answered and environments is None:
                result[f"{call} [everywhere]"] = "raises in NumPy"
    return result


def _used(call: str, operands: Arrays) -> list[Any]:
    """Return the operands that a call computes with: `like=` only says whose functions are meant."""
    tree = ast.parse(call)
    ignored = {
        id(word.value)
        for word in ast.walk(tree)
        if isinstance(word, ast.keyword) and word.arg == "like"
    }
    names = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in ignored
    }
    return [operands[name] for name in names & operands.keys()]


def computes(name: str) -> bool:
    """Whether calls of a name evaluate anything: their operands, or what they make of them."""
    evaluations = []

    def host_array(node: Any) -> Any:
        evaluations.extend([node] if node.storage is None else [])
        return runtime.host_array(node)

    for call in (*every_call().get(name, ()), *written_calls().get(name, ())):
        operands = {
            key: tensor + tensor if tensor.dtype != bool else tensor | tensor
            for key, tensor in tensors(contiguous("f4")).items()
        }
        leaves = [tensor for tensor in operands.values() if isinstance(tensor, Tensor)]
        with mock.patch("tensorframe.frontend.tensor.host_array", host_array):
            evaluated(tfr, call, operands)
        if evaluations or any(tensor.node.storage is not None for tensor in leaves):
            return True
    return False
