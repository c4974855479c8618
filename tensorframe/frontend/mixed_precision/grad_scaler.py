"""GradScaler: losses scaled up, so that gradients in float16 do not vanish, and steps with infinite ones left out."""

from __future__ import annotations

from typing import Any, TypeVar

from tensorframe.dtypes import FLOATING, float32, int32, wide_of
from tensorframe.errors import ArgumentError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.indexing.searching import where
from tensorframe.frontend.rebinding import rebind_together
from tensorframe.frontend.reductions.elementary import all as all_of
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import build, flatten, register_tree
from tensorframe.ops.elementwise import ISFINITE, LOGICAL_AND

__all__ = ["GradScaler"]

Tree = TypeVar("Tree")
_STATE = ("scale_factor", "good_steps")


class GradScaler:
    """Scales losses by a factor that grows after many good steps, and falls when gradients overflow.

    float16 has no numbers below 6e-8, which many gradients are: they are computed of a loss `scale` times as large. If
    one of them is infinite or NaN then, that step changes nothing, and the factor is multiplied by `backoff_factor`;
    after `growth_interval` good steps in a row it is multiplied by `growth_factor`. Whether a step is good is decided
    where the gradients are, by `where`: nothing waits for the device, and `tfr.jit` records it.

    `scale` and `step` do what a training step needs; `unscale` and `update` are its parts, to clip between them. The
    factor and the number of good steps are tensors: a function jitted with `updates` takes the scaler like a model.
    bfloat16, whose range is float32's, needs none.

    >>> w = {"w": tfr.asarray([1.0])}
    >>> scaler, optimizer = tfr.GradScaler(1024.0), tfr.optim.SGD(0.5)
    >>> loss = lambda w: scaler.scale(tfr.sum(w["w"] * 3))
    >>> scaler.step(optimizer, w, tfr.grad(loss)(w)).item(), w["w"].item()
    (True, -0.5)
    >>> scaler.step(optimizer, w, {"w": tfr.asarray([tfr.inf])}).item(), w["w"].item()
    (False, -0.5)
    >>> scaler.scale_factor.item()
    512.0
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ) -> None:
        if not (init_scale > 0 and growth_factor >= 1 and 0 < backoff_factor <= 1):
            raise ArgumentError(
                "GradScaler: init_scale is above 0, growth_factor at least 1, backoff_factor between 0 and 1, got "
                f"{init_scale!r}, {growth_factor!r} and {backoff_factor!r}"
            )
        if not isinstance(growth_interval, int) or growth_interval < 1:
            raise ArgumentError(
                f"GradScaler: growth_interval is at least 1, got {growth_interval!r}"
            )
        self.growth_factor = growth_factor
        self.backoff_factor = backoff_factor
        self.growth_interval = growth_interval
        self.scale_factor = asarray(init_scale, dtype=float32)
        self.good_steps = asarray(0, dtype=int32)

    def scale(self, loss: Any) -> Tensor:
        """Return a loss, or a tree of them, times the factor: what gradients are computed of."""
        leaves: list[Any] = []
        structure = flatten(loss, leaves)
        scaled = [leaf * _beside(self.scale_factor, asarray(leaf)) for leaf in leaves]
        result: Tensor = build(structure, iter(scaled))
        return result

    def unscale(self, gradients: Tree) -> tuple[Tree, Tensor]:
        """Return gradients divided by the factor, and whether all of them are finite; half precision gives float32.

        ArgumentError if there are no gradients.
        """
        leaves: list[Any] = []
        structure = flatten(gradients, leaves, targets=True)
        if not leaves:
            raise ArgumentError(
                "GradScaler: there are no gradients",
                suggestions=("tfr.grad(lambda model: scaler.scale(loss(model)))(model)",),
            )
        finite: Tensor | None = None
        unscaled = []
        for leaf in leaves:
            tensor = asarray(leaf)
            if tensor.dtype in FLOATING:
                fine = all_of(apply(ISFINITE, tensor))
                finite = (
                    fine if finite is None else apply(LOGICAL_AND, finite, _moved(fine, finite))
                )
                wide = tensor.astype(wide_of(tensor.dtype))
                tensor = wide / _beside(self.scale_factor, wide)
            unscaled.append(tensor)
        tree: Tree = build(structure, iter(unscaled))
        return tree, asarray(True) if finite is None else finite

    def update(self, finite: Tensor) -> None:
        """Move the factor: down if the gradients of a step were not all finite, up after many that were."""
        rebind_together(self._changes(finite))

    def step(self, optimizer: Any, parameters: Any, gradients: Any) -> Tensor:
        """Do a step of an optimiser with scaled gradients, unless one is not finite; return whether all are.

        >>> scaler = tfr.GradScaler()
        >>> scaler.step(tfr.optim.SGD(0.1), tfr.ones(2), 65536 * tfr.ones(2)).item()
        True
        """
        unscaled, finite = self.unscale(gradients)
        optimizer.update(parameters, unscaled, where=finite)
        self.update(finite)
        return finite

    def state_dict(self) -> dict[str, Tensor]:
        """Return the factor and the number of good steps, for `tfr.save`."""
        return {name: Tensor(getattr(self, name).node) for name in _STATE}

    def load_state_dict(self, tensors: dict[str, Any]) -> None:
        """Take over what `state_dict` gave; ArgumentError for other names."""
        if set(tensors) != set(_STATE):
            raise ArgumentError(
                f"GradScaler: the state is {' and '.join(_STATE)}, got {', '.join(sorted(tensors))}"
            )
        scale = asarray(tensors["scale_factor"], dtype=float32)
        good = asarray(tensors["good_steps"], dtype=int32)
        rebind_together([(self.scale_factor, scale.node), (self.good_steps, good.node)])

    def _changes(self, finite: Tensor) -> list[tuple[Tensor, Any]]:
        scale = _moved(self.scale_factor, finite)
        good = _moved(self.good_steps, finite) + 1
        grown = good >= self.growth_interval
        larger = scale * self.growth_factor
        # a factor that overflowed would never come down again
        larger = where(apply(ISFINITE, larger), larger, scale)
        new = where(finite, where(grown, larger, scale), scale * self.backoff_factor)
        counted = where(finite & ~grown, good, 0).astype(int32)
        return [(self.scale_factor, new.node), (self.good_steps, counted.node)]


def _moved(tensor: Tensor, beside: Tensor) -> Tensor:
    return tensor if tensor.device is beside.device else tensor.to_device(beside.device)


def _beside(scale: Tensor, tensor: Tensor) -> Tensor:
    """Return the factor to compute with beside a tensor: there, and in its dtype where that is wider."""
    moved = _moved(scale, tensor)
    return moved.astype(wide_of(tensor.dtype)) if tensor.dtype in FLOATING else moved


def _build(facts: tuple[float, float, int], children: list[Any]) -> GradScaler:
    made = object.__new__(GradScaler)
    made.growth_factor, made.backoff_factor, made.growth_interval = facts
    made.scale_factor, made.good_steps = children
    return made


register_tree(
    GradScaler,
    lambda scaler: (
        (scaler.growth_factor, scaler.backoff_factor, scaler.growth_interval),
        (scaler.scale_factor, scaler.good_steps),
    ),
    _build,
)
