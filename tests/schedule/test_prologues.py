"""Prologues of products: what a vector is quantised by joins the kernel of the product, and changes no bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.groups import prologue
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.schedule.fusion import merging, prologues
from tests.backends.devices import on_every_device


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def quantized(rows: int, columns: int, bits: int, device: str, *, symmetric: bool = True) -> Any:
    matrix = tfr.asarray(normal(rows, columns, seed=rows), device=device)
    q = tfr.quantization.quantize(matrix, bits=bits, group=32, symmetric=symmetric)
    tfr.compute(*[part for part in (q.words, q.scales, q.zeros) if part is not None])
    return q


def normalised(x: tfr.Tensor) -> tfr.Tensor:
    return x / tfr.sqrt(tfr.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def kernels(made: tfr.Tensor) -> int:
    return tfr.explain(made).kernels


def apart(monkeypatch: pytest.MonkeyPatch, program: Callable[[], tfr.Tensor]) -> np.ndarray:
    """What a program gives in kernels of their own."""
    PLANS.clear()
    with monkeypatch.context() as patch:
        others = [each for each in merging.PASSES if each is not prologues.merge_prologues]
        assert len(others) < len(merging.PASSES)
        patch.setattr(merging, "PASSES", others)
        result = program().numpy()
    PLANS.clear()
    return result


@on_every_device
@pytest.mark.parametrize(
    ("bits", "rows", "height", "columns", "symmetric"),
    [
        (8, 1, 64, 64, True),
        (8, 3, 30, 96, True),
        (8, 1, 40, 2048, True),
        (8, 1, 300, 4096, True),
        (4, 1, 70, 64, True),
        (4, 2, 33, 1024, False),
    ],
)
def test_one_kernel_has_the_bits_of_several(
    device: str,
    bits: int,
    rows: int,
    height: int,
    columns: int,
    symmetric: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = tfr.asarray(normal(rows, columns), device=device)
    tfr.compute(x)
    matrix = quantized(height, columns, bits, device, symmetric=symmetric)

    def program() -> tfr.Tensor:
        return tfr.sin(normalised(x) @ matrix.mT)

    assert kernels(program()) == 1
    np.testing.assert_array_equal(program().numpy(), apart(monkeypatch, program))


@on_every_device
def test_groups_that_begin_again_have_the_same_bits(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tfr.asarray(normal(1, 256), device=device)
    matrix = quantized(500, 256, 8, device)
    expected = apart(monkeypatch, lambda: x @ matrix.mT)
    monkeypatch.setattr(prologue, "_GROUPS", 2)
    monkeypatch.setattr(prologue, "_FEW_GROUPS", 2)
    np.testing.assert_array_equal((x @ matrix.mT).numpy(), expected)


@on_every_device
def test_special_numbers_of_a_vector(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    array = normal(1, 128)
    array[0, :32], array[0, 40], array[0, 100] = 0.0, np.inf, np.nan
    x, matrix = tfr.asarray(array, device=device), quantized(20, 128, 8, device)
    expected = apart(monkeypatch, lambda: x @ matrix.mT)
    np.testing.assert_array_equal((x @ matrix.mT).numpy(), expected)


@on_every_device
def test_what_others_need_too_is_stored(device: str) -> None:
    """A vector that two products read is normalised once, and what it is quantised by belongs to neither."""
    x = tfr.asarray(normal(1, 64), device=device)
    first, second = quantized(64, 64, 8, device), quantized(96, 64, 8, device)
    tfr.compute(x)
    row = normalised(x)
    plan = tfr.explain(row, row @ first.mT)
    assert plan.kernels == 2
    (written,) = [step for step in plan.steps if len(step.outputs) == 1 and "sqrt" in str(step)]
    assert written.bytes_written == 64 * 4
    both = tfr.explain(tfr.sin(row @ first.mT), tfr.cos(row @ second.mT))
    assert both.kernels > 2


@on_every_device
@pytest.mark.parametrize(
    ("limit", "value", "expected"),
    [("_MOST_BYTES", 256 + 4 * 8, 1), ("_MOST_BYTES", 256, 2), ("_LITTLE", 65, 3)],
)
def test_large_prologues_stay_apart(
    device: str, limit: str, value: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of 256 integers, and eight scales, are in shared memory; a prologue takes the vector in, for 64 rows."""
    x, matrix = tfr.asarray(normal(1, 256), device=device), quantized(64, 256, 8, device)
    tfr.compute(x)
    monkeypatch.setattr(prologues, limit, value)
    PLANS.clear()
    assert kernels(x @ matrix.mT) == expected
    PLANS.clear()


@on_every_device
def test_numbers_in_memory_are_no_part_of_a_prologue(device: str) -> None:
    x, matrix = tfr.asarray(normal(1, 64), device=device), quantized(64, 64, 8, device)
    factor = tfr.asarray(np.float32(1.5), device=device)
    tfr.compute(x, factor)
    found = (x * factor) @ matrix.mT
    wanted = (x * 1.5) @ matrix.mT
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())
