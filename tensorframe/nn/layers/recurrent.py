"""Recurrent layers: RNN, LSTM and GRU over sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from tensorframe.dtypes import DTypeLike
from tensorframe.errors import ArgumentError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional, init
from tensorframe.nn.functional.operands import probability
from tensorframe.nn.layers.keys import keys_for
from tensorframe.nn.module import Module

__all__ = ["GRU", "LSTM", "RNN"]


class _Recurrent(Module):
    """What recurrent layers share: weights by layer and direction, uniform within `1 / sqrt(hidden_size)` at first."""

    _gates: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: OnDevice = None,
        dtype: Any = None,
        *,
        key: Source = None,
        proj_size: int = 0,
    ) -> None:
        own = type(self).__name__
        for name, value in (("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value < 1:
                raise ArgumentError(f"{own}: {name} is positive, got {value}")
        if not 0 <= proj_size < hidden_size:
            raise ArgumentError(
                f"{own}: proj_size is less than hidden_size={hidden_size}, or 0 for none, got {proj_size}"
            )
        probability(own, dropout, "dropout")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional, self.proj_size = bidirectional, proj_size
        bound = 1 / math.sqrt(hidden_size)
        shapes = self._shapes()
        for source, (name, shape) in zip(keys_for(key, len(shapes)), shapes.items(), strict=True):
            setattr(
                self,
                name,
                init.uniform(shape, -bound, bound, dtype=dtype, device=device, key=source),
            )

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the names and shapes of the weights, in the order in which the functions take them."""
        rows, directions = self._gates * self.hidden_size, 1 + self.bidirectional
        size = self.proj_size or self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {}
        for layer in range(self.num_layers):
            features = size * directions if layer else self.input_size
            for direction in ("", "_reverse")[:directions]:
                place = f"l{layer}{direction}"
                shapes[f"weight_ih_{place}"] = (rows, features)
                shapes[f"weight_hh_{place}"] = (rows, size)
                if self.bias:
                    shapes[f"bias_ih_{place}"] = shapes[f"bias_hh_{place}"] = (rows,)
                if self.proj_size:
                    shapes[f"weight_hr_{place}"] = (size, self.hidden_size)
        return shapes

    def _arguments(self, key: Source) -> dict[str, Any]:
        """Return what the function of a layer takes beside its input and state."""
        return {
            "params": [getattr(self, name) for name in self._shapes()],
            "has_biases": self.bias,
            "num_layers": self.num_layers,
            "dropout": self.dropout,
            "train": self.training,
            "bidirectional": self.bidirectional,
            "batch_first": self.batch_first,
            "key": key,
        }

    def extra_repr(self) -> str:
        """Return the sizes, and options that are not the default ones, in PyTorch's order."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += [f"proj_size={self.proj_size}"] if self.proj_size else []
        parts += [f"num_layers={self.num_layers}"] if self.num_layers != 1 else []
        parts += [] if self.bias else ["bias=False"]
        parts += ["batch_first=True"] if self.batch_first else []
        parts += [f"dropout={self.dropout}"] if self.dropout else []
        parts += ["bidirectional=True"] if self.bidirectional else []
        return ", ".join(parts)


class RNN(_Recurrent):
    """A plain recurrent network: `h' = tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)`, or relu instead of tanh.

    Inputs are (T, N, input_size), (N, T, input_size) with `batch_first`, or (T, input_size). Weights have the names
    `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`, with `_reverse` behind for the other direction. Between
    layers `dropout` is applied in training.

    >>> output, state = tfr.nn.RNN(3, 5, num_layers=2)(tfr.ones((7, 4, 3)))
    >>> output.shape, state.shape
    ((7, 4, 5), (2, 4, 5))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentError(f"RNN: nonlinearity is 'tanh' or 'relu', got {nonlinearity!r}")
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device,
            dtype,
            key=key,
        )
        self.nonlinearity = nonlinearity

    def forward(
        self, input: ArrayLike, hx: ArrayLike | None = None, *, key: Source = None
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs of all steps, and the state after the last; `hx` is the state before the first."""
        return functional.rnn(input, hx, **self._arguments(key), nonlinearity=self.nonlinearity)


class LSTM(_Recurrent):
    """Long short-term memory; arguments, inputs and names are those of `RNN`, weights have 4 * hidden_size rows.

    With `proj_size`, outputs and the first state are projected to so many features, fewer than `hidden_size`, by
    `weight_hr_l0` and its like.
    Source: H. Sak, A. Senior and F. Beaufays, "Long short-term memory based recurrent neural network architectures for
    large vocabulary speech recognition" (2014), arXiv 1402.1128.

    >>> output, (h, c) = tfr.nn.LSTM(3, 5, bidirectional=True)(tfr.ones((7, 4, 3)))
    >>> output.shape, h.shape, c.shape
    ((7, 4, 10), (2, 4, 5), (2, 4, 5))
    >>> output, (h, c) = tfr.nn.LSTM(3, 5, proj_size=2)(tfr.ones((7, 4, 3)))
    >>> output.shape, h.shape, c.shape
    ((7, 4, 2), (1, 4, 2), (1, 4, 5))
    """

    _gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device,
            dtype,
            key=key,
            proj_size=proj_size,
        )

    def forward(
        self, input: ArrayLike, hx: Sequence[ArrayLike] | None = None, *, key: Source = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the outputs of all steps, and the pair of states after the last; `hx` is the pair before the first."""
        output, h, c = functional.lstm(input, hx, **self._arguments(key))
        return output, (h, c)


class GRU(_Recurrent):
    """Gated recurrent units; arguments, inputs and names are those of `RNN`, weights have 3 * hidden_size rows.

    >>> output, state = tfr.nn.GRU(3, 5, batch_first=True)(tfr.ones((4, 7, 3)))
    >>> output.shape, state.shape
    ((4, 7, 5), (1, 4, 5))
    """

    _gates = 3

    def forward(
        self, input: ArrayLike, hx: ArrayLike | None = None, *, key: Source = None
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs of all steps, and the state after the last; `hx` is the state before the first."""
        return functional.gru(input, hx, **self._arguments(key))
