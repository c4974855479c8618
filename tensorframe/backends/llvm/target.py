"""The machine that kernels are compiled for: this one, as LLVM describes it."""

from __future__ import annotations

from functools import cache
from typing import Any

from tensorframe.backends.llvm.abi import data_offset
from tensorframe.backends.llvm.library import Library, Message, library, llvm_lock, told
from tensorframe.backends.llvm.resident import release_tables
from tensorframe.codegen.llvm import Target
from tensorframe.quick_tuples import NamedTuple


class Processor(NamedTuple):
    """Which instructions there are."""

    triple: str
    name: str
    features: str


@cache
def processor() -> Processor:
    """Return this machine's processor."""
    with llvm_lock:
        functions = library()
        if functions is None:
            from tensorframe.backends.llvm.passes import processor_by_llvmlite  # of another version

            return Processor(*processor_by_llvmlite())
        triple = told(functions, functions.triple)
        name = told(functions, functions.processor)
        features = told(functions, functions.features)
        flags = sorted([flag for flag in features.split(",") if flag], key=lambda flag: flag[1:])
        return Processor(triple, name, ",".join(flags))


def compiler_name() -> str:
    """Return what compiles kernels, with its version."""
    functions = library()
    if functions is None:
        from tensorframe.backends.llvm.passes import version_by_llvmlite  # of another version

        numbers = version_by_llvmlite()
    else:
        version = functions.version()  # a byte for each number
        numbers = tuple(version.to_bytes(4, "big").lstrip(b"\0"))
    return f"LLVM {'.'.join(map(str, numbers))}"


@cache
def target() -> Target:
    """Return what kernels are printed for."""
    triple, _, features = processor()
    return Target(triple, frozenset(features.split(",")), data_offset())


class Machine:
    """A code generator of LLVM's, and the layout of data that it asks for; neither is ever freed."""

    __slots__ = ("_as_parameter_", "target_data")

    def __init__(self, functions: Library, level: int) -> None:
        functions.has_target()
        functions.has_printer()
        triple, name, features = (each.encode() for each in processor())
        problem = Message(functions)
        known = functions.target(triple, problem.place)
        if not known:
            raise RuntimeError(str(problem))
        model, relocation = (each.encode() for each in placement())
        machine = functions.machine(
            known, triple, name, features, level, relocation, model, 0, 1, b""
        )
        if not machine:
            raise RuntimeError("LLVM has no code generator for this machine")
        self._as_parameter_ = machine
        layout = functions.layout(machine)
        self.target_data = told(functions, functions.spelled_layout, layout)
        functions.free_layout(layout)


@cache
def target_machine() -> Any:
    """Return LLVM's code generator for this machine; it is not thread-safe."""
    with llvm_lock:
        library()
        release_tables()
        return new_target_machine()


def new_target_machine(level: int = 3) -> Any:
    """Return a code generator of its own for whoever compiles in another thread, or with less effort."""
    functions = library()
    if functions is not None:
        return Machine(functions, level)
    from tensorframe.backends.llvm.passes import machine_by_llvmlite  # of another version

    return machine_by_llvmlite(level)


def placement() -> tuple[str, str]:
    """Return LLVM's names of how far code is from what it refers to, and of whether it may lie anywhere."""
    return ("small", "pic") if is_in_one_piece() else ("jitdefault", "static")


def is_in_one_piece() -> bool:
    """Whether LLVM's linker puts code and its constants in one piece of memory, where instructions reach them.

    Elsewhere each constant's address of 64 bits is loaded first, into a register that the loop could do with.
    """
    triple = processor().triple
    return triple.startswith("x86_64") and "linux" in triple
