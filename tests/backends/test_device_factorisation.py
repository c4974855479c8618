"""Factorisations on devices: residuals beside LAPACK's in the same dtype, stacks, layouts, and errors."""

import numpy as np
import pytest
from scipy.linalg import lapack

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tests.backends.devices import FOUND, holds, on_every_device, some

# CUDA has cuSOLVER
WITH_OWN = [name for name in FOUND if name in ("opencl", "wgpu")]
on_devices = pytest.mark.parametrize("device", WITH_OWN) if WITH_OWN else on_every_device
# what is the same on every device is tested where kernels are compiled in less than seconds
QUICK = [name for name in WITH_OWN if name != "opencl"] or WITH_OWN
on_a_quick_device = pytest.mark.parametrize("device", QUICK) if QUICK else on_every_device

DTYPES = ["float32", "float64"]


def skip_what_is_not_held(device, dtype):
    """Skips a dtype that a device has not; one is enough where kernels take seconds to compile."""
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    if device not in QUICK and dtype == "float64":
        pytest.skip("kernels of float64 differ in a word, and take seconds to compile")


# in one launch, and in three blocks of several launches, the last of which is small
SIZES = (1, 5, 32, 70)
# Times LAPACK's residual, or units in the last place where that is less, for each row.
AS_GOOD = 8.0


def positive(n, dtype, seed=0):
    """A positive definite matrix."""
    x = some((n, n), "float64", seed)
    return (x @ x.T / n + np.eye(n)).astype(dtype)


def given(x, device):
    """A tensor of the device."""
    return tfr.asarray(x, device=device)


def on_device(t):
    """The values of a tensor whose plan stays on its device."""
    assert not tfr.explain(t).fallbacks
    return t.numpy()


def wide(*arrays):
    """Arrays in more digits."""
    return [x.astype(np.longdouble) for x in arrays]


def off(residual, x, *factors):
    """The largest element of a residual, in units in the last place of the products that it is left of."""
    size = np.prod([np.abs(y).max() for y in factors]) * len(x)
    return float(np.abs(residual).max() / size / np.finfo(x.dtype).eps)


def as_good(own, by_lapack):
    """Asserts that a residual is of the size of LAPACK's."""
    assert own <= AS_GOOD * max(by_lapack, 0.05), (own, by_lapack)


def routine(name, dtype):
    """LAPACK's routine, which computes in the dtype itself where NumPy's functions take float64 for float32."""
    return getattr(lapack, ("s" if dtype == "float32" else "d") + name)


@on_devices
@pytest.mark.parametrize("dtype", DTYPES)
def test_residuals_of_cholesky_factors(device, dtype):
    skip_what_is_not_held(device, dtype)
    for n in SIZES:
        x = positive(n, dtype, seed=n)
        factor = on_device(tfr.linalg.cholesky(given(x, device)))
        assert factor.dtype == x.dtype
        assert np.array_equal(factor, np.tril(factor))

        def residual(y, x=x):
            a, b = wide(x, y)
            return off(b @ b.T - a, x, y, y)

        expected, info = routine("potrf", dtype)(x, lower=1, clean=1)
        assert info == 0
        as_good(residual(factor), residual(expected))


@on_devices
@pytest.mark.parametrize("dtype", DTYPES)
def test_residuals_of_solutions_and_inverses(device, dtype):
    skip_what_is_not_held(device, dtype)
    for n in SIZES:
        x, right = some((n, n), dtype, seed=n), some((n, 3), dtype, seed=n + 1)
        for y in (right, np.eye(n, dtype=dtype)) if device in QUICK else (right,):
            solved = given(x, device)
            found = on_device(
                tfr.linalg.solve(solved, given(y, device)) if y is right else tfr.linalg.inv(solved)
            )
            assert found.dtype == x.dtype
            *_, expected, info = routine("gesv", dtype)(x, y)
            assert info == 0

            def residual(z, x=x, y=y):
                a, b, c = wide(x, z, y)
                return off(a @ b - c, x, x, z)

            as_good(residual(found), residual(expected))


@on_devices
@pytest.mark.parametrize("dtype", DTYPES)
def test_residuals_of_orthonormal_columns(device, dtype):
    skip_what_is_not_held(device, dtype)
    for shape in ((1, 1), (40, 33), (33, 70), (70, 3)):
        x = some(shape, dtype, seed=sum(shape))
        for mode in ("reduced", "complete") if device in QUICK else ("reduced",):
            q, r = map(on_device, tfr.linalg.qr(given(x, device), mode=mode))
            expected = np.linalg.qr(x, mode=mode)
            assert (q.shape, r.shape) == (expected.Q.shape, expected.R.shape)
            assert q.dtype == r.dtype == x.dtype
            assert np.array_equal(r, np.triu(r))
            a, b, c = wide(x, q, r)
            assert off(b @ c - a, x, x) <= 2
            assert off(b.T @ b - np.eye(b.shape[1]), q, q[:1] * 0 + 1) <= 2
            # signs are LAPACK's
            np.testing.assert_allclose(r, expected.R, atol=1e-3 * np.abs(r).max())


@on_a_quick_device
def test_reflections_of_what_is_zero_or_large(device):
    x = np.zeros((3, 6, 4), np.float32)
    x[1, :, 1] = 3e30
    x[2] = 1e-30 * some((6, 4), "float32")
    q, r = map(on_device, tfr.linalg.qr(given(x, device)))
    expected = np.linalg.qr(x.astype(np.float64))
    np.testing.assert_array_equal(q[0], expected.Q[0])
    for index in range(3):
        size = np.abs(x[index]).max() or 1
        np.testing.assert_allclose(r[index] / size, expected.R[index] / size, atol=1e-6)
        np.testing.assert_allclose(q[index].T @ q[index], np.eye(4), atol=1e-6)


@on_devices
def test_determinants(device):
    for n in SIZES:
        x = some((n, n), "float32", seed=n)
        sign, logarithm = tfr.linalg.slogdet(given(x, device))
        expected = np.linalg.slogdet(x.astype(np.float64))
        assert on_device(sign) == expected[0]
        assert abs(on_device(logarithm) - expected[1]) <= 4e-6 * max(1, abs(expected[1]))
        if n < 40:
            exact = np.linalg.det(x.astype(np.float64))
            np.testing.assert_allclose(
                on_device(tfr.linalg.det(given(x, device))), exact, rtol=4e-5
            )
    singular = given(np.arange(9, dtype=np.float32).reshape(3, 3) * 0, device)
    assert on_device(tfr.linalg.det(singular)) == 0
    assert [float(part) for part in tfr.linalg.slogdet(singular)] == [0, -np.inf]


@on_a_quick_device
def test_stacks_broadcast_and_views_are_read_where_they_are(device):
    x, y = some((2, 3, 5, 5), "float32"), some((3, 5, 2), "float32", 1)
    a, b = given(x, device), given(y, device)
    close = {"rtol": 2e-4, "atol": 2e-4}
    np.testing.assert_allclose(on_device(tfr.linalg.solve(a, b)), np.linalg.solve(x, y), **close)
    np.testing.assert_allclose(
        on_device(tfr.linalg.solve(a[1, 2], b)), np.linalg.solve(x[1, 2], y), **close
    )
    np.testing.assert_allclose(
        on_device(tfr.linalg.solve(a[:, ::-1].mT, b[0, :, 1])),
        np.linalg.solve(x[:, ::-1].mT, np.broadcast_to(y[0, :, 1:], (2, 3, 5, 1)))[..., 0],
        **close,
    )
    np.testing.assert_allclose(on_device(tfr.linalg.inv(a.mT)), np.linalg.inv(x.mT), **close)
    np.testing.assert_allclose(on_device(tfr.linalg.det(a[::-1])), np.linalg.det(x[::-1]), **close)
    spd = np.stack([positive(40, "float32", seed) for seed in range(4)])
    large = given(spd, device)
    lower = on_device(tfr.linalg.cholesky(large))
    for index in range(4):
        assert np.array_equal(lower[index], tfr.linalg.cholesky(large[index]).numpy())
    # only one triangle is read
    upper = on_device(tfr.linalg.cholesky(given(np.triu(spd), device), upper=True))
    assert np.array_equal(upper, lower.mT)
    assert np.array_equal(on_device(tfr.linalg.cholesky(given(np.tril(spd), device))), lower)


@on_devices
def test_a_stack_of_small_matrices_is_one_launch(device):
    backend = backend_of(tfr.Device(device))
    queue = backend.open_device(tfr.Device(device)).queue
    launches = []
    x = given(np.stack([positive(4, "float32", seed) for seed in range(50)]), device).compute()
    y = tfr.copy(x).compute()
    for function in (tfr.linalg.cholesky, tfr.linalg.inv, lambda t: tfr.linalg.solve(t, y)):
        function(x).compute()  # kernels are there
        launch = type(queue).launch
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                type(queue),
                "launch",
                lambda self, *passed, launch=launch: (launches.append(1), launch(self, *passed))[1],
            )
            function(x).compute()
        assert len(launches) == 1
        launches.clear()


@on_devices
def test_no_elements(device):
    for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
        x = np.zeros(shape, np.float32)
        t = given(x, device)
        for name in ("cholesky", "inv", "det"):
            found, expected = getattr(tfr.linalg, name)(t), getattr(np.linalg, name)(x)
            np.testing.assert_array_equal(found.numpy(), expected)
        for found, expected in zip(tfr.linalg.slogdet(t), np.linalg.slogdet(x), strict=True):
            np.testing.assert_array_equal(found.numpy(), expected)
        np.testing.assert_array_equal(tfr.linalg.solve(t, t).numpy(), np.linalg.solve(x, x))


@on_devices
@pytest.mark.parametrize("n", [3, 40])
def test_what_cannot_be_factorised_is_an_error_of_the_line_that_recorded_it(device, n):
    singular = np.ones((2, n, n), np.float32)
    indefinite = np.stack([np.eye(n), -np.eye(n)]).astype(np.float32)
    for function, x in (
        (tfr.linalg.inv, singular),
        (lambda t: tfr.linalg.solve(t, t), singular),
        (tfr.linalg.cholesky, indefinite),
    ):
        messages = []
        for where in (device, "cpu"):
            t = function(given(x, where))
            with pytest.raises(tfr.errors.LinAlgError) as raised:
                t.compute()
            assert raised.value.location is not None
            assert "test_device_factorisation.py" in str(raised.value.location)
            messages.append(str(raised.value).partition("\n")[0])
            assert not t.is_computed
        assert messages[0] == messages[1]
    # those after them are right
    np.testing.assert_allclose(
        tfr.linalg.inv(given(np.eye(n), device).astype("float32")).numpy(), np.eye(n)
    )


@on_a_quick_device
def test_unknown_numbers_stay_in_their_matrix(device):
    x = np.stack([np.eye(3), np.full((3, 3), np.nan), 2 * np.eye(3)]).astype(np.float32)
    for function, last in ((tfr.linalg.inv, 0.5), (tfr.linalg.cholesky, np.sqrt(np.float32(2)))):
        found = on_device(function(given(x, device)))
        assert np.isnan(found[1]).any()
        np.testing.assert_array_equal(found[::2], [np.eye(3), last * np.eye(3, dtype=np.float32)])


@on_a_quick_device
def test_gradients_are_those_of_the_cpu(device):
    x, y = positive(6, "float32"), some((6, 2), "float32")

    def loss(a, b):
        factor = tfr.linalg.cholesky(a)
        solved = tfr.linalg.solve(factor, b)
        return (solved**2).sum() + tfr.linalg.slogdet(a)[1] + tfr.linalg.inv(a)[0, 1]

    for argument in (0, 1):
        found = tfr.grad(loss, argument)(given(x, device), given(y, device))
        expected = tfr.grad(loss, argument)(given(x, "cpu"), given(y, "cpu"))
        np.testing.assert_allclose(on_device(found), expected.numpy(), rtol=3e-4, atol=3e-4)
