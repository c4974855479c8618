"""Read-only arrays: what helps where NumPy or SciPy may not write to a tensor's memory, said below their errors.

Their errors are raised in C and know nothing of tensors. Nothing is taken over to show them: a notebook says what helps
after the cell, a script when it has ended with such an error.
"""

from __future__ import annotations

import atexit
import re
import sys
from typing import Any

from tensorframe.cells import shell
from tensorframe.errors import TensorFrameError

ADVICE = (
    "tensorframe: if that array is a tensor's, it is a view that others may share, and so read-only.\n"
    "  try: numpy.array(x) or x.numpy(copy=True), which may be written to\n"
)

# "assignment destination is read-only", "buffer source array is read-only", "array is not writeable" and the like
_REFUSED = r"(?i)\bread-?only\b|\bwrite?able\b"


def advise_after_errors() -> None:
    """From now on, say what helps below errors about memory that is read-only."""
    running = shell()
    if running is None:
        atexit.register(_advise_at_exit)
    else:
        running.events.register("post_run_cell", _advise_below_cell)


def is_refused(error: object) -> bool:
    """Whether an error, not one of ours, says that memory may not be written to."""
    others = isinstance(error, ValueError) and not isinstance(error, TensorFrameError)
    return others and re.search(_REFUSED, str(error)) is not None


def _advise_below_cell(result: Any) -> None:
    if is_refused(result.error_in_exec):
        sys.stderr.write(ADVICE)


def _advise_at_exit() -> None:
    # Python keeps the error that ended a script; whoever works at a prompt has seen others since
    if not hasattr(sys, "ps1") and is_refused(getattr(sys, "last_value", None)):
        sys.stderr.write(ADVICE)
