"""The card of a tensor: what it is, a few of its elements, a small picture, and what computing it would take."""

from __future__ import annotations

from tensorframe.errors import CancelledError, TracingError
from tensorframe.frontend.tensor import Tensor
from tensorframe.notebook.card.look import Look, look_at
from tensorframe.notebook.card.picture import picture_of
from tensorframe.notebook.card.state import state_of, summary_of
from tensorframe.notebook.card.text import toned
from tensorframe.notebook.style import hue, page, text
from tensorframe.schedule.plan import human_bytes

_SHEET = """
.tensorframe .card{display:inline-block;box-sizing:border-box;min-width:min(400px,100%);max-width:100%;
border:1px solid var(--line);border-radius:8px;overflow:hidden;margin:2px 0}
.tensorframe .facts{display:flex;flex-wrap:wrap;align-items:center;gap:2px 14px;padding:6px 12px;
background:var(--faint)}
.tensorframe.tensorframe .facts code{font-size:13px;font-weight:600}
.tensorframe .facts i{display:inline-block;width:9px;height:9px;border-radius:50%;margin-right:6px}
.tensorframe .state{margin-left:auto;padding:0 9px;border-radius:9px;border:1px solid var(--soft);font-size:11px}
.tensorframe .state.recorded{border-style:dashed}
.tensorframe .view{display:flex;gap:10px 18px;padding:11px 12px;align-items:flex-start}
.tensorframe .view>div{min-width:0}
.tensorframe .view pre{margin:0;white-space:pre;max-height:20em;overflow:auto}
.tensorframe .view pre.scalar{font-size:20px}
.tensorframe .view pre.failure{white-space:pre-wrap;border-left:3px solid #d55e00;padding-left:10px}
.tensorframe .view .index{font-size:11px}
.tensorframe .view s{color:var(--soft);text-decoration:none}
.tensorframe .view em{color:#d55e00;font-style:normal;font-weight:600}
.tensorframe figure{flex:none;margin:0;font-size:11px;line-height:1.45;color:var(--soft);
font-variant-numeric:tabular-nums}
.tensorframe figure.image{width:148px}
.tensorframe .stack{flex-direction:column}
.tensorframe figure.long{width:480px;max-width:100%}
.tensorframe figure img,.tensorframe figure svg{display:block;margin:0 0 4px;border-radius:3px;max-width:100%}
.tensorframe figure img.plane{image-rendering:pixelated}
.tensorframe figure svg{width:100%;height:64px}
.tensorframe figure .curve,.tensorframe figure .band{stroke:color-mix(in srgb,var(--ink) 72%,currentColor)}
.tensorframe figure .area,.tensorframe figure .band{fill:color-mix(in srgb,var(--ink) 72%,currentColor)}
.tensorframe figure .zero{stroke:currentColor;opacity:.5;stroke-dasharray:3 3;fill:none;
vector-effect:non-scaling-stroke}
.tensorframe figure .scale{display:flex;align-items:center;gap:6px}
.tensorframe figure .scale b{flex:1;height:6px;border-radius:3px}
.tensorframe figure u{display:inline-block;width:8px;height:8px;border-radius:2px;margin:0 4px 0 0}
.tensorframe figure u~u{margin-left:10px}
.tensorframe .foot{padding:5px 12px 6px;border-top:1px solid var(--line);font-size:12px;color:var(--soft);
font-variant-numeric:tabular-nums}
"""
_SLOW = "To show elements would take long: <code>.compute()</code> does, and keeps them."
_SCALAR = ' class="scalar"'


def card(tensor: Tensor) -> str:
    """Return the card of a tensor as HTML; computes what it shows, and says so where that fails."""
    view = _view(tensor)
    # last, since small tensors are computed to be shown
    return page(f'<div class="card">{_facts(tensor)}{view}{_foot(tensor)}</div>', _SHEET)


def _facts(tensor: Tensor) -> str:
    state = state_of(tensor)
    facts = (
        f"<code>{text(tensor.shape)}</code>",
        f"<span>{text(tensor.dtype)}</span>",
        f'<span><i style="background:{hue(tensor.device)}"></i>{text(tensor.device)}</span>',
        f'<span class="soft">{human_bytes(tensor.node.nbytes)}</span>',
        f'<span class="state {state.word}" title="{text(state.explained)}">{state.word}</span>',
    )
    # spaces for pages that leave out styles, and for who listens
    return f'<div class="facts">{" ".join(facts)}</div>'


def _view(tensor: Tensor) -> str:
    try:
        look = look_at(tensor)
        picture = picture_of(tensor, look)
    except CancelledError:
        raise
    except TracingError as error:  # nothing is wrong: there are no elements yet
        return f'<div class="view soft">{text(error.message)}</div>'
    except Exception as error:
        told = f"<em>{text(type(error).__name__)}</em>: {text(error)}"
        return f'<div class="view"><pre class="failure">{told}</pre></div>'
    kind = "view stack" if look.is_long else "view"
    return f'<div class="{kind}">{picture}{_elements(tensor, look)}</div>'


def _elements(tensor: Tensor, look: Look) -> str:
    if look.printed is None:
        return f'<span class="soft">{_SLOW}</span>'
    if not tensor.size:
        return '<span class="soft">no elements</span>'
    index = f'<div class="soft index">{look.index}</div>' if look.index else ""
    return f"<div>{index}<pre{'' if tensor.ndim else _SCALAR}>{toned(look.printed)}</pre></div>"


def _foot(tensor: Tensor) -> str:
    words = summary_of(tensor)
    return f'<div class="foot">{text(words)}</div>' if words else ""
