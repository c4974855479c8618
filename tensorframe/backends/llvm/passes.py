"""LLVM through llvmlite: for modules that its passes go through, and where its functions are not known to be ours.

Kernels on vectors and modules of our own need no passes, so most processes never import llvmlite's package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from tensorframe.backends.llvm.library import content, library
from tensorframe.backends.llvm.target import is_in_one_piece, placement, processor
from tensorframe.codegen.llvm import PACKED, SELECTED
from tensorframe.kernel.ir import USER
from tensorframe.ops.user import MODULES

# what a kernel calls of the user's, see ops/user.py
_USERS = re.compile(rf"^declare .*@({USER}\w+)\(", re.MULTILINE)


class PassCompiler:
    """LLVM for one thread at a time: a context and a target machine that no other compiler has."""

    def __init__(self) -> None:
        self._context = llvm.create_context()
        self._machine = machine_by_llvmlite(3)
        layout, triple = self._machine.target_data, processor().triple
        self._target = f'target datalayout = "{layout}"\ntarget triple = "{triple}"\n'

    def object_code(self, text: str, level: int = 3) -> bytes:
        """Compile a module of LLVM for this machine; RuntimeError if it is none."""
        functions, module = library(), self.optimised(text)
        machine = self._machine if level == 3 else machine_by_llvmlite(level)
        if functions is None:
            return bytes(machine.emit_object(module))
        with ffi.OutputString() as problem:
            memory = functions.emit(machine, module, 1, problem)
            if not memory:
                raise RuntimeError(str(problem))
        return content(memory, functions)

    def optimised(self, text: str) -> Any:
        """Return LLVM's module of a text after its passes."""
        functions, module = library(), llvm.parse_assembly(self._target + text, self._context)
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


# --- what other versions of llvmlite are asked in place of the library ---


def machine_by_llvmlite(level: int) -> Any:
    """Return a code generator as llvmlite makes it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, name, features = processor()
    model, relocation = placement()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=name, features=features, opt=level, reloc=relocation, codemodel=model, jit=True
    )


def processor_by_llvmlite() -> tuple[str, str, str]:
    """Return the triple, the name and the features of this machine's processor."""
    features = llvm.get_host_cpu_features().flatten()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


def version_by_llvmlite() -> tuple[int, ...]:
    """Return LLVM's version."""
    return tuple(llvm.llvm_version_info)


def linked_by_llvmlite(name: str, code: bytes, symbols: Sequence[str]) -> tuple[Any, list[int]]:
    """Return who keeps object code in memory, and the addresses of its symbols."""
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol in symbols:
        builder.export_symbol(symbol)
    tracker = builder.link(_linker(), name)
    return tracker, [tracker[symbol] for symbol in symbols]


@cache
def _linker() -> Any:
    machine = machine_by_llvmlite(3)
    return llvm.create_lljit_compiler(machine, use_jit_link=is_in_one_piece())
