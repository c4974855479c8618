"""Critical sections: steps of which half would be worse than none, such as handing work to a device and noting that.

Python handles a signal in the main thread between two of its instructions, and Ctrl-C then raises there, wherever that
is. In a critical section signals wait for its end. It has to be short: what takes long belongs into another thread
(`interruptible.py`), and most state needs neither: it changes in one step, or is taken away first and put back last.
"""

from __future__ import annotations

# what `signal` is but for enums, to import which takes half a millisecond, and each look-up a microsecond
import _signal as signal  # type: ignore[import-not-found]
from collections.abc import Callable
from threading import get_ident, main_thread
from types import FrameType, TracebackType
from typing import Any

# those whose handlers raise: Python's own for Ctrl-C, and what programs write for limits on time, or for their end
_NAMES = ("SIGINT", "SIGBREAK", "SIGALRM", "SIGTERM")
_SIGNALS = tuple([getattr(signal, name) for name in _NAMES if hasattr(signal, name)])


class critical_section:  # noqa: N801 - reads as what it is: with critical_section()
    """Has signals that come in the `with` block handled after it; in other threads none are handled anyway."""

    __slots__ = ("_handlers", "_waiting")

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._waiting: list[int] = []

    def __enter__(self) -> None:
        if get_ident() != main_thread().ident:
            return
        try:
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler) and not _is_section(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._note)
        except BaseException:
            self._restore()
            raise

    def _note(self, number: int, _frame: FrameType | None) -> None:
        # not the frame: what a handler raises would keep it alive, and all that its functions have
        self._waiting.append(number)

    def _restore(self) -> None:
        """Have the program's own handlers called again."""
        try:
            while self._handlers:
                number = next(iter(self._handlers))
                if (
                    signal.getsignal(number) == self._note
                ):  # one that somebody has set meanwhile stays
                    signal.signal(number, self._handlers[number])
                del self._handlers[number]
        finally:
            if self._handlers:  # a signal came that is handled as ever by now
                self._restore()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        handlers = dict(self._handlers)
        if handlers:
            self._restore()
        while self._waiting:
            number = self._waiting.pop(0)
            handlers[number](number, None)


def _is_section(handler: object) -> bool:
    return isinstance(getattr(handler, "__self__", None), critical_section)
