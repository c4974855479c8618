"""From a kernel's text to object code for this machine: LLVM's passes, then its code generator."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from tensorframe.backends.llvm.target import new_target_machine, processor, target_machine
from tensorframe.backends.llvm.unlocked import Unlocked, unlocked
from tensorframe.codegen.llvm import PACKED, SELECTED
from tensorframe.forks import new_lock
from tensorframe.kernel.ir import USER
from tensorframe.ops.user import MODULES

# What a text begins with, after `SELECTED`, that is short and runs seldom: made without effort, in a fifth of the time.
PLAIN = "; no optimisation\n"

_lock = new_lock()  # the compiler of this module's functions is shared

# what a kernel calls of the user's, see ops/user.py
_USERS = re.compile(rf"^declare .*@({USER}\w+)\(", re.MULTILINE)


class Compiler:
    """LLVM for one thread at a time: a context and a target machine that no other compiler has."""

    def __init__(self, machine: Any = None) -> None:
        """Take a target machine, or make one."""
        self._context = llvm.create_context()
        self._machine = new_target_machine() if machine is None else machine
        layout, triple = self._machine.target_data, processor().triple
        self._target = f'target datalayout = "{layout}"\ntarget triple = "{triple}"\n'

    def object_code(self, text: str) -> bytes:
        """Compile a module of LLVM for this machine; RuntimeError if it is none."""
        functions, module = unlocked(), self.optimised(text)
        machine = new_target_machine(0) if text.startswith(SELECTED + PLAIN) else self._machine
        if functions is None:
            return bytes(machine.emit_object(module))
        with ffi.OutputString() as problem:
            memory = functions.emit(machine, module, 1, problem)
            if not memory:
                raise RuntimeError(str(problem))
        return _content(memory, functions)

    def quick_object_code(self, text: str) -> bytes | None:
        """Return what `object_code` does, or None if that is to do it, in few steps: others hold the interpreter."""
        functions = unlocked()
        is_plain = text.startswith(SELECTED + PLAIN)
        if functions is None or not text.startswith(SELECTED) or is_plain or _USERS.search(text):
            return None
        problem = ctypes.c_char_p()
        module = functions.parse(self._context, (self._target + text).encode(), problem)
        try:
            if problem or not functions.verify(module, problem):
                return None
            memory = functions.emit(self._machine, module, 1, problem)
            return _content(memory, functions) if memory else None
        finally:
            if module:
                functions.dispose(module)

    def optimised(self, text: str) -> Any:
        """Return LLVM's module of a text after its passes."""
        functions, module = unlocked(), llvm.parse_assembly(self._target + text, self._context)
        users = _USERS.findall(text)
        for name in users:
            module.link_in(llvm.parse_assembly(MODULES[name].text, self._context))
        module.verify()
        if text.startswith(SELECTED) and not users:
            return module
        # Kernels come in the form that the passes of higher levels would bring them into; what is left to do is to
        # vectorise, and to unroll: without it a sum of columns is six times slower.
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = options.loop_unrolling = options.loop_interleaving = True
        options.slp_vectorization = text.startswith(PACKED)
        builder = llvm.create_pass_builder(self._machine, options)
        passes = builder.getModulePassManager()
        if functions is None:
            passes.run(module, builder)
        else:
            functions.run_passes(passes, module, builder)
        return module


def _content(memory: Any, functions: Unlocked) -> bytes:
    """Return the bytes of a buffer of LLVM's, which is freed."""
    try:
        return ctypes.string_at(functions.start(memory), functions.size(memory))
    finally:
        functions.free(memory)


@cache
def _compiler() -> Compiler:
    return Compiler(target_machine())


def object_code(text: str) -> bytes:
    """Compile a module of LLVM for this machine."""
    with _lock:
        return _compiler().object_code(text)


def optimised(text: str) -> Any:
    """Return LLVM's module of a text after its passes."""
    with _lock:
        return _compiler().optimised(text)
