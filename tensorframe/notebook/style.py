"""Style: what every picture and table of a notebook shares, on light and on dark pages, trusted or not.

No theme is asked for, as every front end tells its own way: text and lines are mixed from the page's own text colour,
and the hues of devices are bright enough for black and dark enough for white. A class that is named several times
weighs more than JupyterLab's own rules do.

Who opens somebody else's notebook sees what a sanitiser leaves of it. JupyterLab drops style sheets, scripts and SVG,
and of a `style` attribute what is not in its list of plain CSS 2: variables, `color-mix`, numbers without a leading
zero. GitHub drops `style` attributes too. So what a piece cannot do without, its words, their order, frames, the
alignment of tables, is in its elements and in such attributes; sheets only refine it. No element is used for another
look than its own.
"""

from __future__ import annotations

import re
from html import escape
from urllib.parse import quote

from tensorframe.graph.device import Device

# Okabe and Ito's palette, which the colour-blind can distinguish, without its black and its yellow
HUES = {
    "cpu": "#0072B2",
    "numpy": "#56B4E9",
    "llvm": "#009E73",
    "cuda": "#76A900",
    "rocm": "#D55E00",
    "opencl": "#E69F00",
    "wgpu": "#CC79A7",
    "dask": "#E0625A",
}
OTHER_HUE = "#8C8C8C"
TRANSFER_HUE = "#D55E00"

LINE = "1px solid #8886"  # grey, and half transparent: neither black nor white paper hides it
SHADE = "#88888820"
FRAME = f"border:{LINE};border-radius:8px"
TITLE = re.compile("<title>.*?</title>", re.DOTALL)  # of elements of SVG: an image shows none
_GAP = re.compile(" (?![^<]*>)")  # between words, not inside of tags
APART = "\N{EM SPACE} "  # between facts of one line, which may break there

_SHEET = """
.tensorframe{font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;color:inherit;
--faint:color-mix(in srgb,currentColor 8%,transparent);--line:color-mix(in srgb,currentColor 22%,transparent);
--soft:color-mix(in srgb,currentColor 65%,transparent)}
.tensorframe.tensorframe.tensorframe code,.tensorframe.tensorframe pre{color:inherit;background:none;padding:0}
.tensorframe.tensorframe code,.tensorframe.tensorframe pre{
font:12px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.tensorframe table{border-collapse:collapse}
.tensorframe th,.tensorframe td{padding:2px 10px 2px 0;vertical-align:top;background:none;border:0}
.tensorframe th{font-weight:500;color:var(--soft)}
.tensorframe td[align]{font-variant-numeric:tabular-nums}
.tensorframe .soft{color:var(--soft)}
.tensorframe summary{cursor:pointer}
"""


def hue(device: Device | str) -> str:
    """Return the colour of a device as `#rrggbb`: every index of a backend has the same."""
    return HUES.get(str(device).partition(":")[0], OTHER_HUE)


def is_bright(colour: str) -> bool:
    """Whether black is easier to read on a colour than white, by its relative luminance (WCAG 2)."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.26


def page(body: str, sheet: str = "") -> str:
    """Return `body` as a piece of HTML that brings its own style: `sheet` holds the rules of this piece alone."""
    return f'<div class="tensorframe"><style>{_SHEET}{sheet}</style>{body}</div>'


def text(value: object) -> str:
    """Return what `value` prints as, safe inside HTML and SVG."""
    return escape(str(value))


def dot(colour: str, mark: str = "\N{BLACK CIRCLE}") -> str:
    """Return a mark in a colour, to stand before a word."""
    return f'<span style="color:{colour}">{mark}</span> '


def gauge(share: float, colour: str = "#888888", width: int = 44) -> str:
    """Return a small bar that is filled up to a share of it."""
    filled = f"{colour} {100 * min(share, 1.0):.0f}%"
    return (
        f' <span style="display:inline-block;width:{width}px;height:6px;border-radius:3px;margin-left:4px;'
        f'background:linear-gradient(90deg,{filled},{SHADE} 0%)"></span>'
    )


def words(*cells: str, tag: str = "td") -> str:
    """Return cells of a table that hold words: JupyterLab's rules would align them to the right."""
    # browsers centre heads
    left = 'style="text-align:left"' if tag == "td" else 'align="left" style="text-align:left"'
    return "".join([f"<{tag} {left}>{cell}</{tag}>" for cell in cells])


def numbers(*cells: str, tag: str = "td") -> str:
    """Return cells of a table that hold numbers, each with its unit in one line."""
    shown = map(unbroken, cells) if tag == "td" else cells
    return "".join([f'<{tag} align="right">{cell}</{tag}>' for cell in shown])


def unbroken(html: str) -> str:
    """Return HTML whose words stay in one line, whatever a page's own rules say."""
    return _GAP.sub("\N{NO-BREAK SPACE}", html)


def framed(head: str, plain: str, body: str, style: str) -> str:
    """Return an SVG, the tag that begins it and its elements, with a `plain` stand-in for pages that show none.

    A page that shows SVG does not draw a description. One that drops its elements keeps what stands between them: the
    image, and all words, which have no size of their own and so take none.
    """
    return f'<div style="font-size:0;{style}">{head}<desc>{plain}</desc>{body}</svg></div>'


def image(svg: str, alt: str, style: str) -> str:
    """Return an SVG as an image, which pages show that drop the elements of one."""
    # of all ways to write an SVG into an attribute the shortest
    address = quote(svg.replace('"', "'"), safe=" '()*+,-./:;=?@_~")
    return f'<img alt="{text(alt)}" style="{style}" src="data:image/svg+xml,{address}"/>'
