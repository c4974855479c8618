"""Contractions against NumPy: values, dtypes, broadcasting, and errors that name what does not fit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.errors import AxisError, DTypeError, ShapeError

DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "float32", "float64", "complex64"]


def values(shape, dtype="float64", seed=0):
    """Returns small numbers, whose products are exact in every dtype wider than 8 bits."""
    drawn = np.random.default_rng(seed).integers(0, 5, shape)
    if np.dtype(dtype).kind == "c":
        return (drawn - 1j * np.random.default_rng(seed + 1).integers(0, 5, shape)).astype(dtype)
    return drawn.astype(dtype)


def same(found, expected):
    """Asserts equal shapes, dtypes and elements up to rounding."""
    assert found.shape == np.shape(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


MATMUL_SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)),
    ((3,), (5, 3, 4)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("left", "right"), MATMUL_SHAPES)
def test_matmul_is_numpys(left, right, dtype):
    x, y = values(left, dtype), values(right, dtype, 1)
    same(tfr.asarray(x) @ tfr.asarray(y), np.matmul(x, y))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("largest", [3, 2**31, 2**62])
def test_large_products_of_integers_are_exact_and_wrap(dtype, largest):
    # 64 x 64 matrices are worth a detour through floating-point BLAS, where that is exact
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-largest, largest, (2, 64, 64)).astype(dtype) for _ in range(2))
    same(tfr.asarray(x) @ tfr.asarray(y), x @ y)
    same(tfr.asarray(x[0]) @ tfr.asarray(y[0, 0]), x[0] @ y[0, 0])
    same(tfr.einsum("bij,bkj->bik", x, y), np.einsum("bij,bkj->bik", x, y))


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_half_precision_products_are_summed_in_float32(dtype):
    # 4096 + 1 is 4096 in half precision: sums in it would stop growing
    ones = np.ones((1, 8192), dtype)
    assert (tfr.asarray(ones) @ tfr.asarray(ones).mT).item() == 8192.0
    assert tfr.einsum("ij,kj->", ones, ones).item() == 8192.0


def test_matmul_promotes():
    assert (
        tfr.ones((2, 2), dtype="int32") @ tfr.ones((2, 2), dtype="float32")
    ).dtype == tfr.float32


def test_arrays_multiply_from_either_side_and_in_place():
    x, y = values((2, 2)), values((2, 2), seed=1)
    same(x @ tfr.asarray(y), x @ y)
    same(tfr.asarray(x) @ y, x @ y)
    product = other = tfr.asarray(x)
    product @= y
    same(product, x @ y)
    assert product is other


def test_numbers_are_no_matrices():
    with pytest.raises(TypeError):
        tfr.ones((2, 2)) @ 2
    with pytest.raises(ShapeError, match="at least one axis"):
        tfr.matmul(tfr.asarray(2.0), tfr.ones(2))


def test_a_product_in_place_keeps_shape_and_kind():
    x = tfr.ones((2, 2), dtype="int32")
    with pytest.raises(ShapeError, match="shape"):
        x @= tfr.ones((2, 3), dtype="int32")
    with pytest.raises(DTypeError, match="cannot hold float32"):
        x @= tfr.ones((2, 2))


def test_matmul_errors_say_which_transpose_would_fit():
    with pytest.raises(ShapeError, match=r"4 columns meet 3 rows") as caught:
        tfr.ones((3, 4)) @ tfr.ones((3, 4))
    assert "mT" in caught.value.suggestions[0]


def test_recording_a_product_computes_nothing():
    product = tfr.ones((2, 3)) @ tfr.ones((3, 2))
    assert product.node.storage is None


def test_vecdot_conjugates_the_first_operand():
    same(tfr.vecdot(np.asarray([1j, 2]), np.asarray([1j, 1])), np.asarray(3 + 0j))


@pytest.mark.parametrize(
    ("left", "right", "axis"),
    [
        ((3,), (3,), -1),
        ((2, 3), (3,), -1),
        ((4, 3, 2), (3, 1), -2),
        ((1, 3), (5, 3), -1),
        ((3, 2), (3, 2), 0),
        ((2, 0), (2, 0), -1),
    ],
)
def test_vecdot_is_numpys(left, right, axis):
    numpy: Any = np  # whose types do not know the axis
    x, y = values(left, "complex128"), values(right, "complex128", 1)
    same(tfr.vecdot(x, y, axis=axis), numpy.vecdot(x, y, axis=axis))


def test_the_axis_of_vecdot_does_not_broadcast():
    with pytest.raises(ShapeError, match="3 and 1 elements"):
        tfr.vecdot(tfr.ones(3), tfr.ones(1))
    with pytest.raises(AxisError, match="means two things"):
        tfr.vecdot(tfr.ones((2, 2)), tfr.ones(2), axis=0)


@pytest.mark.parametrize(
    "axes", [0, 1, 2, ((0,), (2,)), ((1, 2), (0, 1)), ((-1, 0), (-2, -1)), ((), ())]
)
def test_tensordot_is_numpys(axes):
    x, y = values((3, 3, 3), "int64"), values((3, 3, 3), "int64", 1)
    same(tfr.tensordot(x, y, axes=axes), np.tensordot(x, y, axes=axes))


def test_tensordot_names_the_sizes_that_meet():
    with pytest.raises(ShapeError, match=r"sizes \[4\] meet \[3\]"):
        tfr.tensordot(tfr.ones((3, 4)), tfr.ones((3, 4)), axes=1)
    with pytest.raises(AxisError, match="twice"):
        tfr.tensordot(tfr.ones((3, 3)), tfr.ones((3, 3)), axes=((0, 0), (0, 1)))
    with pytest.raises(AxisError, match="does not fit"):
        tfr.tensordot(tfr.ones(3), tfr.ones(3), axes=2)


@pytest.mark.parametrize(
    ("left", "right"),
    [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((4, 2, 3), (5, 3, 2)), ((2,), ())],
)
def test_dot_is_numpys(left, right):
    x, y = values(left), values(right, seed=1)
    same(tfr.dot(x, y), np.asarray(np.dot(x, y)))


@pytest.mark.parametrize("name", ["inner", "outer", "kron"])
@pytest.mark.parametrize(("left", "right"), [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3))])
def test_other_products_are_numpys(name, left, right):
    x, y = values(left), values(right, seed=1)
    same(getattr(tfr, name)(x, y), np.asarray(getattr(np, name)(x, y)))


def test_vdot_flattens_and_conjugates():
    x, y = values((2, 3), "complex128"), values((3, 2), "complex128", 1)
    same(tfr.vdot(x, y), np.asarray(np.vdot(x, y)))


@pytest.mark.parametrize(
    ("left", "right", "axis"), [((3,), (3,), -1), ((4, 3), (3,), -1), ((3, 2), (3, 1), -2)]
)
def test_cross_is_numpys(left, right, axis):
    x, y = values(left), values(right, seed=1)
    same(tfr.cross(x, y, axis=axis), np.cross(x, y, axis=axis))


def test_cross_takes_vectors_in_space_or_the_plane_and_no_bools():
    with pytest.raises(ShapeError, match="2 or 3 elements"):
        tfr.cross(tfr.ones(4), tfr.ones(4))
    with pytest.raises(ShapeError, match="must have 3 elements"):
        tfr.linalg.cross(tfr.ones(2), tfr.ones(2))
    with pytest.raises(DTypeError):
        tfr.cross(tfr.ones(3, dtype=bool), tfr.ones(3, dtype=bool))


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->ji", (2, 2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("ij,ij->i", (2, 3), (2, 3)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bij,bjk->kbi", (5, 2, 3), (5, 3, 4)),
    ("...ij,...jk", (5, 2, 3), (1, 3, 4)),
    ("...ij,jk->...ik", (6, 5, 2, 3), (3, 4)),
    ("i...,i...->...", (3, 2), (3, 1)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ij,jk,kl,l", (2, 3), (3, 4), (4, 5), (5,)),
    ("a,ab,abc->c", (2,), (2, 3), (2, 3, 4)),
    ("ij,jk->ik", (2, 1), (5, 3)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("i->", (0,)),
    (",i", (), (3,)),
    ("->", ()),
]


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex64"])
@pytest.mark.parametrize("case", EINSUMS, ids=str)
def test_einsum_is_numpys(case, dtype):
    subscripts, *shapes = case
    operands = [values(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    same(tfr.einsum(subscripts, *operands), np.asarray(np.einsum(subscripts, *operands)))


SIZES = dict(zip("abcdefg", [2, 3, 1, 4, 2, 0, 3], strict=True))


@st.composite
def contractions(draw, letters="abcdefg"):
    """Draws subscripts of one to five operands, indices of a term repeated or not, and the result's indices."""
    term = st.lists(st.sampled_from(letters), max_size=4).map("".join)
    terms = draw(st.lists(term, min_size=1, max_size=5))
    known = sorted(set("".join(terms)))
    output = draw(st.permutations(known))[: draw(st.integers(0, len(known)))]
    return terms, "".join(output)


def laid_out(draw, array):
    """Returns the elements with axes in another order of memory."""
    axes = draw(st.permutations(range(array.ndim)))
    copied = array.transpose(axes).copy("C")
    return np.asarray(copied).transpose(np.argsort(axes))


@pytest.mark.parametrize("planned", [False, True], ids=["op by op", "planned"])
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_einsum_is_numpys(data, planned):
    terms, output = data.draw(contractions())
    dtype = data.draw(st.sampled_from(["int64", "float64", "complex64", "bool", "int8"]))
    operands = [
        laid_out(data.draw, np.asarray(values([SIZES[i] for i in term], dtype, seed)))
        for seed, term in enumerate(terms)
    ]
    subscripts = ",".join(terms) + "->" + output
    with tfr.config.override(small_nodes=0 if planned else 64):
        tensors = [tfr.asarray(operand, copy=False) for operand in operands]
        same(tfr.einsum(subscripts, *tensors), np.asarray(np.einsum(subscripts, *operands)))


def test_equal_contractions_are_recorded_alike():
    x = tfr.ones((2, 3))
    one, other = tfr.einsum("ij,kj->ik", x, x), tfr.einsum(" zb , qb ", x, x)
    assert one.node.attrs == ("ab,cb->ac",)
    assert other.node.attrs == ("ab,cb->ca",)  # q before z: alphabetical, as NumPy says


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("ij,jk", [(2, 3), (4, 5)], "index 'j' has sizes 3 and 4"),
        ("ii", [(2, 3)], "index 'i' has sizes 2 and 3"),
        ("...i,...i", [(2, 3), (4, 3)], r"axis -1 under '\.\.\.' has sizes 2 and 4"),
        ("ij->ik", [(2, 3)], "'k' .* is in no operand"),
        ("ij->ii", [(2, 3)], "'i' twice"),
        ("i", [(2, 3)], "names 1 axes, its operand has 2"),
        ("ijk", [(2, 3)], "names 3 axes, its operand has 2"),
        ("ij,j", [(2, 3)], "is for 2 operands, got 1"),
        ("i1", [(2, 3)], "'1' .* is neither a letter"),
    ],
)
def test_einsum_errors_name_the_index(subscripts, shapes, message):
    with pytest.raises(ShapeError, match=message):
        tfr.einsum(subscripts, *[tfr.ones(shape) for shape in shapes])


def test_three_operands_contract_in_a_cheap_order():
    # from the left this takes 1e9 multiplications and a matrix of 8 MB, in the cheap order 2e6
    thin, wide = np.ones((1000, 1)), np.ones((1, 1000))
    same(tfr.einsum("ij,jk,kl->il", thin, wide, thin), thin @ (wide @ thin))
