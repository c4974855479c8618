"""Elementwise operators, reductions, selections and conversions of sparse tensors are those of their dense ones."""

import copy
import operator
import pickle

import numpy as np
import pytest
import scipy.sparse

import tensorframe as tfr
from tensorframe.errors import AxisError, DTypeError, IndexingError, ShapeError
from tests.backends.devices import FOUND
from tests.sparse.matrices import DTYPES, FORMATS, numbers, random_matrix


def pair(format, dtype="float64", shape=(8, 6), seed=0, device=None):
    """Return a sparse tensor with duplicates, and the dense array."""
    matrix = random_matrix(np.random.default_rng(seed), shape, 0.4, dtype)
    return tfr.sparse.from_scipy(matrix, device=device).asformat(format), matrix.toarray()


def dense(x):
    return x.todense().numpy() if tfr.sparse.issparse(x) else x.numpy()


@pytest.mark.parametrize(
    ("format", "device"), [*[(name, "cpu") for name in FORMATS], *[("csr", name) for name in FOUND]]
)
def test_operators_with_numbers_and_dense_tensors(format, device):
    a, x = pair(format, "float32", device=device)
    rng = np.random.default_rng(1)
    for other in (
        2.0,
        np.float32(3),
        *[numbers(rng, s, "float32") for s in ((6,), (8, 1), (8, 6), (1, 1))],
    ):
        for sign in (operator.mul, operator.truediv):
            got = sign(a, other)
            assert type(got) is type(a)
            np.testing.assert_allclose(dense(got), sign(x, other), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(dense(other * a), other * x, rtol=1e-5)
    whole = numbers(rng, (8, 6), "float32")
    for got, wanted in (
        (a + whole, x + whole),
        (whole + a, x + whole),
        (a - whole, x - whole),
        (whole - a, whole - x),
    ):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("other", FORMATS)
@pytest.mark.parametrize("dtype", ["float64", "int32", "complex64"])
def test_operators_with_sparse_tensors(format, other, dtype):
    (a, x), (b, y) = pair(format, dtype), pair(other, "float64", seed=1)
    for sign in (operator.add, operator.sub, operator.mul):
        got = sign(a, b)
        assert got.format == format
        assert got.dtype == np.result_type(x, y)
        np.testing.assert_allclose(dense(got), sign(x, y), atol=1e-5)
    got = a @ b.T
    assert got.format == ("csr" if format == "coo" else format)
    np.testing.assert_allclose(dense(got), x @ y.T, atol=1e-4)
    np.testing.assert_allclose(dense(sum([a, a, a])), 3 * x, atol=1e-5)


@pytest.mark.parametrize("format", FORMATS)
def test_functions_of_elements(format):
    a, x = pair(format)
    np.testing.assert_allclose(dense(-a), -x)
    np.testing.assert_allclose(dense(abs(a)), abs(x))
    np.testing.assert_allclose(dense(a**2), x**2)
    np.testing.assert_allclose(dense(a.mapped(tfr.sin)), np.sin(x))
    assert a.astype("float32").dtype == np.float32
    with pytest.raises(DTypeError, match="positive number"):
        a**-1
    with pytest.raises(ShapeError, match="does not broadcast"):
        a * np.ones((2, 8, 6))


@pytest.mark.parametrize(
    ("format", "device"), [*[(name, "cpu") for name in FORMATS], *[("csr", name) for name in FOUND]]
)
def test_reductions(format, device):
    a, x = pair(format, "float32", device=device)
    for axis in (None, 0, 1, -1, -2):
        for name in ("sum", "mean", "max", "min"):
            got = getattr(a, name)(axis).numpy()
            np.testing.assert_allclose(got, getattr(x, name)(axis=axis), rtol=1e-5, atol=1e-6)
    assert a.astype("int32").sum(0).dtype == tfr.sum(tfr.ones(3, dtype="int32")).dtype
    with pytest.raises(AxisError):
        a.sum(2)


def test_reductions_of_stacks_and_of_empty_tensors():
    x = np.arange(24.0).reshape(2, 3, 4) % 5 - 2
    for format in FORMATS:
        a = tfr.sparse.csr_array(x).asformat(format)
        for axis in (-1, -2):
            np.testing.assert_allclose(a.sum(axis).numpy(), x.sum(axis))
            np.testing.assert_allclose(a.max(axis).numpy(), x.max(axis))
    with pytest.raises(AxisError, match="counts the matrices of a stack"):
        a.sum(0)
    none = tfr.sparse.csr_array((0, 3))
    assert none.sum(1).tolist() == []
    assert none.sum(0).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ShapeError, match="no elements"):
        none.max()


KEYS = [
    3,
    -1,
    slice(2, 8, 2),
    slice(None, None, -1),
    [1, 5, 5],
    np.array([[0, 1], [2, 3]]),
    np.arange(8) % 3 == 0,
    (slice(None), 4),
    (slice(2, 5), slice(None, None, -1)),
    (3, slice(1, 4)),
    ([1, 2], slice(0, 2)),
    ([1, 2], [3, 4]),
    (2, 2),
    (np.array([[0], [1]]), np.array([2, 3])),
    Ellipsis,
    (Ellipsis, [0, 0]),
    slice(3, 3),
]


@pytest.mark.parametrize("format", FORMATS)
def test_selections_are_those_of_numpy(format):
    a, x = pair(format)
    for key in KEYS:
        got = dense(a[key])
        assert got.shape == x[key].shape, key
        np.testing.assert_allclose(got, x[key], err_msg=str(key))
    assert a[2:5].format == format
    with pytest.raises(IndexingError, match="out of bounds"):
        a[8]
    with pytest.raises(IndexingError, match="new axes"):
        a[None]
    with pytest.raises(IndexingError, match="3 indices"):
        a[0, 0, 0]


def test_selections_of_stacks():
    x = np.arange(60.0).reshape(3, 4, 5) * (np.arange(60).reshape(3, 4, 5) % 3 == 0)
    for format in FORMATS:
        a = tfr.sparse.csr_array(x).asformat(format)
        for key in (
            1,
            slice(0, 2),
            (1, 2),
            (slice(None), 2),
            ([0, 2],),
            (0, 1, 3),
            (..., 2),
            (1, slice(1, 3)),
        ):
            np.testing.assert_allclose(dense(a[key]), x[key], err_msg=str(key))


def test_selected_rows_have_gradients():
    a, _ = pair("csr")
    tfr.check_gradient(lambda d: (a.with_data(d)[[1, 3]].todense() ** 2).sum(), a.data)
    tfr.check_gradient(lambda d: a.with_data(d)[:, 2:4].sum(0).max(), a.data)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("first", FORMATS)
@pytest.mark.parametrize("second", FORMATS)
def test_conversions_there_and_back(dtype, first, second):
    a, x = pair(first, dtype)
    b = a.asformat(second).asformat(first)
    assert type(b) is type(a)
    np.testing.assert_allclose(dense(b), x, rtol=1e-6)
    made = b.to_scipy()
    assert made.format == first
    assert made.dtype == dtype
    np.testing.assert_allclose(made.toarray(), x, rtol=1e-6)
    assert a.T.T.shape == a.shape
    np.testing.assert_array_equal(dense(a.T), dense(a).T)


def test_from_scipy_takes_every_format_of_matrices_and_arrays():
    matrix = scipy.sparse.random(6, 5, density=0.4, rng=0)
    for name in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr"):
        for made in (matrix.asformat(name), scipy.sparse.csr_matrix(matrix).asformat(name)):
            tensor = tfr.sparse.from_scipy(made)
            assert tensor.format == (name if name in FORMATS else "csr")
            np.testing.assert_array_equal(tensor.toarray(), matrix.toarray())
    assert tfr.sparse.from_scipy(scipy.sparse.coo_array([1.0, 0.0, 2.0])).shape == (1, 3)


def test_what_the_functions_take():
    x = np.array([[0.0, 2.0], [3.0, 0.0]])
    for make in (tfr.sparse.csr_array, tfr.sparse.csc_array, tfr.sparse.coo_array):
        for arg in (
            x,
            tfr.asarray(x),
            x.tolist(),
            scipy.sparse.csc_array(x),
            make(x),
            ([2.0, 3.0], ([0, 1], [1, 0])),
        ):
            np.testing.assert_array_equal(make(arg).toarray(), x)
        assert make((3, 4)).nnz == 0
        assert make(x, dtype="int32").dtype == np.int32
    assert tfr.sparse.csr_array(([1.0], [2], [0, 1])).shape == (1, 3)
    assert tfr.sparse.csc_array(([1.0], [2], [0, 1])).shape == (3, 1)
    wide = tfr.sparse.csr_array(([1.0], np.array([2], np.int64), [0, 1]), shape=(1, 3))
    assert wide.indices.dtype == np.int32


def test_dense_values_keep_their_gradients():
    x = np.array([[0.0, 2.0], [3.0, 0.0]])
    gradient = tfr.grad(lambda x: (tfr.sparse.csr_array(x) @ np.array([1.0, 10.0])).sum())(
        tfr.asarray(x)
    )
    assert gradient.tolist() == [[0.0, 10.0], [1.0, 0.0]]


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize(
    "again",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_they_are_pickled_and_copied_after_products_too(form, again):
    theirs = scipy.sparse.random(9, 4, 0.5, form, rng=0)
    tensor = tfr.sparse.from_scipy(theirs)
    for _ in range(2):
        other = again(tensor)
        assert (type(other), other.shape, other._is_checked) == (type(tensor), (9, 4), True)
        np.testing.assert_array_equal(other.toarray(), theirs.toarray())
        np.testing.assert_array_equal((other @ np.ones(4)).numpy(), (tensor @ np.ones(4)).numpy())
    unknown = tfr.sparse.from_scipy(theirs, copy=False)
    assert not again(unknown)._is_checked
