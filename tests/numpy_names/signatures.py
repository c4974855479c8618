"""The parameters of NumPy's functions: calls that name those which the table leaves out, and which no call names.

What many functions have in common is written once: `out=` of each is like the result of its first call, and ufuncs
take the same options, of which each makes a call of its own.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

import tensorframe as tfr
from tests.numpy_names.calls import CALLS, WRITING, listed
from tests.numpy_names.more_calls import FILES_AND_TEXT, LINALG_AND_FFT

# arguments that do the same wherever they are: text that a call is continued with, `{0}` the call without them
COMMON = {
    "out": "zeros_like({0})",
    "device": "'cpu'",
    "like": "x",
    "order": "'C'",
    "subok": "True",
}
# functions whose parameter of that name is of fields of records, which tensors have not
ORDER_OF_FIELDS = frozenset({"argsort", "argpartition", "partition", "sort"})

ON_INTEGERS = frozenset(
    {
        "bitwise_and",
        "bitwise_count",
        "bitwise_invert",
        "bitwise_left_shift",
        "bitwise_not",
        "bitwise_or",
        "bitwise_right_shift",
        "bitwise_xor",
        "gcd",
        "invert",
        "lcm",
        "left_shift",
        "right_shift",
    }
)
OF_DATES = frozenset({"isnat"})
# what stands in the signature and is refused by NumPy whatever its value: a ufunc of matrices has no one axis
REFUSED_BY_NUMPY = {
    **{name: frozenset({"axis", "keepdims"}) for name in ("matmul", "matvec", "vecmat")},
    "frexp": frozenset({"dtype"}),
}


def homes() -> Iterator[tuple[str, ModuleType, Any]]:
    """Yield each namespace: a prefix, NumPy's, and ours."""
    yield "", np, tfr
    yield "linalg.", np.linalg, tfr.linalg
    yield "fft.", np.fft, tfr.fft


def public(space: ModuleType) -> list[str]:
    """Return the public names of one of NumPy's namespaces."""
    return sorted(name for name in space.__all__ if name[0] != "_")


def functions() -> Iterator[tuple[str, Any]]:
    """Yield the name and NumPy's function of each that is a function of ours, and not NumPy's own."""
    for prefix, space, ours in homes():
        for name in public(space):
            function = getattr(space, name)
            own = getattr(ours, name, function)
            if callable(function) and own is not function and not isinstance(function, type):
                yield prefix + name, function


@cache
def every_call() -> dict[str, tuple[str, ...]]:
    """Return the calls of each name: those of the table, and those that the signature asks for beyond them."""
    written = listed(CALLS) | listed(LINALG_AND_FFT) | listed(FILES_AND_TEXT)
    result = {name: tuple(calls) for name, calls in written.items()}
    for name, function in functions():
        calls = written.get(name, [])
        if isinstance(function, np.ufunc) and name not in OF_DATES:
            calls = calls or [_first_call(name, function)]
            calls = [*calls, *_options(name, function, calls[0])]
        result[name] = (*calls, *_common(name, function, calls))
    return {name: calls for name, calls in result.items() if calls}


def written_calls() -> dict[str, tuple[str, ...]]:
    """Return the calls that write to their first operand, by name."""
    return {name: tuple(calls) for name, calls in listed(WRITING).items()}


def _first_call(name: str, ufunc: np.ufunc) -> str:
    operands = ("i", "k[:4]") if name in ON_INTEGERS else ("v", "w")
    return f"{name}({', '.join(operands[: ufunc.nin])})"


def _options(name: str, ufunc: np.ufunc, call: str) -> Iterator[str]:
    """Yield calls of a ufunc with its options, which are like those of all others."""
    result = "zeros_like({})" if ufunc.nout == 1 else "tuple(map(zeros_like, {}))"
    fresh = result.format(call)
    dtype = f"{call}.dtype" if ufunc.nout == 1 else f"{call}[0].dtype"
    yield _continued(name, call, out=fresh, casting="'unsafe'", order="'K'", subok="True")
    if ufunc.signature is None:
        selection = f"{call} > 0" if ufunc.nout == 1 else f"{call}[0] > 0"
        yield _continued(name, call, out=fresh, where=selection)
    elif ufunc.nin == 2:
        operands = re.findall(r"\(([^)]*)\)", ufunc.signature)
        axes = [tuple(range(-len(sizes.split(",")), 0)) for sizes in operands if sizes]
        yield _continued(name, call, axes=str(axes))
    if ufunc.nout == 1:
        yield _continued(name, call, dtype=dtype, casting="'same_kind'")
        kinds = ", ".join(["None"] * ufunc.nin)
        yield _continued(name, call, signature=f"({kinds}, {dtype})", casting="'unsafe'")


def _common(name: str, function: Any, calls: list[str]) -> Iterator[str]:
    """Yield calls with the arguments of a signature that mean everywhere the same and that no call of these names."""
    if not calls or isinstance(function, np.ufunc):
        return
    for parameter in unnamed(name, function, calls):
        if parameter == "order" and name in ORDER_OF_FIELDS:
            yield _continued(name, calls[0], order="None")
        elif parameter in COMMON:
            yield _continued(name, calls[0], **{parameter: COMMON[parameter].format(calls[0])})


def _continued(name: str, text: str, **arguments: str) -> str:
    """Return a call with further arguments."""
    tree = ast.parse(text, mode="eval")
    call = next(_calls_of(name, tree))
    for parameter, value in arguments.items():
        call.keywords.append(ast.keyword(parameter, ast.parse(value, mode="eval").body))
    return ast.unparse(tree)


def _calls_of(name: str, tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of a function in an expression."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
            yield node


def unnamed(name: str, function: Any, calls: list[str] | tuple[str, ...]) -> list[str]:
    """Return the parameters of NumPy's signature that no call of these gives an argument for."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # NumPy's oldest functions say nothing of their arguments
        return [] if calls else ["..."]
    named: set[str] = set()
    for text in calls:
        for call in _calls_of(name, ast.parse(text)):
            keywords = {keyword.arg: None for keyword in call.keywords if keyword.arg}
            bound = signature.bind(*call.args, **keywords).arguments
            named |= bound.keys()
    named |= REFUSED_BY_NUMPY.get(name, frozenset())
    return [parameter for parameter in signature.parameters if parameter not in named]
