"""Maps: a thread of the grid for each element, or for several that lie side by side."""

from __future__ import annotations

from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.groups.choices import Choice
from tensorframe.kernel.ir.loops import digits

# Elements that a thread takes at once at most: each needs registers.
_MOST_AT_ONCE = 8
# Operations for an element below which a thread has registers for two accesses.
_CHEAP = 8.0
# Threads that keep memory busy, where compilers would spill for more.
BUSY = 1024
# Bytes in registers from which they would, and how many of these are read.
_MUCH, _MUCH_READ = 96, 48


def occupancy_of_map(form: Form, choice: Choice) -> int:
    """Return the occupancy of a map; 0 leaves it to compilers."""
    read = choice.width * sum(dtype.itemsize for shape, dtype in form.region.inputs if shape)
    written = choice.width * sum(buffer.dtype.itemsize for buffer in form.outputs.values())
    is_large = read >= _MUCH_READ and read + written >= _MUCH
    return max(1, BUSY // choice.lanes) if is_large else 0


def mapped(form: Form, width: int) -> tuple[ir.Statement, ...]:
    """One element for each thread, or several at once where they lie side by side."""
    index = ir.index("i")
    form.body.indices = digits(index, form.body.sizes) if form.body.sizes else []
    stores = tuple([form.store(value) for value in form.outputs])
    grid = ir.ParallelAxis.GRID
    return (ir.Loop(index, ir.START, ir.STOP, stores, parallel=True, over=grid, width=width),)


def width_of(form: Form, access: int) -> int:
    """Return how many elements a thread takes: those of one access, or of two where it reads and computes little."""
    read = [dtype.itemsize for shape, dtype in form.region.inputs if shape]
    largest = max([*read, *[buffer.dtype.itemsize for buffer in form.outputs.values()]])
    kept = form.body.nest.kept
    # two accesses of a thread do not fit into rows that end between them
    in_rows = len(kept) > 1 and kept[-1] % _MOST_AT_ONCE != 0
    ahead = access if form.cost >= _CHEAP or in_rows else 2 * access
    together = min(_MOST_AT_ONCE, ahead // (sum(read) or largest))
    return max(1, access // largest, 1 << together.bit_length() >> 1)
