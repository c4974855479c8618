"""Explanation: a plan as HTML, with what each step computes and moves, how long that takes, and why it is not fused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from tensorframe.backends.registry import backend_of
from tensorframe.errors import TensorFrameError
from tensorframe.notebook.diagrams.planned import diagram_of_plan
from tensorframe.notebook.figures import share_text, time_text
from tensorframe.notebook.picture import SHEET as PICTURE_SHEET
from tensorframe.notebook.picture import view_of
from tensorframe.notebook.steps import Row, headline_figures, hints_of, rows_of
from tensorframe.notebook.style import (
    APART,
    FRAME,
    SHADE,
    TRANSFER_HUE,
    dot,
    gauge,
    hue,
    is_bright,
    numbers,
    page,
    text,
    unbroken,
    words,
)
from tensorframe.notebook.wording import counted
from tensorframe.schedule.plan import Plan, Step, StepKind

_MOST_SOURCES = 24  # kernels whose text is made: of many, one by one is too long to wait for
_MOST_DRAWN = 150  # steps of a plan that is drawn below its rows
_MOST_FORMULAS = 8  # lines of a step that stand there at once

SHEET = (
    PICTURE_SHEET
    + """
.tensorframe .figures b{font-size:17px;font-weight:600;font-variant-numeric:tabular-nums}
.tensorframe.tensorframe .steps table{table-layout:auto;font-size:13px}
.tensorframe.tensorframe .steps tr{background:none}
.tensorframe.tensorframe .steps th{font-size:12px;white-space:nowrap;padding:5px 8px}
.tensorframe.tensorframe .steps td{padding:5px 8px 1px;white-space:nowrap;max-width:none}
.tensorframe.tensorframe .steps td code{white-space:nowrap}
.tensorframe.tensorframe .steps .step td{border-top:1px solid var(--line)}
.tensorframe.tensorframe .steps .what td{padding:0 8px 6px;white-space:normal}
.tensorframe.tensorframe .steps pre{margin:0;white-space:pre-wrap;word-break:break-word}
.tensorframe.tensorframe.tensorframe .steps details pre{padding:6px 10px;margin-top:3px;background:var(--faint);
border-radius:6px;white-space:pre;overflow:auto;max-height:340px}
.tensorframe .steps .note{font-size:12px;color:var(--soft)}
.tensorframe .steps summary{font-size:12px;color:var(--soft)}
.tensorframe .hints{font-size:12px;color:var(--soft)}
.tensorframe .drawn summary{margin-bottom:4px}
"""
)
_KIND = "margin-left:7px;padding:0 8px;border-radius:9px;font-size:12px;font-weight:600"
_STEPS = f"overflow:auto;max-height:620px;margin:10px 0 6px;{FRAME}"


def explanation(plan: Plan) -> str:
    """Return a plan as HTML that needs nothing but itself."""
    return page(body_of(plan), SHEET)


def body_of(plan: Plan) -> str:
    """Return a plan as HTML for a page that has `SHEET`."""
    rows = rows_of(plan)
    parts = [_figures(plan), *_table(rows)]
    hints = hints_of(rows)
    if hints:
        said = "<br/>".join(text(hint) for hint in hints)
        parts.append(f'<div class="hints">{said}</div>')
    if len(plan.steps) <= _MOST_DRAWN:
        view = view_of(diagram_of_plan(plan))
        parts.append(f'<details class="drawn"><summary>picture</summary>{view}</details>')
    return "".join(parts)


def _figures(plan: Plan) -> str:
    figures = headline_figures(plan)
    seconds = [step.seconds for step in plan.steps if step.seconds is not None]
    if seconds:
        figures.append((time_text(sum(seconds)), "measured"))
    cells = APART.join([f"<b>{text(figure)}</b> {text(name)}" for figure, name in figures])
    return f'<div class="figures">{cells}</div>'


def _table(rows: Sequence[Row]) -> Iterator[str]:
    predicted = any(row.prediction for row in rows)
    measured = any(row.step.seconds is not None for row in rows)
    heads = ["step", "device", "gives"]
    figures = ["moves", "flops"]
    figures += ["predicted"] if predicted else []
    figures += ["measured"] if measured else []
    figures += ["of limit"] if predicted and measured else []
    figures += [text(name) for name in (rows[0].extra if rows else ())]
    yield f'<div class="steps" style="{_STEPS}"><table cellpadding="4" style="width:100%;margin:0"><thead><tr>'
    yield words(*heads, tag="th") + numbers(*figures, tag="th")
    yield "</tr></thead><tbody>"
    sources = 0
    for row in rows:
        yield _figures_of(row, predicted=predicted, measured=measured)
        source = _source(row.step) if sources < _MOST_SOURCES else ""
        sources += bool(source)
        yield f'<tr class="what"><td colspan="{len(heads) + len(figures)}" style="text-align:left">'
        yield from _what(row, source)
        yield "</td></tr>"
    yield "</tbody></table></div>"


def _figures_of(row: Row, *, predicted: bool, measured: bool) -> str:
    colour = TRANSFER_HUE if row.step.kind is StepKind.TRANSFER else hue(row.step.device)
    figures = [text(row.moved), text(row.flops)]
    if predicted:
        figures.append(_predicted(row))
    if measured:
        figures.append(text(time_text(row.step.seconds)))
    if predicted and measured:
        figures.append(_share(row, colour))
    figures += [text(cell) for cell in row.extra.values()]
    ink = "#111" if is_bright(colour) else "#fff"
    look = f"background:{colour};color:{ink}" if row.kind != "view" else f"background:{SHADE}"
    cells = words(
        f'{row.number} <span style="{look};{_KIND}">{row.title}</span>',
        f"{dot(colour)}{text(row.device)}",
        ", ".join([f"<code>{unbroken(text(given))}</code>" for given in row.gives]),
    )
    return f'<tr class="step">{cells}{numbers(*figures)}</tr>'


def _predicted(row: Row) -> str:
    if row.prediction is None:
        return ""
    bound = "memory" if row.prediction.memory_bound else "arithmetic"
    return f'<span title="bound by {bound}">{text(time_text(row.prediction.seconds))}</span>'


def _share(row: Row, colour: str) -> str:
    if row.share is None:
        return ""
    return text(share_text(row.share)) + gauge(row.share, colour)


def _what(row: Row, source: str) -> Iterator[str]:
    """Yield what a step computes, what is to say of it, and the kernel that it becomes."""
    shown = "\n".join(row.formulas)
    if len(row.formulas) <= _MOST_FORMULAS:
        yield f"<pre>{text(shown)}</pre>"
    else:
        ops = counted(len(row.step.region.ops), "op")
        summary = f"{ops}: {text(row.step.name)}"
        yield f"<details><summary>{summary}</summary><pre>{text(shown)}</pre></details>"
    fallbacks = len(row.step.fallbacks)
    for index, note in enumerate(row.notes):
        look = f' style="color:{TRANSFER_HUE}"' if index < fallbacks else ""
        yield f'<div class="note"{look}>{text(note)}</div>'
    if source:
        yield f"<details><summary>source</summary><pre>{text(source)}</pre></details>"


def _source(step: Step) -> str:
    """Return the text of the kernel that a step is compiled to; empty where there is none, or no such device here."""
    with suppress(TensorFrameError):
        return backend_of(step.device).source(step.region, step.device)
    return ""
