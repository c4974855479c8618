"""Progress in a notebook: a bar under the cell, drawn again as the compute goes on, and gone when it is over."""

from __future__ import annotations

from typing import Any

from tensorframe.cells import shell
from tensorframe.notebook.style import SHADE, hue, page, text
from tensorframe.runtime.progress.monitor import Display
from tensorframe.runtime.progress.phases import State
from tensorframe.runtime.progress.phrases import amounts, step_words, time_words

_SHEET = """
.tensorframe .way .row{display:flex;justify-content:space-between;gap:1.5em;flex-wrap:wrap}
.tensorframe .way .row span{white-space:nowrap;font-variant-numeric:tabular-nums}
.tensorframe .track .unknown{animation:tensorframe-moves 1.6s ease-in-out infinite alternate}
@keyframes tensorframe-moves{from{margin-left:0}to{margin-left:70%}}
"""
_TRACK = f"margin:4px 0;border-radius:3px;background:{SHADE};overflow:hidden"


def in_a_notebook() -> Display | None:
    """Return a bar under the cell that runs, if a notebook runs it."""
    running = shell()
    # IPython in a terminal shows no HTML, and has no kernel
    return _Bar() if getattr(running, "kernel", None) is not None else None


class _Bar:
    """One output of a cell, shown once and then changed."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, state: State) -> None:
        """Draw a state."""
        self._put({"text/html": bar(state), "text/plain": _plain(state)})

    def close(self) -> None:
        """Leave nothing: the result is what comes next, and how long things took a profile tells."""
        if self._handle is not None:
            self._put({"text/html": "", "text/plain": ""})

    def _put(self, shown: dict[str, str]) -> None:
        from IPython import display

        if self._handle is None:
            self._handle = display.DisplayHandle()  # type: ignore[no-untyped-call]
            self._handle.display(shown, raw=True)
        else:
            self._handle.update(shown, raw=True)


def bar(state: State) -> str:
    """Return the HTML of a state: what runs, how far it is, and what it has moved and holds."""
    look = f"height:6px;border-radius:3px;background:{hue(state.device)}"
    if state.share is not None:
        filled = f'<div style="{look};width:{100 * state.share:.1f}%"></div>'
    else:  # each drawing begins the movement anew, so it begins where the last one was
        since = f"animation-delay:-{state.elapsed:.2f}s"
        filled = f'<div class="unknown" style="{look};width:30%;{since}"></div>'
    body = (
        '<div class="way" style="max-width:44em;padding:2px 0">'
        f"{_row(step_words(state), time_words(state))}"
        f'<div class="track" style="{_TRACK}">{filled}</div>'
        f'<div class="soft">{_row(*amounts(state))}</div>'
        "</div>"
    )
    return page(body, _SHEET)


def _row(*facts: str) -> str:
    # spaces for pages that leave out styles
    return f'<div class="row">{" ".join([f"<span>{text(fact)}</span>" for fact in facts])}</div>'


def _plain(state: State) -> str:
    return " · ".join([step_words(state), *amounts(state), time_words(state)])
