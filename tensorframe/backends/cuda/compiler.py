"""Compiling kernels by NVRTC, cached on disk; CuPy's own options would flush small numbers to zero, and contract."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from time import perf_counter_ns
from typing import Any

from tensorframe.backends import objects
from tensorframe.backends.spans import Work, spanned, tell_span
from tensorframe.digests import sha256
from tensorframe.errors import KernelError

# one rounding for every operation, and numbers below the normal ones are kept
_EXACT = ("--ftz=false", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--std=c++17")
_EXACT_HIP = ("-ffp-contract=off", "-std=c++17")


def options(architecture: str) -> tuple[str, ...]:
    """Return the compiler's options for `sm_90` (machine code), `compute_90` (PTX) or AMD's `gfx90a`."""
    if architecture.startswith("gfx"):
        return (f"--offload-arch={architecture}", *_EXACT_HIP)
    return (f"--gpu-architecture={architecture}", *_EXACT)


def architecture_for(capability: tuple[int, int], known: Sequence[int]) -> str | None:
    """Return what to compile for: a GPU's own instructions, or PTX for one that is newer than the compiler.

    None for a GPU that the compiler has given up.
    """
    wanted = 10 * capability[0] + capability[1]
    if wanted in known:
        return f"sm_{wanted}"
    older = [capability for capability in known if capability < wanted]
    return f"compute_{max(older)}" if older else None


def code_of(name: str, source: str, architecture: str) -> bytes:
    """Return what `compiled` does, from disk if it was compiled before."""
    described = (compiler_release(), options(architecture), name, source)
    key = sha256(repr(described).encode()).digest()
    began = perf_counter_ns()
    code = objects.read(key)
    if code is not None:
        tell_span(Work.LOAD, name, "cuda", began)
        return code
    with spanned(Work.COMPILE, name, "cuda"):
        code = compiled(name, source, architecture)
    objects.statistics.compilations += 1
    objects.write(key, code)
    return code


@cache
def compiler_release() -> tuple[int, ...]:
    """Return the compiler's version; RuntimeError or ImportError where the library is missing."""
    from cupy.cuda import nvrtc

    return tuple(nvrtc.getVersion())


def compiled(name: str, source: str, architecture: str) -> bytes:
    """Return the machine code, or the PTX, of a source; KernelError with what the compiler says."""
    from cupy.cuda import nvrtc

    program: Any = None
    try:
        program = nvrtc.createProgram(source, f"{name}.cu", (), ())
        nvrtc.compileProgram(program, options(architecture))
        if architecture.startswith("sm_"):
            binary: bytes | str = nvrtc.getCUBIN(program)
        else:  # HIP's compiler gives machine code by this name too
            binary = nvrtc.getPTX(program)
    except Exception as error:  # of NVRTC, or RuntimeError where the library is missing
        said = f"{error}" if program is None else f"{error}\n{nvrtc.getProgramLog(program)}"
        raise KernelError(f"{name} does not compile: {said.strip()}") from error
    finally:
        if program is not None:
            nvrtc.destroyProgram(program)
    return binary.encode() if isinstance(binary, str) else binary
