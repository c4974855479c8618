"""A bilateral filter, which smooths pictures and keeps their edges: neighbours, and numbers that are arguments."""

from __future__ import annotations

from math import exp
from typing import Any

import tensorframe as tfr


def pixel(i: Any, j: Any, image: Any, near: Any, alike: Any, h: Any, w: Any, out: Any) -> None:
    """Average the neighbours of one pixel by how near and how alike they are."""
    total = 0.0 * image[i, j]
    weights = total
    for k in range(max(i - 2, 0), min(i + 3, h)):
        for m in range(max(j - 2, 0), min(j + 3, w)):
            apart = image[k, m] - image[i, j]
            weight = exp(-((k - i) ** 2 + (m - j) ** 2) * near - apart * apart * alike)
            total += weight * image[k, m]
            weights += weight
    out[i, j] = total / weights


_C = """
    float total = 0, weights = 0;
    const float middle = image[i * w + j];
    for (int k = max(i - 2, 0); k < min(i + 3, h); k++) {
        for (int m = max(j - 2, 0); m < min(j + 3, w); m++) {
            const float other = image[k * w + m];
            const float apart = other - middle;
            const float far = (float)((k - i) * (k - i) + (m - j) * (m - j));
            const float weight = exp(-far * near - apart * apart * alike);
            total += weight * other;
            weights += weight;
        }
    }
    out[i * w + j] = total / weights;
"""
_WGSL = """
    var total = 0.0;
    var weights = 0.0;
    let middle = image[i * w + j];
    for (var k = max(i - 2, 0); k < min(i + 3, h); k++) {
        for (var m = max(j - 2, 0); m < min(j + 3, w); m++) {
            let other = image[k * w + m];
            let apart = other - middle;
            let far = f32((k - i) * (k - i) + (m - j) * (m - j));
            let weight = exp(-far * near - apart * apart * alike);
            total += weight * other;
            weights += weight;
        }
    }
    out[i * w + j] = total / weights;
"""


def reference(image: tfr.Tensor, near: Any, alike: Any) -> tfr.Tensor:
    """Return the same by shifted pictures."""
    h, w = image.shape
    ones = tfr.pad(tfr.ones_like(image), 2)
    padded = tfr.pad(image, 2)
    total = weights = tfr.zeros_like(image)
    for k in range(5):
        for m in range(5):
            other = padded[k : k + h, m : m + w]
            far = (k - 2) ** 2 + (m - 2) ** 2
            weight = (
                tfr.exp(-far * near - (other - image) ** 2 * alike) * ones[k : k + h, m : m + w]
            )
            total = total + weight * other
            weights = weights + weight
    return total / weights


def bilateral(**changes: Any) -> Any:
    """Return the kernel; `changes` are other arguments of `raw_kernel`."""
    facts: dict[str, Any] = {
        "inputs": {"image": "float32[h, w]", "near": "float32", "alike": "float32"},
        "outputs": {"out": "float32[h, w]"},
        "source": {
            "cuda": _C,
            "opencl": _C,
            "wgsl": _WGSL,
            "cpu": pixel,
        },
        "reference": reference,
    }
    return tfr.raw_kernel("bilateral", **facts | changes)


def main(device: str = "cpu") -> None:
    """Print how much noise is left of a picture of an edge."""
    edge = tfr.where(tfr.arange(64) < 32, 0.0, 1.0).astype("float32")
    noise = 0.1 * tfr.random.normal((64, 64), key=tfr.random.key(1))
    picture = (edge + noise).astype("float32").to_device(device)
    smooth = bilateral()(picture, 0.05, 10.0)
    for name, each in (("noisy", picture), ("smooth", smooth)):
        left, right = tfr.mean(each[:, 30]), tfr.mean(each[:, 33])
        spread = tfr.std(each[:, :30]).item()
        print(f"{name}: noise of {spread:.3f}, an edge of {(right - left).item():.2f}")
