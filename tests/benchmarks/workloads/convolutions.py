"""Convolutions of the kinds that networks have, forward and by both operands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.benchmarks.goals import faster
from tests.benchmarks.workload import Case, Turns, Workload, by
from tests.benchmarks.workloads.elementwise import normal

FEW = 8  # channels below which a layer has too few to fill vectors with


class Layer(NamedTuple):
    """A convolution of `batch` square images, padded to give one result for each step of the stride."""

    batch: int
    channels: int
    size: int
    made: int
    kernel: int
    stride: int = 1

    @property
    def padding(self) -> int:
        """Zeros on each side."""
        return self.kernel // 2

    @property
    def result(self) -> int:
        """The size of the result's images."""
        return (self.size + 2 * self.padding - self.kernel) // self.stride + 1

    @property
    def title(self) -> str:
        """What the table says."""
        step = f"/{self.stride}" if self.stride > 1 else ""
        way = f"{self.channels} to {self.made} channels, {self.kernel}x{self.kernel}{step}"
        return f"{way} on {self.batch} of {self.size}x{self.size}"

    def operands(self) -> tuple[Any, Any, Any]:
        """Images, weights, and a cotangent."""
        return (
            normal(self.batch, self.channels, self.size, self.size),
            normal(self.made, self.channels, self.kernel, self.kernel, seed=1),
            normal(self.batch, self.made, self.result, self.result, seed=2),
        )

    def ours(self, tensorframe: Any, x: Any, weight: Any, _ct: Any) -> Any:
        """By name."""
        functions = tensorframe.nn.functional
        return functions.conv2d(x, weight, stride=self.stride, padding=self.padding)

    def ours_by_input(self, tensorframe: Any, x: Any, weight: Any, ct: Any) -> Any:
        """The gradient by the input: the forward pass is recorded, and not computed."""
        _, pull = tensorframe.vjp(lambda x: self.ours(tensorframe, x, weight, ct), x)
        return pull(ct)

    def ours_by_weight(self, tensorframe: Any, x: Any, weight: Any, ct: Any) -> Any:
        """The gradient by the weights."""
        _, pull = tensorframe.vjp(lambda weight: self.ours(tensorframe, x, weight, ct), weight)
        return pull(ct)

    def torchs(self, torch: Any, x: Any, weight: Any, _ct: Any) -> Any:
        """By name."""
        function = torch.nn.functional.conv2d
        return function(x, weight, stride=self.stride, padding=self.padding)

    def torchs_by_input(self, torch: Any, x: Any, weight: Any, ct: Any) -> Any:
        """The gradient by the input alone."""
        function = torch.nn.grad.conv2d_input
        return function(x.shape, weight, ct, stride=self.stride, padding=self.padding)

    def torchs_by_weight(self, torch: Any, x: Any, weight: Any, ct: Any) -> Any:
        """The gradient by the weights alone."""
        function = torch.nn.grad.conv2d_weight
        return function(x, weight.shape, ct, stride=self.stride, padding=self.padding)

    def jaxs(self, _: Any, x: Any, weight: Any, _ct: Any) -> Any:
        """As XLA takes it: channels first, as for the others."""
        from jax.lax import conv_general_dilated

        ends = [(self.padding, self.padding)] * 2
        return conv_general_dilated(x, weight, (self.stride, self.stride), ends)

    def jaxs_by_input(self, _: Any, x: Any, weight: Any, ct: Any) -> Any:
        """The gradient by the input: XLA drops the forward pass."""
        from jax import vjp

        _, pull = vjp(lambda x: self.jaxs(None, x, weight, ct), x)
        return pull(ct)[0]

    def jaxs_by_weight(self, _: Any, x: Any, weight: Any, ct: Any) -> Any:
        """The gradient by the weights."""
        from jax import vjp

        _, pull = vjp(lambda weight: self.jaxs(None, x, weight, ct), weight)
        return pull(ct)[0]


LAYERS = (
    Layer(4, 64, 56, 64, 3),
    Layer(4, 128, 28, 128, 3),
    Layer(4, 256, 14, 256, 3),
    Layer(4, 512, 7, 512, 3),
    Layer(4, 64, 56, 256, 1),
    Layer(4, 3, 224, 64, 7, 2),
    Layer(64, 1, 28, 32, 3),
    Layer(64, 32, 14, 64, 3),
)


def _cases() -> Iterator[Case]:
    for number, layer in enumerate(LAYERS):
        inputs = (3 * number, 3 * number + 1, 3 * number + 2)
        goal = faster(0.6 if layer.channels < FEW else 0.9, "torch")
        for way, ours, torchs, jaxs in (
            ("forward", layer.ours, layer.torchs, layer.jaxs),
            ("by the input", layer.ours_by_input, layer.torchs_by_input, layer.jaxs_by_input),
            ("by the weights", layer.ours_by_weight, layer.torchs_by_weight, layer.jaxs_by_weight),
        ):
            yield Case(
                f"{layer.title}, {way}",
                by("tensorframe", Turns(((ours, inputs),)))
                | by("torch", Turns(((torchs, inputs),)))
                | by("JAX", Turns(((jaxs, inputs),))),
                (goal,),
            )


CONVOLUTIONS = Workload(
    "W20",
    "Convolutions of float32 images, channels first: forward, and the gradients by the input and by the weights.",
    tuple(_cases()),
    lambda: tuple([operand for layer in LAYERS for operand in layer.operands()]),
    tolerance=1e-4,
)
