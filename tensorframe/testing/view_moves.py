"""Moves that put elements elsewhere: views, joins, gathers, assignments."""

from __future__ import annotations

from collections.abc import Callable

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.testing.draft import Draft, Variable

__all__ = ["assign", "gather", "join", "view"]


def view(draft: Draft) -> object:
    """Move elements."""
    x = draft.pick()
    if x is None:
        return None
    words = draft.random.choice(VIEWS)(draft, x)
    return draft.add(f"{{out}} = {words}", [x], x.error) if words else None


def _reshape(draft: Draft, x: Variable) -> str:
    sizes = [size for size in x.shape if size != 1]
    kind = draft.random.random()
    if kind < 0.3:
        sizes = [-1] if x.value.size else [0]
    elif kind < 0.7 and len(sizes) > 1:
        axis = draft.random.randrange(len(sizes) - 1)
        sizes[axis : axis + 2] = [sizes[axis] * sizes[axis + 1]]
    else:
        sizes = [
            part
            for size in sizes
            for part in ((2, size // 2) if size and size % 2 == 0 else (size,))
        ]
    if draft.random.random() < 0.4:
        sizes.insert(draft.random.randint(0, len(sizes)), 1)
    return f"xp.reshape({{0}}, {tuple(sizes)})"


def _permute(draft: Draft, x: Variable) -> str:
    axes = list(range(len(x.shape)))
    draft.random.shuffle(axes)
    return f"xp.permute_dims({{0}}, {tuple(axes)})"


def _expand(draft: Draft, x: Variable) -> str:
    shape = tuple(draft.random.randint(1, 3) if size == 1 else size for size in x.shape)
    return f"xp.broadcast_to({{0}}, {(draft.random.randint(1, 3), *shape)})"


def _slice_words(draft: Draft, x: Variable) -> str:
    """Return an index of slices of either direction, integers, None and an ellipsis."""
    words = []
    for size in x.shape:
        kind = draft.random.random()
        if kind < 0.2 and size:
            words.append(str(draft.random.randrange(-size, size)))
            continue
        bounds = [
            draft.random.choice(["", str(draft.random.randint(-size - 1, size + 1))])
            for _ in range(2)
        ]
        words.append(":".join([*bounds, draft.random.choice(["", "", "-1", "2", "-2", "3"])]))
    if words and draft.random.random() < 0.2:
        words[draft.random.randrange(len(words)) :] = ["..."]
    if draft.random.random() < 0.15:
        words.insert(0, "None")
    return ", ".join(words) or "..."


def _slice(draft: Draft, x: Variable) -> str:
    return f"{{0}}[{_slice_words(draft, x)}]"


def _flip(draft: Draft, x: Variable) -> str:
    return f"xp.flip({{0}}, axis={draft.axis(x)})" if x.shape else "xp.flip({0})"


def _roll(draft: Draft, x: Variable) -> str:
    return f"xp.roll({{0}}, {draft.random.randint(-3, 3)}, axis={draft.axis(x)})" if x.shape else ""


def _new_axis(draft: Draft, x: Variable) -> str:
    return f"xp.expand_dims({{0}}, axis={draft.axis(x, 1)})"


def _move(draft: Draft, x: Variable) -> str:
    return f"xp.moveaxis({{0}}, {draft.axis(x)}, {draft.axis(x)})" if x.shape else ""


def _repeat(draft: Draft, x: Variable) -> str:
    return (
        f"xp.repeat({{0}}, {draft.random.randint(0, 3)}, axis={draft.axis(x)})" if x.shape else ""
    )


def _tile(draft: Draft, x: Variable) -> str:
    return f"xp.tile({{0}}, {tuple(draft.random.randint(1, 2) for _ in x.shape)})"


def _pad(draft: Draft, x: Variable) -> str:
    widths = [(draft.random.randint(0, 2), draft.random.randint(0, 2)) for _ in x.shape]
    return f"xp.pad({{0}}, {widths}, constant_values=2)" if hasattr(tfr, "pad") and x.shape else ""


def _triangle(draft: Draft, x: Variable) -> str:
    name = draft.random.choice(["tril", "triu"])
    return f"xp.{name}({{0}}, k={draft.random.randint(-2, 2)})" if len(x.shape) > 1 else ""


def _self_join(draft: Draft, x: Variable) -> str:
    if not x.shape or draft.random.random() < 0.5:
        return f"xp.stack([{{0}}, {{0}}], axis={draft.axis(x, 1)})"
    axis = draft.axis(x)
    return f"xp.concat([{{0}}, xp.flip({{0}}, axis={axis})], axis={axis})"


VIEWS: tuple[Callable[[Draft, Variable], str], ...] = (
    *(_reshape, _permute, _expand, _slice, _slice, _slice, _flip, _roll, _new_axis, _move),
    *(_repeat, _tile, _pad, _triangle, _self_join),
)


def join(draft: Draft) -> object:
    """Concatenate variables that differ along one axis at most."""
    x = draft.pick()
    if x is None or not x.shape:
        return None
    axis = draft.random.randrange(len(x.shape))

    def rest(operand: Variable) -> tuple[int, ...]:
        return (len(operand.shape), *operand.shape[:axis], *operand.shape[axis + 1 :])

    candidates = [
        candidate
        for candidate in draft.variables
        if candidate.usable and candidate.dtype == x.dtype and rest(candidate) == rest(x)
    ]
    parts = [x, *draft.random.choices(candidates, k=draft.random.randint(1, 2))]
    words = ", ".join(f"{{{place}}}" for place in range(len(parts)))
    error = max(part.error for part in parts)
    return draft.add(f"{{out}} = xp.concat([{words}], axis={axis})", parts, error)


def gather(draft: Draft) -> object:
    """Take elements by position, by a tensor of positions, or by a mask."""
    x = draft.pick()
    if x is None or not x.shape or draft.large:
        return None
    axis = draft.random.randrange(len(x.shape))
    size, kind = x.shape[axis], draft.random.random()
    if kind < 0.2:
        mask = draft.partner(x, dtypes.bool_)
        fits = mask.exact and mask.shape == x.shape[: len(mask.shape)]
        return draft.add("{out} = {0}[{1}]", [x, mask], x.error) if fits else None
    positions = (
        [draft.random.randrange(size) for _ in range(draft.random.randint(0, 4))] if size else []
    )
    index = f"xp.asarray(np.array({positions}, 'int64'))"
    if kind < 0.6:
        return draft.add(f"{{out}} = xp.take({{0}}, {index}, axis={axis})", [x], x.error)
    before = ":, " * axis
    return draft.add(f"{{out}} = {{0}}[{before}{index}]", [x], x.error)


def assign(draft: Draft) -> object:
    """Replace some elements of a copy; nobody else's tensor changes."""
    x = draft.pick()
    if x is None or not x.shape:
        return None
    index = _slice_words(draft, x)
    copy = "{out} = xp.asarray({0}, copy=True)\n{out}"
    if draft.random.random() < 0.5:
        value = {"b": "True", "u": "3", "i": "-3", "f": "-1.5", "c": "1j", "V": "-1.5"}[
            x.dtype.kind
        ]
        return draft.add(f"{copy}[{index}] = {value}", [x], x.error)
    y = draft.partner(x, x.dtype)
    return draft.add(f"{copy}[{index}] = {{1}}", [x, y], max(x.error, y.error))
