"""The Mandelbrot set: two outputs, an index for each of their axes, and a number that is part of the text."""

from __future__ import annotations

from typing import Any

import tensorframe as tfr


def point(row: Any, column: Any, x: Any, y: Any, limit: Any, steps: Any, size: Any) -> None:
    """Count the steps in which one point leaves."""
    re = 0.0 * x[column]
    im = re
    count = 0
    for _ in range(limit):
        if re * re + im * im > 4:
            break
        re, im = re * re - im * im + x[column], 2 * re * im + y[row]
        count += 1
    steps[row, column] = count
    size[row, column] = re * re + im * im


_C = """
    T re = 0, im = 0;
    int count = 0;
    while (count < limit && re * re + im * im <= 4) {
        const T next = re * re - im * im + x[column];
        im = 2 * re * im + y[row];
        re = next;
        count++;
    }
    steps[row * w + column] = count;
    size[row * w + column] = re * re + im * im;
"""
_WGSL = """
    var re = T(0);
    var im = T(0);
    var count = 0;
    while (count < limit && re * re + im * im <= 4) {
        let next = re * re - im * im + x[column];
        im = 2 * re * im + y[row];
        re = next;
        count++;
    }
    steps[row * w + column] = count;
    size[row * w + column] = re * re + im * im;
"""


def reference(x: tfr.Tensor, y: tfr.Tensor, limit: int) -> tuple[tfr.Tensor, tfr.Tensor]:
    """Return the same for all points at once."""
    re = im = tfr.zeros((y.shape[0], x.shape[0]), dtype=x.dtype, device=x.device)
    count = re.astype("int32")
    for _ in range(limit):
        inside = re * re + im * im <= 4
        count = tfr.where(inside, count + 1, count)
        re, im = (
            tfr.where(inside, re * re - im * im + x, re),
            tfr.where(inside, 2 * re * im + y[:, None], im),
        )
    return count, re * re + im * im


def mandelbrot(**changes: Any) -> Any:
    """Return the kernel; `changes` are other arguments of `raw_kernel`."""
    facts: dict[str, Any] = {
        "inputs": {"x": "T[w]", "y": "T[h]", "limit": "int32"},
        "outputs": {"steps": "int32[h, w]", "size": "T[h, w]"},
        "source": {
            "cuda": _C,
            "opencl": _C,
            "wgsl": _WGSL,
            "cpu": point,
        },
        "grid": {"row": "h", "column": "w"},
        "static": ("limit",),
        "reference": reference,
    }
    return tfr.raw_kernel("mandelbrot", **facts | changes)


def main(device: str = "cpu") -> None:
    """Print the set."""
    x = tfr.linspace(-2.1, 0.7, 72, dtype="float32", device=device)
    y = tfr.linspace(-1.2, 1.2, 25, dtype="float32", device=device)
    steps, _ = mandelbrot()(x, y, 40)
    for row in tfr.minimum(steps // 5, 7).tolist():
        print("".join([" .:-=+*#"[shade] for shade in row]))
