"""What all optimisers share: state as a tree of tensors, hyper-parameters, and how an update reaches the handles."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorframe as tfr
from tensorframe.dtypes import DType, int32, wide_of
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.rebinding import rebind_together
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import Static, register_tree
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.tracing import TracedNumber
from tensorframe.optim.parameters import (
    Parameter,
    parameters_of,
    pending_statistics,
    with_gradients,
)

# a number, a tensor without axes, or a function from the number of updates done to one
Schedule = Callable[[Tensor], Tensor]
Number = float | Tensor
State = dict[str, Tensor]
DecayFilter = Callable[[str, Tensor], bool]


class Optimizer(ABC):
    """The base of all optimisers.

    `learning_rate` is a number, a tensor without axes, or a schedule: a function from the number of updates done so
    far, an int32 tensor, to a tensor (`tfr.optim.schedules`). All of them may be assigned at any time, and `tfr.jit`
    records nothing again for another number or tensor. `decays(name, parameter)` says which parameters decay; without
    it all do.

    The state is `step`, the number of updates as an int32 tensor, and `state`: for each parameter by name, tensors by
    the names that PyTorch has for them. Statistics of half-precision parameters are float32, and so is the
    arithmetic of their updates.

    A subclass gives `rule`, and the names of its statistics in `statistics`; `factors` may compute what all parameters
    share.
    """

    def __init__(
        self,
        learning_rate: Number | Schedule,
        weight_decay: Number = 0.0,
        decays: DecayFilter | None = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.decays = decays
        self.step = asarray(0, dtype=int32)
        self.state: dict[str, State] = {}
        _check_hyper_parameters(self)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register_tree(cls, _take, _build)

    def init(self, parameters: Any) -> None:
        """Begin anew: `step` 0, and the first state of each tensor in a tree of parameters.

        `update` makes the state of parameters that have none; a function jitted with `updates` needs it before.

        >>> w = {"w": tfr.asarray([1.0, 2.0])}
        >>> optimizer = tfr.optim.Adam(1e-3)
        >>> optimizer.init(w)
        >>> sorted(optimizer.state["w"])
        ['exp_avg', 'exp_avg_sq']
        """
        chosen = parameters_of(parameters)
        self.step = asarray(0, dtype=int32, device=next(iter(chosen.values())).device)
        self.state = {name: self.first_state(parameter) for name, parameter in chosen.items()}

    def update(self, parameters: Any, gradients: Any, *, where: Tensor | None = None) -> None:
        """Do one step: the handles of the parameters, and those of the state, stand for new values afterwards.

        `parameters` is any tree of tensors, `gradients` one like it, as `tfr.value_and_grad` gives it; None in the
        place of a gradient leaves its parameter alone. A handle that is there several times (tied weights) is updated
        once, by the sum of its gradients. The values are computed at once, in one plan; what fails or is interrupted
        leaves parameters and state as they were. Inside `tfr.jit` the update is part of the recording. Where the truth
        value `where` is False, all of them keep their values: see `GradScaler`.

        Raises ArgumentError where the trees differ, ShapeError and DTypeError where a gradient does not fit its
        parameter.

        >>> w = tfr.asarray([1.0, -2.0])
        >>> tfr.optim.SGD(0.5).update(w, tfr.asarray([1.0, 1.0]))
        >>> w.tolist()
        [0.5, -2.5]
        """
        title = f"{type(self).__name__}.update"
        given = with_gradients(title, parameters, gradients)
        if not given:
            raise ArgumentError(f"{title}: there is no parameter with a gradient")
        state = self._with_state_of(given)
        count = self.step if self.state else self.step.to_device(given[0].handle.device)
        step = count + 1
        changes: list[tuple[Tensor, Node]] = [(self.step, step.node)]
        shared: dict[tuple[DType, Device], Any] = {}
        for parameter in given:
            changes += self._changes(parameter, state[parameter.name], step, shared)
        # statistics that the forward pass moved on: left alone, they would keep the graphs of all steps
        if where is not None:
            changes = [(handle, _chosen(where, node, handle)) for handle, node in changes]
        rebind_together(changes, pending_statistics(parameters))
        self.state = state

    @property
    def statistics(self) -> tuple[str, ...]:
        """The names of what is kept for each parameter beside its value: nothing, unless a subclass says so."""
        return ()

    @abstractmethod
    def rule(
        self,
        parameter: Tensor,
        gradient: Tensor,
        state: Mapping[str, Tensor],
        factors: Any,
        decay: Number,
    ) -> tuple[Tensor, State]:
        """Return the new value of a parameter and its new statistics; `factors` are what `factors` gave."""

    def factors(self, step: Tensor, rate: Number) -> Any:  # noqa: ARG002 - for subclasses
        """Return what the updates of all parameters of one dtype share; `step` is 1 for the first, in that dtype."""
        return rate

    def first_state(self, parameter: Tensor) -> State:
        """Return the statistics before the first update: zeros like the parameter."""
        dtype = wide_of(parameter.dtype)
        return {
            name: tfr.zeros(parameter.shape, dtype=dtype, device=parameter.device)
            for name in self.statistics
        }

    def state_dict(self) -> dict[str, Tensor]:
        """Return the state as one flat dict, for `tfr.save`: `step`, and `exp_avg.layers.0.weight` and its like.

        >>> optimizer = tfr.optim.SGD(0.1, momentum=0.9)
        >>> optimizer.init({"w": tfr.zeros(3)})
        >>> sorted(optimizer.state_dict())
        ['momentum_buffer.w', 'step']
        """
        flat = {"step": Tensor(self.step.node)}
        for name, state in self.state.items():
            flat |= {
                f"{statistic}.{name}": Tensor(tensor.node) for statistic, tensor in state.items()
            }
        return flat

    def load_state_dict(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over the state that `state_dict` gave; nothing changes where it does not fit.

        After `init` or an update, names and shapes must be those of the state, else ArgumentError or ShapeError.
        """
        if "step" not in tensors:
            raise ArgumentError(
                "load_state_dict: there is no step", suggestions=("what state_dict() gave",)
            )
        known = self.state_dict()
        if self.state:
            _check_same(known, tensors)
        state: dict[str, State] = {}
        for name, tensor in tensors.items():
            if name != "step":
                statistic, _, parameter = name.partition(".")
                state.setdefault(parameter, {})[statistic] = Tensor(asarray(tensor).node)
        self.step, self.state = Tensor(asarray(tensors["step"], dtype=int32).node), state

    def _with_state_of(self, given: Iterable[Parameter]) -> dict[str, State]:
        state = dict(self.state)
        for name, handle, _ in given:
            known = state.get(name)
            if known is None:
                state[name] = self.first_state(handle)
                continue
            expected = self.first_state(handle)
            if {key: value.shape for key, value in known.items()} != {
                key: value.shape for key, value in expected.items()
            }:
                raise ShapeError(
                    f"{type(self).__name__}: the state of {name} is not that of a parameter of shape {handle.shape}",
                    suggestions=("optimizer.init(parameters) for other parameters",),
                )
        return state

    def _changes(
        self,
        parameter: Parameter,
        state: State,
        step: Tensor,
        shared: dict[tuple[DType, Device], Any],
    ) -> list[tuple[Tensor, Node]]:
        name, handle, gradient = parameter
        dtype = wide_of(handle.dtype)
        place = (dtype, handle.device)
        if place not in shared:
            rate = self._current(self.learning_rate, *place)
            shared[place] = self.factors(step.to_device(handle.device).astype(dtype), rate)
        decay: Number = 0.0
        if self.decays is None or self.decays(name, handle):
            decay = self._current(self.weight_decay, *place)
        value, statistics = self.rule(
            handle.astype(dtype), gradient.astype(dtype), state, shared[place], decay
        )
        changes = [(handle, value.astype(handle.dtype).node)]
        changes += [(state[key], statistics[key].node) for key in statistics]
        return changes

    def _current(self, value: Any, dtype: DType, device: Device) -> Any:
        """Return a hyper-parameter as it is for the next update: a number, or a tensor to compute with."""
        if callable(value) and not isinstance(value, Tensor):
            value = value(self.step)
        if isinstance(value, Tensor):
            return value.to_device(device).astype(dtype)
        return value

    def __repr__(self) -> str:
        shown = [
            f"{key}={value!r}" for key, value in vars(self).items() if key not in ("step", "state")
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _chosen(condition: Tensor, new: Node, old: Tensor) -> Node:
    moved = condition.to_device(new.device)
    return tfr.where(moved, Tensor(new), old.to_device(new.device)).node


def is_zero(value: Any) -> bool:
    """Whether a hyper-parameter is the number zero, known now: what it scales need not be computed."""
    return type(value) in (int, float) and value == 0


def one_minus_power(base: Any, exponent: Tensor) -> Any:
    """Return `1 - base**exponent` without the digits that the difference would lose: -expm1(exponent * log(base))."""
    if is_zero(base):
        return 1.0
    return -tfr.expm1(exponent * _log(base))


def _log(value: Any) -> Any:
    if isinstance(value, TracedNumber):
        return value.then(math.log, float)
    return tfr.log(value) if isinstance(value, Tensor) else math.log(value)


def check_range(title: str, name: str, value: Any, low: float, high: float = math.inf) -> None:
    """Raise ArgumentError if a number is outside `[low, high)`; tensors and schedules are not looked at."""
    if isinstance(value, Tensor | TracedNumber) or callable(value):
        return
    if not isinstance(value, int | float) or not low <= value < high:
        upper = "" if high == math.inf else f" and below {high:g}"
        raise ArgumentError(f"{title}: {name} is at least {low:g}{upper}, got {value!r}")


def _check_hyper_parameters(optimizer: Optimizer) -> None:
    title = type(optimizer).__name__
    for name in ("learning_rate", "weight_decay"):
        value = getattr(optimizer, name)
        check_range(title, name, value, 0.0)
        if isinstance(value, Tensor) and value.shape:
            raise ShapeError(f"{title}: {name} is a number, got a tensor of shape {value.shape}")
    if optimizer.decays is not None and not callable(optimizer.decays):
        raise DTypeError(
            f"{title}: decays is a function of a name and a parameter",
            suggestions=("decays=lambda name, parameter: parameter.ndim > 1",),
        )


def _check_same(known: Mapping[str, Tensor], given: Mapping[str, Any]) -> None:
    missing, unexpected = known.keys() - given.keys(), given.keys() - known.keys()
    if missing or unexpected:
        listed = [f"missing: {', '.join(sorted(missing))}"] if missing else []
        listed += [f"unexpected: {', '.join(sorted(unexpected))}"] if unexpected else []
        raise ArgumentError(f"load_state_dict: the names differ; {'; '.join(listed)}")
    for name, tensor in known.items():
        if tuple(given[name].shape) != tensor.shape:
            raise ShapeError(
                f"load_state_dict: {name} has shape {tensor.shape}, and {tuple(given[name].shape)} is given"
            )


# what a recording must not depend on: another learning rate is the same recording
_VARYING = frozenset({"learning_rate", "step", "state"})


def _take(optimizer: Optimizer) -> tuple[Any, list[Any]]:
    """Take an optimiser apart for `tfr.jit`: numbers but for the learning rate, and functions, are static."""
    attributes = vars(optimizer)
    children = [
        value
        if isinstance(value, Tensor) or (name in _VARYING and not callable(value))
        else Static(value)
        for name, value in attributes.items()
    ]
    return (type(optimizer), tuple(attributes)), children


def _build(facts: tuple[type[Optimizer], tuple[str, ...]], children: list[Any]) -> Optimizer:
    kind, names = facts
    optimizer = object.__new__(kind)
    vars(optimizer).update(zip(names, children, strict=True))
    return optimizer
