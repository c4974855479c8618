"""The CUDA backend on a GPU that is the processor: printed kernels, launched as on a GPU, compute what NumPy does."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.backends.registry import backend_of
from tensorframe.testing.compare import assert_close
from tensorframe.testing.conformance import checks
from tensorframe.testing.random_graph import check

pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")

from tensorframe.backends.cuda import libraries
from tests.backends import host_gpu, test_device_scatters, test_device_searching
from tests.backends.devices import some
from tests.backends.test_device_factorisation import positive
from tests.backends.test_device_rows import PARTS
from tests.backends.test_device_rows import test_every_row as rows_agree
from tests.frontend.indexing import test_segments
from tests.kernel.form_cases import CASES, by_numpy, operand
from tests.schedule import test_prologues

pytestmark = pytest.mark.skipif(
    host_gpu.COMPILER is None, reason="kernels are compiled by the system's C++ compiler here"
)


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.fixture
def gpu(monkeypatch):
    """One GPU without libraries: everything is kernels of ours, or runs on the cpu."""
    monkeypatch.setattr(libraries, "CALLS", {})
    with host_gpu.host_gpu() as found:
        yield found


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", CASES)
def test_every_form(gpu, name):
    one = CASES[name]
    x = operand(one)
    with tfr.use_backend("cuda"):
        found = one.program(tfr, tfr.asarray(x))
    found = found if isinstance(found, list) else [found]
    for value, expected in zip(found, by_numpy(one, x), strict=True):
        assert value.device == tfr.Device("cuda")
        assert_close(value.numpy(), expected, ulp=one.ulp)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "int64", "uint32"])
def test_rows_with_what_the_dialect_spells_its_own_way(gpu, dtype, part):
    rows_agree("cuda", getattr(dtypes, dtype), part)


def test_some_of_what_every_backend_promises(gpu):
    """All of it takes five minutes here: each kernel is compiled by itself."""
    for promise in checks(backend_of(tfr.Device("cuda")), seeds=10)[7::40]:
        promise()


@pytest.mark.parametrize("start", [50_000, 50_005, 50_010])
def test_random_programs(gpu, start):
    for seed in range(start, start + 5):
        check(seed, device="cuda")


def test_rows_that_take_more_memory_than_kernels_may_declare(gpu):
    x = some((1, 12500), "float32")
    y = tfr.asarray(x, device="cuda")
    found = (y - tfr.max(y, axis=1, keepdims=True)).numpy()
    (brought,) = gpu.driver.allowed.values()
    assert brought >= x.nbytes > 48 << 10
    assert found.tobytes() == (x - x.max(axis=1, keepdims=True)).tobytes()


def test_profiles_have_the_time_between_events(gpu):
    x = tfr.asarray(some((3, 4), "float32"), device="cuda").compute()
    with tfr.profile() as p:
        for _ in range(2):
            (x * 3).compute()
    (record,) = p.records
    assert record.device_seconds == 2 * 0.25e-3


def test_assignment_by_indices(gpu):
    for dtype in ("bool", "float16", "int64", "complex64"):
        test_device_scatters.test_every_dtype("cuda", dtype)
    test_device_scatters.test_the_last_of_many_values_stays("cuda")
    test_device_scatters.test_indices_that_positions_do_not_hold("cuda", 2**32 + 1)


def test_sums_by_indices(gpu):
    for dtype in ("float16", "int64", "complex64"):
        test_segments.test_every_dtype("cuda", dtype)
    test_segments.test_long_segments_and_many("cuda")
    test_segments.test_the_same_bits_in_every_run("cuda")


def test_search_by_positions_that_sort(gpu):
    test_device_searching.test_vectors_that_positions_sort("cuda", "left")
    test_device_searching.test_sorters_with_what_are_no_positions("cuda", -1)


def test_factorisations(gpu):
    x, y = positive(40, "float32"), some((5, 5), "float32")
    factor = tfr.linalg.cholesky(tfr.asarray(x, device="cuda"))
    np.testing.assert_allclose(factor.numpy(), np.linalg.cholesky(x), atol=1e-5)
    solved = tfr.linalg.inv(tfr.asarray(y, device="cuda"))
    np.testing.assert_allclose(solved.numpy(), np.linalg.inv(y), rtol=1e-3)
    for found, expected in zip(
        tfr.linalg.qr(tfr.asarray(x[:, :35], device="cuda")), np.linalg.qr(x[:, :35]), strict=True
    ):
        assert not tfr.explain(found).fallbacks
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)


def test_order_statistics_and_partitions(gpu):
    x = some((2, 1100), "float32")
    x[1, 7] = np.nan
    y = tfr.asarray(x, device="cuda")
    np.testing.assert_array_equal(tfr.median(y, axis=1).numpy(), tfr.median(x, axis=1).numpy())
    np.testing.assert_array_equal(tfr.partition(y, 500).numpy()[:, 500], np.sort(x)[:, 500])
    places = tfr.argpartition(y, 500).numpy()
    np.testing.assert_array_equal(np.take_along_axis(x, places, 1)[:, 500], np.sort(x)[:, 500])


def test_products_that_quantise_their_vector(gpu, monkeypatch):
    for bits, rows, height, columns in ((8, 1, 40, 128), (4, 2, 90, 96)):
        test_prologues.test_one_kernel_has_the_bits_of_several(
            "cuda", bits, rows, height, columns, symmetric=True, monkeypatch=monkeypatch
        )


def test_products_of_bytes(gpu):
    x, y = some((20, 70), "int8"), some((70, 20), "int8") - 50
    left, right = tfr.asarray(x, device="cuda"), tfr.asarray(y, device="cuda")
    np.testing.assert_array_equal((left @ right).numpy(), x @ y)
    wide = tfr.matmul(left, right, preferred_dtype="int32").numpy()
    np.testing.assert_array_equal(wide, x.astype(np.int32) @ y.astype(np.int32))
    assert "dot4_uint32(left" in str(tfr.explain(left @ right, source=True))
