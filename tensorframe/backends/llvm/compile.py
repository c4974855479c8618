"""From a kernel's text to object code for this machine: LLVM's passes, where it needs any, then its code generator."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tensorframe.backends.llvm.library import Library, Message, content, library
from tensorframe.backends.llvm.target import new_target_machine, processor, target_machine
from tensorframe.codegen.llvm import SELECTED
from tensorframe.forks import new_lock
from tensorframe.kernel.ir import USER

if TYPE_CHECKING:
    from tensorframe.backends.llvm.passes import PassCompiler

# What a text begins with, after `SELECTED`, that is short and runs seldom: made without effort, in a fifth of the time.
PLAIN = "; no optimisation\n"

_lock = new_lock()  # the compiler of this module's functions is shared


class Compiler:
    """LLVM for one thread at a time: contexts and target machines that no other compiler has."""

    def __init__(self, machine: Any = None) -> None:
        """Take a target machine, or make one when it is needed."""
        functions = library()
        self._generator = None if functions is None else _Generator(functions, machine)
        self._compiler: PassCompiler | None = None

    def object_code(self, text: str) -> bytes:
        """Compile a module of LLVM for this machine; RuntimeError if it is none."""
        code = None
        if self._generator is not None and not needs_passes(text):
            code = self._generator.object_code(text, _level(text))
        # what is wrong with a module is raised here, too
        return self._by_llvmlite().object_code(text, _level(text)) if code is None else code

    def optimised(self, text: str) -> Any:
        """Return LLVM's module of a text after its passes."""
        return self._by_llvmlite().optimised(text)

    def _by_llvmlite(self) -> PassCompiler:
        if self._compiler is None:
            from tensorframe.backends.llvm.passes import PassCompiler  # imports all of llvmlite

            self._compiler = PassCompiler()
        return self._compiler


class _Generator:
    """LLVM's code generator alone, for modules that need no passes, in few steps: others hold the interpreter."""

    def __init__(self, functions: Library, machine: Any) -> None:
        self._functions = functions
        self._context = functions.context()
        machine = new_target_machine() if machine is None else machine
        self._machines = {3: machine}  # by the effort that they make
        layout, triple = machine.target_data, processor().triple
        self._target = f'target datalayout = "{layout}"\ntarget triple = "{triple}"\n'

    def object_code(self, text: str, level: int) -> bytes | None:
        """Return what a module compiles to; None if something is wrong with it."""
        functions = self._functions
        machine = self._machines.get(level)
        if machine is None:
            machine = self._machines[level] = new_target_machine(level)
        unread, wrong, failed = [Message(functions) for _ in range(3)]
        module = functions.parse(self._context, (self._target + text).encode(), unread.place)
        if not module:
            return None
        try:
            if functions.is_wrong(module, wrong.place):
                return None
            memory = functions.emit(machine, module, 1, failed.place)
            return content(memory, functions) if memory else None
        finally:
            functions.dispose(module)


def _level(text: str) -> int:
    """Return the effort that the code generator makes."""
    return 0 if text.startswith(SELECTED + PLAIN) else 3


def needs_passes(text: str) -> bool:
    """Whether LLVM's passes go through a module: it has loops that are not on vectors, or calls users' functions."""
    return not text.startswith(SELECTED) or f"@{USER}" in text


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
