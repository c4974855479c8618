"""Style: what every picture and table of a notebook shares, on light and on dark pages.

No theme is asked for, as every front end tells its own way: text and lines are mixed from the page's own text colour,
and the hues of devices are bright enough for black and dark enough for white. A class that is named several times
weighs more than JupyterLab's own rules do.
"""

from __future__ import annotations

from html import escape

from tensorframe.graph.device import Device

# Okabe and Ito's palette, which the colour-blind can tell apart, without its black and its yellow
HUES = {
    "cpu": "#0072B2",
    "numpy": "#56B4E9",
    "numba": "#009E73",
    "cuda": "#76A900",
    "rocm": "#D55E00",
    "opencl": "#E69F00",
    "wgpu": "#CC79A7",
    "dask": "#E0625A",
}
OTHER_HUE = "#8C8C8C"
TRANSFER_HUE = "#D55E00"

_SHEET = """
.tensorframe{font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;color:inherit;
--faint:color-mix(in srgb,currentColor 8%,transparent);--line:color-mix(in srgb,currentColor 22%,transparent);
--soft:color-mix(in srgb,currentColor 65%,transparent)}
.tensorframe.tensorframe.tensorframe code,.tensorframe.tensorframe pre{color:inherit;background:none;padding:0}
.tensorframe.tensorframe code,.tensorframe.tensorframe pre{
font:12px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.tensorframe table{border-collapse:collapse;margin:0}
.tensorframe th,.tensorframe td{padding:2px 10px 2px 0;text-align:left;vertical-align:top;background:none;border:0}
.tensorframe th{font-weight:500;color:var(--soft)}
.tensorframe td.number,.tensorframe th.number{text-align:right;font-variant-numeric:tabular-nums}
.tensorframe .soft{color:var(--soft)}
.tensorframe summary{cursor:pointer}
"""


def hue(device: Device | str) -> str:
    """Return the colour of a device as `#rrggbb`: every index of a backend has the same."""
    return HUES.get(str(device).partition(":")[0], OTHER_HUE)


def is_bright(colour: str) -> bool:
    """Whether black is easier to read on a colour than white, by its relative luminance (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.26


def page(body: str, sheet: str = "") -> str:
    """Return `body` as a piece of HTML that brings its own style: `sheet` holds the rules of this piece alone."""
    return f'<div class="tensorframe"><style>{_SHEET}{sheet}</style>{body}</div>'


def text(value: object) -> str:
    """Return what `value` prints as, safe inside HTML and SVG."""
    return escape(str(value))
