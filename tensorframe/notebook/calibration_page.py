"""The table of a calibration: what each device does at best, beside the fastest of them."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.frontend.calibration import CalibratedDevice, Calibration
from tensorframe.notebook.style import dot, gauge, hue, numbers, page, text, words

_STYLE = """
.tensorframe table.limits{font-size:12.5px;table-layout:auto}
.tensorframe table.limits tr{background:none}
.tensorframe table.limits th,.tensorframe table.limits td{padding:3px 18px 3px 0;white-space:nowrap}
.tensorframe table.limits td[align]{padding-right:8px}
"""


def calibration_page(found: Calibration) -> str:
    """Return a calibration as a piece of HTML."""
    head = f"<tr>{words(*('device', 'found', 'copy', '', 'float32', '', ''), tag='th')}</tr>"
    limits = [one.limits for one in found if one.limits is not None]
    most = (
        max([one.copy_bandwidth for one in limits], default=1.0),
        max([one.flops for one in limits], default=1.0),
    )
    rows = "".join(_row(one, most) for one in found)
    return page(f'<table class="limits" style="margin:0">{head}{rows}</table>', _STYLE)


def _row(one: CalibratedDevice, most: Sequence[float]) -> str:
    colour = hue(one.device)
    names = words(f"{dot(colour)}{text(one.device)}", text(one.name))
    if one.limits is None:
        return f'<tr>{names}<td colspan="5" style="text-align:left">{text(one.problem)}</td></tr>'
    parts = (one.limits.copy_bandwidth, "GB/s"), (one.limits.flops, "GFLOP/s")
    cells = [
        numbers(f"{rate / 1e9:.3g} {unit}") + words(gauge(rate / best, colour, 110))
        for (rate, unit), best in zip(parts, most, strict=True)
    ]
    note = "" if one.measured else "measured before"
    return f"<tr>{names}{''.join(cells)}{words(note)}</tr>"
