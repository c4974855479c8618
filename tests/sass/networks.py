"""Programs of networks whose kernels are looked at: norms, attention, decoding, convolutions, pools, losses, a step."""

from __future__ import annotations

from functools import partial

import tensorframe as tfr
from tensorframe.nn import functional
from tests.sass.program import INDEXED, TWO, Program

IMAGES = (64, 64, 28, 28)
HEADS = (1, 8, 256, 64)
WORDS = (64, 1024)


def layer_norm(x: tfr.Tensor, axis: int = 1) -> tfr.Tensor:
    """Return lines less their means, over their standard deviations."""
    centred = x - tfr.mean(x, axis=axis, keepdims=True)
    return centred / tfr.sqrt(tfr.mean(centred * centred, axis=axis, keepdims=True) + 1e-5)


def _batch_norm(x: tfr.Tensor) -> tfr.Tensor:
    mean = tfr.mean(x, axis=(0, 2, 3), keepdims=True)
    return (x - mean) / tfr.sqrt(tfr.var(x, axis=(0, 2, 3), keepdims=True) + 1e-5)


def _gradient_of_layer_norm(x: tfr.Tensor) -> tfr.Tensor:
    result: tfr.Tensor = tfr.grad(lambda x: tfr.sum(layer_norm(x) ** 2))(x)
    return result


def _attention(
    q: tfr.Tensor, k: tfr.Tensor, v: tfr.Tensor, *, is_causal: bool = False
) -> tfr.Tensor:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def _attention_of_a_token(q: tfr.Tensor, k: tfr.Tensor, v: tfr.Tensor) -> tfr.Tensor:
    return _attention(q[:, :, :1], k, v)


def _times_quantized(
    words: tfr.Tensor, scales: tfr.Tensor, x: tfr.Tensor, *, bits: int = 4, rows: int = 1
) -> tfr.Tensor:
    packed = words[:, : 1024 * bits // 32]
    matrix = tfr.quantization.QuantizedTensor(packed, scales[:, :32], bits=bits, group=32)
    return matrix @ (x[0] if rows == 1 else x[:rows].mT)


def _convolution(
    x: tfr.Tensor, weight: tfr.Tensor, *, stride: int = 1, groups: int = 1
) -> tfr.Tensor:
    kernel = weight[:, : 64 // groups, :3, :3]
    return functional.conv2d(x, kernel, padding=1, stride=stride, groups=groups)


def _gradient_of_convolution(
    x: tfr.Tensor, weight: tfr.Tensor, *, argument: int
) -> tuple[tfr.Tensor, ...]:
    def loss(x: tfr.Tensor, weight: tfr.Tensor) -> tfr.Tensor:
        return tfr.sum(_convolution(x, weight) ** 2)

    result: tfr.Tensor = tfr.grad(loss, argnums=argument)(x, weight)
    return (result,)


def _gradient_of_pool(x: tfr.Tensor) -> tfr.Tensor:
    result: tfr.Tensor = tfr.grad(lambda x: tfr.sum(functional.max_pool2d(x, 2) ** 2))(x)
    return result


def _gradient_of_embedding(weight: tfr.Tensor, indices: tfr.Tensor) -> tfr.Tensor:
    def loss(weight: tfr.Tensor) -> tfr.Tensor:
        return tfr.sum(functional.embedding(indices[:, 0], weight) ** 2)

    result: tfr.Tensor = tfr.grad(loss)(weight)
    return result


def _cross_entropy(logits: tfr.Tensor, targets: tfr.Tensor) -> tfr.Tensor:
    return functional.cross_entropy(logits, targets[:, 0])


def _gradient_of_cross_entropy(logits: tfr.Tensor, targets: tfr.Tensor) -> tfr.Tensor:
    result: tfr.Tensor = tfr.grad(_cross_entropy)(logits, targets)
    return result


def _step_of_adam(
    weight: tfr.Tensor, gradient: tfr.Tensor, first: tfr.Tensor, second: tfr.Tensor
) -> tuple[tfr.Tensor, ...]:
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient * gradient
    return weight - 1e-3 * first / (tfr.sqrt(second) + 1e-8), first, second


NETWORKS = {
    "gelu": Program(functional.gelu, contiguous=True),
    "step of Adam": Program(_step_of_adam, TWO * 2, contiguous=True),
    "batch norm": Program(_batch_norm, shape=IMAGES, barriers=6),
    "group norm": Program(lambda x: functional.group_norm(x, 8), shape=IMAGES, barriers=6),
    "gradient of a layer norm": Program(_gradient_of_layer_norm),
    "cross entropy": Program(
        _cross_entropy, INDEXED, wide_values=1
    ),  # counts those that are not left out
    "gradient of cross entropy": Program(_gradient_of_cross_entropy, INDEXED),
    "gradient of an embedding": Program(_gradient_of_embedding, INDEXED, wide_values=1),
    "attention": Program(_attention, (*TWO, "float32"), shape=HEADS),
    "causal attention, float16": Program(
        partial(_attention, is_causal=True), ("float16",) * 3, shape=HEADS
    ),
    "attention of a token": Program(_attention_of_a_token, (*TWO, "float32"), shape=HEADS),
    "matrix of 4 bits times vector": Program(_times_quantized, ("uint32", *TWO), shape=WORDS),
    "matrix of 8 bits times vector": Program(
        partial(_times_quantized, bits=8), ("uint32", *TWO), shape=WORDS
    ),
    "matrix of 4 bits times four columns": Program(
        partial(_times_quantized, rows=4), ("uint32", *TWO), shape=WORDS
    ),
    "convolution": Program(_convolution, TWO, shape=IMAGES),
    "convolution, float16": Program(_convolution, ("float16",) * 2, shape=IMAGES),
    "convolution of every second place": Program(
        partial(_convolution, stride=2), TWO, shape=IMAGES
    ),
    "convolution of each channel": Program(partial(_convolution, groups=64), TWO, shape=IMAGES),
    "gradient of a convolution by its input": Program(
        partial(_gradient_of_convolution, argument=0), TWO, shape=IMAGES
    ),
    "gradient of a convolution by its weights": Program(
        partial(_gradient_of_convolution, argument=1), TWO, shape=IMAGES
    ),
    "largest in windows": Program(lambda x: functional.max_pool2d(x, 2), shape=IMAGES),
    "means of windows": Program(
        lambda x: functional.avg_pool2d(x, 3, stride=1, padding=1), shape=IMAGES
    ),
    "gradient of the largest in windows": Program(_gradient_of_pool, shape=IMAGES),
}
