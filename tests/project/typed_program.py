"""A program as users type it: operators, generated functions and methods, each of a type that is known.

The type checker has to accept it, and to find a mistake on each line that tells it to ignore one: an ignore comment
that is not needed is an error.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import tensorframe as tfr


def operators(a: tfr.Tensor, b: np.ndarray[Any, Any]) -> None:
    """Operators with tensors, arrays and Python numbers give tensors."""
    assert_type(a + a, tfr.Tensor)
    assert_type(a * b, tfr.Tensor)
    assert_type(2 - a, tfr.Tensor)
    assert_type(a**2.0, tfr.Tensor)
    assert_type(a @ a, tfr.Tensor)
    assert_type(-a, tfr.Tensor)
    assert_type(a == 1, tfr.Tensor)
    assert_type(a < b, tfr.Tensor)
    assert_type((a > 1) & (a < 3), tfr.Tensor)
    assert_type(a[1:], tfr.Tensor)


def functions(a: tfr.Tensor, b: np.ndarray[Any, Any]) -> None:
    """Functions that are generated, and functions that are written."""
    assert_type(tfr.exp(a), tfr.Tensor)
    assert_type(tfr.atan2(a, b), tfr.Tensor)
    assert_type(tfr.where(a > 1, a, 0.0), tfr.Tensor)
    assert_type(tfr.gelu(b), tfr.Tensor)
    assert_type(tfr.sum(a, axis=0), tfr.Tensor)
    assert_type(tfr.matmul(a, b), tfr.Tensor)
    for dtype in (tfr.zeros(3, dtype=tfr.float32), tfr.zeros(3, float), tfr.zeros(3, np.int8)):
        assert_type(dtype.astype(np.dtype("f4")), tfr.Tensor)
    assert_type(tfr.ones(3, "<f8"), tfr.Tensor)


def methods(a: tfr.Tensor) -> None:
    """Methods and attributes."""
    assert_type(a.sum(), tfr.Tensor)
    assert_type(a.reshape((2, 1)).mT, tfr.Tensor)
    assert_type(a.numpy(), np.ndarray[Any, Any])
    assert_type(a.shape, tuple[int, ...])
    assert_type(a.ndim, int)
    assert_type(float(a[0]), float)
    assert_type(a.device, tfr.Device)
    assert_type([one + 1 for one in a], list[tfr.Tensor])


@tfr.jit
def step(x: tfr.Tensor, rate: float = 0.5) -> tfr.Tensor:
    """A jitted function has the signature that it had."""
    return x - rate * tfr.sin(x)


@tfr.jit(static_argnames="n")
def powers(x: tfr.Tensor, n: int) -> dict[str, list[tfr.Tensor]]:
    """And its result is of the type that it was."""
    return {"powers": [x**k for k in range(n)]}


class Scaled:
    """A jitted method takes what it took."""

    factor = 2.0

    @tfr.jit
    def __call__(self, x: tfr.Tensor) -> tfr.Tensor:
        """Scale."""
        return x * self.factor

    @tfr.jit
    def shifted(self, x: tfr.Tensor, *, by: float) -> tfr.Tensor:
        """Scale and shift."""
        return x * self.factor + by


def jitted(a: tfr.Tensor) -> None:
    """Jitted functions and methods."""
    assert_type(step(a), tfr.Tensor)
    assert_type(step(a, rate=0.25), tfr.Tensor)
    assert_type(powers(a, 3), dict[str, list[tfr.Tensor]])
    assert_type(Scaled()(a), tfr.Tensor)
    assert_type(Scaled().shifted(a, by=1.0), tfr.Tensor)
    assert_type(step.explain(a).kernels, int)
    assert_type(step.cache_info().recorded, int)


def looking(a: tfr.Tensor) -> None:
    """What is attached for notebooks, to tensors, plans and what measures."""
    assert_type(tfr.explain(a).kernels, int)
    assert_type(a.explain().bytes_read, int)
    assert_type(a.explain(until="fuse"), str)
    assert_type(tfr.explain(a, source=True), str)
    assert_type(tfr.explain(a).visualize().svg(), str)
    assert_type(a.explain().visualize(collapse=True).dot(), str)
    assert_type(a.visualize(stage="plan").svg(), str)
    assert_type(tfr.visualize(a, a).svg(), str)
    assert_type(a._repr_html_(), str)
    assert_type(a.explain()._repr_html_(), str)
    with tfr.profile() as profile:
        a.compute()
    assert_type(profile._repr_html_(), str)


def mistakes(a: tfr.Tensor) -> None:
    """What only the type checker is to see: nobody calls this."""
    a + "text"  # type: ignore[operator]
    tfr.exp("text")  # type: ignore[arg-type]
    tfr.exp(a, a, a)  # type: ignore[call-arg]
    tfr.exp(a, casting="same")  # type: ignore[arg-type]
    tfr.sort(a, kind="fastest")  # type: ignore[arg-type]
    tfr.quantile(a, 0.5, method="middle")  # type: ignore[arg-type]
    tfr.zeros(3, dtype="flaot32")  # type: ignore[arg-type]
    tfr.asarray([1], "int46")  # type: ignore[arg-type]
    tfr.sum(a, dtype="double64")  # type: ignore[arg-type]
    a.astype("flaot32")  # type: ignore[arg-type]
    tfr.pad(a, 1, mode="reflected")  # type: ignore[arg-type]
    tfr.searchsorted(a, a, side="both")  # type: ignore[arg-type]
    tfr.take(a, a, mode="wrapped")  # type: ignore[arg-type]
    tfr.meshgrid(a, indexing="yx")  # type: ignore[arg-type]
    tfr.concat([a], dtype="f4", casting="same")  # type: ignore[arg-type]
    tfr.convolve(a, a, mode="most")  # type: ignore[arg-type]
    tfr.linalg.qr(a, mode="q")  # type: ignore[arg-type]
    tfr.fft.fft(a, norm="forwards")  # type: ignore[arg-type]
    tfr.linalg.norm(a, ord="frobenius")  # type: ignore[arg-type]
    tfr.load("x.npy", mmap_mode="r+")  # type: ignore[arg-type]
    tfr.exq(a)  # type: ignore[attr-defined]
    a.summ()  # type: ignore[attr-defined]
    a.shape = (1, 2)  # type: ignore[misc]
    step("text")  # type: ignore[arg-type]
    step(a, speed=1.0)  # type: ignore[call-arg]
    powers(a)  # type: ignore[call-arg]
    Scaled().shifted(a, 1.0)  # type: ignore[call-arg]
    a.explain().visualise()  # type: ignore[attr-defined]
    a.explain().visualize(collapsed=True)  # type: ignore[call-arg]
    a.explain(until="fuse").visualize()  # type: ignore[attr-defined]


def main() -> None:
    """Run what the type checker was told."""
    a = tfr.asarray([1.0, 2.0])
    b = np.asarray([3.0, 4.0])
    operators(a, b)
    functions(a, b)
    methods(a)
    jitted(a)
    looking(a)


if __name__ == "__main__":
    main()
