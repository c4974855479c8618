"""Handles: what wgpu's buffers tell of their memory."""

from __future__ import annotations

from typing import Any

import wgpu

from tensorframe.backends.device.foreign import Memory
from tensorframe.errors import ArgumentError

# what kernels and downloads do with a buffer
_NEEDED = ("STORAGE", "COPY_SRC")
_WORD = 4  # bytes: kernels see whole words


def memory_of(obj: Any) -> Memory | None:
    """Return what is known of a buffer; None if it is none."""
    if not isinstance(obj, wgpu.GPUBuffer):
        return None
    lacking = [name for name in _NEEDED if not obj.usage & getattr(wgpu.BufferUsage, name)]
    if lacking:
        raise ArgumentError(
            f"from_native: the GPUBuffer's usage lacks {' and '.join(lacking)}",
            suggestions=(" | ".join(f"wgpu.BufferUsage.{name}" for name in _NEEDED),),
        )
    if obj.map_state != "unmapped":
        raise ArgumentError(
            "from_native: the GPUBuffer is mapped, so kernels cannot read it",
            suggestions=("buffer.unmap()",),
        )
    return Memory("GPUBuffer", obj, obj.size // _WORD * _WORD)
