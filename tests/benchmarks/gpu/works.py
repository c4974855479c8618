"""The lines of the table: what each computes, by whom, from which operands, and what it has to move or to compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

import tensorframe as tfr
from tests.benchmarks.gpu.clock import Clock, share_of, time_of
from tests.benchmarks.gpu.peers import CUPY, PEERS, TORCH, AsNumPy, beside
from tests.benchmarks.workloads import attention, convolutions, products, rows

Array = Any
Program = Callable[..., Array]  # of a namespace and its arrays
Shape = tuple[int, ...]
NUMPY = "NumPy"


def _as_drawn(*operands: tfr.Tensor) -> Sequence[tfr.Tensor]:
    return operands


@dataclass(frozen=True)
class Work:
    """A program and operands; `others` are the peers' programs, `prepare` makes of what is drawn what is multiplied."""

    name: str
    program: Program
    shapes: tuple[Shape, ...]
    others: Mapping[str, Program] = field(default_factory=dict)
    bytes_moved: int = 0
    flops: int = 0
    dtype: str = "float32"
    steps: int = 1
    prepare: Callable[..., Sequence[tfr.Tensor]] = _as_drawn

    def operands(self, device: tfr.Device) -> Sequence[tfr.Tensor]:
        """Return computed operands, made on the device."""
        drawn = [
            tfr.random.uniform(shape, key=tfr.random.key(index), device=device).astype(self.dtype)
            for index, shape in enumerate(self.shapes)
        ]
        return tfr.compute(*self.prepare(*drawn))

    def cells(self, clock: Clock) -> list[str]:
        """Return the line's cells."""
        given = self.operands(clock.device)
        call = tfr.jit(partial(self.program, tfr))
        seconds = clock.best(lambda: tfr.compute(call(*given)))
        has_peers = clock.device.backend in ("cuda", "rocm")
        peers = [
            beside(peer, self.others.get(peer), given, seconds, self.steps, clock.seconds)
            if has_peers
            else ""
            for peer in PEERS
        ]
        return [self.name, time_of(seconds / self.steps), self._share(seconds, clock), *peers]

    def _share(self, seconds: float, clock: Clock) -> str:
        if self.bytes_moved:
            return share_of(self.bytes_moved, seconds, clock.bandwidth)
        return f"{self.flops / seconds / 1e12:.2f} TFLOP/s" if self.flops else ""


def everywhere(program: Program) -> dict[str, Program]:
    """Return a program of every namespace for each peer."""
    return {NUMPY: program, CUPY: program, TORCH: _through_numpys_names(program)}


def _through_numpys_names(program: Program) -> Program:
    return lambda torch, *arrays: program(AsNumPy(torch), *arrays)


def expression(xp: Any, a: Array, b: Array) -> Array:
    """W1."""
    return xp.exp(-a * a) * xp.sin(b) + a / (1 + b * b)


def small_steps(xp: Any, x: Array) -> Array:
    """Kernels that cannot be one: each needs all of the last one's rows."""
    for _ in range(20):
        x = rows.softmax(xp, x.T)
    return x


def works(scale: float) -> Iterator[Work]:
    """Yield the lines, with sizes divided by `scale`."""
    yield from _along_memory(scale)
    yield from _products(int(8192 / scale ** (1 / 3)) or 1)
    yield Work(
        "20 small kernels, each", small_steps, ((64, 64),), everywhere(small_steps), steps=20
    )
    yield from _attention(scale)
    yield from _few_bits(int(4096 / scale**0.5) // 32 * 32 or 32)
    yield from _convolutions(scale)


def _along_memory(scale: float) -> Iterator[Work]:
    """W1 to W5: what memory's bandwidth limits."""
    count, lines = int((256 << 20) / scale) or 1, int(32768 / scale) or 1
    flat, table = (count,), (lines, 4096)
    yield Work("W1 expression, 256 M", expression, (flat, flat), everywhere(expression), 12 * count)
    for name, rowwise, more in (
        ("W2 softmax, 32768x4096", rows.softmax, 0),
        ("W5 layer norm, 32768x4096", rows.layer_norm, 2),
    ):
        shapes = (table, *[table[1:]] * more)
        yield Work(name, rowwise, shapes, everywhere(rowwise), 8 * prod(table))
    for name, reduced in (("W3 sum", "sum"), ("W3 mean", "mean"), ("W4 variance", "var")):
        for where, axis, shape in (
            ("256 M", None, flat),
            ("rows of 32768x4096", 1, table),
            ("columns of 32768x4096", 0, table),
        ):
            program = partial(_reduced, reduced, axis)
            title = f"{name}, {where}"
            yield Work(title, program, (shape,), everywhere(program), 4 * prod(shape))


def _reduced(name: str, axis: int | None, xp: Any, x: Array) -> Array:
    return getattr(xp, name)(x, axis=axis)


def _product(_xp: Any, x: Array, y: Array) -> Array:
    return x @ y


def _dense_of_cupy(_cupy: Any, x: Array, weight: Array, bias: Array) -> Array:
    from cupyx.scipy.special import erf

    return products.gelu(erf, x @ weight + bias)


def _products(side: int) -> Iterator[Work]:
    """W8: products alone, and with bias and gelu."""
    square, flops = (side, side), 2 * side**3
    dense = {
        NUMPY: products.dense_of_numpy,
        CUPY: _dense_of_cupy,
        TORCH: products.dense_of_torch,
    }
    for dtype in ("float32", "float16", "bfloat16"):
        others = everywhere(_product)
        if dtype == "bfloat16":
            del others[CUPY]  # which has no such dtype
        yield Work(f"W8 product, 8192, {dtype}", _product, (square,) * 2, others, 0, flops, dtype)
    shapes = (square, square, (side,))
    for dtype in ("float32", "float16"):
        title = f"W8 product, bias, gelu, 8192, {dtype}"
        yield Work(title, products.dense, shapes, dense, 0, flops, dtype)


def _attention(scale: float) -> Iterator[Work]:
    """W21, at its own sizes: a head's scores are 4 MB."""
    heads, size = attention.HEADS, attention.FEATURES
    length = int(attention.LENGTH / scale**0.5) or 8
    for name, causal in (("attention", False), ("causal attention", True)):
        others = {NUMPY: attention.of_numpy(causal), TORCH: attention.of_torch(causal)}
        flops = 4 * heads * length**2 * size
        yield Work(
            f"W21 {name}, {heads}x{attention.LENGTH}x{size}",
            attention.of_tensorframe(causal),
            ((1, heads, length, size),) * 3,
            others,
            flops=flops // 2 if causal else flops,
        )


def _times(_xp: Any, matrix: Array, vector: Array) -> Array:
    return matrix @ vector


def _times_half(_torch: Any, matrix: Array, vector: Array) -> Array:
    return matrix @ vector.to(matrix.dtype)


def _few_bits(side: int) -> Iterator[Work]:
    """W22: a matrix of few bits times a vector of float32."""
    shapes = ((side, side), (side,))
    for dtype, nbytes in (("float32", 4), ("float16", 2), ("bfloat16", 2), ("int8", 1)):
        others: dict[str, Program] = {NUMPY: _times} if dtype == "float32" else {}
        if dtype != "int8":
            others[TORCH] = _times_half
        yield Work(
            f"W22 {dtype} matrix times vector, 4096",
            _times,
            shapes,
            others,
            nbytes * side**2,
            prepare=partial(_in_dtype, dtype),
        )
    for bits in (8, 4):
        yield Work(
            f"W22 {bits} bits in groups of 32 times vector, 4096",
            partial(_times_quantized, bits),
            shapes,
            bytes_moved=side**2 * bits // 8 + side**2 // 8,  # a float32 for each group
            prepare=partial(_quantized, bits),
        )


def _in_dtype(dtype: str, matrix: tfr.Tensor, vector: tfr.Tensor) -> Sequence[tfr.Tensor]:
    return (matrix * 100 if dtype == "int8" else matrix).astype(dtype), vector


def _quantized(bits: int, matrix: tfr.Tensor, vector: tfr.Tensor) -> Sequence[tfr.Tensor]:
    parts = tfr.quantization.quantize(matrix, bits=bits, group=32)
    return parts.words, parts.scales, vector


def _times_quantized(bits: int, xp: Any, words: Array, scales: Array, vector: Array) -> Array:
    return xp.quantization.QuantizedTensor(words, scales, bits=bits, group=32) @ vector


def _only(program: Program, *arguments: Array) -> Array:
    """Return a gradient by one operand, of which a pull-back makes a tuple."""
    (gradient,) = program(*arguments)
    return gradient


def _convolutions(scale: float) -> Iterator[Work]:
    """W20: its layers, with batches as a GPU has them, forward and by both operands."""
    for layer in convolutions.LAYERS:
        larger = layer._replace(batch=max(int(8 * layer.batch / scale), 1))
        if scale > 1:
            larger = larger._replace(
                size=7, channels=min(layer.channels, 8), made=min(layer.made, 8)
            )
        inner = larger.channels * layer.kernel**2
        results = larger.batch * larger.made * larger.result**2
        shapes = (
            (larger.batch, larger.channels, larger.size, larger.size),
            (larger.made, larger.channels, layer.kernel, layer.kernel),
            (larger.batch, larger.made, larger.result, larger.result),
        )
        for way, ours, torchs in (
            ("forward", larger.ours, larger.torchs),
            ("by the input", partial(_only, larger.ours_by_input), larger.torchs_by_input),
            ("by the weights", partial(_only, larger.ours_by_weight), larger.torchs_by_weight),
        ):
            title = f"W20 {layer._replace(batch=8 * layer.batch).title}, {way}"
            yield Work(title, ours, shapes, {TORCH: torchs}, flops=2 * results * inner)
