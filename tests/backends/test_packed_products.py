"""Products by tiles: NumPy's values however factors lie, one result for any blocks, and kernels that take these."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends import objects
from tensorframe.backends.llvm.engine import missing

if missing() is not None:
    pytest.skip(missing() or "", allow_module_level=True)

import llvmlite.binding as llvm

from tensorframe.backends.llvm.products import chain, launcher, packed
from tensorframe.backends.llvm.products import functions as chosen
from tensorframe.backends.llvm.products.layout import layout_of
from tensorframe.backends.llvm.products.packed import PackedProduct, packed_or_blas
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.backends.numpy import product_program
from tensorframe.backends.numpy.products.product import Product
from tensorframe.backends.numpy.products.tiles import BESIDE, scratch_of_product
from tensorframe.codegen.llvm import packed as texts
from tensorframe.codegen.llvm.indirect_product import shape_for
from tensorframe.codegen.llvm.packed import print_packed
from tensorframe.codegen.llvm.packed.slots import MOST_TERMS
from tensorframe.codegen.llvm.target import Target

if not chosen.has_tiles():
    pytest.skip("tiles are for processors with AVX2, and ARM's", allow_module_level=True)

on_both_dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])


def matrices(*shape, seed=0, dtype="float32"):
    """Small integers, whose products are exact in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def turned(x):
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


SHAPES = [
    ((1, 1), (1, 1)),
    ((77, 131), (131, 61)),
    ((300, 700), (700, 33)),
    ((12, 64, 128), (128, 65)),
    ((4, 3, 100, 64), (4, 3, 64, 70)),
    ((4, 3, 100, 20), (4, 1, 20, 48)),
    ((5, 1, 30), (30, 17)),
    ((1, 200, 90), (5, 90, 65)),
    ((2, 6, 7, 8), (2, 1, 8, 7)),
]


@on_both_dtypes
@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_products_are_numpys_wherever_factors_and_results_lie(left, right, dtype):
    for turn_x in (np.asarray, turned):
        for turn_y in (np.asarray, turned):
            x, y = turn_x(matrices(*left, dtype=dtype)), turn_y(matrices(*right, dtype=dtype))
            product, expected = PackedProduct(x, y), x @ y
            np.testing.assert_array_equal(product.array(), expected)
            blocks = np.full(expected.shape, np.nan, dtype)
            product.each(blocks.__setitem__)
            np.testing.assert_array_equal(blocks, expected)
            wide = np.full((*expected.shape[:-1], expected.shape[-1] + 5), 7, dtype)
            product.array(wide[..., :-5])
            np.testing.assert_array_equal(wide[..., :-5], expected)
            assert (wide[..., -5:] == 7).all()
            columns = turned(np.zeros_like(expected))
            product.array(columns)
            np.testing.assert_array_equal(columns, expected)
            outside = np.moveaxis(
                np.zeros((expected.shape[-2], *expected.shape[:-2], expected.shape[-1]), dtype),
                0,
                -2,
            )
            product.array(outside)
            np.testing.assert_array_equal(outside, expected)


@on_both_dtypes
def test_every_number_of_rows_columns_and_terms(dtype):
    generator = np.random.default_rng(0)
    for rows in range(1, 20):
        for columns in (1, 3, 15, 16, 17, 31, 40, 48, 49, 64, 80, 97):
            terms = int(generator.integers(1, 30))
            x, y = matrices(rows, terms, dtype=dtype), matrices(terms, columns, seed=1, dtype=dtype)
            for left in (x, turned(x)):
                for right in (y, turned(y)):
                    np.testing.assert_array_equal(PackedProduct(left, right).array(), x @ y)


@pytest.fixture
def narrow(monkeypatch):
    """Compiled functions as on a processor with vectors of 32 bytes."""
    if "+avx512f" not in target().features:
        pytest.skip("these are all it has")
    features = frozenset([one for one in target().features if "avx512" not in one])
    machine = replace(target(), features=features)
    for clear in (chosen.functions, layout_of):
        clear.cache_clear()
    monkeypatch.setattr(chosen, "target", lambda: machine)
    yield
    for clear in (chosen.functions, layout_of):
        clear.cache_clear()


@pytest.mark.usefixtures("narrow")
@on_both_dtypes
def test_tiles_of_narrow_vectors(dtype):
    for left, right in SHAPES:
        x, y = turned(matrices(*left, dtype=dtype)), matrices(*right, dtype=dtype)
        np.testing.assert_array_equal(PackedProduct(x, y).array(), x @ y)
    assert chosen.functions(np.dtype(dtype)).lanes * np.dtype(dtype).itemsize == 32


@pytest.fixture
def like_arm(monkeypatch):
    """Compiled functions with tiles as on ARM: vectors of 16 bytes, and 32 registers for these."""
    shape = partial(shape_for, Target("aarch64-unknown-linux-gnu", frozenset(["+neon"]), 16))
    for clear in (chosen.functions, layout_of):
        clear.cache_clear()
    for module in (chosen, texts):
        monkeypatch.setattr(module, "shape_for", lambda _, dtype: shape(dtype))
    yield
    for clear in (chosen.functions, layout_of):
        clear.cache_clear()


@pytest.mark.usefixtures("like_arm")
@on_both_dtypes
def test_tiles_of_arms_vectors(dtype):
    for left, right in SHAPES:
        for turn in (np.asarray, turned):
            x, y = turn(matrices(*left, dtype=dtype)), matrices(*right, dtype=dtype)
            np.testing.assert_array_equal(PackedProduct(x, y).array(), x @ y)
    compiled = chosen.functions(np.dtype(dtype))
    assert (compiled.lanes * np.dtype(dtype).itemsize, compiled.wide) == (16, 3)


@on_both_dtypes
def test_arms_tiles_stay_in_registers(dtype):
    """Its machine code, which does not run here: a term of the largest tile is 24 multiply-adds and what these load."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = Target("aarch64-unknown-linux-gnu", frozenset(["+neon"]), 16)
    generator = llvm.Target.from_triple(machine.triple).create_target_machine(features="+neon")
    text = print_packed(machine, str(generator.target_data), np.dtype(dtype))
    code = generator.emit_assembly(llvm.parse_assembly(text))
    _, tile = code.split("\ntile_8_3:")
    (loop,) = [part for part in tile.split(".cfi_endproc")[0].split("\n.L") if "fmla" in part]
    assert loop.count("fmla") == 24
    assert loop.count("prfm") == 1
    assert "[sp" not in loop  # nothing is spilled
    assert machine.has_tiles
    assert not replace(machine, triple="riscv64-unknown-linux-gnu").has_tiles


def test_sizes_alone_choose_tiles():
    x = np.zeros((768, 128), np.float32)
    assert isinstance(packed_or_blas(x, x.T[:, :512]), PackedProduct)
    assert isinstance(packed_or_blas(turned(x), turned(x.T[:, :512])), PackedProduct)
    y = np.zeros((512, 128), np.float32)
    few, more = np.zeros((7, 512), np.float32), np.zeros((8 * 4, 512), np.float32)
    assert isinstance(packed_or_blas(more, y), PackedProduct)
    assert isinstance(packed_or_blas(more.reshape(4, 8, 512), np.stack([y] * 4)), PackedProduct)
    assert isinstance(
        packed_or_blas(few, np.zeros((512, 900), np.float32)), Product
    )  # packing takes as long
    assert isinstance(packed_or_blas(x[:64, :64], x[:64, :64]), Product)  # small
    assert isinstance(packed_or_blas(x.astype(np.complex64), x.T.astype(np.complex64)), Product)
    wide = np.broadcast_to(np.float32(0), (1024, 1024))
    assert isinstance(packed_or_blas(wide, wide), Product)  # packed ones would be 4 MB


@pytest.mark.parametrize("threads", [1, 4])
def test_scratch_memory_is_what_is_said_before(threads):
    """Of float32 and whole vectors: what lines and vectors are rounded up to is not counted."""
    with config.override(threads=threads):
        for rows, terms, columns in [
            (768, 128, 512),
            (768, 512, 128),
            (5000, 96, 16),
            (90, 784, 512),
        ]:
            for turn in (np.asarray, turned):
                x, y = turn(matrices(rows, terms)), matrices(terms, columns)
                layout = PackedProduct(x, y).layout
                taken = layout.packed_bytes + threads * layout.scratch_bytes
                assert taken <= scratch_of_product(y.shape, y.dtype)
    assert BESIDE == MOST_TERMS


def tensors(*shapes):
    generator = np.random.default_rng(0)
    return [tfr.asarray(generator.standard_normal(shape).astype(np.float32)) for shape in shapes]


def update(x, ct, p, m, v):
    gradient = (x.mT @ ct).mT
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * gradient * gradient
    return p - 1e-3 * m / tfr.sqrt(v * v + 1), m, v


STEPS = {
    "gelu": (
        lambda x, w, b: tfr.nn.functional.gelu(x @ w.mT + b),
        [(12, 64, 128), (300, 128), (300,)],
    ),
    "exact": (lambda x, w, b: tfr.maximum(x @ w.mT + b, 0), [(12, 64, 128), (300, 128), (300,)]),
    "rows": (lambda x, w: tfr.softmax(x @ w * 0.1, axis=-1), [(500, 64), (64, 130)]),
    "broadcast": (lambda x, w, p: tfr.tanh(x @ w + p), [(12, 64, 128), (128, 96), (64, 96)]),
    "several results": (update, [(512, 200), (512, 90), (90, 200), (90, 200), (90, 200)]),
    "alone": (lambda x, w: x @ w, [(700, 90), (90, 130)]),
    "heads": (
        lambda x, y: tfr.permute_dims(x @ y, (0, 2, 1, 3)),
        [(4, 8, 100, 64), (4, 8, 64, 50)],
    ),
    "causal": (
        lambda x, y: tfr.where(tfr.arange(100)[:, None] >= tfr.arange(100), x @ y, -1e9) * 2,
        [(40, 100, 64), (40, 64, 100)],
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_run_without_the_interpreter_with_the_same_bits(name, monkeypatch):
    made = []
    own = launcher.launcher
    monkeypatch.setattr(packed, "launcher", lambda *given: made.append(own(*given)) or made[-1])
    monkeypatch.setattr(product_program, "_CALLS", 1)
    called = []
    each = PackedProduct.each
    monkeypatch.setattr(PackedProduct, "each", lambda *given: called.append(1) or each(*given))
    make, shapes = STEPS[name]
    operands = tensors(*shapes)
    found = set()
    for threads in (1, 2, 16, 1, 2, 16):
        with config.override(threads=threads, small_size=0, small_nodes=0):
            results = make(*operands)
            results = results if isinstance(results, tuple) else (results,)
            found.add(b"".join([result.numpy().tobytes() for result in results]))
    assert len(found) == 1
    assert made
    assert None not in made
    # exact ops begin in NumPy
    assert len(called) <= len(made)
    with config.override(fuse=False):
        expected = make(*[tfr.asarray(one.numpy().astype(np.float64)) for one in operands])
    expected = expected if isinstance(expected, tuple) else (expected,)
    for result, exact in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.numpy(), exact.numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["exact", "causal"])
def test_large_products_are_steady_from_the_second_call_on(name, monkeypatch):
    """Exact ops begin in NumPy, block by block; beside what takes long, in kernels that are made for the first call."""
    monkeypatch.setattr(product_program, "_LONG", 0)
    each, called, compiled = PackedProduct.each, [], []
    monkeypatch.setattr(PackedProduct, "each", lambda *given: called.append(1) or each(*given))
    make, shapes = STEPS[name]
    operands = tensors(*shapes)
    for _ in range(3):
        with config.override(threads=2, small_size=0, small_nodes=0):
            make(*operands).compute()
        compiled.append(objects.statistics.compilations)
    assert not called
    assert set(compiled) == {compiled[0]}


@on_both_dtypes
def test_wide_tiles_ask_for_memory_that_is_needed_soon(dtype):
    text = print_packed(target(), str(target_machine().target_data), np.dtype(dtype))
    _, *tiles = text.split("define internal void @tile_")
    counts = {tile[: tile.index("(")]: tile.count("call void @llvm.prefetch") for tile in tiles}
    assert counts == {name: int(not name.endswith("_1")) for name in counts}
    assert len(counts) >= 8
    assert text.count("call {ptr, i64} @lines_for_tile") == sum(counts.values())


def test_rows_of_arrays_are_asked_for_that_follow_each_other():
    shape, size = (500, 130), 4
    layout = layout_of(shape, (256, size), (520, size), 64, np.dtype(np.float32))
    whole = np.zeros(shape, np.float32)
    assert layout.width(whole) == 130 * size
    assert layout.width(whole.astype(bool)) == 130
    assert layout.width(turned(whole)) == 0  # other lines than these rows'
    assert layout.width(np.broadcast_to(whole[0], shape)) == 0
    assert layout.width(whole[0]) == 0


def test_numbers_are_those_of_each_call():
    x, w = tensors((512, 128), (128, 96))
    product = x.numpy() @ w.numpy()

    @tfr.jit
    def scaled(x, w, by):
        return tfr.tanh((x @ w) * by)

    for by in (0.5, 0.25, -1.0, 2.0, 0.125):
        np.testing.assert_allclose(
            scaled(x, w, by).numpy(), np.tanh(product * by), rtol=1e-4, atol=1e-5
        )


def test_operands_that_lie_otherwise_are_other_calls():
    x, w = tensors((512, 128), (128, 96))
    expected = np.tanh(x.numpy() @ w.numpy())
    kinds = [x.numpy(), turned(x.numpy()), np.repeat(x.numpy(), 2, axis=1)[:, ::2]]
    for left in (*kinds, *kinds, *kinds):
        with config.override(small_size=0, small_nodes=0):
            np.testing.assert_allclose(
                tfr.tanh(tfr.asarray(left) @ w).numpy(), expected, rtol=1e-4, atol=1e-5
            )


def test_what_is_no_number_stays_in_its_row_and_column():
    x, y = np.ones((100, 128), np.float32), np.ones((128, 90), np.float32)
    x[3, 5], y[7, 80] = np.nan, np.inf
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(PackedProduct(x, y).array(), x @ y)


MASKS = {
    "all": lambda rows, columns: np.ones((rows, columns), bool),
    "causal": lambda rows, columns: np.tri(rows, columns, dtype=bool),
    "window": lambda rows, columns: np.abs(np.arange(rows)[:, None] - np.arange(columns)) < 30,
    "some": lambda rows, columns: np.random.default_rng(3).random((rows, columns)) < 0.5,
}


@on_both_dtypes
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("heads", "groups"), [(6, 6), (6, 2)])
def test_attention_by_tiles_is_the_formula(mask, heads, groups, dtype, monkeypatch):
    """At sizes that are no multiples of anything, with heads side by side, and factors packed a few at a time."""
    made = []
    run = chain._Plan.run
    monkeypatch.setattr(chain._Plan, "run", lambda *given: made.append(1) or run(*given))
    monkeypatch.setattr(chain, "PACKED", 300_000)
    generator = np.random.default_rng(0)
    rows, columns, features = 210, 230, 37
    q = generator.standard_normal((2, rows, heads, features)).astype(dtype).swapaxes(1, 2)
    k, v = (
        generator.standard_normal((2, groups, columns, features)).astype(dtype) for _ in range(2)
    )
    shown = MASKS[mask](rows, columns)
    attend = tfr.nn.functional.scaled_dot_product_attention
    found = set()
    for threads in (1, 2, 16):
        with config.override(threads=threads, small_size=0, small_nodes=0):
            operands = map(tfr.asarray, (q, k, v, shown))
            seen = attend(*operands, enable_gqa=heads != groups)
            seen = tfr.permute_dims(seen, (0, 2, 1, 3)).numpy()
            found.add(seen.tobytes())
    assert len(made) == 3
    assert len(found) == 1
    k, v = (np.repeat(one, heads // groups, 1).astype("float64") for one in (k, v))
    scores = np.where(shown, q @ k.mT / features**0.5, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = (weights / weights.sum(-1, keepdims=True)) @ v
    np.testing.assert_allclose(seen, expected.swapaxes(1, 2), rtol=1e-4, atol=1e-5)
