"""The table of a calibration: what each device does at best, beside the fastest of them."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.frontend.calibration import CalibratedDevice, Calibration
from tensorframe.notebook.results import device_name, result_page, table
from tensorframe.notebook.style import gauge, hue, numbers, text, words
from tensorframe.notebook.wording import counted


def calibration_page(found: Calibration) -> str:
    """Return a calibration as a piece of HTML."""
    limits = [one.limits for one in found if one.limits is not None]
    most = (
        max([one.copy_bandwidth for one in limits], default=1.0),
        max([one.flops for one in limits], default=1.0),
    )
    facts = [f"<b>{counted(len(found.devices), 'device')}</b>", "at best, beside the fastest"]
    rows = [_row(one, most) for one in found]
    return result_page(facts, table(["device", "found"], ["copy", "float32"], rows))


def _row(one: CalibratedDevice, most: Sequence[float]) -> str:
    names = words(device_name(one.device), text(one.name))
    if one.limits is None:
        return f'{names}<td colspan="3" style="text-align:left">{text(one.problem)}</td>'
    rates = (one.limits.copy_bandwidth, "GB/s"), (one.limits.flops, "GFLOP/s")
    cells = [
        f"{rate / 1e9:.3g} {unit}{gauge(rate / best, hue(one.device), 110)}"
        for (rate, unit), best in zip(rates, most, strict=True)
    ]
    return f"{names}{numbers(*cells)}{words('' if one.measured else 'measured before')}"
