"""Wide loops: a thread takes neighbouring elements at once, by loads and stores of 16 bytes (vectorised access).

A GPU's memory is busy when enough bytes are on their way, and an instruction that loads 16 bytes keeps four times as
many there as one that loads 4. Elements are computed one by one as ever, so results are the same to the bit. What does
not lie side by side is read element by element within the same loop.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from tensorframe.codegen.joining import Joining
from tensorframe.codegen.neighbours import Run, wide_loops
from tensorframe.kernel import ir

WIDEST = 16  # bytes of one access, to a multiple of which it is aligned


class WideLoops(Joining):
    """Prints loops that have a width."""

    def __init__(self, kernel: ir.Kernel) -> None:
        super().__init__(kernel)
        self.wide = wide_loops(kernel)

    @abstractmethod
    def few(self, loop: ir.Loop, runs: Sequence[Run]) -> list[str]:
        """Return a loop of at most so many iterations as its width: all at once, or one after the other."""

    @abstractmethod
    def over_grid(self, loop: ir.Loop, runs: Sequence[Run], first: ir.Index) -> list[str]:
        """Return a loop over the grid whose threads take so many iterations at once as its width."""

    def loop(self, loop: ir.Loop) -> list[str]:
        """Return a loop, which may have a width."""
        wide = self.wide.get(loop)
        if wide is None:
            return super().loop(loop)
        if wide.first is None:
            return self.few(loop, wide.runs)
        return self.over_grid(loop, wide.runs, wide.first)
