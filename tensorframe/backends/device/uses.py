"""Uses of buffers: which command was the last to write one, or to have it at all, for copies that run beside kernels.

A copy from a buffer follows what wrote it; a copy into one follows whatever used it, since a pool gives a buffer away
again while kernels that read it wait to run. Commands that were not seen, such as those of libraries, are taken to have
written every buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

Command = TypeVar("Command")


def identities(buffers: Iterable[Any]) -> tuple[int, ...]:
    """Return what `note_again` knows buffers by, each once: for commands that are given again and again."""
    return tuple(dict.fromkeys(map(id, buffers)))


class Uses(Generic[Command]):
    """The last commands of one queue by buffer: events of them, or their numbers."""

    def __init__(self) -> None:
        self._used: dict[int, Command] = {}
        self._written: dict[int, Command] = {}
        self._unseen: Command | None = None

    def note(self, command: Command, buffers: Sequence[Any], read: int = 0) -> None:
        """Note a command with these buffers, which reads the first few and writes the others."""
        used, written = self._used, self._written
        for buffer in buffers:  # every launch comes by here
            used[id(buffer)] = command
        for buffer in buffers[read:]:
            written[id(buffer)] = command

    def note_again(self, command: Command, used: Sequence[int], written: Sequence[int]) -> None:
        """Note a command with buffers whose identities are known, as `identities` gives them."""
        self._used.update(dict.fromkeys(used, command))
        self._written.update(dict.fromkeys(written, command))

    def note_unseen(self, command: Command) -> None:
        """Note that any buffer may have been used, and written, up to a command."""
        self._used.clear()
        self._written.clear()
        self._unseen = command

    def writing(self, buffer: Any) -> Command | None:
        """Return the last command that may have written a buffer; None where there was none."""
        return self._written.get(id(buffer), self._unseen)

    def using(self, buffer: Any) -> Command | None:
        """Return the last command that may have read or written a buffer; None where there was none."""
        return self._used.get(id(buffer), self._unseen)

    def forget(self, buffer: Any) -> None:
        """Forget a buffer that is given back: another one may get its identity."""
        self._used.pop(id(buffer), None)
        self._written.pop(id(buffer), None)
