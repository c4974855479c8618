"""Linear layers: weighted sums of features."""

from __future__ import annotations

import math
from typing import Any

from tensorframe.errors import ShapeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import init
from tensorframe.nn.layers.keys import keys_for
from tensorframe.nn.module import Module
from tensorframe.nn.text import title

__all__ = ["Identity", "Linear"]


class Identity(Module):
    """Gives its input; takes and ignores any arguments.

    >>> tfr.nn.Identity()(3)
    3
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, input: Any) -> Any:
        """Return `input`."""
        return input


class Linear(Module):
    """`input @ weight.T + bias`, from `in_features` to `out_features` along the last axis.

    `weight` has shape (out_features, in_features), `bias` (out_features,): None without `bias`. Both begin uniform
    within `1 / sqrt(in_features)`.

    >>> layer = tfr.nn.Linear(2, 3)
    >>> layer(tfr.ones((5, 2))).shape
    (5, 3)
    >>> layer
    Linear(2, 3)  9
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: OnDevice = None,
        dtype: Any = None,
        *,
        key: Source = None,
    ) -> None:
        self.in_features, self.out_features = in_features, out_features
        keys = keys_for(key, 2)
        bound = 1 / math.sqrt(max(in_features, 1))
        made = {"dtype": dtype, "device": device}
        self.weight = init.uniform(
            (out_features, in_features), -bound, bound, key=next(keys), **made
        )
        self.bias = (
            init.uniform(out_features, -bound, bound, key=next(keys), **made) if bias else None
        )

    def forward(self, input: Any) -> Tensor:
        """Return the sums for `input` of shape (..., in_features): (..., out_features)."""
        if input.ndim == 0 or input.shape[-1] != self.in_features:
            raise ShapeError(
                f"{title(self)}: takes inputs of shape (..., {self.in_features}), got {input.shape}"
            )
        result: Tensor = input @ self.weight.T
        return result if self.bias is None else result + self.bias

    def extra_repr(self) -> str:
        """Return the sizes."""
        bias = "" if self.bias is not None else ", bias=False"
        return f"{self.in_features}, {self.out_features}{bias}"
