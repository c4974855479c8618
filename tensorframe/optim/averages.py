"""Averages of weights, which often do better than the weights that training ends with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorframe as tfr
from tensorframe.dtypes import FLOAT, int32
from tensorframe.errors import ArgumentError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.rebinding import rebind_together
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import register_tree
from tensorframe.optim.optimizer import check_range
from tensorframe.optim.parameters import parameters_of


class ExponentialMovingAverage:
    """`average = decay * average + (1 - decay) * weights` of every floating tensor in a tree.

    The averages begin with the first values. With `warm_up`, `decay` is at most `(1 + n) / (10 + n)` at update n: the
    first weights count less. It is a tree of tensors itself, so a function jitted with `updates` may take it.

    >>> w = {"w": tfr.asarray([1.0])}
    >>> average = tfr.optim.ExponentialMovingAverage(w, decay=0.5)
    >>> w["w"] += 2.0
    >>> average.update(w)
    >>> average.average["w"].tolist()
    [2.0]
    """

    def __init__(self, parameters: Any, decay: float = 0.999, *, warm_up: bool = False) -> None:
        check_range("ExponentialMovingAverage", "decay", decay, 0.0, 1.0)
        self.decay = decay
        self.warm_up = warm_up
        self.step = asarray(0, dtype=int32)
        self.average = {
            name: Tensor(parameter.node) for name, parameter in _floating(parameters).items()
        }

    def update(self, parameters: Any) -> None:
        """Take in the weights as they are now; ArgumentError if they are not the ones that it began with."""
        current = _floating(parameters)
        self._check(current)
        step = self.step + 1
        decay: Any = self.decay
        if self.warm_up:
            count = self.step.astype(tfr.float32)
            decay = tfr.minimum((1 + count) / (10 + count), decay)
        changes = [(self.step, step.node)]
        for name, average in self.average.items():
            weight = decay.astype(average.dtype) if isinstance(decay, Tensor) else decay
            new = weight * average + (1 - weight) * current[name]
            changes.append((average, new.node))
        rebind_together(changes)

    def copy_to(self, parameters: Any) -> None:
        """Give the tensors of a tree the values of the averages, to evaluate with them or to save them."""
        current = _floating(parameters)
        self._check(current)
        rebind_together([(current[name], tensor.node) for name, tensor in self.average.items()])

    def state_dict(self) -> dict[str, Tensor]:
        """Return the averages by the names of the weights, and the number of updates as `step`, for `tfr.save`."""
        tensors = {f"average.{name}": tensor for name, tensor in self.average.items()}
        return {
            name: Tensor(tensor.node) for name, tensor in [("step", self.step), *tensors.items()]
        }

    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave; ArgumentError for other names or shapes, and nothing changes."""
        known = {"step": self.step} | {
            f"average.{name}": tensor for name, tensor in self.average.items()
        }
        given = {name: asarray(tensor) for name, tensor in tensors.items()}
        shapes = {name: tensor.shape for name, tensor in given.items()}
        if shapes != {name: tensor.shape for name, tensor in known.items()}:
            raise ArgumentError(
                "ExponentialMovingAverage: this is not the state of averages of these weights",
                suggestions=("what state_dict() gave for the same weights",),
            )
        rebind_together(
            [(tensor, given[name].astype(tensor.dtype).node) for name, tensor in known.items()]
        )

    def _check(self, current: dict[str, Tensor]) -> None:
        unlike = [
            name
            for name in {**current, **self.average}
            if name not in current
            or name not in self.average
            or current[name].shape != self.average[name].shape
        ]
        if unlike:
            raise ArgumentError(
                f"ExponentialMovingAverage: {unlike[0]} is not what the average was made of",
                suggestions=("ExponentialMovingAverage(parameters) for other parameters",),
            )


def _floating(tree: Any) -> dict[str, Tensor]:
    return {name: leaf for name, leaf in parameters_of(tree).items() if leaf.dtype in FLOAT}


def _build(facts: tuple[float, bool], children: list[Any]) -> ExponentialMovingAverage:
    made = object.__new__(ExponentialMovingAverage)
    made.decay, made.warm_up = facts
    made.step, made.average = children
    return made


register_tree(
    ExponentialMovingAverage,
    lambda average: ((average.decay, average.warm_up), (average.step, average.average)),
    _build,
)
