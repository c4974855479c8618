"""Events of OpenCL: how far commands are, and what their errors mean."""

from __future__ import annotations

from typing import Any

import pyopencl as cl

from tensorframe.errors import KernelError

# what OpenCL calls being out of memory: CL_MEM_OBJECT_ALLOCATION_FAILURE, OUT_OF_RESOURCES, OUT_OF_HOST_MEMORY
_NO_MEMORY = (-4, -5, -6, -61)


def is_over(event: Any) -> bool:
    """Whether a command has happened, or cannot any more."""
    return int(event.command_execution_status) <= cl.command_execution_status.COMPLETE


def has_failed(event: Any) -> bool:
    """Whether a command has a negative status."""
    return int(event.command_execution_status) < 0


def translated(error: cl.Error) -> Exception:
    """Return the error of ours that one of OpenCL's is."""
    if error.code in _NO_MEMORY:
        return MemoryError(str(error))
    return KernelError(f"OpenCL: {error}")


def raise_failure(command: Any | None) -> None:
    """Raise what went wrong with a command that is over, of which the wait for a queue and later copies say nothing."""
    if command is not None and has_failed(command):
        Event(command).wait()


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
