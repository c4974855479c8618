"""From a kernel's text to object code for this machine: Numba types and lowers it, LLVM optimises it once.

Only Numba's front end is used: its own run of LLVM optimises everything twice, links, and would hide the object code.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.compiler import CompilerBase, Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode

from tensorframe.backends.numba.intrinsics import LONG, NAMESPACE
from tensorframe.backends.numba.target import processor, target_machine


class ObjectCode(NamedTuple):
    """Machine code that is not placed in memory yet, and the name of the function in it."""

    symbol: str
    code: bytes


SLOTS = LONG.as_pointer()
SIGNATURE = (
    types.uint64,
    types.uint64,
    types.CPointer(types.uint64),
    types.CPointer(types.uint64),
)


class _Module:
    """What Numba takes for its code library: the module that it writes, left as it is."""

    def __init__(self) -> None:
        self._reload_init: set[Any] = set()
        self.recorded_timings = None
        self.written: Any = None

    def create_ir_module(self, name: str) -> Any:
        module = ir.Module(name)
        module.triple = processor().triple
        module.data_layout = str(target_machine().target_data)
        return module

    def add_ir_module(self, module: Any) -> None:
        self.written = module

    def add_linking_library(self, library: Any) -> None:
        """Numba's runtime, which kernels do without."""


class _Compiler(CompilerBase):  # type: ignore[misc]
    """Numba's passes that straight loops over scalars need."""

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("tensorframe")
        passes.add_pass(TranslateByteCode, "bytecode to IR")
        passes.add_pass(FixupArgs, "arguments")
        passes.add_pass(IRProcessing, "IR processing")
        passes.add_pass(ReconstructSSA, "single assignment")
        passes.add_pass(NopythonTypeInference, "types")
        passes.add_pass(PreLowerStripPhis, "phis")
        passes.add_pass(IRLegalization, "legalisation")
        passes.add_pass(AnnotateTypes, "annotation")
        passes.add_pass(NativeLowering, "lowering")
        passes.finalize()
        return [passes]


def _flags() -> Flags:
    flags = Flags()
    flags.error_model = "numpy"
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.no_compile = True
    flags.no_rewrites = True
    flags.nrt = False
    return flags


def _with_c_convention(module: Any, inner: str, name: str) -> None:
    """Add the function that is called from outside: Numba's own also passes back a result and an exception."""
    function = module.get_global(inner)
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    shape = ir.FunctionType(ir.VoidType(), [LONG, LONG, SLOTS, SLOTS])
    outer = ir.Function(module, shape, name)
    builder = ir.IRBuilder(outer.append_basic_block())
    unused = [builder.alloca(one.type.pointee) for one in function.args[:2]]
    builder.call(function, [*unused, *outer.args])
    builder.ret_void()


def _python_function(name: str, source: str) -> Callable[..., None]:
    file = f"<tensorframe {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace = {"np": np, "__name__": "tensorframe.kernels", **NAMESPACE}
    exec(compile(source, file, "exec"), namespace)  # noqa: S102 - this is what the text is printed for
    function: Callable[..., None] = namespace[name]
    return function


@global_compiler_lock  # type: ignore[untyped-decorator]
def compile_kernel(name: str, source: str) -> ObjectCode:
    """Compile the text of the function `name` for this machine."""
    return ObjectCode(name, target_machine().emit_object(optimised(name, source)))


def lowered(name: str, source: str) -> str:
    """Return LLVM's IR of a kernel as Numba writes it."""
    module = _Module()
    compiled = compile_extra(
        cpu_target.typing_context,
        cpu_target.target_context,
        _python_function(name, source),
        SIGNATURE,
        types.void,
        _flags(),
        {},
        library=module,
        pipeline_class=_Compiler,
    )
    _with_c_convention(module.written, compiled.fndesc.llvm_func_name, name)
    return str(module.written)


def optimised(name: str, source: str) -> Any:
    """Return LLVM's module of a kernel after its passes."""
    module = llvm.parse_assembly(lowered(name, source))
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(target_machine(), options)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    return module
