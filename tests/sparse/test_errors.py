"""Indices that are none, shapes that do not fit and what sparse tensors do not do: refused with what to try next."""

import numpy as np
import pytest
import scipy.sparse

import tensorframe as tfr
from tensorframe.errors import (
    ArgumentError,
    DTypeError,
    IndexingError,
    ShapeError,
    TracingError,
)
from tests.backends.devices import FOUND

DEVICES = ["cpu", "llvm", "numpy", *FOUND]


@pytest.mark.parametrize("make", [tfr.sparse.csr_array, tfr.sparse.csc_array])
@pytest.mark.parametrize("index", [3, -1])
def test_known_indices_are_looked_at_when_a_tensor_is_made(make, index):
    with pytest.raises(IndexingError, match=f"index {index} is out of bounds"):
        make(([1.0, 2.0], [0, index], [0, 1, 2, 2]), shape=(3, 3))
    with pytest.raises(IndexingError, match=f"index {index} is out of bounds for axis 1"):
        tfr.sparse.coo_array(([1.0], ([0], [index])), shape=(3, 3))


@pytest.mark.parametrize("indptr", [[0, 2, 1, 2], [1, 1, 2, 2], [0, 1, 2, 3], [0, 1, 1, 1]])
def test_known_pointers_rise_from_zero_to_the_number_of_elements(indptr):
    with pytest.raises(IndexingError, match="indptr rises from 0 to the number of elements, 2"):
        tfr.sparse.csr_array(([1.0, 2.0], [0, 1], indptr), shape=(3, 3))


def hidden(values, device):
    """Integers that are not computed yet: nobody can look at them when a tensor is made."""
    return tfr.asarray(np.asarray(values, np.int32), device=device) + tfr.asarray(
        np.int32(0), device=device
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([0, 3], [0, 1, 2, 2]),
        ([0, -1], [0, 1, 2, 2]),
        ([0, 2**31 - 1], [0, 1, 2, 2]),
        ([0, 1], [0, 2, 1, 2]),
        ([0, 1], [0, -7, 2, 2]),
        ([0, 1], [0, 2**30, 2**30 + 2, 2]),
        ([0, 1], [1, 1, 2, 2]),
        ([0, 1], [0, 1, 2, 3]),
        ([0, 1], [0, 1, 1, 1]),
    ],
)
def test_indices_that_are_computed_later_are_looked_at_by_products(device, indices, indptr):
    data = tfr.asarray(np.ones(2, np.float32), device=device)
    arrays = (data, hidden(indices, device), hidden(indptr, device))
    tensor = tfr.sparse.csr_array(arrays, shape=(3, 3))
    for result in (tensor @ np.ones(3, np.float32), tensor @ np.ones((3, 5), np.float32)):
        with pytest.raises(IndexingError, match=r"out of bounds|indptr"):
            result.compute()
    if device in ("cpu", "llvm", "numpy"):
        with pytest.raises(IndexingError, match=r"out of bounds|indptr"):
            (np.ones(3, np.float32) @ tensor).compute()
    good = tfr.sparse.csr_array(([1.0], [0], [0, 1]), shape=(1, 1), device=device, dtype="float32")
    assert (good @ np.ones(1, np.float32)).tolist() == [1.0]  # the device is none the worse for it


def test_unsorted_and_duplicate_indices_are_what_they_are_in_scipy():
    arrays = ([1.0, 2.0, 4.0, 8.0], [2, 0, 2, 1], [0, 3, 4])
    tensor = tfr.sparse.csr_array(arrays, shape=(2, 3))
    matrix = scipy.sparse.csr_array(arrays, shape=(2, 3))
    assert tensor.nnz == 4
    np.testing.assert_array_equal(tensor.toarray(), matrix.toarray())
    np.testing.assert_array_equal((tensor @ np.arange(3.0)).numpy(), matrix @ np.arange(3.0))
    whole = tensor.coalesce()
    assert whole.data.tolist() == [2.0, 5.0, 8.0]
    assert whole.indices.tolist() == [0, 2, 1]
    assert whole.indptr.tolist() == [0, 2, 3]
    assert whole.coalesce() is whole


@pytest.mark.parametrize(
    ("arg", "shape", "kind", "message"),
    [
        (([1.0, 2.0], [0], [0, 1]), (1, 2), ShapeError, "2 elements do not have 1 indices"),
        (([1.0], [0], [0, 1]), (2, 2), ShapeError, "where the 2 rows of shape"),
        (([1.0], [0.5], [0, 1]), (1, 2), DTypeError, "indices are integers, got float64"),
        (([[1.0]], [0], [0, 1]), (1, 2), ShapeError, "stored elements are a vector"),
        (([1.0], ([0], [0], [0])), (1, 2), ShapeError, "3 vectors of coordinates"),
        (np.ones(3), None, ShapeError, "two axes or more"),
        (np.ones((2, 3)), (3, 2), ShapeError, "does not have shape"),
    ],
)
def test_what_does_not_make_a_matrix(arg, shape, kind, message):
    with pytest.raises(kind, match=message):
        tfr.sparse.csr_array(arg, shape=shape)


def test_what_products_refuse():
    tensor = tfr.sparse.eye_array(3)
    with pytest.raises(ShapeError, match="a factor of 4 elements stands right of"):
        tensor @ np.ones(4)
    with pytest.raises(ShapeError, match="a factor of 4 elements stands left of"):
        np.ones((2, 4)) @ tensor
    with pytest.raises(ShapeError, match=r"A \* number"):
        tensor @ 2.0
    with pytest.raises(DTypeError, match="got bool and bool"):
        tensor.astype(bool) @ np.ones(3, bool)
    stack = tfr.sparse.csr_array(np.ones((2, 3, 3)))
    with pytest.raises(ShapeError, match=r"a stack \(2,\) of sparse matrices"):
        stack @ np.ones((4, 3, 3))
    with pytest.raises(ShapeError, match="is no matrix"):
        _ = stack.T


def test_what_sparse_tensors_do_not_become():
    tensor = tfr.sparse.eye_array(3)
    with pytest.raises(DTypeError, match=r"A.to_scipy\(\)"):
        np.asarray(tensor)
    with pytest.raises(DTypeError, match=r"A.todense\(\)"):
        tfr.sin(tensor)
    with pytest.raises(DTypeError, match="neither true nor false"):
        bool(tensor)
    with pytest.raises(DTypeError, match="would make every element"):
        tensor + 1.0
    with pytest.raises(DTypeError, match="divide by a sparse tensor"):
        1.0 / tensor
    with pytest.raises(ArgumentError, match="no sparse format 'dia'"):
        tensor.asformat("dia")
    with pytest.raises(DTypeError, match="takes a sparse array of SciPy's, got ndarray"):
        tfr.sparse.from_scipy(np.ones((2, 2)))


def test_what_depends_on_indices_is_refused_while_they_are_unknown():
    with pytest.raises(TracingError, match="depends on the indices"):
        tfr.jit(lambda a: a.coalesce())(tfr.sparse.eye_array(3))


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_what_was_made_of_integers_is_made_anew_once_they_are_assigned_to(form):
    dense = np.zeros((6, 5))
    dense[[1, 2, 5], [0, 1, 3]] = 2.0, 3.0, 4.0
    tensor = tfr.sparse.csr_array(dense).asformat(form)
    x = tfr.ones(5, dtype="float64")
    np.testing.assert_array_equal((tensor @ x).numpy(), dense.sum(1))
    np.testing.assert_array_equal(tensor.tocsc().toarray(), dense)
    np.testing.assert_array_equal(tensor.tocsr().toarray(), dense)
    (tensor.row if form == "coo" else tensor.indices)[0] = 4
    moved = dense.copy()
    moved[1, 0] = 0
    moved[(4, 0) if form != "csr" else (1, 4)] = 2.0
    np.testing.assert_array_equal((tensor @ x).numpy(), moved.sum(1))
    for made in (tensor, tensor.tocsr(), tensor.tocsc(), tensor.tocoo()):
        np.testing.assert_array_equal(made.toarray(), moved)
