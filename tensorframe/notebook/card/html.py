"""The card of a tensor: what it is, a few of its elements, a small picture, and what computing it would take."""

from __future__ import annotations

from tensorframe.errors import CancelledError, TracingError
from tensorframe.frontend.tensor import Tensor
from tensorframe.notebook.card.look import Look, look_at
from tensorframe.notebook.card.picture import picture_of
from tensorframe.notebook.card.state import state_of, summary_of
from tensorframe.notebook.card.text import toned
from tensorframe.notebook.style import APART, FRAME, LINE, SHADE, dot, hue, page, text
from tensorframe.schedule.plan import human_bytes

_SHEET = """
.tensorframe .card{box-sizing:border-box;min-width:min(400px,100%);overflow:hidden;margin:2px 0}
.tensorframe.tensorframe .facts code{font-size:13px;font-weight:600}
.tensorframe .view pre{white-space:pre;max-height:20em;overflow:auto}
.tensorframe .view .index{font-size:11px}
.tensorframe .view pre span{color:var(--soft)}
.tensorframe .view em{color:#d55e00;font-style:normal;font-weight:600}
.tensorframe figure{font-variant-numeric:tabular-nums;line-height:1.45;color:var(--soft)}
.tensorframe figure img{display:block;margin:0 0 4px;border-radius:3px}
.tensorframe figure .plane{image-rendering:pixelated}
.tensorframe .foot{color:var(--soft);font-variant-numeric:tabular-nums}
"""
_SLOW = "To show elements would take long: <code>.compute()</code> does, and keeps them."
_CARD = f"display:inline-block;max-width:100%;{FRAME}"
_FACTS = f"padding:6px 12px;background:{SHADE}"
_STATE = "float:right;margin-left:14px;padding:0 9px;border-radius:9px;font-size:11px"
_VIEW = "padding:11px 12px"
_FAILURE = "margin:0;white-space:pre-wrap;border-left:3px solid #d55e00;padding-left:10px"
_FOOT = f"padding:5px 12px 6px;border-top:{LINE};font-size:12px"


def card(tensor: Tensor) -> str:
    """Return the card of a tensor as HTML; computes what it shows, and says so where that fails."""
    view = _view(tensor)
    # last, since small tensors are computed to be shown
    body = f"{facts_of(tensor)}{view}{_foot(tensor)}"
    return page(f'<div class="card" style="{_CARD}">{body}</div>', _SHEET)


def facts_of(tensor: Tensor) -> str:
    """Return the line of a card that says what a tensor is."""
    state = state_of(tensor)
    outline = "solid" if state.word == "computed" else "dashed"
    facts = (
        f"<code>{text(tensor.shape)}</code>",
        text(tensor.dtype),
        f"{dot(hue(tensor.device))}{text(tensor.device)}",
        f'<span class="soft">{human_bytes(tensor.node.nbytes)}</span>',
        f'<span style="{_STATE};border:1px {outline} #888" title="{text(state.explained)}">{state.word}</span>',
    )
    return f'<div class="facts" style="{_FACTS}">{APART.join(facts)}</div>'


def _view(tensor: Tensor) -> str:
    try:
        look = look_at(tensor)
        picture = picture_of(tensor, look)
    except CancelledError:
        raise
    except TracingError as error:  # nothing is wrong: there are no elements yet
        return f'<div class="soft" style="{_VIEW}">{text(error.message)}</div>'
    except Exception as error:
        told = f"<em>{text(type(error).__name__)}</em>: {text(error)}"
        return f'<div class="view" style="{_VIEW}"><pre style="{_FAILURE}">{told}</pre></div>'
    beside = "" if look.is_long or not picture else ";display:flex"
    return f'<div class="view" style="{_VIEW}{beside}">{picture}{_elements(tensor, look)}</div>'


def _elements(tensor: Tensor, look: Look) -> str:
    if look.printed is None:
        return f'<span class="soft">{_SLOW}</span>'
    if not tensor.size:
        return '<span class="soft">no elements</span>'
    index = f'<div class="soft index">{look.index}</div>' if look.index else ""
    size = "" if tensor.ndim else ";font-size:20px"
    return f'<div style="min-width:0">{index}<pre style="margin:0{size}">{toned(look.printed)}</pre></div>'


def _foot(tensor: Tensor) -> str:
    words = summary_of(tensor)
    return f'<div class="foot" style="{_FOOT}">{text(words)}</div>' if words else ""
