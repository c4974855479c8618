"""Collections: lists, tuples and dicts of tensors, and of nothing else, as a card with a row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorframe.errors import CancelledError
from tensorframe.frontend.diagnostics.tables import shorten
from tensorframe.frontend.protocols.preview import seconds_for, seen
from tensorframe.frontend.protocols.printing import PATIENCE
from tensorframe.frontend.tensor import Tensor
from tensorframe.notebook.card.look import SMALL
from tensorframe.notebook.card.state import state_of
from tensorframe.notebook.card.text import printed, toned
from tensorframe.notebook.results import device_name, result_page, table
from tensorframe.notebook.style import numbers, text, words
from tensorframe.notebook.wording import counted
from tensorframe.quick_tuples import NamedTuple
from tensorframe.rewrite.views import Window
from tensorframe.runtime.evaluate import evaluate
from tensorframe.schedule.plan import human_bytes

_DEEPEST = 8  # containers in containers; one that contains itself has no end
_ROWS = 24
_SHOWN = 5  # elements
_NAME, _REASON = 40, 90  # characters
_HEADS, _NUMBERED = ("", "shape", "dtype", "device"), ("size",)

Named = tuple[str, Tensor]


class _Other(Exception):  # noqa: N818 - it ends a search
    """Something in a collection is no tensor."""


def card_of(collection: Any) -> str | None:
    """Return the card of a collection of tensors, at any depth; None if it is empty or holds anything else."""
    try:
        tensors = list(_tensors(collection, "", 0))
    except _Other:
        return None
    if not tensors:
        return None
    shown = tensors[:_ROWS]
    what = f"{_kind(collection)} of {counted(len(tensors), 'tensor')}"
    size = human_bytes(sum(tensor.node.nbytes for _, tensor in tensors))
    previews = _previews([tensor for _, tensor in shown])
    rows = [_row(named, seen) for named, seen in zip(shown, previews, strict=True)]
    parts = [table(_HEADS, _NUMBERED, rows)]
    more = len(tensors) - len(shown)
    parts += [f"and {more:,} more"] if more else []
    return result_page([f"<b>{text(what)}</b>", size], *parts)


def _tensors(value: Any, name: str, depth: int) -> Iterator[Named]:
    """Yield the tensors of a collection, each as a program would write it."""
    if isinstance(value, Tensor):
        yield name, value
    elif depth < _DEEPEST and is_collection(type(value)):
        for label, item in _parts(value):
            yield from _tensors(item, name + label, depth + 1)
    else:
        raise _Other


def is_collection(kind: type) -> bool:
    """Whether values of a type are looked into: other subclasses have meanings of their own."""
    return kind in (list, tuple, dict) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _parts(value: Any) -> Iterator[Named]:
    if isinstance(value, dict):
        return ((f"[{shorten(repr(key), _NAME)}]", value) for key, value in value.items())
    fields: Sequence[str] = getattr(value, "_fields", ())
    labels = [f".{field}" for field in fields] or [f"[{index}]" for index in range(len(value))]
    return zip(labels, value, strict=True)


def _kind(collection: Any) -> str:
    return type(collection).__name__


def _row(named: Named, elements: str) -> str:
    name, tensor = named
    state = state_of(tensor)
    facts = words(
        f"<b>{text(name)}</b>",
        f"<code>{text(tensor.shape)}</code>",
        text(tensor.dtype),
        device_name(tensor.device),
    )
    said = f'<span title="{text(state.explained)}">{state.word}</span>'
    return f"{facts}{numbers(human_bytes(tensor.node.nbytes))}{words(said, elements)}"


def _previews(tensors: Sequence[Tensor]) -> list[str]:
    """Return the first elements of each tensor; small ones are computed, together, and keep that."""
    _attempt(lambda: evaluate([tensor.node for tensor in tensors if tensor.size <= SMALL]))
    patience = PATIENCE / max(len(tensors), 1)
    return [_preview(tensor, patience) for tensor in tensors]


def _preview(tensor: Tensor, patience: float) -> str:
    shape = tensor.shape
    axes = [(0, min(size, 1), 1) for size in shape[:-1]]
    axes += [(0, min(size, _SHOWN), 1) for size in shape[-1:]]
    window = Window.of_axes(axes)
    if not window.size:
        return ""

    def elements() -> str:
        if seconds_for(tensor, [window], 0) > patience:
            return "…"
        line = printed(seen(tensor, [window], 0)[0].ravel(), shortened=False)[1:-1]
        rest = " …" if tensor.size > window.size else ""
        return f"<code>{toned(line)}{rest}</code>"

    attempt = _attempt(elements)
    return attempt if isinstance(attempt, str) else f"<em>{text(_reason(attempt))}</em>"


class _Failed(NamedTuple):
    error: Exception


def _attempt(compute: Callable[[], Any]) -> Any:
    """Return what `compute` does, or what was raised: a card never fails, but Ctrl-C ends it."""
    try:
        return compute()
    except CancelledError:
        raise
    except Exception as error:
        return _Failed(error)


def _reason(failed: Any) -> str:
    error = failed.error
    said = getattr(error, "message", None) or str(error)
    return shorten(f"{type(error).__name__}: {said}".partition("\n")[0], _REASON)
