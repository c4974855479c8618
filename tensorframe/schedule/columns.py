"""Columns: what packages add to each step of a plan that is shown, beside what it moves and computes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from tensorframe.backends.contract import About
from tensorframe.backends.entries import Failure, guarded
from tensorframe.backends.extension_points import COLUMNS, Extension

if TYPE_CHECKING:
    from tensorframe.schedule.plan import Step


class Column(ABC):
    """A column that `explain` shows for each step.

    `name` is its heading, and that of its entry point in the group `tensorframe.columns`.

    >>> from tensorframe.extensions import Column, register, unregister
    >>> class Intensity(Column):
    ...     name = "intensity"
    ...     def cell(self, step):
    ...         return f"{step.flops / (step.bytes_read + step.bytes_written):.2f} flops/B"
    >>> register(Intensity())
    >>> x = tfr.asarray(np.ones(1000, np.float32))
    >>> print(tfr.explain(x * x + 1))
    plan: ...
      0: kernel on cpu: ... intensity 0.25 flops/B]
    >>> unregister("intensity")
    """

    name: ClassVar[str]
    about: ClassVar[About | None] = None

    @abstractmethod
    def cell(self, step: Step) -> str:
        """Return what there is to say of a step; empty for nothing."""


def cells(steps: Sequence[Step]) -> dict[str, list[str]]:
    """Return the cells of each column that says anything, by its name.

    One that fails, or gives something else than text, warns once and is left out.
    """
    columns = {}
    for extension in COLUMNS.every():
        column = _cells_of(extension, steps)
        if any(column):
            columns[extension.name] = column
    return columns


def _cells_of(extension: Extension, steps: Sequence[Step]) -> list[str]:
    column: Column = extension.value
    made = guarded(lambda: [column.cell(step) for step in steps])
    if not isinstance(made, Failure) and all(isinstance(cell, str) for cell in made):
        return list(made)
    reason = made.reason if isinstance(made, Failure) else "a cell is no text"
    extension.failure, extension.value = f"it fails: {reason}", None
    extension.warn_once()
    return []
