"""Products of sparse tensors with dense ones are SciPy's, on every device, in every format and dtype."""

import numpy as np
import pytest
import scipy.sparse

import tensorframe as tfr
from tensorframe.errors import IndexingError
from tests.backends.devices import FOUND
from tests.sparse.matrices import FORMATS, compare, numbers, random_case, random_matrix

HOSTS = ("cpu", "llvm", "numpy")
# what every one of the devices holds
EVERYWHERE = ("float32", "int32")


@pytest.mark.parametrize("device", HOSTS)
@pytest.mark.parametrize("first", range(0, 36, 18))
def test_random_products_are_those_of_scipy(device, first):
    for seed in range(first, first + 18):
        compare(random_case(seed), device)


@pytest.mark.parametrize("device", FOUND)
def test_products_on_devices_are_those_of_scipy(device):
    for seed in range(8):
        compare(random_case(seed, EVERYWHERE), device)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("device", [*HOSTS, *FOUND])
def test_stacks(device, format):
    rng = np.random.default_rng(1)
    dense = numbers(rng, (2, 3, 6, 7), "float32") * (rng.random((2, 3, 6, 7)) < 0.3)
    stack = tfr.sparse.csr_array(dense, device=device).asformat(format)
    np.testing.assert_array_equal(stack.toarray(), dense)
    for shape in ((7,), (7, 4), (2, 3, 7, 4)):
        x = numbers(rng, shape, "float32")
        np.testing.assert_allclose((stack @ x).numpy(), dense @ x, rtol=1e-4, atol=1e-5)
    for shape in ((6,), (4, 6), (2, 3, 4, 6)):
        x = numbers(rng, shape, "float32")
        np.testing.assert_allclose((x @ stack).numpy(), x @ dense, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose((x @ stack.mT.mT).numpy(), x @ dense, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("format", FORMATS)
def test_one_matrix_meets_a_stack_of_dense_ones(format):
    rng = np.random.default_rng(2)
    matrix = random_matrix(rng, (5, 8), 0.3, "float64")
    tensor = tfr.sparse.from_scipy(matrix).asformat(format)
    x, y = rng.standard_normal((2, 3, 8, 4)), rng.standard_normal((2, 3, 4, 5))
    np.testing.assert_allclose((tensor @ x).numpy(), matrix.toarray() @ x)
    np.testing.assert_allclose((y @ tensor).numpy(), y @ matrix.toarray())


@pytest.mark.parametrize("device", HOSTS)
def test_operands_in_any_layout(device):
    rng = np.random.default_rng(3)
    matrix = random_matrix(rng, (9, 12), 0.4, "float64")
    tensor = tfr.sparse.from_scipy(matrix, device=device)
    x = tfr.asarray(rng.standard_normal((5, 24)), device=device)
    for view in (x.T[::2], x.T[::-2], x.T[:12], x.T[5:17]):
        np.testing.assert_allclose((tensor @ view).numpy(), matrix @ view.numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_added_up_in_float32(dtype):
    data = tfr.ones(4000, dtype=dtype)
    tensor = tfr.sparse.csr_array((data, np.arange(4000), [0, 4000]), shape=(1, 4000))
    total = tensor @ tfr.ones(4000, dtype=dtype)
    assert str(total.dtype) == dtype
    assert total.item() == 4000


@pytest.mark.parametrize(
    ("rows", "count"), [(40_000, 90_000), (3, 90_000), (200_000, 50), (1, 70_000)]
)
@pytest.mark.parametrize("width", [1, 5])
def test_pieces_and_results_side_by_side(rows, count, width):
    """Many pieces, rows longer than a piece, thousands of empty rows, and several results that are added up."""
    rng = np.random.default_rng(4)
    columns = 300
    matrix = scipy.sparse.csr_array(
        (
            rng.standard_normal(count),
            (rng.integers(0, rows, count), rng.integers(0, columns, count)),
        ),
        shape=(rows, columns),
    )
    tensor = tfr.sparse.from_scipy(matrix)
    x, y = rng.standard_normal((columns, width)), rng.standard_normal((rows, width))
    for threads in (1, 2):
        with tfr.config.override(threads=threads):
            np.testing.assert_allclose((tensor @ x).numpy(), matrix @ x, atol=1e-9)
            np.testing.assert_allclose((tensor.T @ y).numpy(), matrix.T @ y, atol=1e-9)


def test_bits_do_not_depend_on_threads():
    rng = np.random.default_rng(5)
    matrix = random_matrix(rng, (3000, 500), 0.2, "float32")
    x, y = numbers(rng, 500, "float32"), numbers(rng, 3000, "float32")
    results = []
    for threads in (1, 2):
        tensor = tfr.sparse.from_scipy(matrix)
        with tfr.config.override(threads=threads):
            results.append(((tensor @ x).numpy(), (tensor.T @ y).numpy()))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_integers_that_were_checked_are_followed_until_one_of_them_is_assigned_to(kind):
    make = getattr(tfr.sparse, f"{kind}_array")
    tensor = make(([1.0, 2.0], [0, 1], [0, 1, 2, 2]), shape=(3, 3))
    product = tensor @ tfr.ones(3, dtype=tfr.float64)
    assert "True" in str(product.node.attrs)
    derived = [tensor.T, tensor.tocoo(), tensor.coalesce(), tensor.astype("f4")]
    assert all(own._is_checked for own in derived)
    rebuilt = type(tensor)._built(tensor.shape, tensor._leaves())
    np.testing.assert_array_equal((rebuilt @ tfr.ones(3)).numpy(), product.numpy())
    assert not rebuilt._is_checked
    tensor.indices[1] = 7
    with pytest.raises(IndexingError, match="out of bounds"):
        (tensor @ tfr.ones(3)).numpy()


def test_arrays_of_scipy_are_copied_or_shared_by_a_promise():
    matrix = scipy.sparse.eye_array(4, format="csr")
    own, shared = tfr.sparse.from_scipy(matrix), tfr.sparse.from_scipy(matrix, copy=False)
    matrix.data[0], matrix.indices[1] = 5.0, 77
    np.testing.assert_array_equal((own @ tfr.ones(4)).numpy(), np.ones(4))
    assert np.shares_memory(shared.data.numpy(), matrix.data)
    with pytest.raises(IndexingError, match="index 77 is out of bounds"):
        (shared @ tfr.ones(4)).numpy()


def test_coordinates_keep_their_rows_until_elements_change():
    tensor = tfr.sparse.coo_array(([1.0, 2.0], ([1, 0], [0, 1])), shape=(2, 2))
    assert tensor.tocsr() is tensor.tocsr()
    assert tensor.coalesce().tocsr().data is not tensor.tocsr().data
    tensor.data[0] = 7.0
    np.testing.assert_array_equal((tensor @ tfr.ones(2)).numpy(), [2.0, 7.0])
    in_order = tensor.coalesce()
    assert in_order.tocsr().indices is in_order.col  # nothing is put in order


def test_a_product_is_one_call_that_explain_shows():
    tensor = tfr.sparse.eye_array(50)
    plan = (tensor @ tfr.ones(50)).explain()
    assert plan.library_calls == 1
    assert "sparse_matmul" in str(plan)


def test_small_products_have_the_bits_of_large_ones():
    rng = np.random.default_rng(6)
    matrix = random_matrix(rng, (4, 60), 0.9, "float32")
    x = numbers(rng, 60, "float32")
    with tfr.config.override(small_nodes=0):
        planned = (tfr.sparse.from_scipy(matrix) @ x).numpy()
    np.testing.assert_array_equal((tfr.sparse.from_scipy(matrix) @ x).numpy(), planned)


def test_on_a_cluster_products_and_gradients_are_those_of_the_cpu():
    pytest.importorskip("dask")
    matrix = tfr.sparse.from_scipy(
        scipy.sparse.random_array((40, 30), density=0.1, rng=5, format="csr")
    )
    x = np.random.default_rng(6).random((30, 3))
    there, dense = matrix.to_device("dask"), tfr.asarray(x, device="dask")
    product = there @ dense
    assert (there.device, product.device) == ("dask", "dask")
    np.testing.assert_array_equal(product.numpy(), (matrix @ tfr.asarray(x)).numpy())
    for given in (there, matrix):  # a matrix of the host's beside data of the cluster's
        slope = tfr.grad(lambda v: tfr.sum((given @ v) ** 2))(dense)  # noqa: B023
        expected = 2 * matrix.todense().numpy().T @ (matrix.todense().numpy() @ x)
        np.testing.assert_allclose(slope.numpy(), expected, rtol=1e-12)
