"""Chained products: what is made of rows of a product, and is a factor of the next one, is never there as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.llvm.engine import missing
from tensorframe.backends.numpy.products import chain, grid, product
from tensorframe.backends.registry import capabilities, known_devices
from tensorframe.nn.functional import scaled_dot_product_attention
from tensorframe.schedule.plan import Plan, StepKind
from tests.nn.reference import attention

if missing() is None:
    from tensorframe.backends.llvm.products import chain as tiled
    from tensorframe.backends.llvm.products.functions import has_tiles

DEVICES = [str(device) for device in known_devices() if capabilities(device).chains]
CHAINING = [
    name for name in DEVICES if name != "numpy"
]  # which has no reductions in a product's step
BATCH, QUERIES, KEYS, FEATURES = 3, 200, 300, 16
attend: Callable[..., tfr.Tensor] = scaled_dot_product_attention


@pytest.fixture(autouse=True)
def planned() -> Iterator[None]:
    """A plan for small graphs too."""
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.fixture(params=["whole", "blocks"])
def several_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small products are one block, or many."""
    if request.param == "blocks":
        monkeypatch.setattr(grid, "_WORTH_SHARING", 1)
        monkeypatch.setattr(grid, "_LEAST", 1)


@pytest.fixture(params=["tiles", "BLAS"])
def multiplied(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many scores were computed, block by block: by tiles, without the interpreter, and by BLAS."""
    counts: list[int] = []
    original = product.multiply
    if missing() is not None:
        pytest.skip("chains need kernels")
    if request.param == "BLAS":
        monkeypatch.setattr(tiled, "packs", lambda *_: False)
    elif not has_tiles():
        pytest.skip("there are none here")
    run = tiled._Plan.run

    def noted(plan: Any, *operands: Any) -> None:
        counts.extend([math.prod(product.extents(index)) for index in plan.blocks])
        run(plan, *operands)

    monkeypatch.setattr(tiled._Plan, "run", noted)

    def multiply(x: Any, y: Any, target: Any) -> None:
        counts.append(target.size)
        original(x, y, target)

    monkeypatch.setattr(chain, "multiply", multiply)
    monkeypatch.setattr(grid, "_WORTH_SHARING", 1)
    monkeypatch.setattr(grid, "_LEAST", 1)
    return counts


def drawn(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def operands(dtype: str = "float32") -> list[np.ndarray]:
    sizes = (QUERIES, KEYS, KEYS)
    return [drawn(BATCH, size, FEATURES, seed=seed, dtype=dtype) for seed, size in enumerate(sizes)]


def plan_of(*tensors: tfr.Tensor) -> Plan:
    plan = tfr.explain(*tensors)
    assert isinstance(plan, Plan)
    return plan


def steps(plan: Plan) -> list[list[str]]:
    """Return the ops of each step that computes something."""
    return [
        [op.op.name for op in step.region.ops]
        for step in plan.steps
        if not step.is_view and step.kind is not StepKind.TRANSFER
    ]


def softmax(scores: Any) -> Any:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def layer_norm(xp: Any, x: Any) -> Any:
    mean = xp.mean(x, axis=-1, keepdims=True)
    return (x - mean) / xp.sqrt(xp.var(x, axis=-1, keepdims=True) + 1e-3)


def unscaled(xp: Any, x: Any) -> Any:
    return xp.exp(x - xp.max(x, axis=-1, keepdims=True))


ROWS, COLUMNS = np.arange(QUERIES)[:, None], np.arange(KEYS)
CAUSAL, WINDOW = COLUMNS <= ROWS, (COLUMNS <= ROWS) & (COLUMNS > ROWS - 40)
BIAS = drawn(QUERIES, KEYS, seed=7)

# by hand: of tensors and of arrays
CHAINS: dict[str, Callable[..., Any]] = {
    "softmax": lambda xp, s, q, k, v: s(q @ k.mT) @ v,
    "scaled and shifted": lambda xp, s, q, k, v: s((q @ k.mT) * 0.25 + xp.asarray(BIAS)) @ v,
    "causal": lambda xp, s, q, k, v: s(xp.where(xp.asarray(CAUSAL), q @ k.mT, -np.inf)) @ v,
    "the other way round": lambda xp, s, q, k, v: (
        s(xp.where(xp.asarray(~CAUSAL), -np.inf, q @ k.mT)) @ v
    ),
    "twice masked": lambda xp, s, q, k, v: (
        s(
            xp.where(
                xp.asarray(CAUSAL), xp.where(xp.asarray(WINDOW), q @ k.mT, -np.inf) * 0.5, -np.inf
            )
        )
        @ v
    ),
    "weights that are not 0 where they are hidden": lambda xp, s, q, k, v: (
        (s(xp.where(xp.asarray(CAUSAL), q @ k.mT, -np.inf)) + 1) @ v
    ),
    "a sum of what is hidden": lambda xp, s, q, k, v: (
        (
            s(xp.where(xp.asarray(CAUSAL), q @ k.mT, -np.inf))
            * xp.sum(xp.asarray(BIAS), axis=-1, keepdims=True)
        )
        @ v
    ),
    "hidden by a number": lambda xp, s, q, k, v: (
        s(xp.where(xp.asarray(CAUSAL), q @ k.mT, -1e9)) @ v
    ),
    "layer norm": lambda xp, s, q, k, v: layer_norm(xp, q @ k.mT) @ v,
    "scores beside weights": lambda xp, s, q, k, v: (s(q @ k.mT) * (q @ k.mT)) @ v,
    "an epilogue": lambda xp, s, q, k, v: xp.maximum(s(q @ k.mT) @ v * 3 + 1, 0),
    "a softmax after": lambda xp, s, q, k, v: s(s(q @ k.mT) @ v),
    "side by side": lambda xp, s, q, k, v: xp.permute_dims(s(q @ k.mT) @ v, (1, 0, 2)).reshape(
        (QUERIES, -1)
    ),
    "one matrix of values": lambda xp, s, q, k, v: s(q @ k.mT) @ v[0],
    "no normalisation": lambda xp, s, q, k, v: unscaled(xp, q @ k.mT) @ v,
}


@pytest.mark.sweep(3)
@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize("device", CHAINING)
@pytest.mark.parametrize("name", CHAINS)
def test_two_products_are_one_step(name: str, device: str) -> None:
    arrays = operands()
    function = CHAINS[name]
    with tfr.use_backend(device):
        found = function(tfr, tfr.softmax, *[tfr.asarray(one, device=device) for one in arrays])
        plan = plan_of(found)
    assert plan.library_calls == 1
    assert plan.bytes_written < 4 * BATCH * QUERIES * KEYS
    wanted = function(np, softmax, *[one.astype("float64") for one in arrays])
    np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-4, atol=2e-5)


@pytest.mark.usefixtures("several_blocks")
@pytest.mark.parametrize("dtype", ["float64", "complex64", "float16", "int32"])
def test_every_dtype(dtype: str) -> None:
    """What BLAS does not multiply goes one product after the other."""
    arrays = [(one * 4).round().astype(dtype) for one in operands()]
    q, k, v = map(tfr.asarray, arrays)

    def function(xp: Any, q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.mT
        if dtype == "complex64":
            scores = xp.abs(scores).astype("float32")
        shifted = scores - xp.max(scores, axis=-1, keepdims=True)
        return xp.maximum(shifted, xp.asarray(-3, dtype=shifted.dtype)) @ v

    found = function(tfr, q, k, v)
    assert plan_of(found).library_calls == 1
    wanted = function(np, *arrays)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-2 if dtype == "float16" else 1e-5)


UNCHAINED: dict[str, tuple[Callable[..., Any], int]] = {
    "weights are needed too": (lambda w, v: (w, w @ v), 2),
    "weights are used twice": (lambda w, v: (w @ v + tfr.sum(w, axis=-1, keepdims=True),), 2),
    "the right factor": (lambda w, v: (v.mT @ w.mT,), 2),
    "weights of several batches": (lambda w, v: (w[0] @ v,), 2),
    "both factors": (lambda w, v: (w @ w.mT,), 2),
}


@pytest.mark.parametrize("name", UNCHAINED)
def test_what_does_not_fit_is_two_steps(name: str) -> None:
    function, count = UNCHAINED[name]
    q, k, v = map(tfr.asarray, operands())
    results = function(tfr.softmax(q @ k.mT), v)
    assert plan_of(*results).library_calls == count
    wanted = function(tfr.asarray(softmax(q.numpy() @ k.numpy().mT)), v)
    for found, want in zip(results, wanted, strict=True):
        np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


OPTIONS: dict[str, tuple[dict[str, Any], float]] = {
    # arguments, and the part of all scores that is computed at most: ranges of columns are 64 wide,
    # in whole panels of up to 48 columns where tiles make them
    "plain": ({}, 1.0),
    "causal": ({"is_causal": True}, 0.65),
    "window": ({"attn_mask": WINDOW}, 0.65),
    "padding": ({"attn_mask": COLUMNS[None] < np.array([[[40]], [[128]], [[300]]])}, 0.62),
    "nobody": ({"attn_mask": np.zeros((QUERIES, KEYS), bool)}, 112 / KEYS + 0.01),
    "numbers": ({"attn_mask": np.where(CAUSAL, BIAS, -np.inf).astype("float32")}, 1.0),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_columns_that_nobody_sees_are_not_computed(name: str, multiplied: list[int]) -> None:
    options, most = OPTIONS[name]
    arrays = operands()
    found = attend(*map(tfr.asarray, arrays), **options)
    assert steps(plan_of(found))[0][-1] == "matmul"
    assert len(steps(plan_of(found))) == 1
    mask = options.get("attn_mask")
    q, k, v = arrays
    wanted = attention(q, k, v, mask, None, "is_causal" in options)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
    assert 0 < sum(multiplied) <= most * BATCH * QUERIES * KEYS


def test_values_that_are_no_numbers_are_not_left_out(multiplied: list[int]) -> None:
    """0 * inf is NaN, also where the 0 is that of a mask: as in two steps, and in NumPy."""
    q, k, v = operands()
    v[1, -1] = np.inf
    found = attend(*map(tfr.asarray, (q, k, v)), is_causal=True).numpy()
    assert sum(multiplied) == BATCH * QUERIES * KEYS
    with np.errstate(invalid="ignore"):
        wanted = attention(q, k, v, causal=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_mask_may_be_another_one_in_the_next_call(multiplied: list[int]) -> None:
    """Plans are shared: what is hidden depends on the values of this call."""
    q, k, v = operands()
    for mask in (CAUSAL, ~CAUSAL, WINDOW, np.ones_like(CAUSAL)):
        for hidden in (-np.inf, 0.0):
            scores = tfr.where(tfr.asarray(mask), tfr.asarray(q) @ tfr.asarray(k).mT, hidden)
            found = tfr.softmax(scores) @ tfr.asarray(v)
            del scores
            wanted = np.where(mask, q @ k.mT, hidden)
            rows = mask.any(-1)  # others are NaN
            np.testing.assert_allclose(
                found.numpy()[:, rows], (softmax(wanted) @ v)[:, rows], rtol=1e-4, atol=1e-5
            )


def test_bits_do_not_depend_on_threads(multiplied: list[int]) -> None:
    arrays = operands()
    for options in ({}, {"is_causal": True}):
        found = []
        for threads in (1, 2, 16):
            with tfr.config.override(threads=threads):
                found.append(attend(*map(tfr.asarray, arrays), **options).numpy().tobytes())
        assert len(set(found)) == 1


def test_grouped_heads_copy_nothing() -> None:
    q = tfr.asarray(drawn(2, 6, QUERIES, FEATURES))
    k, v = [tfr.asarray(drawn(2, 3, KEYS, FEATURES, seed=seed)) for seed in (1, 2)]
    plan = plan_of(attend(q, k, v, enable_gqa=True))
    assert len(steps(plan)) == 1
    assert plan.bytes_written == q.nbytes


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"dropout_p": 0.5}])
def test_scores_are_never_there_as_a_whole(options: dict[str, Any]) -> None:
    """Peak memory is that of operands and result, of which there are as many as positions."""
    length, heads, features = 8192, 12, 64
    operand = tfr.zeros((heads, length, features))
    plan = plan_of(attend(operand, operand, operand, **options))
    scores = 4 * heads * length**2
    assert len(steps(plan)) <= 2  # zeros are made
    assert max(plan.peak.values()) < 0.05 * scores


def test_blocks_take_as_much_memory_as_they_say(multiplied: list[int]) -> None:
    """A block of scores has at most so many elements, or 64 rows."""
    arrays = [drawn(4096, 8, seed=seed) for seed in range(3)]
    attend(*map(tfr.asarray, arrays), is_causal=True).compute()
    assert max(multiplied) <= 1 << 20
    assert sum(multiplied) <= 0.6 * 4096**2


# --- gradients: products over the same rows

Gradient = Callable[..., tuple[tfr.Tensor, ...]]


def gradient_of(options: dict[str, Any], chosen: tuple[int, ...] = (0, 1, 2)) -> Gradient:
    """Return the gradient of attention that computes scores once more."""
    again = tfr.checkpoint(lambda q, k, v: attend(q, k, v, **options))

    def loss(q: Any, k: Any, v: Any) -> Any:
        return tfr.sum(again(q, k, v) ** 2)

    gradient: Gradient = tfr.grad(loss, argnums=chosen)
    return gradient


SWEEPS: dict[str, tuple[dict[str, Any], float]] = OPTIONS | {
    "scaled": ({"scale": 0.7}, 1.0),
}


@pytest.mark.parametrize("device", CHAINING)
@pytest.mark.parametrize("name", SWEEPS)
def test_a_gradient_is_one_more_step(name: str, device: str, multiplied: list[int]) -> None:
    """Scores and cotangents of weights, block by block, and three products of what is made of them."""
    options, most = SWEEPS[name]
    arrays = operands()
    mask = options.get("attn_mask")
    if mask is not None:
        options = options | {"attn_mask": tfr.asarray(mask, device=device)}
    given = [tfr.asarray(one, device=device) for one in arrays]
    found = gradient_of(options)(*given)
    plan = plan_of(*found)
    assert plan.library_calls == 2
    assert plan.bytes_written < 4 * BATCH * QUERIES * KEYS
    values = [one.numpy() for one in found]
    # those of the forward pass, and two more
    assert 0 < sum(multiplied) <= 3 * most * BATCH * QUERIES * KEYS
    with tfr.config.override(fuse=False):
        for one, want in zip(values, gradient_of(options)(*given), strict=True):
            np.testing.assert_allclose(one, want.numpy(), rtol=1e-3, atol=2e-5)


def test_some_of_the_gradients() -> None:
    arrays = [tfr.asarray(one) for one in operands("float64")]
    whole = [one.numpy() for one in gradient_of({"is_causal": True})(*arrays)]
    for chosen in ((0,), (1,), (2,), (0, 2), (1, 2)):
        found = gradient_of({"is_causal": True}, chosen)(*arrays)
        if 2 in chosen:  # else what is made of scores and of cotangents is one kernel
            assert plan_of(*found).library_calls == 2
        for place, one in zip(chosen, found, strict=True):
            np.testing.assert_allclose(one.numpy(), whole[place], rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("several_blocks")
def test_gradients_of_heads_side_by_side() -> None:
    """As in a network: heads are cut from features before, and joined after."""
    x = drawn(2, QUERIES, 4 * FEATURES)
    again = tfr.checkpoint(lambda q, k, v: attend(q, k, v, is_causal=True))

    def loss(*args: Any) -> Any:
        heads = [
            tfr.permute_dims(one.reshape((2, QUERIES, 4, FEATURES)), (0, 2, 1, 3)) for one in args
        ]
        joined = tfr.permute_dims(again(*heads), (0, 2, 1, 3)).reshape((2, QUERIES, 4 * FEATURES))
        return tfr.sum(joined**2)

    given = [tfr.asarray(x * factor) for factor in (1, 2, 3)]
    found = tfr.grad(loss, argnums=(0, 1, 2))(*given)
    plan = plan_of(*found)
    assert plan.library_calls == 2
    assert plan.bytes_written < 4 * 2 * 4 * QUERIES**2
    with tfr.config.override(fuse=False):
        wanted = tfr.grad(loss, argnums=(0, 1, 2))(*given)
        for one, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), want.numpy(), rtol=1e-3, atol=1e-4)


def test_gradients_have_the_same_bits_on_any_number_of_threads(multiplied: list[int]) -> None:
    arrays = operands()
    found = []
    for threads in (1, 2, 16):
        with tfr.config.override(threads=threads):
            slopes = gradient_of({"is_causal": True})(*map(tfr.asarray, arrays))
            found.append(b"".join([one.numpy().tobytes() for one in slopes]))
    assert len(set(found)) == 1


def test_what_is_needed_before_it_is_there_stays_apart() -> None:
    """Without a checkpoint weights are needed before and after the result: they are stored."""
    arrays = [tfr.asarray(one) for one in operands()]

    def loss(q: Any, k: Any, v: Any) -> Any:
        return tfr.sum(attend(q, k, v) ** 2)

    found = tfr.grad(loss, argnums=(0, 1, 2))(*arrays)
    assert plan_of(*found).bytes_written > 4 * BATCH * QUERIES * KEYS
    for one, want in zip(found, gradient_of({})(*arrays), strict=True):
        np.testing.assert_allclose(one.numpy(), want.numpy(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"is_causal": True}])
def test_gradients_of_many_positions_take_memory_for_a_block(options: dict[str, Any]) -> None:
    """Attention sees to that by itself, where there are many scores."""
    length, heads, features = 8192, 12, 64
    q, k, v = [tfr.random.normal((heads, length, features)) for _ in range(3)]

    def loss(q: Any, k: Any, v: Any) -> Any:
        return tfr.sum(attend(q, k, v, **options) ** 2)

    plan = plan_of(*tfr.value_and_grad(loss, argnums=(0, 1, 2))(q, k, v)[1])
    assert max(plan.peak.values()) < 0.08 * 4 * heads * length**2


def test_the_text_of_a_step_has_what_is_between_the_products() -> None:
    q, k, v = map(tfr.asarray, operands())
    text = str((tfr.softmax(q @ k.mT) @ v).explain(source=True))
    assert "def k_" in text
    assert "exp" in text
