"""Picture: what `visualize` returns; it shows itself in a notebook, and saves itself as SVG, PNG, DOT or GraphML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tensorframe.backends.remedies import extra
from tensorframe.cached import cached_property
from tensorframe.errors import ArgumentError
from tensorframe.notebook.diagrams.diagram import Diagram
from tensorframe.notebook.diagrams.drawing import Drawing, draw
from tensorframe.notebook.diagrams.exports import dot_of, graphml_of, networkx_of
from tensorframe.notebook.style import FRAME, TITLE, framed, image, page, text

if TYPE_CHECKING:
    import networkx

_SMALL = 1000.0, 680.0  # a picture that is seen as a whole, usually
_SIZES = "".join(
    f'<label title="{said}"><input type="radio" name="size" class="{name}"{checked}/></label>'
    for name, said, checked in (
        ("full", "100 %", ' checked="checked"'),
        ("half", "50 %", ""),
        ("fit", "fit", ""),
    )
)
# pages that are not trusted show an image, whose size nobody chooses
_HIDDEN = 'style="display:none"'
_FRAME = f"overflow:auto;max-height:680px;{FRAME}"
_MOST_PLAIN = 200_000  # characters of an SVG that is given as an image besides
_SUFFIXES = (".svg", ".png", ".dot", ".graphml")

# The picture scrolls in its frame, which can be made higher; the choice of a size needs no script. Where scripts run,
# the wheel with Ctrl zooms, and dragging moves the picture.
SHEET = """
.tensorframe .sizes{display:block!important}
.tensorframe .picture{resize:vertical;cursor:grab;clear:both}
.tensorframe .picture svg{display:block;margin:0 auto;max-width:none;height:auto}
.tensorframe .zoom{margin:0;display:flow-root}
.tensorframe .zoom input{position:absolute;opacity:0;pointer-events:none}
.tensorframe .zoom label{float:left;padding:1px 9px;margin:0 2px 4px 0;border-radius:10px;cursor:pointer;
font-size:12px;color:var(--soft)}
.tensorframe .zoom label::before{content:attr(title)}
.tensorframe .zoom label:has(input:checked){background:var(--faint)}
.tensorframe .zoom label:has(input:focus-visible){outline:1px solid currentColor}
.tensorframe .zoom:has(.fit:checked) svg{width:100%;max-height:664px}
.tensorframe .zoom:has(.half:checked) svg{width:calc(var(--width)/2)}
"""
_DRAG = (
    "if(event.button||event.target.closest('text'))return;var p=this,x=event.clientX+p.scrollLeft,"
    "y=event.clientY+p.scrollTop;p.onpointermove=function(e){p.scrollLeft=x-e.clientX;p.scrollTop=y-e.clientY};"
    "p.onpointerup=p.onpointerleave=function(){p.onpointermove=null}"
)
_UNZOOM = "this.parentNode.querySelector('svg').removeAttribute('style')"
_ZOOM = (
    "if(!event.ctrlKey)return;event.preventDefault();var p=this,s=p.querySelector('svg'),"
    "b=p.getBoundingClientRect(),w=s.getBoundingClientRect().width,f=event.deltaY<0?1.15:1/1.15,"
    "x=event.clientX-b.left,y=event.clientY-b.top,l=p.scrollLeft,t=p.scrollTop;"
    "s.style.maxHeight='none';s.style.width=w*f+'px';p.scrollLeft=(l+x)*f-x;p.scrollTop=(t+y)*f-y"
)


class Picture:
    """A graph or plan, drawn when somebody looks. In a notebook it shows itself; `save` takes it elsewhere.

    >>> x = tfr.asarray([1.0, 2.0, 3.0])
    >>> picture = tfr.visualize(tfr.exp(x) * 2)
    >>> picture
    Picture(recorded graph: 2 ops, 1 input)
    >>> picture.svg()[:4]
    '<svg'
    """

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram

    def __repr__(self) -> str:
        return f"Picture({self.diagram.title})"

    def svg(self, *, dark: bool | None = None) -> str:
        """Return the picture as the text of an SVG, on light or `dark` paper; None leaves that to who shows it."""
        return draw(self.diagram).on_paper(dark=dark)

    def png(self, *, dark: bool = False, scale: float = 2.0) -> bytes:
        """Return the picture as the bytes of a PNG of `scale` pixels per unit.

        Raises ArgumentError where the package that draws it is missing: it comes with the extra `notebook`.
        """
        try:
            from resvg_py import svg_to_bytes
        except ImportError:
            raise ArgumentError(
                "a PNG is drawn by the package resvg_py, which is not installed",
                suggestions=(extra("notebook"), "an SVG, which needs nothing"),
            ) from None
        return bytes(svg_to_bytes(svg_string=self.svg(dark=dark), zoom=scale))

    def dot(self) -> str:
        """Return the picture in the language of Graphviz."""
        return dot_of(self.diagram)

    def graphml(self) -> str:
        """Return the picture as GraphML, with the kind, device and bytes of everything in it."""
        return graphml_of(self.diagram)

    def graph(self) -> networkx.DiGraph[str]:
        """Return what the picture shows as a networkx DiGraph."""
        return networkx_of(self.diagram)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file; its suffix says how: `.svg`, `.png`, `.dot` or `.graphml`.

        Another suffix raises ArgumentError.
        """
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix == ".png":
            target.write_bytes(self.png())
            return
        if suffix not in _SUFFIXES:
            known = ", ".join(_SUFFIXES)
            raise ArgumentError(
                f"save: {target.name!r} does not end in a known suffix",
                suggestions=(f"one of {known}",),
            )
        as_text = {".svg": self.svg, ".dot": self.dot, ".graphml": self.graphml}[suffix]
        target.write_text(as_text(), encoding="utf-8")

    @cached_property
    def _shown(self) -> str:
        return view_of(self.diagram)

    def _repr_html_(self) -> str:
        return page(self._shown, SHEET)


def view_of(diagram: Diagram) -> str:
    """Return the HTML of a picture that scrolls and zooms, for a page that has `SHEET`."""
    drawn = draw(diagram)
    inside = framed(drawn.head, _plain(drawn), drawn.body, _FRAME)
    handlers = f'onpointerdown="{text(_DRAG)}" onwheel="{text(_ZOOM)}"'
    picture = inside.replace("<div ", f'<div class="picture" {handlers} ', 1)
    if drawn.width <= _SMALL[0] and drawn.height <= _SMALL[1]:
        return picture
    # a form keeps the choice of this picture apart from those of others
    width = f"--width:{drawn.width:.0f}px"
    sizes = f'<div class="sizes" {_HIDDEN} onclick="{text(_UNZOOM)}">{_SIZES}</div>'
    return f'<form class="zoom" style="{width}">{sizes}{picture}</form>'


def _plain(drawn: Drawing) -> str:
    """Return a drawing as an image, for pages that show nothing else."""
    svg = drawn.on_paper()
    if len(svg) > _MOST_PLAIN:
        said = f"{text(drawn.title)}: run the cell to see the picture"
        return f'<span style="font-size:13px">{said}</span>'
    return image(TITLE.sub("", svg), drawn.title, "max-width:100%")
