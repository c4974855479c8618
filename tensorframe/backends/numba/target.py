"""The machine that kernels are compiled for: this one, as LLVM describes it."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm


class Processor(NamedTuple):
    """Which instructions there are."""

    triple: str
    name: str
    features: str


@cache
def processor() -> Processor:
    """Return this machine's processor."""
    return Processor(
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )


@cache
def target_machine() -> Any:
    """Return LLVM's code generator for this machine; it is not thread-safe."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, name, features = processor()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=name, features=features, opt=3, reloc="static", codemodel="jitdefault", jit=True
    )
