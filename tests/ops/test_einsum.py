"""Einsum in other rows: which ops it becomes, in which order, what is shared, and what is not copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.ops.einsum import recipe
from tensorframe.ops.order import contraction_order
from tensorframe.schedule.plan import Plan


@pytest.fixture(autouse=True)
def planned() -> Iterator[None]:
    """A plan for small graphs too."""
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def drawn(*shape: int, seed: int = 0) -> tfr.Tensor:
    return tfr.asarray(np.random.default_rng(seed).random(shape, dtype=np.float32) - 0.5)


def plan_of(*tensors: tfr.Tensor) -> Plan:
    plan = tfr.explain(*tensors)
    assert isinstance(plan, Plan)
    return plan


def ops(subscripts: str, *shapes: tuple[int, ...], dtype: str = "float32") -> list[str]:
    """Return the ops of a contraction of operands in C order."""
    layouts = tuple([tuple(range(len(shape))) for shape in shapes])
    return [one.op.name for one in recipe(subscripts, shapes, layouts, np.dtype(dtype))]


@pytest.mark.parametrize(
    ("subscripts", "shapes", "expected"),
    [
        ("ab,bc->ac", [(2, 3), (3, 4)], ["matmul"]),
        ("ab,bc->ca", [(2, 3), (3, 4)], ["permute", "permute", "matmul"]),  # in the result's order
        ("ab,cb->ac", [(2, 3), (4, 3)], ["permute", "matmul"]),
        ("abc,cd->abd", [(5, 2, 3), (3, 4)], ["matmul"]),
        ("abc,acd->abd", [(5, 2, 3), (5, 3, 4)], ["matmul"]),
        ("ab,b->a", [(2, 3), (3,)], ["matmul"]),
        ("a,a->", [(3,), (3,)], ["matmul"]),
        ("ab,ab->", [(2, 3), (2, 3)], ["reshape", "reshape", "matmul"]),
        ("ab,abc->c", [(2, 3), (2, 3, 4)], ["reshape", "reshape", "matmul"]),
        ("a,b->ab", [(2,), (3,)], ["reshape", "multiply"]),
        ("ab,ab->ab", [(2, 3), (2, 3)], ["multiply"]),
        ("ab,b->ab", [(2, 3), (3,)], ["multiply"]),
        ("ab->ba", [(2, 3)], ["permute"]),
        ("ab->ab", [(2, 3)], []),
        ("ab->b", [(2, 3)], ["sum"]),
        ("aa->a", [(3, 3)], ["reshape", "slice"]),
        ("aa->", [(3, 3)], ["reshape", "slice", "sum"]),
        ("ab,cb->c", [(2, 3), (4, 3)], ["sum", "permute", "matmul"]),
    ],
)
def test_what_a_contraction_becomes(
    subscripts: str, shapes: list[tuple[int, ...]], expected: list[str]
) -> None:
    found = ops(subscripts, *shapes)
    if "matmul" in expected:  # which operand is the left one, and so is permuted, does not matter
        assert sorted(found) == sorted(expected)
    else:
        assert found == expected


def test_bools_are_summed_by_or() -> None:
    assert ops("ab->a", (2, 3), dtype="bool") == ["any"]


def test_a_recipe_is_found_once() -> None:
    shapes, layouts = ((2, 3), (3, 4), (4, 5)), ((0, 1),) * 3
    first = recipe("ab,bc,cd->ad", shapes, layouts, np.dtype("float32"))
    assert recipe("ab,bc,cd->ad", shapes, layouts, np.dtype("float32")) is first


def test_the_order_takes_the_fewest_multiplications() -> None:
    sizes = {"a": 1000, "b": 1, "c": 1000, "d": 1}
    assert contraction_order(["ab", "bc", "cd"], "ad", sizes) == [(1, 2), (0, 1)]
    assert contraction_order(["ab", "bc"], "ac", sizes) == [(0, 1)]
    assert contraction_order(["ab"], "ab", sizes) == []
    many = [chr(ord("a") + i) + chr(ord("b") + i) for i in range(20)]
    pairs = contraction_order(many, "au", dict.fromkeys("abcdefghijklmnopqrstu", 2))
    assert len(pairs) == 19


def test_an_axis_without_elements_has_an_order_too() -> None:
    sizes = {"a": 1000, "b": 0, "c": 1000, "d": 1}
    assert len(contraction_order(["ab", "bc", "cd"], "ad", sizes)) == 2


def test_a_plan_shows_each_product_with_its_operations() -> None:
    x, y, z = drawn(100, 2), drawn(2, 100, seed=1), drawn(100, 3, seed=2)
    plan = plan_of(tfr.einsum("ij,jk,kl->il", x, y, z))
    flops = [step.flops for step in plan.steps if not step.is_view]
    assert flops == [2 * 2 * 100 * 3, 2 * 100 * 2 * 3]  # y z first: 100 x 100 is never there
    assert str(plan).count("1.2e+03 flops]") == 2
    assert plan.bytes_written == 4 * (2 * 3 + 100 * 3)
    assert plan.steps[-1].frees  # y z dies in the second product


def test_equal_products_of_two_contractions_are_computed_once() -> None:
    x, y, z, w = drawn(100, 2), drawn(2, 60, seed=1), drawn(60, 3, seed=2), drawn(7, 3, seed=3)
    one = tfr.einsum("ij,jk,kl->il", x, y, z)
    other = tfr.einsum("ab,bc,dc->da", y, z, w)
    assert plan_of(one).library_calls == plan_of(other).library_calls == 2
    assert plan_of(one, other).library_calls == 3
    tfr.compute(one, other)
    want = y.numpy() @ z.numpy()
    np.testing.assert_allclose(one.numpy(), x.numpy() @ want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(other.numpy(), (want @ w.numpy().T).T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_half_precision_is_rounded_once(dtype: type) -> None:
    # in half precision, 4096 + 1 is 4096, and 300 * 300 overflows or loses digits
    x: Any = np.full((1, 5000), 1, dtype)
    assert tfr.einsum("ij,kj,lj->", x, x, x).item() == np.asarray(5000).astype(dtype).item()
    big: Any = np.full(2, 300, dtype)
    small: Any = np.full(2, 1 / 256, dtype)
    found = tfr.einsum("i,i,i->", big, big, small)
    assert found.item() == np.asarray(2 * 300 * 300 / 256).astype(dtype).item()


def test_transposed_factors_and_results_take_no_memory() -> None:
    x, y = drawn(300, 200), drawn(300, 100, seed=1)
    plan = plan_of((x.mT @ y).mT)
    assert plan.bytes_written == 200 * 100 * 4
    assert plan.library_calls == 1
    assert plan.kernels == 0
    assert plan.bytes_read == x.nbytes + y.nbytes
    np.testing.assert_allclose(
        (x.mT @ y).mT.numpy(), (x.numpy().T @ y.numpy()).T, rtol=1e-4, atol=1e-5
    )


def test_heads_are_not_gathered() -> None:
    query, key = drawn(2, 20, 4, 8), drawn(2, 20, 4, 8, seed=1)
    plan = plan_of(tfr.einsum("bqhd,bkhd->bhqk", query, key))
    assert plan.bytes_written == 2 * 4 * 20 * 20 * 4
    assert plan.kernels == 0


def test_products_without_a_sum_are_part_of_elementwise_kernels() -> None:
    x, y = drawn(300), drawn(200, seed=1)
    plan = plan_of(tfr.exp(tfr.einsum("i,j->ij", x, y)) + 1)
    assert (plan.kernels, plan.library_calls) == (1, 0)
