"""Epilogues: elementwise ops that a product's only consumer does are part of its step, in every layout and dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy.products import grid
from tensorframe.backends.registry import capabilities, known_devices
from tensorframe.graph.op import Kind
from tensorframe.schedule import pipeline
from tensorframe.schedule.plan import Plan, StepKind

ROWS, INNER, COLUMNS = 100, 30, 50
DEVICES = [str(device) for device in known_devices()]


@pytest.fixture(autouse=True)
def planned() -> Iterator[None]:
    """A plan for small graphs too."""
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.fixture(params=["whole", "blocks"])
def several_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small products are one block, or many."""
    if request.param == "blocks":
        for name in ("_WORTH_SHARING", "_LEAST", "_PLENTY"):
            monkeypatch.setattr(grid, name, 1)
        monkeypatch.setattr(grid, "_ROWS", 8)


def drawn(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.integers(-4, 5, shape)
    return np.asarray(values).astype(dtype)


def operands(device: str = "cpu", dtype: str = "float32") -> list[tfr.Tensor]:
    """Return factors, a bias, and something of the product's shape."""
    shapes = [(ROWS, INNER), (INNER, COLUMNS), (COLUMNS,), (ROWS, COLUMNS)]
    return [
        tfr.asarray(drawn(*shape, seed=seed, dtype=dtype), device=device)
        for seed, shape in enumerate(shapes)
    ]


def plan_of(*tensors: tfr.Tensor) -> Plan:
    plan = tfr.explain(*tensors)
    assert isinstance(plan, Plan)
    return plan


def steps(plan: Plan) -> list[list[str]]:
    """Return the ops of each step that computes something."""
    return [
        [op.op.name for op in s.region.ops]
        for s in plan.steps
        if not s.is_view and s.kind is not StepKind.TRANSFER
    ]


Function = Callable[..., tfr.Tensor]
EPILOGUES: dict[str, Function] = {
    "bias": lambda x, w, b, r: x @ w + b,
    "activation": lambda x, w, b, r: tfr.maximum(x @ w + b, 0),
    "residual": lambda x, w, b, r: (x @ w + b) * 2 + r,
    "itself": lambda x, w, b, r: (x @ w) * (x @ w),
    "column": lambda x, w, b, r: x @ w + r[:, :1],
    "row of a matrix": lambda x, w, b, r: x @ w + r[3],
    "transposed residual": lambda x, w, b, r: x @ w + (r * 1).mT.mT,
    "number": lambda x, w, b, r: (x @ w) * 3,
    "comparison": lambda x, w, b, r: x @ w > b,
    "choice": lambda x, w, b, r: tfr.where(r > 0, x @ w, b),
    "transposed": lambda x, w, b, r: (x @ w).mT + r.mT,
    "transposed bias": lambda x, w, b, r: (x @ w).mT + b[:, None],
    "cast": lambda x, w, b, r: (x @ w).astype("float64"),
    "transposed factors": lambda x, w, b, r: (w.mT @ x.mT).mT + b,
}

# what looks at a transposed product has a kernel of its own where products are handed on by rows
TURNED = {"transposed", "transposed bias", "transposed factors"}


@pytest.mark.sweep(3)
@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", EPILOGUES)
def test_what_is_done_to_a_product_is_part_of_its_step(name: str, device: str) -> None:
    found = EPILOGUES[name](*operands(device))
    if str(found.device) != device:
        pytest.skip(f"{device} holds no {found.dtype}")
    if name != "transposed residual":
        able = capabilities(found.device)
        apart = name in TURNED and (able.host_memory or able.chunked)
        assert len(steps(plan_of(found))) == 1 + apart
    assert plan_of(found).library_calls == 1
    with tfr.config.override(fuse=False):
        unfused = EPILOGUES[name](*operands(device))
        assert len(steps(plan_of(unfused))) > 1
        np.testing.assert_array_equal(found.numpy(), unfused.numpy())


@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize(
    "dtype", ["float16", "float64", "int8", "int64", "uint32", "complex64", "complex128"]
)
def test_every_dtype_has_epilogues(dtype: str) -> None:
    found = EPILOGUES["residual"](*operands(dtype=dtype))
    converted = (
        [["cast"]] * 2 if dtype == "float16" else []
    )  # half precision is multiplied in float32
    *before, _ = steps(plan_of(found))
    assert before == converted
    x, w, b, r = [operand.numpy() for operand in operands(dtype=dtype)]
    np.testing.assert_array_equal(found.numpy(), (x @ w + b) * np.asarray(2, dtype) + r)


def test_a_dense_layer_is_one_library_call() -> None:
    x, w, b, _ = operands()
    y = tfr.gelu(x @ w + b)
    plan = plan_of(y)
    assert (plan.library_calls, plan.kernels) == (1, 0)
    assert plan.bytes_written == y.nbytes
    numbers = 4 * sum(shape == () for shape, _ in plan.steps[0].region.inputs)
    assert plan.bytes_read == x.nbytes + w.nbytes + b.nbytes + numbers
    # a block of the product, and what is made of it, beside the result
    given = x.nbytes + w.nbytes + b.nbytes
    assert given + y.nbytes <= plan.peak[x.device] <= given + 4 * y.nbytes
    assert plan.steps[0].kind is StepKind.LIBRARY
    assert "matmul add" in str(plan)


def test_several_results_of_one_product() -> None:
    x, w, b, _ = operands()
    product = x @ w
    one, other = tfr.exp(product * 0.01) + b, tfr.abs(product)
    del product
    plan = plan_of(one, other)
    assert len(steps(plan)) == 1
    want = x.numpy() @ w.numpy()
    tfr.compute(one, other)
    right = np.exp(want * np.float32(0.01)) + b.numpy()
    np.testing.assert_allclose(one.numpy(), right, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(other.numpy(), np.abs(want))


def reason(plan: Plan) -> str:
    """Return why products are not fused with what follows."""
    (found,) = {text for step in plan.steps for text in step.refusals.values()}
    return found


def test_a_product_that_is_held_is_kept_whole() -> None:
    x, w, b, _ = operands()
    product = x @ w
    shifted = product + b
    plan = plan_of(shifted)
    assert steps(plan) == [["matmul"], ["add"]]
    assert reason(plan) == "the product is needed besides"
    np.testing.assert_array_equal(shifted.numpy() - b.numpy(), product.numpy())


def test_a_step_has_no_more_operands_than_the_device_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, b, r = operands()
    chosen = tfr.asarray(drawn(ROWS, COLUMNS, seed=5) > 0)
    few = replace(capabilities(x.device), max_inputs=3)
    monkeypatch.setattr(pipeline, "capabilities", lambda device: few)
    plan = plan_of(tfr.where(chosen, x @ w, b))
    assert steps(plan) == [["matmul"], ["where"]]
    assert "its step would have 4 operands" in str(plan)
    plan = plan_of(x @ w + r)
    assert steps(plan) == [["matmul", "add"]]


def test_a_product_with_other_consumers_is_kept_whole() -> None:
    x, w, _, _ = operands()
    product = x @ w
    result = tfr.exp(product * 0.01) + (product @ w.mT)[:, :1]
    del product
    plan = plan_of(result)
    assert ["matmul"] in steps(plan)
    assert "the product has several consumers, in different kernels" in str(plan)


def test_of_two_products_one_has_the_epilogue_and_takes_over_the_others_memory() -> None:
    x, w, _, _ = operands()
    y = x @ w + x @ (w * 2)
    plan = plan_of(y)
    assert steps(plan).count(["matmul", "add"]) == 1
    assert ["matmul"] in steps(plan)
    assert "its consumer's step has a product already" in str(plan)
    assert plan.steps[-1].donors != (None,)
    want = x.numpy() @ w.numpy()
    np.testing.assert_array_equal(y.numpy(), want * 3)


def test_factors_are_not_written_over() -> None:
    x, _, _, _ = operands()
    square = x[:30] * 2  # dies in the product that reads it
    y = square @ square + square
    del square
    plan = plan_of(y)
    assert plan.steps[-1].donors == (None,)
    want = x.numpy()[:30] * 2
    np.testing.assert_array_equal(y.numpy(), want @ want + want)


def test_a_scan_needs_more_than_a_block() -> None:
    x, w, _, _ = operands()
    plan = plan_of(tfr.cumulative_sum(x @ w, axis=0) + 1)
    assert ["matmul"] in steps(plan)


def test_a_product_is_written_in_the_order_of_axes_that_it_is_used_in() -> None:
    shares = tfr.asarray(drawn(2, 4, 20, 30))
    values = tfr.asarray(drawn(2, 30, 4, 10, seed=1))
    mixture = tfr.einsum("bhqk,bkhd->bqhd", shares, values).reshape((2, 20, 40))
    plan = plan_of(mixture)
    assert steps(plan) == [["matmul", "permute"]]
    want = np.einsum("bhqk,bkhd->bqhd", shares.numpy(), values.numpy())
    np.testing.assert_array_equal(mixture.numpy(), want.reshape(2, 20, 40))
    assert mixture.numpy().base is not None  # a view of what the product wrote
    product = tfr.einsum("bhqk,bkhd->bqhd", shares, values)
    assert product.numpy().flags.c_contiguous


@pytest.mark.usefixtures("several_blocks")
def test_permuted_products_have_epilogues_too() -> None:
    shares = tfr.asarray(drawn(2, 4, 20, 30))
    values = tfr.asarray(drawn(2, 30, 4, 10, seed=1))
    row = tfr.asarray(drawn(4, 1, seed=2))
    result = tfr.einsum("bhqk,bkhd->bqhd", shares, values) * 2 + row
    assert steps(plan_of(result)) == [["matmul", "permute", "multiply", "add"]]
    want = np.einsum("bhqk,bkhd->bqhd", shares.numpy(), values.numpy()) * 2 + row.numpy()
    np.testing.assert_array_equal(result.numpy(), want)


def test_a_transposed_product_is_a_view() -> None:
    x, w, _, _ = operands()
    plan = plan_of((x @ w).mT)
    assert steps(plan) == [["matmul"]]
    assert plan.bytes_written == ROWS * COLUMNS * 4


@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((INNER,), (INNER, COLUMNS)),
        ((ROWS, INNER), (INNER,)),
        ((INNER,), (INNER,)),
        ((5, ROWS, INNER), (INNER, COLUMNS)),
        ((5, 1, ROWS, INNER), (4, INNER, COLUMNS)),
        ((1, INNER), (6, INNER, 1)),
        ((0, INNER), (INNER, COLUMNS)),
        ((ROWS, 0), (0, COLUMNS)),
    ],
)
def test_products_of_any_shape_have_epilogues(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    x, y = drawn(*left), drawn(*right, seed=1)
    found = tfr.asarray(x) @ tfr.asarray(y) * 2 + 1
    assert len(steps(plan_of(found))) == 1
    np.testing.assert_array_equal(found.numpy(), np.matmul(x, y) * 2 + 1)


@pytest.mark.parametrize("device", DEVICES)
def test_the_number_of_threads_does_not_change_the_bits(device: str) -> None:
    rng = np.random.default_rng(0)
    x, w, b = [
        tfr.asarray(rng.random(shape, dtype=np.float32) - 0.5, device=device)
        for shape in [(600, 200), (200, 300), (300,)]
    ]
    results = []
    for threads in (1, 2, 16):
        with tfr.config.override(threads=threads):
            dense, shares = tfr.gelu(x @ w + b), tfr.softmax(x @ w, axis=-1)
            results.append((dense.numpy(), shares.numpy()))
    for found in results[1:]:
        np.testing.assert_array_equal(found[0], results[0][0])
        np.testing.assert_array_equal(found[1], results[0][1])


def test_overflow_warns_nowhere() -> None:
    x = tfr.asarray(np.full((600, 300), 1e30, np.float32))
    with tfr.config.override(threads=4):
        assert np.isinf((x @ x[:300] * 2).numpy()).all()


def softmax_of_numpy(x: np.ndarray) -> Any:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def layer_norm(xp, x):
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


NORMALISING = [str(one) for one in known_devices() if Kind.REDUCE in capabilities(one).epilogues]


@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize("device", NORMALISING)
def test_rows_are_normalised_in_the_step_of_the_product(device: str) -> None:
    x, w, b, r = operands(device)
    dense = x.numpy() @ w.numpy()
    shares = tfr.softmax((x @ w) * 0.01 + b, axis=-1)
    assert len(steps(plan_of(shares))) == 1
    want = softmax_of_numpy(dense * np.float32(0.01) + b.numpy())
    np.testing.assert_allclose(shares.numpy(), want, rtol=1e-5)
    normal = layer_norm(tfr, x @ w + b + r)
    assert len(steps(plan_of(normal))) == 1
    want = layer_norm(np, dense + b.numpy() + r.numpy())
    np.testing.assert_allclose(normal.numpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize("device", NORMALISING)
def test_attention_is_one_step(device: str) -> None:
    query, key, value = [
        tfr.asarray(drawn(2, 20, 4, 8, seed=seed), device=device) for seed in range(3)
    ]
    mask = tfr.asarray(np.arange(20) < [[20], [15]], device=device)
    scores = tfr.einsum("bqhd,bkhd->bhqk", query, key) / 8
    shares = tfr.softmax(tfr.where(mask[:, None, None, :], scores, -np.inf), axis=-1)
    mixture = tfr.einsum("bhqk,bkhd->bqhd", shares, value).reshape((2, 20, 32))
    del scores, shares
    found = steps(plan_of(mixture))
    assert len(found) == 1
    assert found[0][0] == "matmul"
    assert found[0][-2:] == ["matmul", "permute"]
    products = np.einsum("bqhd,bkhd->bhqk", query.numpy(), key.numpy()) / np.float32(8)
    rows = softmax_of_numpy(np.where(mask.numpy()[:, None, None, :], products, -np.inf))
    want = np.einsum("bhqk,bkhd->bqhd", rows, value.numpy()).reshape(2, 20, 32)
    np.testing.assert_allclose(mixture.numpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", NORMALISING)
def test_other_reductions_are_not_part_of_the_step(device: str) -> None:
    x, w, _, _ = operands(device)
    for total in (
        tfr.sum(x @ w, axis=0, keepdims=True) * (x @ w),
        (x @ w).mT - tfr.max((x @ w).mT, axis=-1, keepdims=True),
        tfr.sum(x @ w),
    ):
        plan = plan_of(total)
        assert ["matmul"] in steps(plan)
    want = (x.numpy() @ w.numpy()).T
    found = (x @ w).mT - tfr.max((x @ w).mT, axis=-1, keepdims=True)
    np.testing.assert_array_equal(found.numpy(), want - want.max(axis=-1, keepdims=True))
