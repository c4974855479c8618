"""From a kernel's text to LLVM's IR: Numba's front end, with what kernels need of it and nothing else.

Numba's own contexts load implementations of everything that Numba knows, SciPy's linear algebra included, before the
first function is compiled: 0.65 s. Kernels know numbers, `range` and their intrinsics.
"""

from __future__ import annotations

import linecache
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import ir as numba_ir
from numba.core import types
from numba.core.compiler import CompilerBase, Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.cpu import CPUContext
from numba.core.lowering import Lower
from numba.core.typed_passes import (
    AnnotateTypes,
    BaseNativeLowering,
    IRLegalization,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.templates import (
    RegistryLoader,
    _OverloadAttributeTemplate,
    builtin_registry,
)
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode

from tensorframe.backends.numba.intrinsics import LOWERING, NAMESPACE, TYPING
from tensorframe.backends.numba.intrinsics.define import LONG, WORD
from tensorframe.backends.numba.intrinsics.loops import IN_TURNS
from tensorframe.backends.numba.intrinsics.memory import SLOTS
from tensorframe.backends.numba.target import processor, target_machine

# Vectors that a loop with `in_turns` computes side by side. Polynomials are long chains, of which a processor overlaps
# what fits into its scheduler: Black-Scholes takes two thirds of the time with 32 registers, and four fifths with 16.
_VECTORS = 4
_MARK = "loop"


class _Builtins(RegistryLoader):  # type: ignore[misc]
    """Numba's builtins without attributes that are written in Python, such as `range.start`.

    Numba compiles these for its own contexts, and loads those as soon as it knows of one.
    """

    def new_registrations(self, name: str) -> Iterator[Any]:
        found = super().new_registrations(name)
        if name != "attributes":
            return found
        return (one for one in found if not issubclass(one, _OverloadAttributeTemplate))


class _Types(TypingContext):  # type: ignore[misc]
    def init(self) -> None:
        self._registries[builtin_registry] = _Builtins(builtin_registry)

    def load_additional_registries(self) -> None:
        self.install_registry(TYPING)

    def resolve_value_type(self, val: Any) -> Any:
        """Return the type of a global: first of those that are known here, since Numba loads CFFI to know them."""
        return self._get_global_type(val) or super().resolve_value_type(val)


class _Code(CPUContext):  # type: ignore[misc]
    def load_additional_registries(self) -> None:
        from numba.cpython import builtins, numbers, rangeobj  # noqa: F401 - they register

        self.install_registry(LOWERING)

    def post_lowering(self, module: Any, library: Any) -> None:
        """Do without Numba's runtime."""


class _Contexts(NamedTuple):
    typing: _Types
    code: _Code


@cache
def _contexts() -> _Contexts:
    typing = _Types()
    return _Contexts(typing, _Code(typing, "cpu"))


class _Lower(Lower):  # type: ignore[misc]
    _loops = 0

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables of one value and one block, which need no memory; Numba's own way is quadratic."""
        assigned: Counter[str] = Counter()
        blocks: dict[str, set[int]] = defaultdict(set)
        for label, block in self.func_ir.blocks.items():
            for statement in block.body:
                if isinstance(statement, numba_ir.Del):
                    continue
                if isinstance(statement, numba_ir.Assign):
                    assigned[statement.target.name] += 1
                for variable in statement.list_vars():
                    blocks[variable.name].add(label)
        self._singly_assigned_vars = {
            name for name, times in assigned.items() if times == 1 and len(blocks[name]) == 1
        }
        self._blk_local_varmap: dict[str, Any] = {}

    def lower_block(self, block: Any) -> None:
        super().lower_block(block)
        used = [one.value for one in block.body if isinstance(one, numba_ir.Assign)]
        if any(isinstance(one, numba_ir.Global) and one.value is IN_TURNS for one in used):
            self._interleave(self.builder.block.terminator)

    def _interleave(self, end: Any) -> None:
        """Have LLVM compute several vectors in turns in the loop that ends here; it would not by itself."""
        hint = self.module.add_metadata(["llvm.loop.interleave.count", WORD(_VECTORS)])
        self._loops += 1
        end.set_metadata("llvm.loop", self.module.add_metadata([f"{_MARK} {self._loops}", hint]))


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(BaseNativeLowering):  # type: ignore[misc]
    _name = "tensorframe_lowering"
    lowering_class = _Lower


class _Compiler(CompilerBase):  # type: ignore[misc]
    """The passes that loops over scalars need."""

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("tensorframe")
        for one in (
            TranslateByteCode,
            FixupArgs,
            IRProcessing,
            ReconstructSSA,
            NopythonTypeInference,
            PreLowerStripPhis,
            IRLegalization,
            AnnotateTypes,
            _Lowering,
        ):
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


class _Module:
    """What Numba takes for its code library: it keeps the module as Numba writes it."""

    recorded_timings = None

    def __init__(self) -> None:
        self._reload_init: set[Any] = set()
        self.written: Any = None

    def create_ir_module(self, name: str) -> Any:
        module = ir.Module(name)
        module.triple = processor().triple
        module.data_layout = str(target_machine().target_data)
        return module

    def add_ir_module(self, module: Any) -> None:
        self.written = module


def _flags() -> Flags:
    flags = Flags()
    flags.error_model = "numpy"
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.no_compile = True
    flags.no_rewrites = True
    return flags


def _python_function(name: str, source: str) -> Callable[..., None]:
    file = f"<tensorframe {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"np": np, "__name__": "tensorframe.kernels", **NAMESPACE}
    exec(compile(source, file, "exec"), namespace)  # noqa: S102 - the text is our own, printed for this
    function: Callable[..., None] = namespace[name]
    return function


def _with_c_convention(module: Any, inner: str, name: str) -> None:
    """Add the function that is called from outside: Numba's own also passes back a result and an exception.

    Everything else becomes internal, and so goes away: its names differ from one run to the next.
    """
    for one in module.global_values:
        if not (isinstance(one, ir.Function) and one.is_declaration):
            one.linkage = "internal"
    function = module.get_global(inner)
    function.attributes.add("alwaysinline")
    slots = LONG.as_pointer()
    outer = ir.Function(module, ir.FunctionType(ir.VoidType(), [LONG, LONG, slots, slots]), name)
    builder = ir.IRBuilder(outer.append_basic_block())
    unused = [builder.alloca(one.type.pointee) for one in function.args[:2]]
    builder.call(function, [*unused, *outer.args])
    builder.ret_void()


@global_compiler_lock  # type: ignore[untyped-decorator]
def lowered(name: str, source: str) -> str:
    """Return the IR of the function `name`, as Numba writes it, under its C convention."""
    module = _Module()
    contexts = _contexts()
    compiled = compile_extra(
        contexts.typing,
        contexts.code,
        _python_function(name, source),
        (types.uint64, types.uint64, SLOTS, SLOTS),
        types.void,
        _flags(),
        {},
        library=module,
        pipeline_class=_Compiler,
    )
    _with_c_convention(module.written, compiled.fndesc.llvm_func_name, name)
    return _with_distinct_loops(str(module.written))


def _with_distinct_loops(text: str) -> str:
    """Return IR in which what is said of a loop refers to itself, as LLVM wants it and llvmlite cannot write it."""
    marked = rf'^(!\d+) = !{{ !"{_MARK} \d+", '
    return re.sub(marked, r"\1 = distinct !{ \1, ", text, flags=re.MULTILINE)
