"""Formatters: what IPython shows of lists, tuples and dicts. Those that hold tensors alone get a card.

IPython asks a formatter for a type before it asks an object for its own `_repr_html_`, and has one formatter for each
type: so who has a representation keeps it, and a formatter that was there before is still asked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tensorframe.frontend.tensor import Tensor

Formatter = Callable[[Any], Any]


def register(shell: Any) -> None:
    """Let a shell show collections of tensors as cards; doing so again changes nothing."""
    html = shell.display_formatter.formatters["text/html"]
    for kind in (list, tuple, dict):
        before = html.type_printers.get(kind)
        if getattr(before, "func", None) is not _shown:
            html.for_type(kind, partial(_shown, before))


def _shown(before: Formatter | None, value: Any) -> Any:
    """Return the HTML of a collection: its own, a card of its tensors, or what was shown of it before."""
    own = _own(value)
    if own is not None:
        return own()
    if _begins_with_a_tensor(value):
        from tensorframe.notebook.collections import card_of

        card = card_of(value)
        if card is not None:
            return card
    return None if before is None else before(value)


def _own(value: Any) -> Callable[[], Any] | None:
    if type(value) in (list, tuple, dict):
        return None
    from IPython.utils.dir2 import get_real_method

    method: Callable[[], Any] | None = get_real_method(value, "_repr_html_")
    return method


def _begins_with_a_tensor(value: Any) -> bool:
    """Whether the first thing in a collection is a tensor: most that are shown hold none, and cost nothing."""
    for _ in range(8):
        if isinstance(value, Tensor):
            return True
        if not isinstance(value, list | tuple | dict) or not value:
            return False
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return False
