"""The machine that kernels are compiled for: this one, as LLVM describes it."""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm

from tensorframe.backends.llvm.abi import data_offset
from tensorframe.backends.llvm.resident import release_tables
from tensorframe.codegen.llvm import Target
from tensorframe.forks import held_while_forking, new_reentrant_lock
from tensorframe.quick_tuples import NamedTuple

# Held by whoever calls LLVM, which has locks of its own that a forked process would find taken.
llvm_lock = new_reentrant_lock()
held_while_forking(llvm_lock)


class Processor(NamedTuple):
    """Which instructions there are."""

    triple: str
    name: str
    features: str


@cache
def processor() -> Processor:
    """Return this machine's processor."""
    with llvm_lock:
        return Processor(
            llvm.get_process_triple(),
            llvm.get_host_cpu_name(),
            llvm.get_host_cpu_features().flatten(),
        )


def compiler_name() -> str:
    """Return what compiles kernels, with its version."""
    return f"LLVM {'.'.join(map(str, llvm.llvm_version_info))}"


@cache
def target() -> Target:
    """Return what kernels are printed for."""
    triple, _, features = processor()
    return Target(triple, frozenset(features.split(",")), data_offset())


@cache
def target_machine() -> Any:
    """Return LLVM's code generator for this machine; it is not thread-safe."""
    with llvm_lock:
        release_tables()
        return new_target_machine()


def new_target_machine(level: int = 3) -> Any:
    """Return a code generator of its own for whoever compiles in another thread, or with less effort."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, name, features = processor()
    model, relocation = ("small", "pic") if is_in_one_piece() else ("jitdefault", "static")
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=name, features=features, opt=level, reloc=relocation, codemodel=model, jit=True
    )


def is_in_one_piece() -> bool:
    """Whether LLVM's linker puts code and its constants in one piece of memory, where instructions reach them.

    Elsewhere each constant's address of 64 bits is loaded first, into a register that the loop could do with.
    """
    triple = processor().triple
    return triple.startswith("x86_64") and "linux" in triple
