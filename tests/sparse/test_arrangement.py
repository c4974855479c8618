"""Products of large matrices of short rows with vectors: after some of them rows are arranged, and bits stay."""

import numpy as np
import pytest
import scipy.sparse

import tensorframe as tfr
from tensorframe.ops.sparse import ARRANGED_SPARSE_MATMUL
from tensorframe.sparse import arrangement, compressed
from tests.sparse.matrices import numbers

HOSTS = ("cpu", "llvm")
FORMATS = ("csr", "csc")


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch):
    monkeypatch.setattr(arrangement, "_LARGE", 1)
    monkeypatch.setattr(compressed, "FEW", 1)
    monkeypatch.setattr(arrangement, "_WINDOW", 16)
    monkeypatch.setattr(arrangement, "PATIENCE", 2)


def matrix(seed, form="csc", *, rows=90, columns=40, count=900, dtype="float64", twice=False):
    """A matrix of SciPy's whose lines have their elements out of order, some of them stored twice."""
    rng = np.random.default_rng(seed)
    lines, length = (rows, columns) if form == "csr" else (columns, rows)
    line, place = np.divmod(np.sort(rng.choice(rows * columns, count, replace=twice)), length)
    place = place[np.lexsort((rng.random(count), line))]
    pointers = np.searchsorted(line, np.arange(lines + 1))
    made = scipy.sparse.csr_array if form == "csr" else scipy.sparse.csc_array
    return made((numbers(rng, count, dtype), place, pointers), shape=(rows, columns))


def is_arranged(product):
    return product.node.op is ARRANGED_SPARSE_MATMUL


def bits(result):
    """The bits of each number, but of those that are none: which of these there is, is nowhere said."""
    parts = result.view(result.real.dtype)
    if parts.dtype.kind == "f":
        parts = np.where(np.isnan(parts), np.nan, parts)
    return parts.tobytes()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("device", HOSTS)
@pytest.mark.parametrize(
    ("dtype", "width"), [("float32", ()), ("complex128", (1,)), ("int64", ()), ("float64", (1,))]
)
def test_arranged_rows_have_the_bits_of_the_others_for_any_number_of_threads(
    dtype, width, device, form
):
    theirs = matrix(1, form, dtype=dtype, twice=True)
    x = numbers(np.random.default_rng(2), (40, *width), dtype)
    ours, factor = tfr.sparse.from_scipy(theirs, device=device), tfr.asarray(x, device=device)
    results, arranged = [], []
    for threads in (1, 1, 1, 2, 16):
        with tfr.config.override(threads=threads):
            product = ours @ factor
            arranged.append(is_arranged(product))
            results.append(product.numpy())
    assert arranged == [False, False, True, True, True]
    near = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(results[0], theirs @ x, rtol=near, atol=10 * near)
    assert len({bits(result) for result in results}) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_not_finite_stays_in_its_rows(form):
    theirs = matrix(7, form, twice=True)
    theirs.data[:3] = np.nan, np.inf, -np.inf
    x = np.linspace(-1, 1, 40)
    x[5:8] = np.inf, np.nan, 0
    ours = tfr.sparse.from_scipy(theirs)
    with np.errstate(invalid="ignore"):
        expected = theirs @ x
        results = [(ours @ x).numpy() for _ in range(3)]
    assert 0 < np.isnan(expected).sum() < len(expected)
    np.testing.assert_allclose(results[0], expected, rtol=1e-12, atol=1e-11)
    assert len({bits(result) for result in results}) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_rows_of_a_window_come_by_their_lengths(form):
    theirs, tensor = matrix(3, form), tfr.sparse.from_scipy(matrix(3, form))
    for _ in range(3):
        product = tensor @ tfr.ones(40, dtype="float64")
    data, columns, pointers, places = [tfr.Tensor(node).numpy() for node in product.node.inputs[:4]]
    lengths = np.diff(theirs.tocsr().indptr)
    for window in np.split(np.diff(pointers), range(16, 90, 16)):
        assert (np.diff(window) >= 0).all()
    np.testing.assert_array_equal(np.diff(pointers)[places], lengths)
    np.testing.assert_array_equal(places // 16, np.arange(90) // 16)
    made = scipy.sparse.csr_array((data, columns, pointers), shape=(90, 40))
    np.testing.assert_array_equal(made.toarray()[places], theirs.toarray())


def test_equal_lengths_stay_in_their_order():
    np.testing.assert_array_equal(arrangement.by_length(np.array([2, 0, 1, 2, 0])), [1, 4, 2, 0, 3])
    assert arrangement.by_length(np.zeros(0, int)).tolist() == []


def used(tensor, x, times=3):
    """The last of so many products."""
    return [tensor @ x for _ in range(times)][-1]


def test_each_matrix_is_arranged_once_and_its_transpose_beside_it():
    tensor, x = tfr.sparse.from_scipy(matrix(4)), tfr.ones(40, dtype="float64")
    operands = used(tensor, x).node.inputs[:4]
    assert (tensor @ x).node.inputs[:4] == operands
    assert (tensor.mT.mT @ x).node.inputs[:4] == operands
    assert (x @ tensor.mT).node.inputs[:4] == operands
    # of the other elements in the same places only they are put in order, once they were used as often
    other = tensor.with_data((tensor.data * 2).compute())
    assert not is_arranged(other @ x)
    mine, *integers = used(other, x, 2).node.inputs[:4]
    assert tuple(integers) == operands[1:]
    assert mine is not operands[0]
    assert (tensor @ x).node.inputs[:4] == operands


@pytest.mark.parametrize("form", FORMATS)
def test_who_assigns_to_elements_or_integers_gets_their_products(form):
    theirs = matrix(5, form)
    tensor, x = tfr.sparse.from_scipy(theirs), np.linspace(-1, 1, 40)
    assert is_arranged(used(tensor, tfr.asarray(x)))
    tensor.data[0] = 100.0
    theirs.data[0] = 100.0
    np.testing.assert_allclose((tensor @ x).numpy(), theirs @ x)
    tensor.indices[0] = theirs.indices[0] = 1
    np.testing.assert_allclose(used(tensor, x).numpy(), theirs @ x)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tfr.sparse.from_scipy(matrix(6, "csr", rows=40, columns=90, count=640)),
        lambda: tfr.sparse.csr_array(np.eye(40)),
        lambda: tfr.sparse.from_scipy(matrix(6, "csr"), copy=False),
        lambda: tfr.sparse.from_scipy(matrix(6, "csr", dtype="float32")).astype("float16"),
        lambda: tfr.sparse.from_scipy(matrix(6, "csc")).to_device("numpy"),
    ],
    ids=["long rows", "rows of one length", "shared", "half precision", "numpy"],
)
def test_others_are_not_arranged(make):
    tensor = make()
    x = tfr.ones(tensor.shape[1], dtype=tensor.dtype, device=tensor.device)
    assert not is_arranged(used(tensor, x, 5))


def indices_of(product):
    """The dtype of the indices that a product reads."""
    return product.node.inputs[1].dtype


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("width", [(), (3,)])
def test_products_that_come_again_read_indices_of_16_bits(form, width):
    theirs = matrix(12, form, rows=30, columns=40)
    tensor, x = (
        tfr.sparse.from_scipy(theirs),
        np.random.default_rng(0).standard_normal((40, *width)),
    )
    results = [tensor @ tfr.asarray(x) for _ in range(3)]
    assert [str(indices_of(result)) for result in results] == ["int32", "uint16", "uint16"]
    assert results[1].node.inputs[1] is results[2].node.inputs[1]
    assert len({bits(result.numpy()) for result in results}) == 1
    np.testing.assert_allclose(results[0].numpy(), theirs @ x, atol=1e-12)


def test_indices_that_need_more_bits_and_those_of_other_devices_stay():
    large = scipy.sparse.random(3, (1 << 16) + 1, 1e-4, "csr", rng=0)
    for tensor in (tfr.sparse.from_scipy(large), tfr.sparse.from_scipy(matrix(1), device="numpy")):
        x = tfr.ones((tensor.shape[1], 2), dtype="float64", device=tensor.device)
        assert str(indices_of(used(tensor, x))) == "int32"
    assert tfr.sparse.from_scipy(matrix(1)).indices.dtype == np.int32


def test_who_has_no_memory_for_another_form_multiplies_without(monkeypatch):
    def refuse(*_):
        raise tfr.errors.OutOfMemoryError("no memory")

    tensor, x = tfr.sparse.from_scipy(matrix(11)), tfr.ones(40, dtype="float64")
    monkeypatch.setattr(arrangement.structure, "like", refuse)
    before, after = [used(tensor, x, times) for times in (1, 4)]
    assert not is_arranged(after)
    assert bits(before.numpy()) == bits(after.numpy())


def test_huge_matrices_are_not_arranged():
    assert arrangement.is_worthwhile(10**6, 10**7)
    assert not arrangement.is_worthwhile(10**7, 10**8)


def test_matrices_as_factors_count_for_nothing():
    tensor = tfr.sparse.from_scipy(matrix(9))
    assert not is_arranged(used(tensor, tfr.ones((40, 2), dtype="float64"), 5))
    assert not is_arranged(used(tensor, tfr.ones(40, dtype="float64"), 2))


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_recorded_to_be_run_again_has_arranged_rows_at_once(form):
    theirs, x = matrix(8, form), np.linspace(-1, 1, 40)
    tensor = tfr.sparse.from_scipy(theirs)
    step = tfr.jit(lambda x: tensor @ x)
    np.testing.assert_allclose(step(x).numpy(), theirs @ x, atol=1e-12)
    assert is_arranged(tensor @ tfr.asarray(x))
    # an argument has no elements that are known
    other = tfr.sparse.from_scipy(matrix(10, form))
    times = tfr.jit(lambda tensor, x: tensor @ x)
    np.testing.assert_allclose(times(other, x).numpy(), matrix(10, form) @ x, atol=1e-12)
    assert not is_arranged(other @ tfr.asarray(x))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rows", [90, 30], ids=["arranged", "short indices"])
def test_gradients_have_the_bits_that_they_have_without_another_form(form, rows):
    theirs = matrix(6, form, rows=rows)
    tensor, x = tfr.sparse.from_scipy(theirs), tfr.asarray(np.linspace(-1, 1, 40))
    gradients = tfr.grad(lambda a, x: ((a @ x) ** 2).sum(), argnums=(0, 1))
    before = gradients(tensor, x)
    assert is_arranged(used(tensor, x)) is (rows == 90)
    assert indices_of(tensor @ x) == np.uint16
    of_matrix, of_factor = gradients(tensor, x)
    of_closure = tfr.grad(lambda x: ((tensor @ x) ** 2).sum())(x)
    dense = theirs.toarray()
    product = dense @ x.numpy()
    np.testing.assert_allclose(of_factor.numpy(), 2 * dense.T @ product, atol=1e-12)
    rows, columns = theirs.tocoo().coords
    expected = scipy.sparse.csr_array(
        (2 * product[rows] * x.numpy()[columns], (rows, columns)), shape=theirs.shape
    )
    np.testing.assert_allclose(of_matrix.todense().numpy(), expected.toarray(), atol=1e-12)
    assert bits(of_matrix.data.numpy()) == bits(before[0].data.numpy())
    assert bits(of_factor.numpy()) == bits(of_closure.numpy()) == bits(before[1].numpy())


@pytest.mark.parametrize("form", FORMATS)
def test_mapped_products_keep_the_form_and_its_gradients(form):
    theirs = matrix(6, form)
    tensor, many = tfr.sparse.from_scipy(theirs), np.random.default_rng(0).standard_normal((5, 40))
    assert is_arranged(used(tensor, tfr.asarray(many[0])))
    mapped = tfr.vmap(lambda x: tensor @ x)
    rows = mapped(tfr.asarray(many)).numpy()
    np.testing.assert_allclose(rows, many @ theirs.toarray().T, atol=1e-12)
    for row, x in zip(rows, many, strict=True):
        assert bits(row) == bits((tensor @ x).numpy())

    def total(data):
        own = tensor.with_data(data)
        return tfr.sum(tfr.vmap(lambda x: own @ x)(tfr.asarray(many)) ** 2)

    slope = tfr.grad(total)(tensor.data)
    rows, columns = theirs.tocoo().coords
    product = theirs.toarray() @ many.T
    expected = (2 * product[rows] * many.T[columns]).sum(axis=1)
    np.testing.assert_allclose(slope.numpy(), expected, atol=1e-11)
