"""Python's collector of cycles, paused while a plan is made.

Planning makes many small objects that live until it is done, and no cycles among them. The collector would look through
all of these, and through everything else in the process, again and again: half of the time of a graph of 40,000 nodes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Collect no cycles in the `with` block. Reference counts free what they always free.

    For the whole process, since Python has one collector: other threads that make cycles keep them a moment longer.
    """
    if not gc.isenabled():  # somebody does without it, or pauses it already
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
