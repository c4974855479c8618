"""Products by tables, transpositions and copies of boxes: compiled functions beside NumPy, at every size of vectors."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from tensorframe.backends.llvm.engine import missing

if missing() is not None:
    pytest.skip(missing() or "", allow_module_level=True)

from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.compile import object_code
from tensorframe.backends.llvm.convolution.padding import Memory, surrounded
from tensorframe.backends.llvm.convolution.plan import Plan
from tensorframe.backends.llvm.convolution.positions import ByPositions
from tensorframe.backends.llvm.indirect_product import (
    Matrices,
    copy,
    functions,
    multiply,
    offsets,
    pairs,
    transpose,
)
from tensorframe.backends.llvm.load import PROTOTYPE, Placed
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.codegen.llvm.dot_products import DOT_SLOTS, DOTS, print_dots
from tensorframe.codegen.llvm.indirect_product import (
    PRODUCT,
    SLOTS,
    TERMS,
    print_products,
    shape_for,
)
from tensorframe.codegen.llvm.transposition import TRANSPOSE, transposition
from tensorframe.ops.convolution import Geometry

AVX = {"+avx512f", "+avx2", "+fma"}
# what processors of several generations have, as far as this one has it
FEATURES = {
    "all": target().features,
    "no avx512": target().features - {"+avx512f"},
    "no avx": target().features - AVX,
}
on_all_vectors = pytest.mark.parametrize("features", FEATURES)
on_both_dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])


@pytest.fixture(scope="module")
def compiled():
    known = {}
    placed = []

    def get(features, dtype):
        if (features, dtype) not in known:
            machine = replace(target(), features=FEATURES[features])
            layout = str(target_machine().target_data)
            addresses = {}
            for text, names in (
                (print_products(machine, layout, np.dtype(dtype)), [PRODUCT, TRANSPOSE]),
                (print_dots(machine, layout, np.dtype(dtype)), [DOTS]),
            ):
                placed.append(Placed("tested", object_code(text), names))
                addresses.update(placed[-1].addresses)
            known[features, dtype] = addresses
        return known[features, dtype]

    return get


@on_both_dtypes
@on_all_vectors
def test_products_of_every_number_of_rows_and_vectors(features, dtype, compiled):
    lanes = shape_for(replace(target(), features=FEATURES[features]), np.dtype(dtype)).lanes
    code = compiled(features, dtype)
    call = PROTOTYPE(code[PRODUCT])
    generator = np.random.default_rng(0)
    for rows in range(1, 19):
        for vectors in range(1, 11):
            terms = int(generator.integers(1, 20))
            left = generator.integers(-4, 5, (rows, terms)).astype(dtype)
            right = generator.integers(-4, 5, (terms, vectors * lanes)).astype(dtype)
            result = np.full((rows, vectors * lanes), np.nan, dtype)
            places = pairs(((rows, left.strides[0]),), ((rows, result.strides[0]),))
            along = pairs(((terms, left.strides[1]),), ((terms, right.strides[0]),))
            arrays = [one.ctypes.data for one in (left, right, result, places, along)]
            numbers = [terms, vectors, 1, 0, 0, 0, 0]
            call(0, rows, struct.pack(f"={len(SLOTS)}q", *arrays, *numbers), b"")
            np.testing.assert_array_equal(result, left @ right)


@on_both_dtypes
@on_all_vectors
def test_tiles_fit_into_registers_beside_a_term_of_either_factor(features, dtype):
    machine = replace(target(), features=FEATURES[features])
    shape = shape_for(machine, np.dtype(dtype))
    registers = 32 if "+avx512f" in machine.features or not machine.is_x86 else 16
    for vectors, rows in enumerate(shape.rows, start=1):
        assert rows * vectors + vectors + 1 <= registers


@on_both_dtypes
@on_all_vectors
def test_dot_products_of_every_number_of_rows_columns_and_elements(features, dtype, compiled):
    call = PROTOTYPE(compiled(features, dtype)[DOTS])
    generator = np.random.default_rng(0)
    for rows in range(1, 21):
        for columns in range(1, 8):
            length, count = int(generator.integers(1, 40)), int(generator.integers(1, 4))
            left = generator.integers(-4, 5, (2, rows, count, length)).astype(dtype)
            right = generator.integers(-4, 5, (2, columns, count, length)).astype(dtype)
            result = np.full((2, columns, rows), np.nan, dtype)
            places = offsets(((rows, left.strides[1]),))
            segments = pairs(((count, left.strides[2]),), ((count, right.strides[2]),))
            arrays = [one.ctypes.data for one in (left, right, result, places, segments)]
            numbers = [count, length, columns, right.strides[1], result.strides[1]]
            repeated = [2, left.strides[0], right.strides[0], result.strides[0]]
            call(0, rows, struct.pack(f"={len(DOT_SLOTS)}q", *arrays, *numbers, *repeated), b"")
            np.testing.assert_array_equal(result, np.einsum("grsl,gcsl->gcr", left, right))


@on_both_dtypes
@on_all_vectors
def test_transpositions_of_every_size(features, dtype, compiled):
    code = compiled(features, dtype)
    call = PROTOTYPE(code[TRANSPOSE])
    for rows, columns in [(1, 1), (3, 40), (40, 3), (16, 16), (33, 50), (64, 32)]:
        matrices = np.arange(3 * rows * columns, dtype=dtype).reshape(3, rows, columns)
        turned = np.full((3, columns, rows + 2), np.nan, dtype)
        addresses = matrices.ctypes.data, turned.ctypes.data
        along = matrices.strides[1], turned.strides[1], columns
        slots = struct.pack("=8q", *addresses, *along, 3, matrices.strides[0], turned.strides[0])
        call(0, rows, slots, b"")
        np.testing.assert_array_equal(turned[..., :rows], matrices.swapaxes(1, 2))
        assert np.isnan(turned[..., rows:]).all()


def test_long_sums_are_added_to_what_is_there_part_by_part():
    generator = np.random.default_rng(0)
    terms, lanes = 3 * TERMS + 5, functions(np.dtype("float32")).lanes
    left = generator.integers(-4, 5, (5, terms)).astype(np.float32)
    right = generator.integers(-4, 5, (terms, 2 * lanes)).astype(np.float32)
    result = np.full((5, 2 * lanes), np.nan, np.float32)
    rows = pairs(((5, left.strides[0]),), ((5, result.strides[0]),))
    along = pairs(((terms, 4),), ((terms, right.strides[0]),))
    multiply(left, right, result, rows, along, 2)
    np.testing.assert_array_equal(result, left @ right)


def test_factors_lie_where_the_tables_say():
    """Rows and terms in reverse, through a table each; rows of the result go down as those of the factor go up."""
    lanes = functions(np.dtype("float32")).lanes
    left, right = np.arange(12.0, dtype=np.float32).reshape(3, 4), np.ones((4, lanes), np.float32)
    right *= np.arange(4, dtype=np.float32)[:, None]
    result = np.empty((3, lanes), np.float32)
    rows = pairs(((3, -left.strides[0]),), ((3, -result.strides[0]),))
    along = pairs(((2, 8), (2, -4)), ((4, -right.strides[0]),))
    multiply(left[2:, 1:], right[3:], result[2:], rows, along, 1)
    expected = left[::-1][:, [1, 0, 3, 2]] @ right[::-1]
    np.testing.assert_array_equal(result[::-1], expected)


def test_boxes_are_copied_whatever_their_strides():
    generator = np.random.default_rng(0)
    for _ in range(60):
        shape = (
            *generator.integers(1, 5, generator.integers(0, 4)),
            int(generator.integers(0, 70)),
        )
        source = generator.standard_normal(shape).astype(np.float32)
        if generator.random() < 0.3:
            source = source[..., ::-1]
        elif generator.random() < 0.5:  # every other element, up to the last one that there is
            source = np.repeat(source, 2, axis=-1)[..., : max(2 * shape[-1] - 1, 0) : 2]
        steps = tuple([slice(None, None, int(generator.integers(1, 3))) for _ in shape])
        target = np.zeros([2 * size for size in shape], np.float32)[steps]
        target = target[tuple(map(slice, shape))]
        copy(source, target)
        np.testing.assert_array_equal(target, source)
    x = generator.standard_normal((2, 2, 2, 2, 3)).astype(np.float32)
    turned = np.zeros((3, 2, 2, 2, 2), np.float32).transpose(4, 3, 2, 1, 0)
    copy(x, turned)  # more axes than the function has
    np.testing.assert_array_equal(turned, x)


@on_both_dtypes
def test_short_rows_and_odd_squares_are_moved_by_masks_that_end_where_they_do(dtype):
    lanes = functions(np.dtype(dtype)).lanes
    scalar = {"float32": "float", "float64": "double"}[dtype]
    assert f"load {scalar}," not in transposition(lanes, scalar, np.dtype(dtype).itemsize)
    for width in range(1, 2 * lanes + 2):
        source = np.arange(3.0 * width, dtype=dtype).reshape(3, width)
        around = np.full((3, width + 2), -1, dtype)
        copy(source, around[:, 1:-1])
        np.testing.assert_array_equal(around[:, 1:-1], source)
        assert (around[:, [0, -1]] == -1).all()
        for height in range(1, 2 * lanes + 2):
            source = np.arange(2.0 * height * width, dtype=dtype).reshape(2, height, width)
            around = np.full((2, width + 1, height + 2), -1, dtype)
            inside = around[:, :-1, 1:-1]
            matrices = Matrices(height, width, *(one.strides[1] for one in (source, inside)))
            repeated = {"times": 2, "on": source.strides[0], "target_on": inside.strides[0]}
            transpose(source, inside, matrices._replace(**repeated))
            np.testing.assert_array_equal(inside, source.mT)
            inside[...] = -1
            assert (around == -1).all()


def test_zeros_around_an_input_are_written_once_for_blocks_that_lie_alike():
    memory, x = Memory(np.dtype(np.float32)), np.ones((2, 3, 4, 5), np.float32)
    padded = surrounded(x, (1, 1), [6, 7], 6, memory)
    padded[0, 0, 0, 0] = 7  # a zero, which another block finds there again
    assert surrounded(2 * x, (1, 1), [6, 7], 6, memory)[0, 0, 0, 0] == 7
    again = surrounded(2 * x[:, :2], (1, 1), [6, 7], 6, memory)
    np.testing.assert_array_equal(again, np.pad(2 * x[:, :2], ((0, 0), (0, 0), (1, 1), (1, 1))))
    lower = surrounded(x[:, :2], (0, 1), [6, 7], 6, memory)
    np.testing.assert_array_equal(lower, np.pad(x[:, :2], ((0, 0), (0, 0), (0, 2), (1, 1))))


@pytest.mark.parametrize("groups", [1, 2])
def test_a_kernel_whose_terms_lie_apart_is_put_in_rows_first(groups, monkeypatch):
    """As the gradient by the input has it, with channels exchanged and turned round: the same bits, read in rows."""
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 9 * groups, 8, 9), np.float32)
    kernel = random.standard_normal((9, 70 * groups, 3, 2), np.float32)
    kernel = kernel.swapaxes(0, 1)[:, :, ::-1, ::-1]
    ones = (1, 1)
    geometry = Geometry(ones, (0, 0), (0, 0), ones, ones)
    read = []

    def noted(weight, *others):
        read.append(weight.strides)
        multiply(weight, *others)

    monkeypatch.setattr("tensorframe.backends.llvm.convolution.positions.multiply", noted)
    found = ByPositions(Plan(x, kernel, geometry, groups)).array()
    copied = np.ascontiguousarray(kernel)
    expected = ByPositions(Plan(x, copied, geometry, groups)).array()
    np.testing.assert_array_equal(found, expected)
    # the strides of a group's channels
    assert set(read) == {copied.strides}


def test_addresses_are_those_of_the_data():
    whole = np.zeros((4, 6))
    for array in (whole, whole[1:, ::-2], whole.T, np.zeros((0, 3)), whole.view(np.matrix)):
        assert address(array) == array.ctypes.data
