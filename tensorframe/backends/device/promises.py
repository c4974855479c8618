"""Promises: results that a device has been given to do, and what went wrong with them in the meantime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tensorframe.errors import KernelError, OutOfMemoryError, TensorFrameError

if TYPE_CHECKING:
    from tensorframe.backends.device.queue import Queue


class Mark(Protocol):
    """How far a queue had come when it was asked."""

    def is_done(self) -> bool:
        """Whether the device has done, or failed at, everything up to here; returns at once."""

    def wait(self) -> None:
        """Return when it has; raise what went wrong."""


class Finish:
    """The mark of a queue that has no events: it waits for everything."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._done = False

    def is_done(self) -> bool:
        """Whether somebody has waited for it."""
        return self._done

    def wait(self) -> None:
        """Wait for everything that the queue was given."""
        self._queue.synchronize()
        self._done = True


class Promise:
    """A result that is under way: its mark, and the line that recorded it, for an error that comes late.

    What went wrong is raised by whoever reads first, and again by those who read later: there are no values.
    """

    __slots__ = ("_error", "_location", "_mark", "_step")

    def __init__(
        self, mark: Mark | None, step: str | None = None, location: str | None = None
    ) -> None:
        """`mark` is None for values that are there."""
        self._mark = mark
        self._step, self._location = step, location
        self._error: TensorFrameError | None = None

    @classmethod
    def broken(cls, error: TensorFrameError | MemoryError) -> Promise:
        """Return that of values that never will be there; whoever knows their line adds it to the error."""
        promise = cls(None)
        promise._error = _explained(error, None, None)
        return promise

    def is_done(self) -> bool:
        """Whether the device is done with it, well or not."""
        return self._mark is None or self._mark.is_done()

    def wait(self) -> None:
        """Return when the values are there; raise what went wrong, with the line that recorded it."""
        if self._mark is not None:
            try:
                self._mark.wait()
            except (TensorFrameError, MemoryError) as error:
                self._error = _explained(error, self._step, self._location)
            self._mark = None
        if self._error is not None:
            raise self._error


KEPT = Promise(None)
"""That of all values that somebody has waited for before they were promised."""


def finished(queue: Queue) -> Promise:
    """Wait for everything that a queue was given; return the promise that its values are there, or that there are none.

    Whoever waits at once needs neither a mark nor a promise of its own.
    """
    try:
        queue.synchronize()
    except (TensorFrameError, MemoryError) as error:
        return Promise.broken(error)
    return KEPT


def _explained(
    error: TensorFrameError | MemoryError, step: str | None, location: str | None
) -> TensorFrameError:
    if not isinstance(error, TensorFrameError):
        hints = ("work on parts of the data: slice the inputs and compute part by part",)
        message = f"the device ran out of memory while it computed ({error})"
        error = OutOfMemoryError(message, suggestions=hints)
    elif isinstance(error, KernelError) and not error.suggestions:
        error.suggestions = ("tfr.doctor(), which says what is wrong with drivers",)
    if error.step is None:
        error.step, error.location = step, location or error.location
    return error


class Outstanding:
    """The promises of a device, in the order in which they were given: an error is of the first that meets it."""

    def __init__(self) -> None:
        self._promises: list[Promise] = []
        self._failure: TensorFrameError | None = (
            None  # that nobody was told of who waits for the device
        )

    def add(self, promise: Promise) -> None:
        """Take a promise, and look after those that are done."""
        while self._promises and self._promises[0].is_done():
            self._settle(self._promises.pop(0))
        self._promises.append(promise)

    def settle(self, last: Promise | None = None) -> None:
        """Wait for all of them, or up to one; those that fail know it afterwards."""
        if last is not None and last not in self._promises:
            return  # it is settled, and what came later is not waited for
        while self._promises:
            promise = self._promises.pop(0)
            self._settle(promise)
            if promise is last:
                break

    def _settle(self, promise: Promise) -> None:
        try:
            promise.wait()
        except TensorFrameError as error:
            self._failure = self._failure or error

    def wait(self, queue: Queue) -> None:
        """Wait for all of them, and for the queue; raise what the first one that failed says, once."""
        self.settle()
        self._settle(finished(queue))
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
