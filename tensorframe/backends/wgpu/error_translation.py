"""Error translation: wgpu's errors as ours."""

from __future__ import annotations

from types import TracebackType

import wgpu

from tensorframe.errors import KernelError

_LOST = "the device is lost: its driver has given up, or it was removed"


class translated_errors:  # noqa: N801 - reads as what it does: with translated_errors("a copy fails")
    """Raise what wgpu raises meanwhile as MemoryError or KernelError; `what` says what does not work."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, wgpu.GPUError | RuntimeError | ValueError | TypeError):
            return
        if isinstance(error, KernelError):
            return
        said = str(error).strip()
        if "lost" in said.lower():
            raise KernelError(f"WebGPU: {self._what}: {_LOST}") from error
        if isinstance(error, wgpu.GPUOutOfMemoryError) or "memory" in said.lower():
            raise MemoryError(f"WebGPU: {self._what}: {said.partition(chr(10))[0]}") from error
        raise KernelError(f"WebGPU: {self._what}: {said}") from error
