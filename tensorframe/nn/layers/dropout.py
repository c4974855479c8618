"""Dropout: parts of the input are zero at random while a network is trained."""

from __future__ import annotations

from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional
from tensorframe.nn.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]


class Dropout(Module):
    """Zero in the place of each element with probability `p`, all others over `1 - p`; after `eval()`, the input.

    What is dropped depends on `key`, or on the generator that `tfr.random.seed` restarts.

    >>> tfr.nn.Dropout(0.5)(tfr.ones(6), key=tfr.random.key(3)).tolist()
    [0.0, 2.0, 0.0, 0.0, 2.0, 0.0]
    >>> tfr.nn.Dropout(0.5).eval()(tfr.ones(2)).tolist()
    [1.0, 1.0]
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:  # noqa: ARG002 - PyTorch's
        self.p = p

    def forward(self, input: ArrayLike, *, key: Source = None) -> Tensor:
        """Return `input` with some elements dropped."""
        return functional.dropout(input, self.p, self.training, key=key)

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}"


class Dropout1d(Dropout):
    """`Dropout` of whole channels of (N, C, L).

    Each channel is zero with probability `p` while training, and the others are scaled by 1 / (1 -
    p).

    >>> tfr.nn.Dropout1d()(tfr.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def forward(self, input: ArrayLike, *, key: Source = None) -> Tensor:
        """Return `input` with some channels dropped."""
        return functional.dropout1d(input, self.p, self.training, key=key)


class Dropout2d(Dropout):
    """`Dropout` of whole channels of (N, C, H, W).

    Each feature map is zero with probability `p` while training, since its neighbouring pixels tell
    the same.

    >>> tfr.nn.Dropout2d()(tfr.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    def forward(self, input: ArrayLike, *, key: Source = None) -> Tensor:
        """Return `input` with some channels dropped."""
        return functional.dropout2d(input, self.p, self.training, key=key)


class Dropout3d(Dropout):
    """`Dropout` of whole channels of (N, C, D, H, W).

    Each volume of a channel is zero with probability `p` while training, the others are scaled by 1
    / (1 - p).

    >>> tfr.nn.Dropout3d()(tfr.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    def forward(self, input: ArrayLike, *, key: Source = None) -> Tensor:
        """Return `input` with some channels dropped."""
        return functional.dropout3d(input, self.p, self.training, key=key)


class AlphaDropout(Dropout):
    """`Dropout` for networks of `SELU`: keeps mean and variance.

    Elements that are dropped become the value that `SELU` tends to, and all are scaled and shifted
    (Klambauer et al., 2017).

    >>> tfr.nn.AlphaDropout()(tfr.ones((2, 3))).shape
    (2, 3)
    """

    def forward(self, input: ArrayLike, *, key: Source = None) -> Tensor:
        """Return `input` with some elements dropped."""
        return functional.alpha_dropout(input, self.p, self.training, key=key)
