"""Outputs: what `out=` means. A tensor becomes a handle on the result, an array of NumPy's is filled with it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.dtypes.casting import same_kind
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.record import cast

Array = np.ndarray[Any, Any]
Output: TypeAlias = Tensor | Array | tuple[Tensor | Array, ...] | None


def delivered(op: str, result: Tensor, out: Output) -> Tensor:
    """Return the result of `op`, or what the user gave as `out=`, which holds the result from now on.

    That is an array where the user gave one; type checkers see the tensor that it is without.
    """
    target = target_of(op, out)
    if target is not None:
        result = deliver(result, target)
    return result


def target_of(op: str, out: Any) -> Tensor | Array | None:
    """Return what `out=` names, which NumPy takes in a tuple as well; DTypeError if nothing can be put there."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if target is None or isinstance(target, Tensor | np.ndarray):
        return target
    raise DTypeError(
        f"{op}: out must be a tensor or an array, got {type(target).__name__}",
        suggestions=("leave out= out: the function returns its result",),
    )


def deliver(result: Any, target: Any) -> Any:
    """Make `target` hold `result`, under NumPy's rules for `out=`: the same shape, a cast of the same kind."""
    if isinstance(target, Tensor):
        return rebind(target, result, "out=")
    elements = np.asarray(result)
    if elements.shape != target.shape:
        raise ShapeError(f"out=: an array of shape {target.shape} cannot hold {elements.shape}")
    try:
        np.copyto(target, elements, casting="same_kind")
    except (TypeError, ValueError) as error:  # another kind, or memory that is read-only
        raise DTypeError(f"out=: {error}") from error
    return target


def rebind(target: Tensor, result: Tensor, name: str) -> Tensor:
    """Make `target` a handle on `result` in its own dtype and on its own device; no other tensor changes.

    ShapeError if it would change shape, DTypeError if it would lose its kind (NumPy's rule "same_kind").
    """
    if result.shape != target.shape:
        raise ShapeError(
            f"{name} in place: a tensor of shape {target.shape} cannot hold shape {result.shape}",
            suggestions=("x = x + y, which makes a new tensor",),
        )
    if not same_kind(result.dtype, target.dtype):
        raise DTypeError(
            f"{name} in place: a tensor of {target.dtype} cannot hold {result.dtype}",
            suggestions=(
                f"x.astype(tfr.{result.dtype}) before",
                "x = x + y, which makes a new tensor",
            ),
        )
    target._rebind(cast(result.to_device(target.device).node, target.dtype))
    return target
