"""From a kernel's text to object code for this machine: Numba's front end, then one run of LLVM's passes."""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from tensorframe.backends.numba.target import target_machine

_lock = Lock()  # the target machine is shared


class ObjectCode(NamedTuple):
    """Machine code that is not placed in memory yet, and the name of the function in it."""

    symbol: str
    code: bytes


def compile_kernel(name: str, source: str) -> ObjectCode:
    """Compile the text of the function `name` for this machine."""
    from tensorframe.backends.numba.lower import lowered  # imports Numba

    return object_code(name, lowered(name, source))


def object_code(symbol: str, text: str) -> ObjectCode:
    """Compile LLVM's IR for this machine."""
    with _lock:
        return ObjectCode(symbol, target_machine().emit_object(optimised(text)))


def optimised(text: str) -> Any:
    """Return LLVM's module of some IR after its passes."""
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(target_machine(), options)
    builder.getModulePassManager().run(module, builder)
    return module
