"""Events of OpenCL: how far commands are, and what their errors mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyopencl as cl

from tensorframe.errors import KernelError

# what OpenCL calls being out of memory: CL_MEM_OBJECT_ALLOCATION_FAILURE, OUT_OF_RESOURCES, OUT_OF_HOST_MEMORY
_NO_MEMORY = (-4, -5, -6, -61)


def is_over(event: Any) -> bool:
    """Whether a command has happened, or cannot any more."""
    return int(event.command_execution_status) <= cl.command_execution_status.COMPLETE


def has_failed(events: Iterable[Any]) -> bool:
    """Whether one of these commands has a negative status: it has failed."""
    return any(int(event.command_execution_status) < 0 for event in events)


def translated(error: cl.Error) -> Exception:
    """Return the error of ours that one of OpenCL's is."""
    if error.code in _NO_MEMORY:
        return MemoryError(str(error))
    return KernelError(f"OpenCL: {error}")


class Event:
    """An event of OpenCL, as a mark."""

    def __init__(self, event: Any) -> None:
        self._event = event

    def is_done(self) -> bool:
        """Whether it has happened, or cannot any more."""
        return is_over(self._event)

    def wait(self) -> None:
        """Wait for it."""
        try:
            self._event.wait()
        except cl.Error as error:
            raise translated(error) from error
