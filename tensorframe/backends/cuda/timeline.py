"""The timeline of a stream: what it was given, counted, and events that say how far it has come."""

from __future__ import annotations

from collections import deque
from typing import Any

import cupy


class Timeline:
    """Counts what a stream is given, so that another stream can follow one command and none that came later.

    An event for each command would cost as much as a small kernel. There is one where somebody asks for a mark, and
    whoever follows a command takes the first one behind it.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.given = 0
        self._done = 0
        self._marks: deque[tuple[int, Any]] = deque()

    def mark(self) -> Any:
        """Return an event behind everything so far."""
        self._drop_past()
        event = cupy.cuda.Event(disable_timing=True)
        event.record(self._stream)
        self._marks.append((self.given, event))
        return event

    def is_past(self, command: int) -> bool:
        """Whether a command, given by its number, is known to be done."""
        self._drop_past()
        return command <= self._done

    def behind(self, command: int) -> Any | None:
        """Return an event behind a command; None if that is done."""
        if self.is_past(command):
            return None
        for number, event in self._marks:
            if number >= command:
                return event
        return self.mark()

    def finish(self) -> None:
        """Take note that the stream has done everything."""
        self._done = self.given
        self._marks.clear()

    def _drop_past(self) -> None:
        while self._marks and self._marks[0][1].done:
            self._done, _ = self._marks.popleft()
