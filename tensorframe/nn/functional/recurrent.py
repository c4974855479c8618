"""Recurrent layers over sequences: the products of all inputs are one, then each step needs the state before it.

Arguments, weights and the order of their gates are those of `torch.lstm`, `torch.gru` and `torch.rnn_tanh`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tensorframe.dtypes import FLOAT
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.indexing.searching import where
from tensorframe.frontend.manipulation.joining import concat, stack
from tensorframe.frontend.operands import expanded, filled, floating, permuted
from tensorframe.frontend.random import bernoulli, split
from tensorframe.frontend.random.keys import Key, Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import find
from tensorframe.nn.functional.operands import probability
from tensorframe.ops.elementwise import TANH
from tensorframe.quick_tuples import NamedTuple

__all__ = ["gru", "lstm", "rnn"]

State = tuple[Tensor, ...]


class _Weights(NamedTuple):
    """What one layer has in one direction; biases may be missing, and only some layers project their output."""

    inputs: Tensor
    hidden: Tensor
    input_bias: Tensor | None = None
    hidden_bias: Tensor | None = None
    projection: Tensor | None = None


# takes a step's product with the input, and the state before it; gives the state after it, the output first
_Step = Callable[[Tensor, State, _Weights], State]


class _Cell(NamedTuple):
    """A kind of layer: of how many gates its weights are, of how many tensors its state, and what a step does."""

    name: str
    gates: int
    states: int
    step: _Step
    # whether the bias of the state's product may be added to that of the inputs
    joins_biases: bool
    projects: bool = False

    def sizes(self, weights: _Weights) -> tuple[int, ...]:
        """Return how many features each tensor of the state has: the output first."""
        size: int = weights.hidden.shape[-1]
        inside = weights.inputs.shape[0] // self.gates
        return (size, size if weights.projection is None else inside)[: self.states]


def rnn(
    input: ArrayLike,
    hx: ArrayLike | None,
    params: Sequence[Any],
    has_biases: bool = True,
    num_layers: int = 1,
    dropout: float = 0.0,
    train: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
    *,
    nonlinearity: str = "tanh",
    key: Source = None,
) -> tuple[Tensor, Tensor]:
    """A plain recurrent network: h' = tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh), or relu instead of tanh.

    `input` is (T, N, I), (N, T, I) with `batch_first`, or (T, I); `hx`, the state before the first step, is
    (layers * directions, N, H), or None for zeros. `params` are weights as one list, for each layer, and in it each
    direction: (H, I), (H, H) and, with `has_biases`, (H,) twice; layers after the first take H * directions features.
    Between layers `dropout` is applied if `train`, drawn by `key`. Returns the outputs of all steps, (T, N, H *
    directions) or as the input has its axes, and the state after the last step. All are of the dtype that they promote
    to (real floating, else DTypeError); sizes that do not agree raise ShapeError.

    >>> x = tfr.ones((3, 1, 1))
    >>> output, state = tfr.nn.functional.rnn(x, None, [tfr.ones((1, 1))] * 2, False, nonlinearity="relu")
    >>> output[:, 0, 0].tolist(), state.shape
    ([1.0, 2.0, 3.0], (1, 1, 1))
    """
    if nonlinearity not in _ACTIVATIONS:
        raise ArgumentError(f"rnn: nonlinearity is 'tanh' or 'relu', got {nonlinearity!r}")
    step = partial(_plain_step, _ACTIVATIONS[nonlinearity])
    network = _Network(num_layers, bidirectional, has_biases, dropout, train, key)
    given = None if hx is None else (hx,)
    output, (state,) = network.run(
        _Cell("rnn", 1, 1, step, True), input, given, params, batch_first
    )
    return output, state


def lstm(
    input: ArrayLike,
    hx: Sequence[ArrayLike] | None,
    params: Sequence[Any],
    has_biases: bool = True,
    num_layers: int = 1,
    dropout: float = 0.0,
    train: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
    *,
    key: Source = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Long short-term memory: gates decide what a cell keeps, what it takes in, and what of it is shown.

    With gates i, f, g, o from x @ w_ih.T + b_ih + h @ w_hh.T + b_hh: c' = sigmoid(f) c + sigmoid(i) tanh(g) and
    h' = sigmoid(o) tanh(c'). Arguments are those of `rnn`, but weights have 4 H rows, and `hx` is a pair of states, h
    and c. With one weight more for each layer and direction, behind the others and of shape (P, H), what is shown is
    projected: h' = (sigmoid(o) tanh(c')) @ w_hr.T, so outputs and h have P features, and w_hh is (4 H, P). Returns the
    outputs, and h and c after the last step.
    Source: S. Hochreiter and J. Schmidhuber, "Long short-term memory", Neural Computation 9 (1997).

    >>> weights = [tfr.zeros((4, 1)), tfr.zeros((4, 1))]
    >>> output, h, c = tfr.nn.functional.lstm(tfr.ones((2, 1, 1)), None, weights, False)
    >>> output.shape, h.shape, c.shape
    ((2, 1, 1), (1, 1, 1), (1, 1, 1))
    """
    network = _Network(num_layers, bidirectional, has_biases, dropout, train, key)
    given = None if hx is None else tuple(hx)
    output, (h, c) = network.run(
        _Cell("lstm", 4, 2, _lstm_step, True, projects=True), input, given, params, batch_first
    )
    return output, h, c


def gru(
    input: ArrayLike,
    hx: ArrayLike | None,
    params: Sequence[Any],
    has_biases: bool = True,
    num_layers: int = 1,
    dropout: float = 0.0,
    train: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
    *,
    key: Source = None,
) -> tuple[Tensor, Tensor]:
    """Gated recurrent units: one gate mixes the state with a candidate, another says how much this sees of the state.

    With r and z the sigmoids of their sums of both products: n = tanh(x @ w_in.T + b_in + r (h @ w_hn.T + b_hn)) and
    h' = (1 - z) n + z h. Arguments and results are those of `rnn`, but weights have 3 H rows: r, z, n.
    Source: K. Cho et al., "Learning phrase representations using RNN encoder-decoder" (2014), arXiv 1406.1078.

    >>> weights = [tfr.zeros((3, 1)), tfr.zeros((3, 1))]
    >>> output, state = tfr.nn.functional.gru(tfr.ones((2, 1, 1)), tfr.ones((1, 1, 1)), weights, False)
    >>> output[:, 0, 0].tolist()
    [0.5, 0.25]
    """
    network = _Network(num_layers, bidirectional, has_biases, dropout, train, key)
    given = None if hx is None else (hx,)
    output, (state,) = network.run(
        _Cell("gru", 3, 1, _gru_step, False), input, given, params, batch_first
    )
    return output, state


def _tanh(x: Tensor) -> Tensor:
    return apply(TANH, x)


def _sigmoid(x: Tensor) -> Tensor:
    return apply(find("sigmoid"), x)


def _relu(x: Tensor) -> Tensor:
    return apply(find("relu"), x)


_ACTIVATIONS = {"tanh": _tanh, "relu": _relu}


def _plain_step(function: Callable[[Any], Tensor], x: Tensor, state: State, w: _Weights) -> State:
    return (function(x + state[0] @ w.hidden.mT),)


def _lstm_step(x: Tensor, state: State, w: _Weights) -> State:
    h, c = state
    i, f, g, o = _gates(x + h @ w.hidden.mT, 4)
    after = _sigmoid(f) * c + _sigmoid(i) * _tanh(g)
    shown = _sigmoid(o) * _tanh(after)
    return shown if w.projection is None else shown @ w.projection.mT, after


def _gru_step(x: Tensor, state: State, w: _Weights) -> State:
    (h,) = state
    product = h @ w.hidden.mT
    if w.hidden_bias is not None:
        product = product + w.hidden_bias
    (own_r, own_z, own_n), (r, z, n) = _gates(x, 3), _gates(product, 3)
    candidate = _tanh(own_n + _sigmoid(own_r + r) * n)
    return (candidate + _sigmoid(own_z + z) * (h - candidate),)


def _gates(x: Tensor, count: int) -> list[Tensor]:
    size = x.shape[-1] // count
    return [x[..., gate * size : (gate + 1) * size] for gate in range(count)]


class _Network(NamedTuple):
    """Layers upon each other, in one direction or both."""

    layers: int
    bidirectional: bool
    has_biases: bool
    share: float
    is_training: bool
    key: Source

    @property
    def dropout(self) -> float:
        """The share of a layer's outputs that the next one does not see."""
        return self.share if self.is_training else 0.0

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    def run(
        self,
        cell: _Cell,
        input: Any,
        hx: Sequence[Any] | None,
        params: Sequence[Any],
        batch_first: bool,
    ) -> tuple[Tensor, State]:
        """Return the outputs of the last layer, and the states of all after the last step."""
        if self.layers < 1:
            raise ArgumentError(f"{cell.name}: num_layers is positive, got {self.layers}")
        probability(cell.name, self.share, "dropout")
        x, weights, states = self._operands(cell, input, hx, params)
        is_batch = x.ndim == 3
        if not is_batch:
            x, states = x[:, None], [state[:, None] for state in states]
        elif batch_first:
            x = permuted(x, (1, 0, 2))
        self._check(cell, x, weights)
        states = self._first_states(cell, x, weights, states)
        x, last = self._through_layers(cell, x, weights, states)
        after = [stack(parts) for parts in zip(*last, strict=True)]
        if not is_batch:
            return x[:, 0], tuple([state[:, 0] for state in after])
        return permuted(x, (1, 0, 2)) if batch_first else x, tuple(after)

    def _through_layers(
        self, cell: _Cell, x: Tensor, weights: list[_Weights], states: list[Tensor]
    ) -> tuple[Tensor, list[State]]:
        last: list[State] = []
        keys = self._keys()
        for layer in range(self.layers):
            if layer and self.dropout:
                keep = bernoulli(x.shape, 1 - self.dropout, device=x.device, key=keys[layer - 1])
                x = where(keep, x * (1 / (1 - self.dropout) if self.dropout < 1 else 0.0), 0.0)
            outputs = []
            for direction in range(self.directions):
                place = layer * self.directions + direction
                first = tuple([state[place] for state in states])
                output, state = _through_time(
                    cell, x, first, weights[place], backwards=direction > 0
                )
                outputs.append(output)
                last.append(state)
            x = concat(outputs, axis=-1) if len(outputs) > 1 else outputs[0]
        return x, last

    def _keys(self) -> Sequence[Source]:
        """Return what each layer but the first draws its dropout by: a stream goes on by itself."""
        if isinstance(self.key, Key) and self.layers > 1:
            return split(self.key, self.layers - 1)
        return [self.key] * (self.layers - 1)

    def _operands(
        self, cell: _Cell, input: Any, hx: Sequence[Any] | None, params: Sequence[Any]
    ) -> tuple[Tensor, list[_Weights], list[Tensor]]:
        """Return the input, the weights of each layer and direction, and the states, in one dtype."""
        places = self.layers * self.directions
        plain = 4 if self.has_biases else 2
        is_projected = cell.projects and len(params) == (plain + 1) * places
        each = plain + is_projected
        wanted = each * places
        if len(params) != wanted:
            raise ArgumentError(
                f"{cell.name}: {self.layers} layers in {self.directions} directions have {wanted} weights "
                f"{'and biases' if self.has_biases else 'without biases'}, got {len(params)}",
                suggestions=("has_biases, num_layers and bidirectional as the weights were made",),
            )
        if hx is not None and len(hx) != cell.states:
            raise ArgumentError(f"{cell.name}: takes {cell.states} states, got {len(hx)}")
        x, *others = floating(input, *params, *(hx or ()))
        if x.dtype not in FLOAT:
            raise DTypeError(f"{cell.name}: takes real numbers, got {x.dtype}")
        if x.ndim not in (2, 3):
            raise ShapeError(
                f"{cell.name}: takes (steps, batch, features) or (steps, features), got shape {x.shape}"
            )
        weights = [
            _Weights(*others[start : start + plain])._replace(
                projection=others[start + plain] if is_projected else None
            )
            for start in range(0, wanted, each)
        ]
        return x, weights, others[wanted:]

    def _check(self, cell: _Cell, x: Tensor, weights: list[_Weights]) -> None:
        """Raise ShapeError where weights do not have the shapes that the layers need."""
        size, *rest = cell.sizes(weights[0])
        inside = rest[0] if rest else size
        rows = cell.gates * inside
        for place, own in enumerate(weights):
            layer = place // self.directions
            features = size * self.directions if layer else x.shape[-1]
            wanted = [(rows, features), (rows, size), (rows,), (rows,), (size, inside)]
            for name, weight, shape in zip(own._fields, own, wanted, strict=True):
                if weight is not None and weight.shape != shape:
                    raise ShapeError(
                        f"{cell.name}: the weights of layer {layer} for {name.replace('_', ' ')} have shape "
                        f"{weight.shape}, not {shape}: {features} features, {size} of state"
                    )

    def _first_states(
        self, cell: _Cell, x: Tensor, weights: list[_Weights], states: list[Tensor]
    ) -> list[Tensor]:
        """Return the states before the first step: zeros if none are given."""
        places = self.layers * self.directions
        shapes = [(places, x.shape[1], size) for size in cell.sizes(weights[0])]
        for state, shape in zip(states, shapes, strict=False):
            if state.shape != shape:
                raise ShapeError(
                    f"{cell.name}: a state is (layers * directions, batch, size), here {shape}, got {state.shape}"
                )
        return states or [filled(shape, 0.0, x.dtype, x.device) for shape in shapes]


def _through_time(
    cell: _Cell, x: Tensor, state: State, weights: _Weights, *, backwards: bool
) -> tuple[Tensor, State]:
    """Return the outputs of one layer for each step of (T, N, I), in the order of time, and the state at the end."""
    if not x.shape[0]:
        size = weights.hidden.shape[-1]
        return expanded(state[0], (0, *state[0].shape[:-1], size)), state
    products = x @ weights.inputs.mT
    bias = weights.input_bias
    if bias is not None and cell.joins_biases:
        assert weights.hidden_bias is not None
        bias = bias + weights.hidden_bias
    if bias is not None:
        products = products + bias
    steps = range(x.shape[0])
    outputs = []
    for t in reversed(steps) if backwards else steps:
        state = cell.step(products[t], state, weights)
        outputs.append(state[0])
    return stack(outputs[::-1] if backwards else outputs), state
