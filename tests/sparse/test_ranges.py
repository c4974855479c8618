"""Products with large CSC matrices: threads share the result by its rows, of which each goes through lists."""

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
    monkeypatch.setattr(structure, "PATIENCE", 0)
    monkeypatch.setattr(structure, "core_count", lambda: 16)  # as many ranges as there may be
    with tfr.config.override(threads=16):
        yield


def matrix(seed, *, rows=90, columns=40, count=900, dtype="float64", twice=False):
    """A matrix of SciPy's in compressed columns, with the rows of each out of order; some elements are stored twice."""
    rng = np.random.default_rng(seed)
    places = rng.choice(rows * columns, count, replace=twice)
    column, row = np.divmod(np.sort(places), rows)
    row = row[np.lexsort((rng.random(count), column))]
    pointers = np.searchsorted(column, np.arange(columns + 1))
    data = numbers(rng, count, dtype)
    return scipy.sparse.csc_array((data, row, pointers), shape=(rows, columns))


def ranges_of(tensor, x):
    """How many ranges a product is recorded with."""
    return (tensor @ x).node.attrs[1]


def bits(result):
    """The bits of each number, but of those that are none: which of these there is, is nowhere said."""
    parts = result.view(result.real.dtype)
    return (
        np.where(np.isnan(parts), np.nan, parts).tobytes()
        if parts.dtype.kind == "f"
        else parts.tobytes()
    )


@pytest.mark.parametrize("device", HOSTS)
@pytest.mark.parametrize(
    ("dtype", "width"), [("float32", ()), ("complex128", (1,)), ("int64", ()), ("float64", (1,))]
)
def test_products_are_those_of_scipy_with_the_same_bits_for_any_number_of_threads(
    dtype, width, device
):
    theirs = matrix(1, dtype=dtype, twice=True)
    x = numbers(np.random.default_rng(2), (40, *width), dtype)
    ours = tfr.sparse.from_scipy(theirs, device=device)
    results = []
    for threads, ranges in ((1, 1), (2, 2), (16, 4)):
        with tfr.config.override(threads=threads):
            assert ranges_of(ours, tfr.asarray(x, device=device)) == ranges
            results.append((ours @ x).numpy())
    near = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(results[0], theirs @ x, rtol=near, atol=10 * near)
    for result in results[1:]:
        assert bits(result) == bits(results[0])


@pytest.mark.parametrize("device", HOSTS)
def test_what_is_not_finite_stays_in_its_rows_for_any_number_of_threads(device):
    theirs = matrix(7, twice=True)
    theirs.data[:3] = np.nan, np.inf, -np.inf
    x = np.linspace(-1, 1, 40)
    x[5:8] = np.inf, np.nan, 0
    ours = tfr.sparse.from_scipy(theirs, device=device)
    with np.errstate(invalid="ignore"):
        expected = theirs @ x
        results = []
        for threads in (1, 2, 16):
            with tfr.config.override(threads=threads):
                results.append((ours @ x).numpy())
    assert 0 < np.isnan(expected).sum() < len(expected)
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-11)
        assert bits(result) == bits(results[0])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_ranges_have_about_as_many_elements_and_rows(count):
    rng = np.random.default_rng(3)
    indices = rng.integers(0, 50, (30, 40)) ** 2  # many in the first rows
    indptr = np.arange(0, 1201, 40)
    found = structure.Lines(indices.ravel(), indptr, 2500).in_ranges(count)
    np.testing.assert_array_equal(found[:31], indptr)
    begins, firsts = found[31 : 31 + 2 * (count + 1)].reshape(2, count + 1)
    order, lines, places = found[31 + 2 * (count + 1) :].reshape(3, 1200)
    assert (firsts[0], firsts[-1], begins[0], begins[-1]) == (0, 2500, 0, 1200)
    np.testing.assert_array_equal(np.sort(order), np.arange(1200))
    np.testing.assert_array_equal(lines, order // 40)
    np.testing.assert_array_equal(places, indices.ravel()[order])
    for (begin, end), (first, stop) in zip(pairwise(begins), pairwise(firsts), strict=True):
        assert (np.diff(order[begin:end]) > 0).all()
        assert ((places[begin:end] >= first) & (places[begin:end] < stop)).all()
        assert end - begin + stop - first == pytest.approx((1200 + 2500) / count, abs=45)


def test_lists_are_made_once_and_where_they_are_worth_it(monkeypatch):
    tensor = tfr.sparse.from_scipy(matrix(4))
    x = tfr.ones(40, dtype="float64")

    def pointers_of(tensor, x):
        return (tensor @ x).node.inputs[2]

    known = pointers_of(tensor, x)
    assert known.shape == (41 + 2 * (ranges_of(tensor, x) + 1) + 3 * 900,)
    assert pointers_of(tensor, x) is known
    assert pointers_of(tensor.mT.mT, x) is known
    assert pointers_of(tensor.with_data(tensor.data * 2), x) is known
    with tfr.config.override(threads=1):
        assert ranges_of(tensor, x) == 1
        assert pointers_of(tensor, x) is tensor.indptr.node
    assert ranges_of(tensor, tfr.ones((40, 2), dtype="float64")) == 0
    many = tfr.sparse.from_scipy(matrix(5, count=90 * 17))  # for each of the result
    assert ranges_of(many, x) == 0
    monkeypatch.setattr(structure, "_CACHE", 90 * 8)
    assert ranges_of(tensor, x) == 0


def test_matrices_that_are_used_seldom_have_no_lists_and_the_same_bits(monkeypatch):
    monkeypatch.setattr(structure, "PATIENCE", 3)
    tensor, x = tfr.sparse.from_scipy(matrix(7)), numbers(np.random.default_rng(8), 40, "float64")
    results = [tensor @ tfr.asarray(x) for _ in range(5)]
    assert [result.node.attrs[1] for result in results] == [1, 1, 1, 4, 4]
    assert len({bits(result.numpy()) for result in results}) == 1
    other = tfr.sparse.from_scipy(matrix(9))
    traced = tfr.jit(lambda x: other @ x)
    assert "4 ranges" not in other._others
    traced(tfr.asarray(x)).compute()
    assert "4 ranges" in other._others


@pytest.mark.parametrize("threads", [1, 3])
def test_gradients_of_products_in_ranges(threads):
    theirs = matrix(6)
    with tfr.config.override(threads=threads):
        check_gradients(theirs)


def check_gradients(theirs):
    """Compare gradients, and products that are jitted and mapped, with those of a dense matrix."""
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
