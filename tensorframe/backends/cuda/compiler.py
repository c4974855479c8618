"""Compiling kernels by NVRTC, without CuPy's options: they would flush small numbers to zero and contract."""

from __future__ import annotations

from typing import Any

from tensorframe.errors import KernelError

# one rounding for every operation, and numbers below the normal ones are kept
_EXACT = ("--ftz=false", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--std=c++17")
_EXACT_HIP = ("-ffp-contract=off", "-std=c++17")


def options(architecture: str) -> tuple[str, ...]:
    """Return the compiler's options for `sm_90` (machine code), `compute_90` (PTX) or `gfx90a`."""
    if architecture.startswith("gfx"):
        return (f"--offload-arch={architecture}", *_EXACT_HIP)
    return (f"--gpu-architecture={architecture}", *_EXACT)


def compiled(name: str, source: str, architecture: str) -> bytes:
    """Return the machine code, or the PTX, of a source; KernelError with what the compiler says."""
    from cupy.cuda import nvrtc

    program: Any = None
    try:
        program = nvrtc.createProgram(source, f"{name}.cu", (), ())
        nvrtc.compileProgram(program, options(architecture))
        if architecture.startswith("sm_"):
            found: bytes | str = nvrtc.getCUBIN(program)
        else:
            found = nvrtc.getPTX(program)
    except Exception as error:  # NVRTCError, or RuntimeError where the library is missing
        said = f"{error}" if program is None else f"{error}\n{nvrtc.getProgramLog(program)}"
        raise KernelError(f"{name} does not compile: {said.strip()}") from error
    finally:
        if program is not None:
            nvrtc.destroyProgram(program)
    return found.encode() if isinstance(found, str) else found
