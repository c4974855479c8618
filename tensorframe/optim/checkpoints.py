"""Checkpoints: model, optimiser, random key and counters in one safetensors file, from which a run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from tensorframe.errors import ArgumentError, DTypeError, FileFormatError, ShapeError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.files.loading import load, load_metadata
from tensorframe.frontend.files.paths import PathLike
from tensorframe.frontend.files.saving import save
from tensorframe.frontend.random.keys import Key
from tensorframe.frontend.rebinding import rebind_together
from tensorframe.frontend.tensor import Tensor
from tensorframe.optim.parameters import tensors_of
from tensorframe.runtime.evaluate import evaluate

__all__ = ["load_checkpoint", "save_checkpoint"]

_ENTRY = "tensorframe.checkpoint"
_PLAIN = (bool, int, float, str, type(None))


def save_checkpoint(path: PathLike, /, **parts: Any) -> None:
    """Write the state of a training run into one `.safetensors` file, which appears when it is complete.

    A part is a module, an optimiser, a scaler, or any other object with a `state_dict()`; a tensor or a tree of
    tensors; a random key; or a number, string or None, such as the epoch. The name of a tensor begins with that of its
    part: `model.layers.0.weight`. After an error, an older file of that name is unchanged.

    ArgumentError if the path has another suffix. DTypeError if a part is of another kind.

    >>> path = folder / "run.safetensors"
    >>> w, optimizer = {"w": tfr.ones(2)}, tfr.optim.SGD(0.1, momentum=0.9)
    >>> optimizer.init(w)
    >>> tfr.optim.save_checkpoint(path, model=w, optimizer=optimizer, key=tfr.random.key(1), epoch=3)
    >>> sorted(tfr.load(path))
    ['model.w', 'optimizer.momentum_buffer.w', 'optimizer.step']
    """
    if not str(path).lower().endswith(".safetensors"):
        raise ArgumentError(
            f"save_checkpoint: {path} is no safetensors file", suggestions=("run.safetensors",)
        )
    tensors: dict[str, Tensor] = {}
    keys: dict[str, int] = {}
    values: dict[str, Any] = {}
    for name, part in parts.items():
        if isinstance(part, Key):
            keys[name] = _seed(name, part)
        elif isinstance(part, _PLAIN):
            values[name] = part
        else:
            tensors |= {f"{name}.{key}": tensor for key, tensor in _tensors(name, part).items()}
    entry = json.dumps({"keys": keys, "values": values, "parts": sorted(parts)})
    save(path, tensors, metadata={_ENTRY: entry})


def load_checkpoint(path: PathLike, /, **parts: Any) -> dict[str, Any]:
    """Give modules, optimisers and trees of tensors the values that a checkpoint has; return its keys and numbers.

    `parts` have the names and shapes with which they were saved; other parts of the file are not read. The run then
    continues with the same bits as without the interruption. All tensors are read before anything changes: if one part
    does not fit, no part changes. Errors of the parts' own `load_state_dict` are raised as they are.

    FileFormatError if the file is not a checkpoint. ArgumentError if the file lacks one of the parts.

    >>> path = folder / "run.safetensors"
    >>> tfr.optim.save_checkpoint(path, model={"w": tfr.ones(2)}, key=tfr.random.key(1), epoch=3)
    >>> w = {"w": tfr.zeros(2)}
    >>> state = tfr.optim.load_checkpoint(path, model=w)
    >>> w["w"].tolist(), state["key"], state["epoch"]
    ([1.0, 1.0], Key(0x0000000000000001), 3)
    """
    entry = load_metadata(path).get(_ENTRY)
    if entry is None:
        raise FileFormatError(
            f"load_checkpoint: {path} was not written by save_checkpoint",
            suggestions=("tfr.load(path), and model.load_state_dict(...) for weights alone",),
        )
    known = json.loads(entry)
    for name in parts:
        if name not in known["parts"] or name in known["values"] or name in known["keys"]:
            raise _no_such_part(path, name, known)
    # copies: the next checkpoint of this name must not be mapped by the tensors of this one
    tensors = {name: asarray(tensor, copy=True) for name, tensor in load(path).items()}
    chosen = {name: _of_part(tensors, name) for name in parts}
    evaluate([tensor.node for group in chosen.values() for tensor in group.values()])
    _restore_all(parts, chosen)
    state: dict[str, Any] = known["values"] | {
        name: Key(seed) for name, seed in known["keys"].items()
    }
    return state


def _restore_all(parts: Mapping[str, Any], chosen: Mapping[str, dict[str, Tensor]]) -> None:
    before = {name: _tensors(name, part) for name, part in parts.items()}
    begun = []
    try:
        for name, part in parts.items():
            begun.append(name)
            _restore(name, part, chosen[name])
    except BaseException:
        for name in begun:
            _restore(name, parts[name], before[name])
        raise


def _tensors(name: str, part: Any) -> dict[str, Tensor]:
    """Return snapshots of the tensors of a part by name."""
    if hasattr(part, "state_dict"):
        tensors: Mapping[str, Tensor] = part.state_dict()
    else:
        tensors = tensors_of(part)
        if not tensors:
            raise DTypeError(
                f"a checkpoint has no place for {name}, a {type(part).__name__} without tensors",
                suggestions=("objects with state_dict() and load_state_dict()", "trees of tensors"),
            )
    return {key: Tensor(asarray(tensor).node) for key, tensor in tensors.items()}


def _restore(name: str, part: Any, tensors: dict[str, Tensor]) -> None:
    if hasattr(part, "load_state_dict"):
        part.load_state_dict(tensors)
        return
    handles = tensors_of(part)
    if handles.keys() != tensors.keys():
        unlike = sorted(handles.keys() ^ tensors.keys())
        raise ArgumentError(f"load_checkpoint: {name} and the file differ in {', '.join(unlike)}")
    for key, handle in handles.items():
        if handle.shape != tensors[key].shape:
            raise ShapeError(
                f"load_checkpoint: {name}.{key} has shape {handle.shape}, in the file {tensors[key].shape}"
            )
    rebind_together(
        [
            (handle, tensors[key].astype(handle.dtype).to_device(handle.device).node)
            for key, handle in handles.items()
        ]
    )


def _of_part(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    first = f"{name}."
    return {key[len(first) :]: tensor for key, tensor in tensors.items() if key.startswith(first)}


def _seed(name: str, key: Key) -> int:
    if not isinstance(key.value, int):
        raise DTypeError(
            f"save_checkpoint: the key {name} is an argument of a function that is recorded",
            suggestions=("save outside of the jitted function",),
        )
    return key.value


def _no_such_part(path: PathLike, name: str, known: Mapping[str, Any]) -> ArgumentError:
    returned = {*known["values"], *known["keys"]}
    if name in returned:
        return ArgumentError(
            f"load_checkpoint: {name} is no tensor, and comes back",
            suggestions=(f"{name} = tfr.optim.load_checkpoint(path, ...)[{name!r}]",),
        )
    held = [part for part in known["parts"] if part not in returned]
    near = get_close_matches(name, held, 1)
    return ArgumentError(
        f"load_checkpoint: {path} has no part {name}",
        suggestions=(*near, f"one of {', '.join(held)}"),
    )
