"""Text: a printed kernel, in any dialect."""

from __future__ import annotations

from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """The name and the source of a printed kernel; the name holds a hash of the source."""

    name: str
    source: str
    dynamic_shared: int = 0
    """Bytes of memory for each group that the launch has to bring."""
