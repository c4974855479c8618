"""Random programs of what random graphs lack: conditions, assignments, orders, complex and half numbers, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensorframe as tfr

Move = Callable[[Any, Any, dict[str, Any]], Any]

# rows of whole blocks of quantised weights, few and many of them
SHAPES = [(300, 480), (5, 9_024), (4_001, 32)]
MOVES_OF_A_PROGRAM = 7


@tfr.elementwise
def blended(x: Any, y: Any) -> Any:
    """A function of the user's, traced."""
    return x * 0.3 + tfr.tanh(y) * x


def _assigned(x: Any, y: Any, leaves: dict[str, Any]) -> Any:
    changed = x.copy()
    changed[1:-1] = changed[1:-1] * 2 + y[2:]
    changed[leaves["mask"]] = 0.5
    return changed


def _added_up(x: Any, y: Any, leaves: dict[str, Any]) -> Any:
    return tfr.index_add(x, leaves["rows"], y[: len(leaves["rows"])] * 0.1)


def _windows(x: Any, y: Any, _: dict[str, Any]) -> Any:
    padded = tfr.pad(x, ((0, 0), (1, 1)), mode="reflect")
    return tfr.sum(tfr.lib.stride_tricks.sliding_window_view(padded, 3, axis=-1), axis=-1) - y


def _bits(x: Any, y: Any, _: dict[str, Any]) -> Any:
    return tfr.unpackbits(tfr.packbits(x > y, axis=-1), axis=-1) * y


def _output(x: Any, y: Any, leaves: dict[str, Any]) -> Any:
    return tfr.multiply(x, y, where=leaves["mask"], out=tfr.zeros_like(x))


# functions of two tensors of one shape, float32, that give a third one
MOVES: dict[str, Move] = {
    "where": lambda x, y, leaves: tfr.where(leaves["mask"], x, tfr.exp(-tfr.abs(y))),
    "out=": _output,
    "float16": lambda x, y, _: (x.astype(tfr.float16) * y.astype(tfr.float16)).astype("float32"),
    "bfloat16": lambda x, y, _: (x.astype(tfr.bfloat16) / 3 + y).astype("float32"),
    # no product of two complex numbers: NumPy rounds those of contiguous arrays otherwise
    "complex": lambda x, y, leaves: tfr.abs(tfr.sqrt(x + 1j * y) + leaves["z"]),
    "complex product": lambda x, _, leaves: (
        x * tfr.real(tfr.prod(leaves["z"] * 0.01 + 1, axis=0, keepdims=True))
    ),
    "sort": lambda x, y, _: tfr.sort(x, axis=0) * y,
    "argsort": lambda x, y, _: tfr.take_along_axis(y, tfr.argsort(x, axis=-1), axis=-1),
    "median": lambda x, y, _: y - tfr.median(x, axis=0, keepdims=True),
    "assignment": _assigned,
    "index_add": _added_up,
    "windows": _windows,
    "packbits": _bits,
    "gradient": lambda x, y, _: tfr.grad(lambda v: tfr.sum(tfr.softmax(v, axis=-1) * y))(x),
    "vmap": lambda x, y, _: tfr.vmap(lambda r: r / (1 + tfr.sum(tfr.abs(r))))(x) + y,
    "user's": lambda x, y, _: blended(x, y),
    "8 bits": lambda x, y, _: tfr.quantization.quantize(x, bits=8).dequantize() + y,
    "random": lambda x, _, __: (
        x + tfr.random.normal(x.shape, key=tfr.random.key(5), device=x.device)
    ),
    "scan": lambda x, y, _: tfr.cumulative_sum(x, axis=0) * 0.01 + y,
    "masked sum": lambda x, y, leaves: (
        y - 0.01 * tfr.sum(x, axis=1, keepdims=True, where=leaves["mask"])
    ),
}


def leaves_of(seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return what a program begins with."""
    generator = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    x, y = generator.standard_normal((2, *shape)).astype(np.float32)
    rows = generator.integers(0, shape[0], 4)
    return {"x": x, "y": y, "z": x + 1j * y, "mask": generator.random(shape) > 0.4, "rows": rows}


def results_of(seed: int, leaves: dict[str, Any], beside: list[Any]) -> list[tfr.Tensor]:
    """Record the program of a seed; what is made on the way goes into `beside`."""
    generator = np.random.default_rng([seed, 1])
    made = [leaves["x"], leaves["y"]]
    for name in generator.choice(list(MOVES), MOVES_OF_A_PROGRAM):
        first, second = generator.integers(max(len(made) - 4, 0), len(made), 2)
        made.append(MOVES[name](made[first], made[second], leaves))
    beside += made[2:]
    return [made[-1], made[-2], tfr.sum(made[-3], axis=int(generator.integers(2)))]
