"""The page of a module: its parts as a table, with what they were made with and how many parameters they have."""

from __future__ import annotations

from tensorframe.nn.module import Module
from tensorframe.nn.structure import entries, trainable, unique
from tensorframe.nn.text import Row, rows
from tensorframe.notebook.results import result_page, table
from tensorframe.notebook.style import numbers, text, words
from tensorframe.notebook.wording import counted
from tensorframe.schedule.plan import human_bytes


def module_page(module: Module) -> str:
    """Return a module as a table of its parts under what it is as a whole."""
    found = [entry for entry in unique(entries(module)) if entry.role.is_saved]
    parameters = [entry.tensor for entry in found if entry.role.is_parameter]
    facts = [
        f"<b>{text(type(module).__name__)}</b>",
        f"<b>{sum(tensor.size for tensor in parameters):,}</b> parameters",
        human_bytes(sum(entry.tensor.nbytes for entry in found)),
        counted(len({tensor.device for tensor in parameters}), "device"),
    ]
    if len(trainable(module)) < len(parameters):
        facts.append(
            f"{len(parameters) - len(trainable(module))} of {len(parameters)} tensors frozen"
        )
    parts = [_row(row) for row in rows(module)]
    return result_page(facts, table(["part", "made with"], ("parameters",), parts))


def _row(row: Row) -> str:
    indented = "\N{NO-BREAK SPACE}" * (3 * row.depth) + row.name
    return words(text(indented), f"<code>{text(row.title)}</code>") + numbers(text(row.parameters))
