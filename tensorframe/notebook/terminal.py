"""Terminal: a plan as the table that `rich.print(plan)` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorframe.notebook.figures import share_text, time_text
from tensorframe.notebook.steps import Row, headline_figures, hints_of, rows_of
from tensorframe.notebook.style import TRANSFER_HUE, hue
from tensorframe.schedule.plan import Plan, StepKind

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_MOST_FORMULAS = 8


def table_of(plan: Plan) -> Table:
    """Return the steps of a plan as a table of rich, which whoever prints by rich has installed."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    rows = rows_of(plan)
    title = "  ".join(f"[bold]{figure}[/] {name}" for figure, name in headline_figures(plan))
    caption = "\n".join(hints_of(rows))
    table = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, title_style="", expand=False)
    predicted = any(row.prediction for row in rows)
    measured = any(row.step.seconds is not None for row in rows)
    for name in ("step", "device", "computes"):
        table.add_column(name, overflow="fold")
    numbers = {"moves": True, "flops": True, "predicted": predicted, "measured": measured}
    numbers["of limit"] = predicted and measured
    numbers |= dict.fromkeys(rows[0].extra if rows else (), True)
    for name, shown in numbers.items():
        if shown:
            table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = [row.moved, row.flops]
        cells += [time_text(row.prediction.seconds) if row.prediction else ""] if predicted else []
        cells += [time_text(row.step.seconds)] if measured else []
        cells += [share_text(row.share)] if predicted and measured else []
        table.add_row(*_said(row), *cells, *map(escape, row.extra.values()))
    return table


def _said(row: Row) -> tuple[str, Text, Text]:
    """Return the cells of a row that are words."""
    from rich.text import Text

    colour = TRANSFER_HUE if row.step.kind is StepKind.TRANSFER else hue(row.step.device)
    what = Text("\n".join(row.formulas[:_MOST_FORMULAS]))
    if row.formulas[_MOST_FORMULAS:]:
        what.append(f"\n... {len(row.formulas) - _MOST_FORMULAS} more lines", style="dim")
    for note in row.notes:
        what.append(f"\n{note}", style="dim italic")
    return f"{row.number} {row.title}", Text(row.device, style=colour), what
