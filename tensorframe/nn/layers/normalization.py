"""Normalisations: batch, instance, layer, group and root mean square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tensorframe.dtypes import DTypeLike, int64
from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation.filled import zeros
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape, as_shape
from tensorframe.nn import functional, init
from tensorframe.nn.module import Buffer, Module, settle

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
]


class _ByChannel(Module):
    """What batch and instance norms share: weights, and running statistics that training moves on."""

    _ranks: ClassVar[tuple[int, ...]]  # how many axes inputs have

    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def _begin(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        tracked: bool,
        dtype: Any,
        device: OnDevice,
    ) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, tracked
        made: dict[str, Any] = {"dtype": dtype, "device": device}
        self.weight = init.ones(num_features, **made) if affine else None
        self.bias = init.zeros(num_features, **made) if affine else None
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if tracked:
            self.running_mean = Buffer(init.zeros(num_features, **made))  # type: ignore[assignment]
            self.running_var = Buffer(init.ones(num_features, **made))  # type: ignore[assignment]
            # on the cpu, as not every device has integers of 64 bits: a file holds it
            count = Buffer(zeros((), dtype=int64, device="cpu"))
            self.num_batches_tracked = count  # type: ignore[assignment]

    def _checked(self, input: Any) -> Tensor:
        tensor = operand(input)
        title = type(self).__name__
        if tensor.ndim not in self._ranks:
            ranks = " or ".join(map(str, self._ranks))
            raise ShapeError(f"{title}: takes inputs of {ranks} axes, got shape {tensor.shape}")
        return tensor

    def _normalized(
        self, normalize: Callable[..., Tensor], tensor: Tensor, *, by_input: bool
    ) -> Tensor:
        """Return a tensor normalised by its own statistics, which the running ones follow in training, or by these."""
        weights = {"weight": self.weight, "bias": self.bias, "eps": self.eps}
        if not by_input:
            return normalize(tensor, self.running_mean, self.running_var, **weights)
        if not self.training or self.running_mean is None or self.running_var is None:
            return normalize(tensor, None, None, **weights)
        if self.momentum is not None:
            return normalize(
                tensor, self.running_mean, self.running_var, momentum=self.momentum, **weights
            )
        mean, var = self.running_mean.copy(), self.running_var.copy()
        result = normalize(tensor, mean, var, momentum=1.0, **weights)
        self._average(mean, var)
        return result

    def _settle(self) -> None:
        """Compute what earlier batches left pending: without an optimiser, which does so, their graphs would add up."""
        settle((self.running_mean, self.running_var, self.num_batches_tracked))

    def _average(self, mean: Tensor, var: Tensor) -> None:
        """Make the running statistics the means of those of all batches so far."""
        count: Any = self.num_batches_tracked
        for running, batch in ((self.running_mean, mean), (self.running_var, var)):
            assert running is not None
            share = count.astype(running.dtype).to_device(running.device)
            running += (batch - running) / share

    def extra_repr(self) -> str:
        """Return the number of channels, and options that are not the default ones."""
        parts = [str(self.num_features)]
        parts += [f"eps={self.eps}"] if self.eps != 1e-5 else []
        parts += [f"momentum={self.momentum}"] if self.momentum != 0.1 else []
        return ", ".join(parts)


class BatchNorm2d(_ByChannel):
    """Each channel of (N, C, H, W) less its mean and over its standard deviation, then `* weight + bias`.

    In training, mean and variance are those of the batch, and `running_mean` and `running_var` move towards them by
    `momentum` (None: they are the means of all batches so far). After `eval()` the running ones are used, unless
    `track_running_stats` is False. Under `tfr.jit`, statistics come out where `updates` names the module.

    >>> layer = tfr.nn.BatchNorm2d(3)
    >>> layer(tfr.ones((2, 3, 4, 4))).shape, layer.running_mean.tolist()
    ((2, 3, 4, 4), [0.10000000149011612, 0.10000000149011612, 0.10000000149011612])
    """

    _ranks: ClassVar[tuple[int, ...]] = (4,)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self._begin(num_features, eps, momentum, affine, track_running_stats, dtype, device)

    def forward(self, input: ArrayLike) -> Tensor:
        """Return `input` normalised."""
        tensor = self._checked(input)

        def normalize(tensor: Tensor, mean: Any, var: Any, **options: Any) -> Tensor:
            return functional.batch_norm(tensor, mean, var, training=by_input, **options)

        by_input = self.training or self.running_mean is None
        if self.training and self.num_batches_tracked is not None:
            self._settle()
            self.num_batches_tracked += 1
        return self._normalized(normalize, tensor, by_input=by_input)


class BatchNorm1d(BatchNorm2d):
    """`BatchNorm2d` for inputs (N, C) or (N, C, L).

    Each channel is scaled by its mean and variance over the batch and all positions.

    >>> tfr.nn.BatchNorm1d(3)(tfr.ones((2, 3))).shape
    (2, 3)
    """

    _ranks = (2, 3)


class BatchNorm3d(BatchNorm2d):
    """`BatchNorm2d` for inputs (N, C, D, H, W).

    Each channel is scaled by its mean and variance over the batch, depth, height and width.

    >>> tfr.nn.BatchNorm3d(3)(tfr.ones((2, 3, 2, 2, 2))).shape
    (2, 3, 2, 2, 2)
    """

    _ranks = (5,)


class InstanceNorm2d(_ByChannel):
    """Each channel of each example, of (N, C, H, W) or (C, H, W), less its own mean and over its own deviation.

    With `affine` there are `weight` and `bias`. With `track_running_stats`, training moves running statistics on, which
    take the place of an example's own after `eval()`.

    >>> tfr.nn.InstanceNorm2d(3)(tfr.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    _ranks = (3, 4)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self._begin(num_features, eps, momentum, affine, track_running_stats, dtype, device)

    def forward(self, input: ArrayLike) -> Tensor:
        """Return `input` normalised."""
        tensor = self._checked(input)

        def normalize(tensor: Tensor, mean: Any, var: Any, **options: Any) -> Tensor:
            return functional.instance_norm(tensor, mean, var, use_input_stats=by_input, **options)

        by_input = self.training or self.running_mean is None
        self._settle()
        is_one = tensor.ndim == self._ranks[0]
        result = self._normalized(normalize, tensor[None] if is_one else tensor, by_input=by_input)
        return result[0] if is_one else result


class InstanceNorm1d(InstanceNorm2d):
    """`InstanceNorm2d` for inputs (N, C, L) or (C, L).

    Each channel of each sample is scaled by its own mean and variance over all positions.

    >>> tfr.nn.InstanceNorm1d(3)(tfr.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    _ranks = (2, 3)


class InstanceNorm3d(InstanceNorm2d):
    """`InstanceNorm2d` for inputs (N, C, D, H, W) or (C, D, H, W).

    Each channel of each sample is scaled by its own mean and variance over depth, height and width.

    >>> tfr.nn.InstanceNorm3d(3)(tfr.ones((2, 3, 2, 2, 2))).shape
    (2, 3, 2, 2, 2)
    """

    _ranks = (4, 5)


class LayerNorm(Module):
    """The last axes, of shape `normalized_shape`, less their mean and over their deviation, then `* weight + bias`.

    >>> tfr.nn.LayerNorm(4)(tfr.asarray([[1.0, 2.0, 3.0, 4.0]])).numpy().round(2).tolist()[0][0]
    -1.340000033378601
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        normalized_shape: ShapeLike,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.normalized_shape: Shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made: dict[str, Any] = {"dtype": dtype, "device": device}
        self.weight = init.ones(self.normalized_shape, **made) if elementwise_affine else None
        has_bias = elementwise_affine and bias
        self.bias = init.zeros(self.normalized_shape, **made) if has_bias else None

    def forward(self, input: ArrayLike) -> Tensor:
        """Return `input` normalised."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the shape."""
        return _last_axes(self.normalized_shape)


class RMSNorm(Module):
    """The last axes, of shape `normalized_shape`, over the root of their mean square, then `* weight`.

    `eps` is the machine epsilon of the input if not given.

    >>> tfr.nn.RMSNorm(4)(tfr.asarray([[3.0, 4.0, 0.0, 0.0]])).numpy().round(1).tolist()
    [[1.2000000476837158, 1.600000023841858, 0.0, 0.0]]
    """

    weight: Tensor | None

    def __init__(
        self,
        normalized_shape: ShapeLike,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.normalized_shape: Shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = None
        if elementwise_affine:
            self.weight = init.ones(self.normalized_shape, dtype=dtype, device=device)

    def forward(self, input: ArrayLike) -> Tensor:
        """Return `input` normalised."""
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the shape."""
        return _last_axes(self.normalized_shape)


def _last_axes(shape: Shape) -> str:
    return str(shape[0] if len(shape) == 1 else shape)


class GroupNorm(Module):
    """Groups of channels of each example less their mean and over their deviation, then `* weight + bias`.

    >>> tfr.nn.GroupNorm(2, 6)(tfr.ones((3, 6, 4))).shape
    (3, 6, 4)
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        if num_groups < 1 or num_channels % num_groups:
            raise ArgumentError(
                f"GroupNorm: num_groups={num_groups} does not divide num_channels={num_channels}"
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        made: dict[str, Any] = {"dtype": dtype, "device": device}
        self.weight = init.ones(num_channels, **made) if affine else None
        self.bias = init.zeros(num_channels, **made) if affine else None

    def forward(self, input: ArrayLike) -> Tensor:
        """Return `input` normalised."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the numbers of groups and channels."""
        return f"{self.num_groups}, {self.num_channels}"


class LocalResponseNorm(Module):
    """Each element over a power of the sum of squares of `size` neighbouring channels.

    >>> tfr.nn.LocalResponseNorm(2)(tfr.ones((1, 4, 3))).shape
    (1, 4, 3)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: ArrayLike) -> Tensor:
        """Return `input` normalised."""
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Return the number of neighbours."""
        return str(self.size)
