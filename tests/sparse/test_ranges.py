"""Products with large CSC matrices: threads share the result by its rows, which pointers of ranges tell."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

import tensorframe as tfr
from tensorframe.sparse import structure
from tests.sparse.matrices import numbers

HOSTS = ("cpu", "llvm", "numpy")


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch):
    monkeypatch.setattr(structure, "_LARGE", 1)
    monkeypatch.setattr(structure, "_CACHE", 0)


def matrix(seed, *, rows=90, columns=40, count=900, dtype="float64", twice=False):
    """A matrix of SciPy's in compressed columns, with the rows of each in order; some elements are stored twice."""
    rng = np.random.default_rng(seed)
    places = rng.choice(rows * columns, count, replace=twice)
    column, row = np.divmod(np.sort(places), rows)
    pointers = np.searchsorted(column, np.arange(columns + 1))
    data = numbers(rng, count, dtype)
    return scipy.sparse.csc_array((data, row, pointers), shape=(rows, columns))


def pointers_of(tensor, x):
    """The pointers that a product is recorded with."""
    return (tensor @ x).node.inputs[2]


@pytest.mark.parametrize("device", HOSTS)
@pytest.mark.parametrize("width", [(), (1,), (7,)])
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
def test_products_are_those_of_scipy_with_the_same_bits_for_any_number_of_threads(
    dtype, width, device
):
    theirs = matrix(1, dtype=dtype, twice=True)
    x = numbers(np.random.default_rng(2), (40, *width), dtype)
    results = []
    for threads in (1, 2, 3):
        with tfr.config.override(threads=threads):
            ours = tfr.sparse.from_scipy(theirs, device=device)
            assert pointers_of(ours, tfr.asarray(x, device=device)).shape == (5, 41)
            results.append((ours @ x).numpy())
    near = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(results[0], theirs @ x, rtol=near, atol=10 * near)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_ranges_have_about_as_many_elements_and_rows(count):
    rng = np.random.default_rng(3)
    indices = np.sort(rng.integers(0, 50, (30, 40)) ** 2, axis=1)  # many in the first rows
    indptr = np.arange(0, 1201, 40)
    found = structure.Lines(indices.ravel(), indptr, 2500).in_ranges(count)
    np.testing.assert_array_equal(found[0], indptr)
    firsts = [0, *found[1:, -1], 2500]
    for number, (first, stop) in enumerate(pairwise(firsts)):
        within = (indices >= first) & (indices < stop)
        assert within.sum() + stop - first == pytest.approx((1200 + 2500) / count, abs=45)
        begins = indptr[:-1] + (indices < first).sum(1)
        np.testing.assert_array_equal(found[number, :-1], begins)


def test_what_is_out_of_order_short_or_small_has_row_pointers_alone(monkeypatch):
    tensor = tfr.sparse.from_scipy(matrix(4))
    x = tfr.ones(40, dtype="float64")
    known = pointers_of(tensor, x)
    assert known.shape == (5, 41)
    assert pointers_of(tensor, x) is known
    assert pointers_of(tensor.mT.mT, x) is known
    assert pointers_of(tensor.with_data(tensor.data * 2), x) is known
    theirs = matrix(4)
    theirs.indices[:2] = theirs.indices[:2][::-1].copy()
    unsorted = tfr.sparse.csc_array(
        (theirs.data, theirs.indices, theirs.indptr), shape=theirs.shape
    )
    assert pointers_of(unsorted, x).shape == (41,)
    np.testing.assert_allclose((unsorted @ x).numpy(), theirs @ np.ones(40))
    for count in (300, 40 * 89):  # of few elements in a line, and of many for each of the result
        other = tfr.sparse.from_scipy(matrix(5, count=count))
        assert pointers_of(other, x).shape == (41,)
    monkeypatch.setattr(structure, "_CACHE", 90 * 8)
    assert pointers_of(tensor, x).shape == (41,)
    assert pointers_of(tensor, tfr.ones((40, 2), dtype="float64")) is known


def test_gradients_of_products_in_ranges():
    theirs = matrix(6)
    tensor, x = tfr.sparse.from_scipy(theirs), tfr.asarray(np.linspace(-1, 1, 40))
    of_matrix, of_factor = tfr.grad(lambda a, x: ((a @ x) ** 2).sum(), argnums=(0, 1))(tensor, x)
    dense = theirs.toarray()
    product = dense @ x.numpy()
    np.testing.assert_allclose(of_factor.numpy(), 2 * dense.T @ product, atol=1e-12)
    column = np.repeat(np.arange(40), np.diff(theirs.indptr))
    expected = 2 * product[theirs.indices] * x.numpy()[column]
    np.testing.assert_allclose(of_matrix.data.numpy(), expected, atol=1e-12)
    step = tfr.jit(lambda x: tensor @ x)
    np.testing.assert_allclose(step(x).numpy(), product, atol=1e-12)
    rows = tfr.vmap(lambda x: tensor @ x)(tfr.asarray(np.eye(40)))
    np.testing.assert_allclose(rows.numpy(), dense.T)
