"""The table of a calibration: what each device does at best, beside the fastest of them."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.limits import Limits
from tensorframe.frontend.diagnostics.calibration import CalibratedDevice, Calibration
from tensorframe.notebook.results import device_name, result_page, table
from tensorframe.notebook.style import gauge, hue, numbers, text, words
from tensorframe.notebook.wording import counted


def calibration_page(calibration: Calibration) -> str:
    """Return a calibration as a piece of HTML."""
    limits = [calibrated.limits for calibrated in calibration if calibrated.limits is not None]
    most = [max(rates) for rates in zip(*map(_rates, limits), strict=True)]
    facts = [f"<b>{counted(len(calibration.devices), 'device')}</b>", "at best, beside the fastest"]
    rows = [_row(calibrated, most) for calibrated in calibration]
    return result_page(facts, table(["device", "found"], ["copy", "read", "float32"], rows))


def _row(calibrated: CalibratedDevice, most: Sequence[float]) -> str:
    names = words(device_name(calibrated.device), text(calibrated.name))
    if calibrated.limits is None:
        return f'{names}<td colspan="4" style="text-align:left">{text(calibrated.problem)}</td>'
    units = ("GB/s", "GB/s", "GFLOP/s")
    cells = [
        f"{rate / 1e9:.3g} {unit}{gauge(rate / best, hue(calibrated.device), 110)}"
        for rate, unit, best in zip(_rates(calibrated.limits), units, most, strict=True)
    ]
    return f"{names}{numbers(*cells)}{words('' if calibrated.measured else 'measured before')}"


def _rates(limits: Limits) -> tuple[float, ...]:
    return limits.copy_bandwidth, limits.read_bandwidth, limits.flops
