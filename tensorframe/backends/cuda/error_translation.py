"""Error translation: what goes wrong on a GPU as MemoryError or KernelError."""

from __future__ import annotations

from types import TracebackType

import cupy

from tensorframe.errors import KernelError

_NO_MEMORY = 2  # cudaErrorMemoryAllocation, and hipErrorOutOfMemory


class _ErrorTranslation:
    """Raises what goes wrong on a GPU inside a block as an error of ours: MemoryError, or KernelError."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        runtime, driver = cupy.cuda.runtime, cupy.cuda.driver
        if not isinstance(error, runtime.CUDARuntimeError | driver.CUDADriverError):
            return
        if error.status == _NO_MEMORY:
            raise MemoryError(f"{error}") from error
        name = "ROCm" if runtime.is_hip else "CUDA"
        raise KernelError(f"{name}: {error}") from error


translated_errors = _ErrorTranslation()
