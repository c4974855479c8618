"""Linear layers: weighted sums of features."""

from __future__ import annotations

import math
from typing import Any

from tensorframe.dtypes import DTypeLike
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional, init
from tensorframe.nn.layers.keys import keys_for
from tensorframe.nn.module import Module
from tensorframe.nn.quantization import QuantizedTensor

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Gives its input; takes and ignores any arguments.

    It stands where a layer is expected and none is wanted.

    >>> tfr.nn.Identity()(3)
    3
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, input: ArrayLike) -> Any:
        """Return `input`."""
        return input


class Linear(Module):
    """`input @ weight.T + bias`, from `in_features` to `out_features` along the last axis.

    `weight` has shape (out_features, in_features), `bias` (out_features,): None without `bias`. Both begin uniform
    within `1 / sqrt(in_features)`. `nn.quantize` puts a quantised matrix in the place of `weight`.

    >>> layer = tfr.nn.Linear(2, 3)
    >>> layer(tfr.ones((5, 2))).shape
    (5, 3)
    >>> layer
    Linear(2, 3)  9
    """

    # whether rows of the weight are inputs: layers of some models, whose files have it so
    weight_is_transposed = False

    weight: Tensor | QuantizedTensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        self.in_features, self.out_features = in_features, out_features
        keys = keys_for(key, 2)
        bound = 1 / math.sqrt(max(in_features, 1))
        made: dict[str, Any] = {"dtype": dtype, "device": device}
        shape = (out_features, in_features)
        self.weight = init.uniform(shape, -bound, bound, key=next(keys), **made)
        self.bias = None
        if bias:
            self.bias = init.uniform(out_features, -bound, bound, key=next(keys), **made)

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the sums for `input` of shape (..., in_features): (..., out_features)."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        bias = "" if self.bias is not None else ", bias=False"
        return f"{self.in_features}, {self.out_features}{bias}"


class Bilinear(Module):
    """`input1 @ weight[k] @ input2 + bias[k]` for each k of `out_features`.

    `weight` has shape (out_features, in1_features, in2_features). It begins, as `bias` does, uniform within
    `1 / sqrt(in1_features)`.

    >>> tfr.nn.Bilinear(2, 3, 4)(tfr.ones((5, 2)), tfr.ones((5, 3))).shape
    (5, 4)
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        keys = keys_for(key, 2)
        bound = 1 / math.sqrt(max(in1_features, 1))
        made: dict[str, Any] = {"dtype": dtype, "device": device}
        shape = (out_features, in1_features, in2_features)
        self.weight = init.uniform(shape, -bound, bound, key=next(keys), **made)
        self.bias = None
        if bias:
            self.bias = init.uniform(out_features, -bound, bound, key=next(keys), **made)

    def forward(self, input1: ArrayLike, input2: ArrayLike) -> Tensor:
        """Return the sums for inputs of shapes (..., in1_features) and (..., in2_features)."""
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        bias = "" if self.bias is not None else ", bias=False"
        return f"{self.in1_features}, {self.in2_features}, {self.out_features}{bias}"
