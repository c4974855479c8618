"""The tensors of a module by name: given out, and taken over from files and other modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from tensorframe.errors import ArgumentError, DTypeError, ShapeError, TensorFrameError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.structure import Entry, Structured, entries
from tensorframe.quick_tuples import NamedTuple

_MOST = 8  # names that a message lists


class IncompatibleKeys(NamedTuple):
    """The names that a module has and a state_dict has not, and the other way round."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def state_dict(module: Structured) -> dict[str, Tensor]:
    """Return what a file holds of a module, in handles of their own."""
    return {entry.name: Tensor(entry.tensor.node) for entry in _saved(module)}


def _saved(module: Structured) -> list[Entry]:
    return [entry for entry in entries(module) if entry.role.is_saved]


def tree_of(value: Any, kept: set[int], above: tuple[Any, ...] = ()) -> Any:
    """Return the tensors among `kept`, each once, in dicts and lists that nest as `value` does."""
    if isinstance(value, Structured):
        if any(value is owner for owner in above):
            return None  # one that refers to its owner
        above = (*above, value)
        parts = {name: part for name, part in vars(value).items() if not name.startswith("_")}
        return _without_nothing({name: tree_of(part, kept, above) for name, part in parts.items()})
    if isinstance(value, Tensor):
        if id(value) not in kept:
            return None
        kept.discard(id(value))
        return value
    if isinstance(value, dict):
        return _without_nothing({key: tree_of(part, kept, above) for key, part in value.items()})
    if type(value) in (list, tuple):
        elements = [tree_of(part, kept, above) for part in value]
        return elements if any(part is not None for part in elements) else None
    return None


def _without_nothing(tree: dict[Any, Any]) -> dict[Any, Any]:
    return {
        key: part
        for key, part in tree.items()
        if part is not None and not (type(part) is dict and not part)
    }


def holds_tensors(value: Any) -> bool:
    """Whether a value is a tensor, or a list, tuple or dict with one in it; modules have attributes of their own."""
    if isinstance(value, dict):
        value = list(value.values())
    if type(value) in (list, tuple):
        return any(map(holds_tensors, value))
    return isinstance(value, Tensor)


def load_state_dict(module: Structured, given: Mapping[str, Any], strict: bool) -> IncompatibleKeys:
    """Rebind the tensors of a module to those given for their names, if all of them fit."""
    if not isinstance(given, Mapping):
        raise DTypeError(
            f"load_state_dict: takes tensors by name, got {type(given).__name__}",
            suggestions=('model.load_state_dict(tfr.load("model.safetensors"))',),
        )
    own = _saved(module)
    names = {entry.name for entry in own}
    present = {id(entry.tensor) for entry in own if entry.name in given}
    missing = [entry.name for entry in own if id(entry.tensor) not in present]
    unexpected = [name for name in given if name not in names]
    fitting = [(entry, operand(given[entry.name])) for entry in own if entry.name in given]
    wrong = [pair for pair in fitting if pair[0].tensor.shape != pair[1].shape]
    if wrong or (strict and (missing or unexpected)):
        raise _misfit(type(module).__name__, missing, unexpected, wrong, strict)
    nodes = [
        tensor.astype(entry.tensor.dtype).to_device(entry.tensor.device).node
        for entry, tensor in fitting
    ]
    for (entry, _), node in zip(fitting, nodes, strict=True):
        entry.tensor._rebind(node)
    return IncompatibleKeys(missing, unexpected)


def _misfit(
    title: str,
    missing: Sequence[str],
    unexpected: Sequence[str],
    wrong: Sequence[tuple[Entry, Tensor]],
    strict: bool,
) -> TensorFrameError:
    lines = [f"load_state_dict: the tensors do not fit {title}; nothing was loaded"]
    suggestions = []
    if wrong:
        shapes = [
            f"{entry.name} is {tensor.shape}, and {entry.tensor.shape} in the module"
            for entry, tensor in wrong
        ]
        lines += ["  other shapes:", *_listed(shapes)]
        suggestions += [_shape_hint(*wrong[0])]
    if strict and missing:
        lines += ["  missing:", *_listed(missing, partial(_beside, unexpected))]
    if strict and unexpected:
        lines += ["  unexpected:", *_listed(unexpected)]
        suggestions += _prefix_hint(missing, unexpected)
    if strict and not wrong:
        suggestions.append("strict=False, to load what fits and be told the rest")
    kind = ShapeError if wrong else ArgumentError
    return kind("\n".join(lines), suggestions=suggestions)


def _listed(lines: Sequence[str], shown: Callable[[str], str] = str) -> Iterable[str]:
    yield from (f"    {shown(line)}" for line in lines[:_MOST])
    if len(lines) > _MOST:
        yield f"    and {len(lines) - _MOST} more"


def _nearest(name: str, names: Sequence[str]) -> str | None:
    return next(iter(get_close_matches(name, names, 1, cutoff=0.6)), None)


def _beside(unexpected: Sequence[str], name: str) -> str:
    nearest = _nearest(name, unexpected)
    return name if nearest is None else f"{name} (the nearest name given is {nearest})"


def _prefix_hint(missing: Sequence[str], unexpected: Sequence[str]) -> list[str]:
    """Return how to rename what has a prefix that the module has not, such as `model.`; nothing if that is not it."""
    for name in missing:
        for other in unexpected:
            if other.endswith(f".{name}"):
                prefix = other.removesuffix(name)
                return [
                    f'{{name.removeprefix("{prefix}"): tensor for name, tensor in state.items()}}'
                ]
            if name.endswith(f".{other}"):
                prefix = name.removesuffix(other)
                return [f'{{"{prefix}" + name: tensor for name, tensor in state.items()}}']
    return []


def _shape_hint(entry: Entry, tensor: Tensor) -> str:
    if tensor.shape == entry.tensor.shape[::-1]:
        return f"state[{entry.name!r}].T, if it was saved as (inputs, outputs)"
    return "a module made with the sizes that the file was made with"
