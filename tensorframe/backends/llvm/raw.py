"""Raw kernels of the cpu: functions of Python's that Numba compiles, and threads that share the grid."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tensorframe.backends.llvm.library import llvm_lock
from tensorframe.backends.numpy.threads import share_out, thread_count
from tensorframe.backends.spans import Work, spanned
from tensorframe.codegen.raw.failures import Complaint, compile_error
from tensorframe.codegen.raw.text import OWN
from tensorframe.graph.region import Region
from tensorframe.ops.raw_kernels import RawCall

# Parts of the outermost index that a thread takes, so that one with less to do takes more of them.
_PARTS = 8
# Indices of the grid below which another thread wakes too late.
_WORTH_SHARING = 1 << 12


class RawProgram:
    """Runs the function for each index of the grid, or once if it takes none of them."""

    quiet = True

    def __init__(self, region: Region) -> None:
        (op,) = region.ops
        self._call: RawCall = op.op.raw
        self._operands = op.inputs

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the one output, or a tuple of all."""
        call = self._call
        given: dict[str, Any] = {}
        for entry, place in zip(call.inputs, self._operands, strict=True):
            given[entry.name] = _argument(inputs[place], entry.shape is not None, entry.dtype)
        outputs = [np.empty(entry.shape or (), entry.dtype) for entry in call.outputs]
        given |= {entry.name: array for entry, array in zip(call.outputs, outputs, strict=True)}
        given |= {name: np.int64(size) for name, size in call.sizes}
        if call.extent:
            _run(call, given)
        return (tuple(outputs),) if len(outputs) > 1 else outputs

    def source(self) -> str:
        """Return the function, and the loops around it."""
        lines, _ = lines_of(function_of(self._call))
        return "\n".join([*lines, "", driver_text(self._call), ""])


def _argument(value: Any, is_array: bool, dtype: Any) -> Any:
    """Return an operand as the function gets it: an array in C order that it cannot write to, or a number."""
    if not is_array:
        return dtype.type(value)
    array = np.ascontiguousarray(value).reshape(np.shape(value)).view()
    array.flags.writeable = False
    return array


def function_of(call: RawCall) -> Any:
    """Return the user's function, without what Numba may have made of it."""
    function = call.source("cpu")
    return getattr(function, "py_func", function)


def lines_of(function: Any) -> tuple[list[str], int]:
    """Return the lines of a function, and where its file has the first; a console's are not kept."""
    try:
        lines, start = inspect.getsourcelines(function)
    except OSError:
        return [], function.__code__.co_firstlineno
    return [line.rstrip("\n") for line in lines], start


def parameters_of(call: RawCall) -> list[str]:
    """Return the names of the parameters of the user's function."""
    return list(inspect.signature(function_of(call)).parameters)


def indices_of(call: RawCall) -> list[str]:
    """Return the indices that the function takes: all of the grid's, or none if it is to run once."""
    taken = parameters_of(call)
    names = [name for name, _ in call.grid]
    return names if any(name in taken for name in names) else []


def driver_text(call: RawCall) -> str:
    """Return the text of the loops over the grid around the user's function."""
    indices = indices_of(call)
    given = [name for name in parameters_of(call) if name not in indices]
    arguments = [f"{name}={text}" for name, text in _static(call).items()]
    arguments = [
        f"{name}={name}" for name in parameters_of(call) if name not in _static(call)
    ] + arguments
    taken = [name for name in given if name not in _static(call)]
    extents = [f"{OWN}extent_{place}" for place in range(1, len(indices))]
    lines = [f"def {OWN}run({', '.join([f'{OWN}start', f'{OWN}stop', *extents, *taken])}):"]
    for depth, index in enumerate(indices):
        span = f"{OWN}start, {OWN}stop" if depth == 0 else f"{OWN}extent_{depth}"
        lines.append(f"{'    ' * (depth + 1)}for {index} in range({span}):")
    lines.append(f"{'    ' * (len(indices) + 1)}{OWN}body({', '.join(arguments)})")
    return "\n".join(lines)


def _static(call: RawCall) -> dict[str, str]:
    return {
        name: text.capitalize() if text in ("true", "false") else text
        for name, _, text in call.static
    }


def _run(call: RawCall, given: dict[str, Any]) -> None:
    indices = indices_of(call)
    taken = [given[name] for name in parameters_of(call) if name in given]
    extents = [np.int64(size) for _, size in call.grid[1:]] if indices else []
    first = call.grid[0][1] if indices else 1
    arguments = [np.int64(0), np.int64(0), *extents, *taken]
    run = _compiled(call.name, function_of(call), driver_text(call), _types(arguments), call)
    if not indices or call.extent < _WORTH_SHARING:
        run(np.int64(0), np.int64(first), *extents, *taken)
        return
    parts = min(first, _PARTS * thread_count())
    bounds = [first * part // parts for part in range(parts + 1)]

    def work(mine: Iterator[int]) -> None:
        for part in mine:
            run(np.int64(bounds[part]), np.int64(bounds[part + 1]), *extents, *taken)

    share_out(range(parts), work)


def _types(arguments: Sequence[Any]) -> tuple[Any, ...]:
    import numba

    type_of: Any = numba.typeof
    return tuple([type_of(argument) for argument in arguments])


@lru_cache(256)
def _compiled(
    name: str, function: Any, driver: str, types: tuple[Any, ...], call: RawCall
) -> Callable[..., None]:
    """Return the loops around a function, compiled for arguments of these types."""
    import numba
    from numba.core.errors import NumbaError

    body = numba.njit(error_model="numpy")(function)
    space: dict[str, Any] = {f"{OWN}body": body}
    exec(driver, space)  # noqa: S102 - names that were checked, and numbers
    run = numba.njit(nogil=True, error_model="numpy")(space[f"{OWN}run"])
    with llvm_lock, spanned(Work.COMPILE, name, "numba"):
        try:
            run.compile(types)
        except NumbaError as error:
            raise _failure(call, function, str(error)) from None
    compiled: Callable[..., None] = run
    return compiled


def _failure(call: RawCall, function: Any, log: str) -> Exception:
    """Return the error of a function that Numba does not compile, with the line that it names."""
    log = re.sub(r"\x1b\[[\d;]*m", "", log)
    code = function.__code__
    lines, start = lines_of(function)
    files = re.findall(r'File "([^"]+)", line (\d+)', log)
    inside = [
        int(line)
        for file, line in files
        if code.co_filename.endswith(file.removeprefix("../").split("../")[-1])
        and start <= int(line) < start + len(lines)
    ]
    place = inside[-1] if inside else _line_of_name(code, log)
    line = None if place is None else place - start + 1
    return compile_error(call.name, "cpu", lines, Complaint(line, _reason(log)), log, call.place)


def _line_of_name(code: Any, log: str) -> int | None:
    """Return the line that uses a name which Numba does not find, and does not say where."""
    match = re.search(r"name '(\w+)' is not defined", log)
    if match is None:
        return None
    lines = [
        entry.positions.lineno
        for entry in dis.get_instructions(code)
        if entry.argval == match[1] and entry.positions is not None
    ]
    return lines[0] if lines else None


def _reason(log: str) -> str:
    """Return the sentence of a message of Numba's that says what is wrong."""
    specific = re.search(r"^\s*(\w*Error: .+)$", log, re.MULTILINE)
    if specific is not None:
        return specific[1]
    signature = re.search(r"^\s*>>> (.+)$", log, re.MULTILINE)
    if signature is not None:
        return f"Numba has no {signature[1]}"
    said = [
        text.strip()
        for text in log.splitlines()
        if text.strip() and not text.startswith(("Failed in", "During", "File "))
    ]
    return said[0] if said else "Numba does not say why"
