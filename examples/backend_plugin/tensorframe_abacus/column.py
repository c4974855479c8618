"""A column of `explain`: the energy that each step would take on an abacus."""

from __future__ import annotations

from typing import ClassVar

from tensorframe.extensions import About, Column, Step

# in picojoules: what a byte takes to move, and an operation on numbers
_BYTE, _OPERATION = 20.0, 1.5


class EnergyColumn(Column):
    """Picojoules by the bytes and operations of a step."""

    name: ClassVar[str] = "energy"
    about: ClassVar[About | None] = About(interface=(1, 1))

    def cell(self, step: Step) -> str:
        """Return the energy; nothing for what takes none."""
        energy = _BYTE * (step.bytes_read + step.bytes_written) + _OPERATION * step.flops
        return f"{energy / 1e3:.3g} nJ" if energy else ""
