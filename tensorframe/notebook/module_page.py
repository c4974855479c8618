"""Pages of modules: their parts as a table, what calling them takes, and how much memory training does."""

from __future__ import annotations

from tensorframe.nn.module import Module
from tensorframe.nn.structure import entries, trainable, unique
from tensorframe.nn.summary import MemoryEstimate, Summary, SummaryRow, figures_of
from tensorframe.nn.text import Row, rows
from tensorframe.notebook.figures import count_text
from tensorframe.notebook.results import device_name, result_page, table
from tensorframe.notebook.style import gauge, numbers, text, words
from tensorframe.notebook.wording import counted
from tensorframe.schedule.plan import human_bytes


def module_page(module: Module) -> str:
    """Return a module as a table of its parts under what it is as a whole."""
    saved = [entry for entry in unique(entries(module)) if entry.role.is_saved]
    parameters = [entry.tensor for entry in saved if entry.role.is_parameter]
    facts = [
        f"<b>{text(type(module).__name__)}</b>",
        f"<b>{sum(tensor.size for tensor in parameters):,}</b> parameters",
        human_bytes(sum(entry.tensor.nbytes for entry in saved)),
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


def summary_page(summary: Summary) -> str:
    """Return what calling a model takes: a row for each module, with a bar of its share of the operations."""
    facts = [
        f"<b>{text(summary.rows[0].title)}</b>",
        f"<b>{summary.parameters:,}</b> parameters",
        f"<b>{count_text(summary.flops)}</b> flops",
        *[
            f"<b>{human_bytes(size)}</b> at most on {device_name(device)}"
            for device, size in summary.peak.items()
        ],
    ]
    most = max([row.flops for row in summary.rows[1:]], default=0.0)
    parts = [_summary_row(row, most) for row in summary.rows]
    return result_page(
        facts, table(["module", "made with", "output"], ("parameters", "flops"), parts)
    )


def _summary_row(row: SummaryRow, most: float) -> str:
    outputs, parameters, flops = figures_of(row)
    indented = "\N{NO-BREAK SPACE}" * (3 * row.depth) + row.label
    bar = gauge(row.flops / most) if most and row.depth else ""
    names = words(text(indented), f"<code>{text(row.title)}</code>", text(outputs))
    return names + numbers(parameters, flops + bar)


def memory_page(memory: MemoryEstimate) -> str:
    """Return what training a model takes, in bytes."""
    peaks = [(size, device_name(device)) for device, size in memory.peak.items()]
    facts = [f"<b>{human_bytes(size)}</b> at most on {name}" for size, name in peaks]
    parts = [words(text(name)) + numbers(text(size)) for name, size in memory.figures()]
    return result_page(facts, table(["memory"], ("bytes",), parts))
