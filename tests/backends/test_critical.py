"""Critical sections: a signal waits for the end of one, and what it raises then keeps nothing of the inside alive."""

from __future__ import annotations

import signal
import sys
import weakref

import numpy as np
import pytest

from tensorframe.backends.critical import critical_section


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise on Windows")
def test_an_interrupt_keeps_nothing_alive_that_the_section_had() -> None:
    """A frame of wgpu's would hold memoryviews, and Python up to 3.12 crashes where its collector meets these."""
    seen: list[weakref.ref[np.ndarray]] = []
    after: list[str] = []

    def inside() -> None:
        own = np.ones(3)
        seen.append(weakref.ref(own))
        signal.raise_signal(signal.SIGINT)
        after.append("went on")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught, critical_section():
            inside()
        assert after == ["went on"]
        assert caught.value.__traceback__ is not None
        assert seen[0]() is None
    finally:
        signal.signal(signal.SIGINT, before)
