"""Python's collector of cycles, paused while plans and kernels are made, and while what makes them is imported.

These make many small objects that live until they are done, and no cycles among them. The collector would look through
all of these, and through everything else in the process, again and again: half of the time of a graph of 40,000 nodes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

from tensorframe.forks import in_forked_processes

_pausing: set[int] = set()  # threads that have paused it


@contextmanager
def paused(*, ages: bool = False) -> Iterator[None]:
    """Collect no cycles in the `with` block. Reference counts free what they always free.

    For the whole process, since Python has one collector: other threads that make cycles keep them a moment longer.
    What `ages` is old afterwards, as modules are from their import on: the next look, at what is young, passes it by.
    """
    if not gc.isenabled():  # somebody does without it, or pauses it already
        yield
        return
    _pausing.add(get_ident())
    try:
        gc.disable()
        yield
    finally:
        try:
            if ages and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
        finally:  # whatever interrupts the above
            gc.enable()
            _pausing.discard(get_ident())


def _resume() -> None:
    """A forked process has none of the threads that would have it collect again."""
    if _pausing:
        _pausing.clear()
        gc.enable()


in_forked_processes(_resume)
