"""Special functions: within 4 units in the last place on every device, with SciPy's limits, and their gradients."""

import mpmath as mp
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.ops import special as rows
from tensorframe.ops.special_math import FORMULAS
from tests.backends.devices import FOUND, holds
from tests.frontend.special_values import EXACT, cases

special = tfr.special
on_devices = pytest.mark.parametrize("device", ["cpu", "numpy", *FOUND])


@pytest.mark.sweep(6)
@on_devices
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXACT)
def test_within_4_units_in_the_last_place(name, dtype, device):
    if not holds(device, dtype):
        pytest.skip(f"{device} has no {dtype}")
    x, nearest, rest, spacing = cases(name, dtype)
    found = getattr(special, name)(tfr.asarray(x, device=device)).numpy()
    off = (found.astype(np.float64) - nearest.astype(np.float64)) / spacing - rest
    worst = np.argmax(abs(off))
    most = 4 if dtype == "float64" or name in ("entr", "logit") else 0.51
    assert abs(off[worst]) < most, (x[worst], found[worst], off[worst])


# the floats that are nearest to zeros below 0: roots that mpmath's `findroot` brackets with 50 digits
ZEROS = {
    "gammaln": [-15.999999999999952, -14.00000000001147, -11.000000025052106, -9.000002755714823,
                -8.999997244250977, -6.999801507890638, -5.0082181683225935, -4.991544640560048,
                -4.039361839740537, -3.955294284858598, -3.14358088834998, -2.7476826467274127,
                -2.4570247382208006],
    "digamma": [-7.687788325031626, -6.678418213073427, -5.6671624415568855, -4.653237761743142,
                -3.635293366436901, -2.6107208684441447, -1.5734984731623904, -0.5040830082644554,
                -30.76453858671817, -1000.8641588557814, -1000000.9288278671],
}  # fmt: skip


@on_devices
@pytest.mark.parametrize("name", ZEROS)
def test_zeros_below_0_keep_all_digits(name, device):
    if not holds(device, "float64"):
        pytest.skip(f"{device} has no float64")
    zeros = np.array(ZEROS[name])
    x = np.concatenate(
        [zeros, np.nextafter(zeros, 0), np.nextafter(zeros, -1e9), zeros * (1 + 1e-12)]
    )
    with mp.workdps(60):
        exact = [EXACT[name][0](mp.mpf(one)).real for one in x]
        found = getattr(special, name)(tfr.asarray(x, device=device)).numpy()
        off = [
            float(abs(mp.mpf(one) - value) / mp.mpf(np.spacing(abs(float(value)))))
            for one, value in zip(found, exact, strict=True)
        ]
    assert max(off) < 4, (x[np.argmax(off)], max(off))


POINTS = np.array(
    [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, np.inf, -np.inf, np.nan, -3.5, 200.0, -200.0]
)


@on_devices
@pytest.mark.parametrize("name", sorted(EXACT))
def test_poles_and_limits_are_scipys(name, device):
    scipy = pytest.importorskip("scipy.special")
    theirs = getattr(scipy, name, lambda x: scipy.polygamma(1, x))
    x = POINTS.astype("float32")
    if name in (
        "i0",
        "i1",
        "gammaln",
    ):  # SciPy says NaN where there is a limit, and -inf of gammaln(-inf)
        x = x[np.isfinite(x)]
    if name == "trigamma":  # SciPy says inf where poles are as near as all other values
        x = x[x != -np.inf]
    with np.errstate(all="ignore"):
        expected = theirs(x.astype("float64")).astype("float32")
    found = getattr(special, name)(tfr.asarray(x, device=device)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_functions_of_two_operands_are_scipys():
    scipy = pytest.importorskip("scipy.special")
    values = np.array([0.0, 0.5, 1.0, 3.0, np.inf, np.nan, -1.0])
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    for name in ("xlogy", "xlog1py", "rel_entr"):
        with np.errstate(all="ignore"):
            expected = getattr(scipy, name)(x, y)
        found = getattr(special, name)(tfr.asarray(x), tfr.asarray(y)).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("name", [*EXACT, "xlogy", "xlog1py", "rel_entr"])
def test_gradients(name):
    def function(*operands):
        return tfr.sum(getattr(special, name)(*operands))

    x = tfr.asarray(np.array([0.3, 0.45, 0.8]))
    if name in ("xlogy", "xlog1py", "rel_entr"):
        tfr.check_gradient(function, x, tfr.asarray(np.array([0.7, 1.5, 0.2])))
    else:
        tfr.check_gradient(function, x)
        if name in ("gammaln", "gamma", "digamma", "i0", "i1", "i0e", "i1e", "ndtr"):
            for point in (2.5, 4.7, 9.5):
                tfr.check_gradient(function, tfr.asarray(np.array([point])))


def test_second_and_third_derivatives_of_the_logarithm_of_gamma():
    third = tfr.grad(tfr.grad(tfr.grad(special.gammaln)))(tfr.asarray(2.5, dtype="float64")).item()
    assert third == pytest.approx(float(mp.psi(2, 2.5)), rel=1e-12)


def test_derivatives_at_negative_arguments():
    second = tfr.grad(tfr.grad(tfr.grad(special.gammaln)))(
        tfr.asarray(-2.3, dtype="float64")
    ).item()
    assert second == pytest.approx(float(mp.psi(2, mp.mpf(-2.3))), rel=1e-11)
    assert tfr.grad(special.gamma)(tfr.asarray(-2.3, dtype="float64")).item() == pytest.approx(
        float(mp.gamma(mp.mpf(-2.3)) * mp.psi(0, mp.mpf(-2.3))), rel=1e-12
    )


def test_slopes_of_bessel_functions_at_zero():
    zero = tfr.asarray(0.0)
    assert tfr.grad(special.i1)(zero).item() == 0.5
    assert tfr.grad(special.i1e)(zero).item() == 0.5


@on_devices
def test_one_kernel_with_what_is_around_it(device):
    with tfr.config.override(small_size=0, small_nodes=0):
        x = tfr.asarray(np.linspace(0.1, 0.9, 100, dtype="float32"), device=device)
        tfr.compute(x)
        plan = tfr.explain(tfr.exp(special.erfinv(x * 0.5)) + special.gammaln(x))
    assert plan.kernels == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    x = tfr.asarray(np.linspace(0.1, 0.9, 50)).astype(dtype)
    for name in FORMULAS:
        found = getattr(special, name)(x)
        assert found.dtype == x.dtype
        expected = getattr(special, name)(x.astype("float64")).astype(dtype)
        assert found.astype("float32").tolist() == expected.astype("float32").tolist()


def test_integers_and_other_dtypes():
    assert special.gamma([1, 2, 3, 4, 5]).tolist() == [1, 1, 2, 6, 24]
    assert special.ndtr(True).dtype == tfr.float32
    with pytest.raises(TypeError, match="erfinv: takes real floating dtypes, got complex64"):
        special.erfinv(tfr.asarray([1j]))


def test_a_device_without_float64_leaves_them_to_the_cpu():
    from tensorframe.graph.device import Device
    from tensorframe.schedule.fallback import refusal

    float32 = np.dtype("float32")
    device = Device("dry", 1)
    assert refusal(rows.ERFINV, (float32,), float32, device) is None
    import tensorframe.schedule.fallback as fallback

    held = fallback.capabilities(device)
    with pytest.MonkeyPatch.context() as patch:
        from dataclasses import replace

        few = replace(held, dtypes=frozenset({float32}))
        patch.setattr(fallback, "capabilities", lambda _: few)
        reason = refusal(rows.ERFINV, (float32,), float32, device)
    assert reason == f"{device} has no float64, in which erfinv is computed"


def test_aliases_and_neighbours():
    assert special.psi is special.digamma
    assert special.lgamma is special.gammaln
    assert special.expit is tfr.sigmoid
    assert special.erf is tfr.erf
    assert special.softmax is tfr.softmax
