"""The table of a calibration: what each device does at best, beside the fastest of them."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.frontend.calibration import CalibratedDevice, Calibration
from tensorframe.notebook.style import hue, page, text

_STYLE = """
.tensorframe table.limits{font-size:12.5px;table-layout:auto;margin:0}
.tensorframe table.limits tr{background:none}
.tensorframe table.limits th,.tensorframe table.limits td{text-align:left;padding:3px 18px 3px 0;white-space:nowrap}
.tensorframe table.limits td.number{text-align:right;padding-right:8px}
.tensorframe .limits .dot{display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:6px}
.tensorframe .limits .bar{display:inline-block;width:110px;height:7px;border-radius:3px;background:var(--faint);
overflow:hidden;vertical-align:1px}
.tensorframe .limits .bar i{display:block;height:100%}
"""


def calibration_page(found: Calibration) -> str:
    """Return a calibration as a piece of HTML."""
    head = '<tr><th>device</th><th>found</th><th colspan="2">copy</th><th colspan="2">float32</th><th></th></tr>'
    limits = [one.limits for one in found if one.limits is not None]
    most = (
        max([one.copy_bandwidth for one in limits], default=1.0),
        max([one.flops for one in limits], default=1.0),
    )
    rows = "".join(_row(one, most) for one in found)
    return page(f'<table class="limits">{head}{rows}</table>', _STYLE)


def _row(one: CalibratedDevice, most: Sequence[float]) -> str:
    colour = hue(one.device)
    dot = f'<i class="dot" style="background:{colour}"></i>'
    names = f"<td>{dot}{text(one.device)}</td><td class='soft'>{text(one.name)}</td>"
    if one.limits is None:
        return f'<tr>{names}<td class="soft" colspan="5">{text(one.problem)}</td></tr>'
    parts = (one.limits.copy_bandwidth, "GB/s"), (one.limits.flops, "GFLOP/s")
    cells = [
        f'<td class="number">{rate / 1e9:.3g} {unit}</td><td>{_bar(rate / best, colour)}</td>'
        for (rate, unit), best in zip(parts, most, strict=True)
    ]
    note = "" if one.measured else "measured before"
    return f"<tr>{names}{''.join(cells)}<td class='soft'>{note}</td></tr>"


def _bar(share: float, colour: str) -> str:
    return f'<span class="bar"><i style="width:{100 * share:.1f}%;background:{colour}"></i></span>'
