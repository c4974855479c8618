"""Telling: wgpu's errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import wgpu

from tensorframe.errors import KernelError

_LOST = "the device is lost: its driver has given up, or it was removed"


@contextmanager
def told(what: str) -> Iterator[None]:
    """Raise what wgpu raises meanwhile as MemoryError or KernelError; `what` says what does not work."""
    try:
        yield
    except KernelError:
        raise
    except wgpu.GPUOutOfMemoryError as error:
        raise MemoryError(f"WebGPU: {what}: {_first(error)}") from error
    except (wgpu.GPUError, RuntimeError, ValueError) as error:
        said = str(error)
        if "lost" in said.lower():
            raise KernelError(f"WebGPU: {what}: {_LOST}") from error
        if "memory" in said.lower():
            raise MemoryError(f"WebGPU: {what}: {_first(error)}") from error
        raise KernelError(f"WebGPU: {what}: {said.strip()}") from error


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
