"""Quantised matrices: what integers mean, products beside the dequantised reference, layers, models, files."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.llvm.engine import missing
from tensorframe.backends.numpy.products import quantized_product
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.dispatch import call
from tensorframe.ops.quantization import DOT4, QUANTIZED_MATMUL
from tests.backends.devices import FOUND, holds

HOSTS = ["numpy", "cpu", *([] if missing() else ["llvm"])]
Q = tfr.quantization
on_all = pytest.mark.parametrize("device", [*HOSTS, *FOUND])
KINDS = [(4, True), (4, False), (8, True), (8, False)]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def unpacked(q: Q.QuantizedTensor) -> np.ndarray:
    """The elements, by the definition: (integer - zero) * scale."""
    each = 32 // q.bits
    words = q.words.numpy()[..., None] >> (np.arange(each, dtype=np.uint32) * np.uint32(q.bits))
    codes = (words & np.uint32(2**q.bits - 1)).reshape(q.shape).astype(np.int64)
    if q.bits == 8:
        codes = np.where(codes > 127, codes - 256, codes)
    grouped = codes.reshape((q.shape[0], -1, q.group))
    zeros = (8 if q.bits == 4 else 0) if q.zeros is None else q.zeros.numpy()[..., None]
    scales = q.scales.numpy().astype(np.float32)[..., None]
    elements: np.ndarray = ((grouped - zeros).astype(np.float32) * scales).reshape(q.shape)
    return elements


def reference(x: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """The product in float64, the left factor rounded by blocks as `ops/quantization.py` says."""
    blocks = x.astype(np.float32).reshape((*x.shape[:-1], -1, 32))
    largest = np.abs(blocks).max(-1, keepdims=True)
    integers = np.rint(blocks * (np.float32(127) / np.maximum(largest, np.float32(2.0**-100))))
    rounded = (integers * (largest / np.float32(127))).reshape(x.shape)
    product: np.ndarray = rounded.astype(np.float64) @ elements.astype(np.float64).T
    return product


@on_all
@pytest.mark.parametrize(("bits", "symmetric"), KINDS)
def test_elements_are_near_and_are_what_the_integers_say(
    device: str, bits: int, symmetric: bool
) -> None:
    w = normal(20, 128)
    w[3] = 0
    q = Q.quantize(tfr.asarray(w, device=device), bits=bits, group=64, symmetric=symmetric)
    found = q.dequantize()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.numpy(), unpacked(q))
    np.testing.assert_array_equal(found.numpy()[3], 0)
    step = np.repeat(np.abs(q.scales.numpy().astype(np.float32)), 64, axis=1)
    # half a step and what rounding the scale moves the ends by; a whole one where symmetric ranges lack an end
    assert (np.abs(found.numpy() - w) <= step * (1.01 if symmetric else 0.6) + 1e-6).all()


@on_all
@pytest.mark.parametrize(("bits", "symmetric"), KINDS)
def test_products_are_those_of_the_dequantised_matrix(
    device: str, bits: int, symmetric: bool
) -> None:
    sizes = [(1, 256, 40, 32), (5, 384, 33, 128), (20, 128, 19, 64)]
    for rows, inner, columns, group in sizes if device in HOSTS else sizes[1:2]:
        w, x = normal(columns, inner), normal(rows, inner, seed=1)
        q = Q.quantize(tfr.asarray(w, device=device), bits=bits, group=group, symmetric=symmetric)
        found = (tfr.asarray(x, device=device) @ q.mT).numpy()
        expected = reference(x, unpacked(q))
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("group", [32, 64, 128])
@pytest.mark.parametrize(("bits", "symmetric"), KINDS)
def test_every_length_of_rows_is_taken_whole(bits: int, symmetric: bool, group: int) -> None:
    for groups in range(1, 9):
        w, x = normal(7, groups * group), normal(3, groups * group, seed=1)
        q = Q.quantize(tfr.asarray(w), bits=bits, group=group, symmetric=symmetric)
        expected = reference(x, unpacked(q))
        found = (tfr.asarray(x) @ q.mT).numpy()
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6 * np.abs(expected).max())


@on_all
def test_dot4_multiplies_signed_bytes(device: str) -> None:
    generator = np.random.default_rng(0)
    x, y = (generator.integers(0, 2**32, 777, dtype=np.uint32) for _ in range(2))
    x[:4], y[:4] = [0x80808080, 0x80808080, 0x7F7F7F7F, 0], [0x80808080, 0x7F7F7F7F, 0x7F7F7F7F, 1]
    bytes_ = [words.view(np.int8).reshape(-1, 4).astype(np.int32) for words in (x, y)]
    found = call(DOT4, tfr.asarray(x, device=device), tfr.asarray(y, device=device))
    assert found.dtype == np.int32
    np.testing.assert_array_equal((found + 0).numpy(), (bytes_[0] * bytes_[1]).sum(1))


@pytest.mark.parametrize("rows", [1, 40])
def test_the_bits_are_the_same_for_any_threads(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantized_product, "_PART", 1 << 10)
    q = Q.quantize(tfr.asarray(normal(300, 256)))
    x = tfr.asarray(normal(rows, 256, seed=1))
    found = []
    for threads in (1, 3):
        with config.override(threads=threads):
            found.append((x @ q.mT).numpy())
    np.testing.assert_array_equal(*found)


@pytest.mark.skipif(missing() is not None, reason="no compiled kernels")
@pytest.mark.parametrize("bits", [4, 8])
def test_a_row_of_the_matrix_has_the_same_bits_among_others(bits: int) -> None:
    """Each of four parts of the rows that a call makes is read as a stream of its own, and then what is left."""
    q = Q.quantize(tfr.asarray(normal(23, 256)), bits=bits)
    x = tfr.asarray(normal(3, 256, seed=1))
    together = (x @ q.mT).numpy()
    for count in (1, 4, 7, 12):
        part = Q.QuantizedTensor(q.words[:count], q.scales[:count], bits=bits, group=q.group)
        np.testing.assert_array_equal((x @ part.mT).numpy(), together[:, :count])


def test_a_row_has_the_same_bits_among_others() -> None:
    if missing():
        pytest.skip("there are no kernels")
    q = Q.quantize(tfr.asarray(normal(50, 256)), bits=8)
    x = tfr.asarray(normal(9, 256, seed=1))
    together = (x @ q.mT).numpy()
    for row in range(9):
        np.testing.assert_array_equal((x[row : row + 1] @ q.mT).numpy()[0], together[row])


@pytest.mark.parametrize("device", FOUND)
def test_devices_read_the_words_once_in_one_kernel(device: str) -> None:
    q = Q.quantize(tfr.asarray(normal(64, 256), device=device))
    tfr.compute(q.words, q.scales)
    plan = (tfr.asarray(normal(1, 256), device=device) @ q.mT).explain()
    readers = [step for step in plan.steps if step.bytes_read >= q.words.node.nbytes]
    assert len(readers) == 1, plan
    assert plan.kernels <= 4, plan


@on_all
def test_layers_take_quantised_matrices(device: str) -> None:
    if not holds(device, "float16") and device in FOUND:
        assert Q.quantize(tfr.asarray(normal(2, 32), device=device)).scales.dtype == np.float32
    weight, bias = normal(24, 64), normal(24)
    q = Q.quantize(tfr.asarray(weight, device=device), bits=8)
    x = normal(2, 3, 64, seed=1)
    found = tfr.nn.functional.linear(
        tfr.asarray(x, device=device), q, tfr.asarray(bias, device=device)
    )
    expected = reference(x, unpacked(q)) + bias
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)
    numbers = tfr.asarray(np.array([[3, 0], [23, 3]], np.int32), device=device)
    rows = tfr.nn.functional.embedding(numbers, q)
    np.testing.assert_array_equal(rows.numpy(), unpacked(q)[[[3, 0], [23, 3]]])


def test_factors_on_either_side_and_in_stacks() -> None:
    q = Q.quantize(tfr.asarray(normal(24, 64)), bits=8)
    x = normal(2, 64, 5)
    found = (q @ tfr.asarray(x)).numpy()
    np.testing.assert_allclose(
        found, reference(x.swapaxes(1, 2), unpacked(q)).swapaxes(1, 2), rtol=1e-4, atol=1e-4
    )
    assert (q @ tfr.ones(64)).shape == (24,)
    assert (np.ones((3, 64), np.float32) @ q.T).shape == (3, 24)
    assert (tfr.ones((0, 64)) @ q.mT).shape == (0, 24)
    assert q.mT.shape == (64, 24)
    assert q.mT.mT is q
    half = tfr.asarray(normal(3, 64)).astype("float16") @ q.mT
    assert half.dtype == np.float16


def test_gradients_and_vmap_pass_through() -> None:
    q = Q.quantize(tfr.asarray(normal(24, 64)), bits=8)
    gradient = tfr.grad(lambda x: tfr.sum(x @ q.mT))(tfr.ones((2, 64)))
    np.testing.assert_allclose(gradient.numpy()[0], unpacked(q).sum(0), rtol=1e-4, atol=1e-4)
    x = tfr.asarray(normal(3, 64))
    np.testing.assert_allclose(
        tfr.vmap(lambda row: row @ q.mT)(x).numpy(), (x @ q.mT).numpy(), rtol=1e-6, atol=1e-6
    )
    others = Q.QuantizedTensor(q.words, q.scales, bits=8, group=32)
    both = tfr.vmap(
        lambda scales, row: call(QUANTIZED_MATMUL, row, others.words, scales, attrs=(8, 32))
    )
    stacked = tfr.stack([q.scales, q.scales, q.scales])
    np.testing.assert_allclose(both(stacked, x).numpy(), (x @ q.mT).numpy(), rtol=1e-6, atol=1e-6)


def model() -> tfr.nn.Module:
    nn = tfr.nn
    key = tfr.random.key(0)
    return nn.Sequential(
        nn.Embedding(10, 64, key=key),
        nn.Linear(64, 96, key=key),
        nn.GELU(),
        nn.Linear(96, 5, key=key),
        nn.Linear(5, 3, key=key),
    )


def test_whole_models_say_what_is_left_out(tmp_path) -> None:
    network, x = model(), tfr.asarray([[1, 2, 9]])
    before = network(x).numpy()
    report = tfr.nn.quantize(network, bits=8, skip=["1"])
    assert report.quantized == ["0.weight", "3.weight"]
    assert set(report.left_out) == {"1.weight", "4.weight"}
    assert "rows of 5 elements" in report.left_out["4.weight"]
    assert "to be skipped" in report.left_out["1.weight"]
    assert report.bytes_after < report.bytes_before
    after = network(x).numpy()
    assert np.abs(after - before).max() < 0.05 * np.abs(before).max() + 0.02
    assert "bits=8" in repr(network)
    tfr.save(str(tmp_path / "model.safetensors"), dict(network.state_dict()))
    again = model()
    tfr.nn.quantize(again, bits=8, skip=["1"])
    again.load_state_dict(tfr.load(str(tmp_path / "model.safetensors")))
    np.testing.assert_array_equal(again(x).numpy(), after)
    np.testing.assert_array_equal(tfr.jit(lambda network, x: network(x))(network, x).numpy(), after)


def test_tied_weights_stay_tied() -> None:
    network = tfr.nn.ModuleDict(
        {"embedding": tfr.nn.Embedding(10, 64), "head": tfr.nn.Linear(64, 10)}
    )
    network["head"].weight = network["embedding"].weight
    tfr.nn.quantize(network)
    assert network["head"].weight is network["embedding"].weight


def test_what_does_not_fit_is_said() -> None:
    w = tfr.ones((4, 96))
    with pytest.raises(ArgumentError, match="bits is 4 or 8, got 3"):
        Q.quantize(w, bits=3)
    with pytest.raises(ArgumentError, match="group is 32, 64 or 128, got 16"):
        Q.quantize(w, group=16)
    with pytest.raises(
        ShapeError, match=r"groups of 64 do not divide rows of 96 elements(.|\n)*group=32"
    ):
        Q.quantize(w, group=64)
    with pytest.raises(ShapeError, match="a matrix of shape"):
        Q.quantize(tfr.ones((2, 3, 32)))
    with pytest.raises(DTypeError, match="real floating, got int64"):
        Q.quantize(tfr.asarray([[1] * 32]))
    q = Q.quantize(w)
    with pytest.raises(ShapeError, match=r"\(2, 64\) and a quantised matrix of shape \(4, 96\)"):
        tfr.ones((2, 64)) @ q.mT
    with pytest.raises(DTypeError, match="takes float32 and narrower floats, got int64"):
        q @ tfr.asarray([1] * 96)
    with pytest.raises(ShapeError, match=r"scales of shape \(4, 3\)"):
        Q.QuantizedTensor(q.words, q.scales[:2], bits=4, group=32)
    with pytest.raises(DTypeError, match="words"):
        Q.QuantizedTensor(q.words.astype("int32"), q.scales, bits=4, group=32)
    with pytest.raises(ShapeError, match="no groups of 64"):
        Q.QuantizedTensor(q.words, q.scales, bits=4, group=64)
    with pytest.raises(ArgumentError, match="no layer of that name"):
        tfr.nn.quantize(model(), skip=["head"])
    with pytest.raises(DTypeError, match="QuantizedTensor, got Tensor"):
        Q.dequantize(w)


def test_what_is_not_finite_shows_in_the_result() -> None:
    q = Q.quantize(tfr.ones((4, 64)), bits=8)
    x = np.ones((2, 64), np.float32)
    x[0, 3] = np.nan
    found = (tfr.asarray(x) @ q.mT).numpy()
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
    tiny = (tfr.full((1, 64), 1e-38) @ q.mT).numpy()
    np.testing.assert_array_equal(tiny, 0)


@pytest.mark.parametrize("features", ["no dot", "no avx512", "no avx"])
@pytest.mark.parametrize(("bits", "symmetric"), KINDS)
def test_older_processors_compute_the_same(
    features: str, bits: int, symmetric: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing():
        pytest.skip("there are no kernels")
    from dataclasses import replace

    from tensorframe.backends.llvm import quantized_product as kernels
    from tensorframe.backends.llvm.target import target

    dropped = {"+avx512vnni", "+avxvnni"}
    if features != "no dot":
        dropped = {"+avx512f", "+avx512vl", "+avx512bw", "+avx512dq"}
    if features == "no avx":
        dropped |= {"+avx2", "+fma", "+f16c", "+avxvnni", "+avx512vnni"}
    machine = replace(target(), features=target().features - dropped)
    monkeypatch.setattr(kernels, "target", lambda: machine)
    monkeypatch.setattr(kernels, "_known", {})
    w, x = normal(9, 224), normal(5, 224, seed=1)
    q = Q.quantize(tfr.asarray(w), bits=bits, symmetric=symmetric)
    expected = reference(x, unpacked(q))
    found = (tfr.asarray(x) @ q.mT).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6 * np.abs(expected).max())
