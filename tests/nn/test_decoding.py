"""Steps of decoding: how many kernels and calls a layer takes, and that fusing them changes no value."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.llvm.engine import missing
from tensorframe.errors import ShapeError
from tensorframe.frontend.dispatch import call
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it
from tensorframe.nn import generation
from tensorframe.nn.layers.linear import Linear
from tensorframe.nn.models.decoding import apart, joined
from tensorframe.ops.quantization import JOINED_MATMUL, JOINED_QUANTIZED_MATMUL
from tensorframe.schedule.plan import Plan
from tests.backends.devices import FOUND

HOSTS = ["numpy", "cpu", *([] if missing() else ["llvm"])]
on_hosts = pytest.mark.parametrize("device", HOSTS)
with_kernels = pytest.mark.skipif(missing() is not None, reason="no compiled kernels")
LLAMA = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 300,
}


def normal(*shape: int, seed: int = 0, device: str | None = None) -> tfr.Tensor:
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    tensor = tfr.asarray(values, device=device)
    tfr.compute(tensor)
    return tensor


def llama(layers: int, device: str | None = None) -> Any:
    model = tfr.nn.models.Llama
    return model({**LLAMA, "num_hidden_layers": layers}, device, key=tfr.random.key(0))


def qwen(layers: int, device: str | None = None) -> Any:
    config = {**LLAMA, "model_type": "qwen3", "head_dim": 16, "num_hidden_layers": layers}
    return tfr.nn.models.Llama(config, device, key=tfr.random.key(0))


def gpt(layers: int, device: str | None = None) -> Any:
    config = {"vocab_size": 64, "n_positions": 300, "n_embd": 64, "n_layer": layers, "n_head": 4}
    return tfr.nn.models.GPT(config, device, key=tfr.random.key(0))


def steps(model: Any) -> int:
    """The kernels and library calls of a step."""
    run = generation._Run(model, [[1, 2, 3]], 290, 0.0, None, None, None, 512)
    device = run._device
    ids = tfr.asarray([[1]], device=device)
    offsets = tfr.asarray(np.zeros(1, np.int32), device=device)
    plan = run._step.explain(run.cache.stored.both, ids, offsets, None, None, 256)
    assert isinstance(plan, Plan)
    assert plan.transfers == 0
    return plan.kernels + plan.library_calls


def of_a_layer(make: Any, bits: int | None = None, device: str | None = None) -> int:
    """How many of them a layer adds."""
    counts = []
    for layers in (2, 3):
        model = make(layers, device)
        if bits is not None:
            tfr.nn.quantize(model, bits=bits)
        counts.append(steps(model))
    return counts[1] - counts[0]


@with_kernels
@pytest.mark.parametrize("bits", [None, 8, 4])
def test_a_layer_of_llama_takes_eight_steps(bits: int | None) -> None:
    """One product for queries, keys, values; rotary positions; the cache; attention; four more with epilogues."""
    assert of_a_layer(llama, bits) == 8


@pytest.mark.parametrize("device", [*([] if missing() else ["cpu"]), *FOUND[:1]])
def test_norms_of_heads_are_one_kernel_more(device: str) -> None:
    assert of_a_layer(qwen, device=device) <= 9


@with_kernels
def test_a_token_costs_the_host_few_calls_whatever_the_layers() -> None:
    """Kernels follow each other without the interpreter, which takes a few calls for what goes in and out."""
    counts = []
    for layers in (2, 4):
        tokens = llama(layers, "cpu").generate([1, 2, 3], max_tokens=40)
        list(islice(tokens, 12))
        # a collection of garbage calls finalisers
        counts.append(min(_python_calls(tokens) for _ in range(5)))
    assert counts[0] == counts[1] <= 100


def _python_calls(tokens: Iterator[Any]) -> int:
    seen: list[str] = []
    sys.setprofile(lambda _frame, event, _given: seen.append(event) if event == "call" else None)
    try:
        next(tokens)
    finally:
        sys.setprofile(None)
    return len(seen)


@with_kernels
@pytest.mark.parametrize("bits", [None, 8])
def test_a_layer_of_gpt_takes_six_steps(bits: int | None) -> None:
    assert of_a_layer(gpt, bits) == 6


@pytest.mark.parametrize("device", FOUND)
@pytest.mark.parametrize(("bits", "most"), [(None, 8), (8, 8), (4, 8)])
def test_a_layer_takes_few_kernels_on_devices(device: str, bits: int | None, most: int) -> None:
    """What normalises a vector, is added to its product, or gates it runs with the product."""
    assert of_a_layer(llama, bits, device) <= most


@on_hosts
@pytest.mark.parametrize("causal", [False, True])
def test_one_position_looks_at_itself(device: str, causal: bool) -> None:
    """Rows of one score, in a plan of their own: no pass goes over them."""
    query, key, value = [normal(1, 2, 1, 4, seed=seed, device=device) for seed in range(3)]
    attend = tfr.jit(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
    np.testing.assert_allclose(attend(query, key, value).numpy(), value.numpy(), rtol=1e-6)


# Several products at once.


@on_hosts
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_joined_products_are_those_of_each_matrix(device: str, rows: int) -> None:
    x = normal(1, rows, 64, device=device)
    matrices = [normal(height, 64, seed=height, device=device) for height in (40, 1, 24)]
    wanted = np.concatenate([(x @ matrix.mT).numpy() for matrix in matrices], axis=-1)
    found = call(JOINED_MATMUL, x, *matrices)
    assert found.shape == (1, rows, 65)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-4)
    for bits in (4, 8):
        quantized = [tfr.quantization.quantize(matrix, bits=bits) for matrix in matrices]
        parts = [part for q in quantized for part in (q.words, q.scales)]
        found = call(JOINED_QUANTIZED_MATMUL, x, *parts, attrs=(bits, 32))
        wanted = np.concatenate([(x @ q.mT).numpy() for q in quantized], axis=-1)
        np.testing.assert_array_equal(found.numpy(), wanted)


@on_hosts
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_joined_products_of_half_precision(device: str, dtype: str) -> None:
    x, first, second = (normal(n, 64, seed=n, device=device).astype(dtype) for n in (2, 30, 7))
    found = call(JOINED_MATMUL, x, first, second)
    assert str(found.dtype) == dtype
    wanted = tfr.concat([x @ first.mT, x @ second.mT], axis=1)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("device", FOUND)
@pytest.mark.parametrize("rows", [1, 2])
def test_devices_write_joined_products_out(device: str, rows: int) -> None:
    x, first, second = (normal(n, 64, seed=n, device=device) for n in (rows, 30, 7))
    q = [tfr.quantization.quantize(matrix, bits=8) for matrix in (first, second)]
    parts = [part for matrix in q for part in (matrix.words, matrix.scales)]
    wanted = np.concatenate([(x @ matrix.mT).numpy() for matrix in (first, second)], axis=1)
    found = call(JOINED_MATMUL, x, first, second).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    found = call(JOINED_QUANTIZED_MATMUL, x, *parts, attrs=(8, 32)).numpy()
    np.testing.assert_allclose(found, wanted, atol=0.02 * np.abs(wanted).max())


def test_joined_products_have_gradients_and_batches() -> None:
    x, first, second = normal(5, 64), normal(8, 64, seed=1), normal(3, 64, seed=2)

    def together(x: tfr.Tensor, first: tfr.Tensor) -> tfr.Tensor:
        return tfr.sum(tfr.sin(call(JOINED_MATMUL, x, first, second)))

    def apart(x: tfr.Tensor, first: tfr.Tensor) -> tfr.Tensor:
        return tfr.sum(tfr.sin(tfr.concat([x @ first.mT, x @ second.mT], axis=1)))

    for found, wanted in zip(
        tfr.grad(together, (0, 1))(x, first), tfr.grad(apart, (0, 1))(x, first), strict=True
    ):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-4)
    batched = tfr.vmap(lambda row: call(JOINED_MATMUL, row, first, second))(x)
    wanted = tfr.concat([x @ first.mT, x @ second.mT], axis=1)
    np.testing.assert_allclose(batched.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-5)
    with pytest.raises(ShapeError, match="takes no features"):
        call(JOINED_MATMUL, x, normal(8, 32))


@on_hosts
def test_layers_of_ones_own_take_the_place_of_a_models(device: str) -> None:
    """They have no weights that are read beside others."""

    class Around(tfr.nn.Module):
        def __init__(self, inner: tfr.nn.Module) -> None:
            self.inner = inner

        def forward(self, x: tfr.Tensor) -> tfr.Tensor:
            result: tfr.Tensor = self.inner(x)
            return result

    model = llama(1, device)
    wanted = list(model.generate([1, 2, 3], max_tokens=4))
    (layer,) = model.model.layers
    layer.self_attn.q_proj = Around(layer.self_attn.q_proj)
    layer.mlp.gate_proj = Around(layer.mlp.gate_proj)
    assert list(model.generate([1, 2, 3], max_tokens=4)) == wanted


@on_hosts
@pytest.mark.parametrize("bits", [None, 8])
def test_layers_whose_products_are_one_call_keep_their_biases_and_rows(
    device: str, bits: int | None
) -> None:
    x = normal(1, 1, 64, device=device)
    layers = [Linear(64, n, device=device, key=tfr.random.key(n)) for n in (8, 5)]
    first = layers[0]
    assert isinstance(first.weight, tfr.Tensor)
    assert first.bias is not None
    first.weight, first.bias = first.weight[:6], first.bias[:6]  # fewer rows than it was made with
    if bits:
        for layer in layers:
            tfr.nn.quantize(layer, bits=bits)
    with tfr.config.override(small_size=0, small_nodes=0):
        for found, layer in zip(apart(x, layers), layers, strict=True):
            np.testing.assert_allclose(found.numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-5)


def test_layers_join_only_where_their_weights_are_of_one_kind() -> None:
    x, many = normal(1, 2, 64), normal(1, 20, 64)
    layers = [Linear(64, n, bias, key=tfr.random.key(n)) for n, bias in ((8, True), (5, True))]
    plain = Linear(64, 6, False, key=tfr.random.key(9))

    def check(x: tfr.Tensor, layers: list[Linear], *, is_one: bool) -> None:
        found = joined(x, layers, 1)[..., 0]
        names = [step.name for step in tfr.explain(found).steps]
        assert any("joined" in name for name in names) == is_one
        wanted = np.concatenate([layer(x).numpy() for layer in layers], axis=-1)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)

    with tfr.config.override(small_size=0, small_nodes=0):
        check(x, layers, is_one=True)
        check(many, layers, is_one=False)
        check(x, [*layers, plain], is_one=False)
        tfr.nn.quantize(layers[0], bits=8)
        check(x, layers, is_one=False)
        tfr.nn.quantize(layers[1], bits=4)
        check(x, layers, is_one=False)
        layers[1] = Linear(64, 5, key=tfr.random.key(5))
        tfr.nn.quantize(layers[1], bits=8)
        check(x, layers, is_one=True)


# What is done to a product.


def quantized(rows: int, device: str, bits: int = 8) -> tfr.quantization.QuantizedTensor:
    q = tfr.quantization.quantize(normal(rows, 64, device=device), bits=bits)
    tfr.compute(q.words, q.scales)
    return q


def both_ways(make: Any) -> tuple[list[np.ndarray], list[np.ndarray], Plan]:
    """The values of tensors computed together, op by op, and the plan of the former."""
    with tfr.config.override(small_size=0, small_nodes=0):
        plan = tfr.explain(*make())
        found = [tensor.numpy() for tensor in tfr.compute(*make())]
        with tfr.config.override(fuse=False):
            wanted = [tensor.numpy() for tensor in tfr.compute(*make())]
    assert isinstance(plan, Plan)
    return found, wanted, plan


@on_hosts
@pytest.mark.parametrize("rows", [1, 5, 40])
@pytest.mark.parametrize("bits", [4, 8])
def test_quantised_products_have_epilogues(device: str, rows: int, bits: int) -> None:
    q = quantized(48, device, bits)
    x, y = normal(2, rows, 64, device=device), normal(2, rows, 48, seed=1, device=device)
    bias = normal(48, seed=2, device=device)

    def make() -> list[tfr.Tensor]:
        return [tfr.tanh((x @ q.mT) + bias) * y]

    found, wanted, plan = both_ways(make)
    assert (plan.kernels, plan.library_calls) == (0, 1)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-5)


@on_hosts
def test_epilogues_of_quantised_products_that_change_places(device: str) -> None:
    q = quantized(48, device)
    x = normal(2, 5, 64, device=device)

    def make() -> list[tfr.Tensor]:
        heads = tfr.permute_dims(x @ q.mT, (1, 0, 2))
        return [tfr.exp(heads * 0.1), tfr.permute_dims(x @ q.mT, (2, 0, 1))]

    found, wanted, _ = both_ways(make)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@on_hosts
@pytest.mark.parametrize("bits", [None, 8])
@pytest.mark.parametrize("bias", [False, True])
def test_residuals_of_few_rows_are_stored_with_their_norm(
    device: str, bits: int | None, bias: bool
) -> None:
    layers = [Linear(64, 64, bias, device, key=tfr.random.key(n)) for n in range(2)]
    for layer in layers:
        tfr.compute(*layer.state_dict().values())
        if bits is not None:
            tfr.nn.quantize(layer, bits=bits)
    x, after = normal(1, 1, 64, device=device), normal(1, 1, 64, seed=3, device=device)
    weight = normal(64, seed=4, device=device)

    def make() -> list[tfr.Tensor]:
        first = x + layers[0](after)
        second = first + layers[1](F.rms_norm(first, 64, weight))
        return [F.rms_norm(second, 64, weight)]

    found, wanted, plan = both_ways(make)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-5)
    if device != "numpy":
        assert (plan.kernels, plan.library_calls) == (0, 2)


@on_hosts
def test_masks_of_several_layers_are_views_of_their_own(device: str) -> None:
    """Positions that masks of several layers look at through the same view are read by each step of attention."""
    places = tfr.asarray(np.array([[3], [1]], np.int32), device=device)
    x = [normal(2, 2, 4, 8, seed=seed, device=device) for seed in range(3)]

    def make() -> list[tfr.Tensor]:
        columns = tfr.arange(4, device=device, dtype=tfr.int32)
        mask = columns <= tfr.reshape(places, (2, 1, 1, 1))
        first = F.scaled_dot_product_attention(x[0], x[1], x[2], mask)
        other = F.scaled_dot_product_attention(first, x[2], x[1], mask)
        return [other, tfr.cos(tfr.reshape(places, (2, 1, 1, 1)) * x[0])]

    found, wanted, plan = both_ways(make)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    if device != "numpy":
        assert plan.library_calls == 2
