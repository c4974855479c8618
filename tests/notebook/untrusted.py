"""What pages show of HTML that they do not trust: JupyterLab's sanitizer as a filter, and that of pages without styles.

JupyterLab passes outputs of a notebook that somebody else ran through sanitize-html, with lists of its own
(packages/apputils/src/sanitizer.ts): elements and attributes of old HTML, styles of CSS 2. An element that is not
listed goes, and what is in it stays; of style sheets and scripts nothing stays. Rules here are narrower where that is
shorter: what they let through, JupyterLab does.
"""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

_ELEMENTS = (
    "a abbr b bdi blockquote br button caption center cite code col colgroup dd del details dfn div dl dt em fieldset "
    "figcaption figure font footer form h1 h2 h3 h4 h5 h6 header hr i img input ins kbd label legend li mark meter nav "
    "ol option output p pre progress q s samp section select small span strike strong sub summary sup table tbody td "
    "tfoot th thead time tr tt u ul var wbr"
)
ELEMENTS = frozenset(_ELEMENTS.split())
VOID = frozenset(["br", "col", "hr", "img", "input", "wbr"])
DROPPED_WHOLE = frozenset(["script", "style"])
EVERYWHERE = frozenset(["class", "dir", "hidden", "id", "lang", "style", "title"])
ATTRIBUTES = {
    "details": {"open"},
    "div": {"align"},
    "form": {"name"},
    "img": {"align", "alt", "border", "height", "src", "width"},
    "input": {"checked", "name", "type", "value"},
    "p": {"align"},
    "pre": {"width"},
    "table": {"align", "bgcolor", "border", "cellpadding", "cellspacing", "width"},
    "td": {"align", "bgcolor", "colspan", "height", "nowrap", "rowspan", "valign", "width"},
    "tr": {"align", "bgcolor", "valign"},
}
ATTRIBUTES["th"] = ATTRIBUTES["td"]

_LENGTH = r"(0|-?(\d*\.)?\d+(px|em|rem|pt|%))"
_COLOUR = r"(#[0-9a-f]{3,8}|rgb\(\d+,\d+,\d+\)|black|white|gray|transparent)"
_BORDER = rf"({_LENGTH}|none|dotted|dashed|solid|{_COLOUR})"
_STOP = rf"{_COLOUR}( {_LENGTH})?"
_LENGTHS = (
    "width height min-width min-height max-width max-height margin-top margin-right margin-bottom margin-left "
    "padding-top padding-right padding-bottom padding-left left right top bottom font-size"
)
# every property that may be written, and what of
STYLES = dict.fromkeys(_LENGTHS.split(), rf"({_LENGTH}|auto)") | {
    "background": rf"({_COLOUR}|linear-gradient\(\d+deg(,{_STOP})+\))",
    "background-color": _COLOUR,
    "border": rf"{_BORDER}( {_BORDER}){{0,2}}",
    "border-radius": rf"{_LENGTH}( {_LENGTH}){{0,3}}",
    "clear": "none|left|right|both",
    "color": _COLOUR,
    "display": "none|inline|block|inline-block|table|table-cell|flex",
    "float": "left|right|none",
    "font-style": "normal|italic",
    "font-weight": "normal|bold|[1-9]00",
    "margin": rf"({_LENGTH}|auto)( ({_LENGTH}|auto)){{0,3}}",
    "opacity": r"1|0(\.\d+)?",
    "overflow": "visible|hidden|scroll|auto",
    "padding": rf"{_LENGTH}( {_LENGTH}){{0,3}}",
    "position": "static|relative|absolute",
    "text-align": "left|right|center|justify",
    "text-decoration": "none|underline|line-through",
    "vertical-align": rf"baseline|top|middle|bottom|{_LENGTH}",
    "white-space": "normal|pre|nowrap|pre-wrap|pre-line",
}
for _side in ("top", "right", "bottom", "left"):
    STYLES[f"border-{_side}"] = STYLES["border"]


def declarations(style: str) -> list[tuple[str, str]]:
    """Return the properties of a style attribute with their values."""
    pairs = [one.partition(":")[::2] for one in style.split(";") if one.strip()]
    return [(name.strip(), value.strip()) for name, value in pairs]


def is_allowed(name: str, value: str) -> bool:
    """Whether JupyterLab leaves a declaration where it is."""
    return name in STYLES and re.fullmatch(STYLES[name], value, re.IGNORECASE) is not None


class _Filter(HTMLParser):
    """Writes down what is left of the HTML that it is fed."""

    def __init__(self, *, styles: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.written: list[str] = []
        self.styles = styles
        self._dropped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in DROPPED_WHOLE:
            self._dropped += 1
        elif tag in ELEMENTS and not self._dropped:
            kept = "".join(self._attribute(tag, name, value or "") for name, value in attrs)
            self.written.append(f"<{tag}{kept}{'/' if tag in VOID else ''}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in DROPPED_WHOLE:
            self._dropped -= 1
        elif tag in ELEMENTS and tag not in VOID and not self._dropped:
            self.written.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self._dropped:
            self.written.append(escape(data, quote=False))

    def _attribute(self, tag: str, name: str, value: str) -> str:
        if name == "style":
            kept = [f"{one}:{of}" for one, of in declarations(value) if is_allowed(one, of)]
            value = ";".join(kept)
            if not kept:
                return ""
        plain = name not in ("style", "class", "id")
        if name not in EVERYWHERE | ATTRIBUTES.get(tag, set()) or not (self.styles or plain):
            return ""
        return f' {name}="{escape(value)}"'


def sanitized(html: str) -> str:
    """Return what JupyterLab shows of HTML in a notebook that is not trusted."""
    return _filtered(html, styles=True)


def plain(html: str) -> str:
    """Return what a page shows that knows neither styles nor classes, nor SVG, of which it shows nothing."""
    html = re.sub("<desc>(.*?)</desc>", r"</svg>\1<svg>", html)
    html = re.sub("<svg[^>]*>.*?</svg>", "", html, flags=re.DOTALL)
    return _filtered(html, styles=False)


def _filtered(html: str, *, styles: bool) -> str:
    reader = _Filter(styles=styles)
    reader.feed(html)
    reader.close()
    return "".join(reader.written)
