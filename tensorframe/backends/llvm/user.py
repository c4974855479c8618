"""Users' functions that read values: Numba's front end compiles them, and LLVM inlines the result in our kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from tensorframe import dtypes
from tensorframe.backends.llvm.library import llvm_lock
from tensorframe.codegen.llvm.types import VALUE
from tensorframe.digests import sha256
from tensorframe.dtypes import BOOL, COMPLEX, FLOAT, INTEGER, DType, real_of, wide_of
from tensorframe.ops.user import MODULES, Compiled, Module, call_name
from tensorframe.quick_tuples import NamedTuple

# what the text of Numba's module calls our function, and what we find it by
_ROW = "tensorframe_row"
# functions of Numba's runtime and of Python: allocation, objects, exceptions
_RUNTIME = ("NRT_", "numba_", "Py", "_Py")
_ATTRIBUTES = "nounwind memory(none)"


class CannotCompileError(Exception):
    """Numba does not compile a function; the message says why."""


class Result(NamedTuple):
    """One result of a function."""

    dtype: DType
    compiled: Compiled


class Parameter(NamedTuple):
    """A parameter as machine code knows it: numbers that are real, and the expression that puts them together."""

    numbers: tuple[tuple[str, DType], ...]
    whole: str


def jitted(function: Any) -> Any:
    """Return a function as Numba's, in which dividing by zero gives infinity, as for all elements."""
    import numba

    return numba.njit(error_model="numpy")(function)


def compile_function(
    function: Any, call: str, operands: Mapping[str, DType], names: Mapping[str, Any]
) -> tuple[list[Result], bool]:
    """Return the results of a function for operands of these dtypes, and whether they are a tuple.

    `call` is a Python expression that calls `function` with the operands, and what `names` holds, by their names.
    """
    from numba.core.errors import NumbaError

    with llvm_lock:
        try:
            return _compiled(function, call, operands, {**names, "function": function})
        except NumbaError as error:
            message = re.sub(r"\x1b\[\d*m", "", str(error))  # it has colours
            lines = [line.strip() for line in message.splitlines() if line.strip()]
            reason = next((line for line in lines if not line.startswith("Failed in")), "")
            raise CannotCompileError(reason) from None


def _compiled(
    function: Any, call: str, operands: Mapping[str, DType], names: dict[str, Any]
) -> tuple[list[Result], bool]:
    import numba

    parameters = [_parameter(name, dtype) for name, dtype in operands.items()]
    whole = dict(zip(operands, [parameter.whole for parameter in parameters], strict=True))
    flat = [number for parameter in parameters for number in parameter.numbers]
    given, is_tuple = _returned(call, whole, flat, names)
    results = [_dtype_of(type_given, list(operands.values())) for type_given in given]
    terms: list[str] = []
    kinds: list[DType] = []
    for index, dtype in enumerate(results):
        value = f"found[{index}]" if is_tuple else "found"
        for part in _parts(value, dtype):
            kinds.append(_passed(real_of(dtype)))
            terms.append(f"kind{len(terms)}({part})")
    names |= {f"kind{index}": numba.from_dtype(kind) for index, kind in enumerate(kinds)}
    lines = [f"found = {_call(call, whole)}", f"return ({', '.join(terms)},)"]
    row = jitted(_function(_ROW, [name for name, _ in flat], lines, names))
    symbol = _module(row, [dtype for _, dtype in flat], kinds)
    made = []
    first = 0
    for index, dtype in enumerate(results):
        count = 2 if dtype in COMPLEX else 1
        calls = tuple([call_name(symbol, first + part) for part in range(count)])
        first += count
        arrays = _arrays(call, operands, index if is_tuple else None, dtype, names)
        made.append(Result(dtype, Compiled(calls, arrays)))
    return made, is_tuple


def _call(call: str, whole: Mapping[str, str]) -> str:
    """Return the call with each operand as an expression."""
    return call.format_map(whole)


def _parameter(parameter: str, dtype: DType) -> Parameter:
    name = f"operand_{parameter}"
    if dtype in COMPLEX:
        numbers = tuple([(f"{name}_{part}", real_of(dtype)) for part in ("real", "imag")])
        return Parameter(numbers, f"complex({name}_real, {name}_imag)")
    if dtype in BOOL:
        return Parameter(((name, dtypes.uint8),), f"({name} != 0)")
    return Parameter(((name, _passed(dtype)),), name)


def _passed(dtype: DType) -> DType:
    """Return the dtype that stands for one which machine code does not take."""
    return dtypes.uint8 if dtype in BOOL else wide_of(dtype)


def _parts(value: str, dtype: DType) -> list[str]:
    return [f"{value}.real", f"{value}.imag"] if dtype in COMPLEX else [value]


def _function(
    name: str, parameters: Sequence[str], lines: Sequence[str], names: Mapping[str, Any]
) -> Any:
    """Return a function with this text."""
    text = "\n    ".join([f"def {name}({', '.join(parameters)}):", *lines])
    space = dict(names)
    exec(text, space)  # noqa: S102 - names of parameters and numbers, nothing of the user's
    return space[name]


def _returned(
    call: str, whole: Mapping[str, str], flat: Sequence[tuple[str, DType]], names: dict[str, Any]
) -> tuple[list[Any], bool]:
    """Return the types that Numba infers for the results, and whether they are a tuple."""
    from numba import from_dtype

    types = _types()
    lines = [f"return {_call(call, whole)}"]
    probe = jitted(_function("probe", [name for name, _ in flat], lines, names))
    arguments = tuple([from_dtype(dtype) for _, dtype in flat])
    probe.compile(arguments)
    kind = probe.nopython_signatures[-1].return_type
    if isinstance(kind, types.BaseTuple):
        return [types.unliteral(member) for member in kind], True
    return [types.unliteral(kind)], False


def _types() -> Any:
    from numba import types

    return types


def _dtype_of(kind: Any, operands: Sequence[DType]) -> DType:
    """Return our dtype for a type of Numba's, which computes in 64 bits: floats are as precise as the operands."""
    types = _types()
    promoted = dtypes.promote(*operands)
    if isinstance(kind, types.Boolean):
        return dtypes.bool_
    if isinstance(kind, types.Integer):
        return np.dtype(kind.name) if np.dtype(kind.name) in INTEGER else dtypes.int64
    if isinstance(kind, types.Float):
        return real_of(dtypes.float_of(promoted))
    if isinstance(kind, types.Complex):
        return dtypes.complex_of(promoted)
    what = (
        "None, at least sometimes"
        if isinstance(kind, types.NoneType | types.Optional)
        else str(kind)
    )
    raise CannotCompileError(f"it returns {what}")


# --- its text ---


def _module(row: Any, arguments: Sequence[DType], results: Sequence[DType]) -> str:
    """Keep the module of a compiled function; return the name of the function that it defines."""
    from numba import from_dtype

    kinds = tuple([from_dtype(dtype) for dtype in arguments])
    row.compile(kinds)
    text = _own_text(row.inspect_llvm(kinds))
    inner = re.search(rf'^define .*?@("?)(_ZN\w*{_ROW}[^"(]*)\1\(', text, re.MULTILINE)
    assert inner is not None
    text = text.replace(inner[0], inner[0].replace("define ", "define internal ", 1), 1)
    symbol = "user_" + sha256(text.encode()).hexdigest()[:16]
    taken = ", ".join([f"{VALUE[dtype]} %a{index}" for index, dtype in enumerate(arguments)])
    given = f"{{ {', '.join([VALUE[dtype] for dtype in results])} }}"
    nothing = ", ".join([f"{VALUE[result]} {_nothing(result)}" for result in results])
    # where it raises, there is no number
    text += f"""
define linkonce_odr {given} @{symbol}({taken}) alwaysinline {_ATTRIBUTES} {{
  %found = alloca {given}
  %error = alloca ptr
  store {given} {{ {nothing} }}, ptr %found
  %status = call i32 @"{inner[2]}"(ptr %found, ptr %error{"".join([", " + word for word in taken.split(", ") if word])})
  %all = load {given}, ptr %found
  ret {given} %all
}}
"""
    MODULES[symbol] = Module(text, tuple(results))
    return symbol


def _nothing(dtype: DType) -> str:
    return "0x7FF8000000000000" if dtype in FLOAT else "0"


def _own_text(text: str) -> str:
    """Return a module without what Python calls, and without what it says of a machine; others see nothing of it."""
    text = re.sub(
        r'^define [^\n]*@"?(?:cfunc\.|_ZN7cpython)[^\n]*\{\n.*?^\}\n',
        "",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    text = re.sub(
        r"^target .*\n|^; ModuleID.*\n|^source_filename.*\n", "", text, flags=re.MULTILINE
    )
    text = re.sub(r"^(@.* = )common ", r"\1internal ", text, flags=re.MULTILINE)
    for name in re.findall(r'^declare [^\n]*@"?([\w.]+)"?\(', text, re.MULTILINE):
        used = len(re.findall(rf'@"?{re.escape(name)}"?\(', text)) > 1
        if not used or name.startswith("llvm."):
            continue
        if name.startswith(_RUNTIME) or llvm.address_of_symbol(name) is None:
            raise CannotCompileError(
                f"it needs {name} of Numba's runtime: lists, strings or exceptions"
            )
    return text


# --- NumPy's arrays ---


def _arrays(
    call: str, operands: Mapping[str, DType], place: int | None, dtype: DType, names: dict[str, Any]
) -> Callable[..., Any]:
    """Return a function of arrays, compiled when it is first called."""
    made: list[Any] = []

    def run(*arrays: Any) -> Any:
        if not made:
            made.append(_vectorized(call, operands, place, dtype, names))
        values = [np.asarray(array) for array in arrays]
        passed = [value.astype(wide_of(value.dtype), copy=False) for value in values]
        return made[0](*passed).astype(dtype, copy=False)

    return run


def _vectorized(
    call: str, operands: Mapping[str, DType], place: int | None, dtype: DType, names: dict[str, Any]
) -> Any:
    import numba

    whole = {name: f"operand_{name}" for name in operands}
    pick = "" if place is None else f"[{place}]"
    each = _function("each", list(whole.values()), [f"return {_call(call, whole)}{pick}"], names)
    kinds = [numba.from_dtype(wide_of(operand)) for operand in operands.values()]
    vectorize: Any = numba.vectorize
    signature = numba.from_dtype(wide_of(dtype))(*kinds)
    with llvm_lock:
        return vectorize([signature])(each)
