"""The table of `tfr.memory.stats()`: what of each device's memory is taken, beside its limit."""

from __future__ import annotations

from tensorframe.frontend.diagnostics.memory import HEADS, DeviceMemory, MemoryStatistics, cells
from tensorframe.notebook.results import device_name, result_page, table
from tensorframe.notebook.style import gauge, hue, numbers, words
from tensorframe.notebook.wording import counted


def statistics_page(statistics: MemoryStatistics) -> str:
    """Return the memory of the devices in use as a piece of HTML."""
    refusals = sum(row.refusals for row in statistics)
    facts = [
        f"<b>memory of {counted(len(statistics.devices), 'device')}</b>",
        counted(refusals, "refusal") if refusals else "nothing refused",
    ]
    return result_page(facts, table(["device"], HEADS, map(_row, statistics)))


def _row(row: DeviceMemory) -> str:
    name, *figures = cells(row)
    if row.limit:
        column = HEADS.index("counted")
        figures[column] += gauge(min(row.counted / row.limit, 1.0), hue(row.device), 80)
    return words(device_name(name)) + numbers(*figures)
