"""Special functions: within 4 units in the last place on every device, with SciPy's limits, and their gradients."""

import importlib.util
from functools import cache
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.op import Kind
from tensorframe.ops import special as rows
from tensorframe.ops import special_tables as tables
from tensorframe.ops.special_incomplete import FORMULAS as INCOMPLETE
from tensorframe.ops.special_math import FORMULAS
from tensorframe.ops.special_zeta import FORMULAS as ZETA
from tests.backends.devices import FOUND, holds

special = tfr.special
on_devices = pytest.mark.parametrize("device", ["cpu", "numpy", *FOUND])


def erfcinv(x):
    """The inverse of erfc by Newton's method."""
    if x > 1:
        return -erfcinv(2 - mp.mpf(x))
    if x == 1:
        return mp.mpf(0)
    w = -mp.log(x * (2 - mp.mpf(x)))
    y = mp.sqrt(max(w - mp.log(w * 4 + 4) / 2, mp.mpf("1e-6")))
    for _ in range(60):
        y += mp.erfc(y) * mp.log(mp.erfc(y) / x) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y


# what is exact, and ranges of arguments; those of more than three decades are spread over their exponents
EXACT = {
    "gammaln": (
        lambda x: mp.log(abs(mp.gamma(x))) if x < 9 else mp.loggamma(x),
        [
            (1e-30, 1e-3),
            (0.01, 3),
            (0.99, 1.01),
            (1.99, 2.01),
            (2.4, 9),
            (8, 1e30),
            (-60, 0),
            (-6, -2),
        ],
    ),
    "gamma": (mp.gamma, [(1e-30, 1e-3), (0.001, 9), (8, 34), (-8, 0), (-30, -8)]),
    "digamma": (
        lambda x: mp.psi(0, x),
        [(1e-30, 1e-3), (0.001, 3), (1.46, 1.463), (2, 9), (8, 1e30), (-60, 0), (-1e3, -60)],
    ),
    "trigamma": (lambda x: mp.psi(1, x), [(1e-15, 1e-3), (0.001, 9), (8, 1e15), (-20, 0)]),
    "erfinv": (lambda x: erfcinv(1 - mp.mpf(x)), [(-1, 1), (1e-12, 1e-3), (0.9999, 1)]),
    "erfcinv": (erfcinv, [(1e-35, 1e-3), (0.001, 2), (0.99, 1.01)]),
    "ndtri": (
        lambda x: -mp.sqrt(2) * erfcinv(2 * mp.mpf(x)),
        [(1e-35, 1e-3), (0.001, 1), (0.49, 0.51)],
    ),
    "ndtr": (mp.ncdf, [(-13, -5), (-5, 5), (5, 9)]),
    "i0": (lambda x: mp.besseli(0, x), [(-9, 9), (7.9, 8.1), (8, 85)]),
    "i1": (lambda x: mp.besseli(1, x), [(-9, 9), (8, 85), (1e-30, 1e-3)]),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), [(-9, 9), (8, 1e4)]),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [(-9, 9), (8, 1e4), (1e-30, 1e-3)]),
    "logit": (lambda p: mp.log(p / (1 - p)), [(1e-30, 1e-3), (0.001, 1), (0.49, 0.51)]),
    "entr": (lambda x: -x * mp.log(x), [(1e-30, 1e-3), (0.001, 3), (3, 1e30)]),
}


@cache
def cases(name, dtype):
    """Arguments, and for each the exact value as the nearest number of the dtype and how far that is off, in ULP."""
    exact, ranges = EXACT[name]
    generator = np.random.default_rng(5)
    found = []
    for low, high in ranges:
        wide = low > 0 and high / low > 1e3
        found.append(
            np.exp(generator.uniform(np.log(low), np.log(high), 25))
            if wide
            else generator.uniform(low, high, 25)
        )
    x = np.concatenate(found).astype(dtype)
    with mp.workdps(50):
        values = [exact(mp.mpf(float(one))).real for one in x]
        nearest = np.array([float(one) for one in values]).astype(dtype)
        spacing = np.spacing(abs(nearest)).astype(np.float64)
        rest = [
            float((one - mp.mpf(float(near))) / mp.mpf(float(step)))
            for one, near, step in zip(values, nearest, spacing, strict=True)
        ]
    return x, nearest, np.array(rest), spacing


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


def farthest(high, low, exact):
    """The largest relative error of pairs."""
    found = [mp.mpf(one) + mp.mpf(rest) for one, rest in zip(high, low, strict=True)]
    return max(abs(one / value - 1) for one, value in zip(found, exact, strict=True))


def test_pairs_of_floats_have_twice_the_bits():
    from tensorframe.backends.numpy import special_functions
    from tensorframe.ops import double_double as dd

    algebra = special_functions._WIDE

    generator = np.random.default_rng(8)
    x = generator.uniform(0.5, 1e3, 50)
    turns = generator.uniform(-0.5, 0.5, 50)
    with mp.workdps(60):
        for (high, low), exact in (
            (dd.log((x, x * 1e-17), algebra), [mp.log(mp.mpf(v) + mp.mpf(v * 1e-17)) for v in x]),
            (dd.cotangent(turns, algebra, np.where), [mp.cot(mp.pi * mp.mpf(v)) for v in turns]),
            (
                dd.divide(dd.PI, (x, x * 1e-17), algebra),
                [mp.pi / (mp.mpf(v) + mp.mpf(v * 1e-17)) for v in x],
            ),
            (
                dd.log_ratio((x, x * 0), (x + turns, x * 0), dd.two_sum(x, -(x + turns)), algebra),
                [mp.log(mp.mpf(v) / mp.mpf(w)) for v, w in zip(x, x + turns, strict=True)],
            ),
            (dd.sqrt((x, x * 1e-17), algebra), [mp.sqrt(mp.mpf(v) + mp.mpf(v * 1e-17)) for v in x]),
        ):
            assert farthest(high, low, exact) < 1e-30
        # of these the first digits alone matter beside other pairs
        for function, exact in ((dd.exp, mp.exp), (dd.expm1, mp.expm1)):
            for power in (x / 2, -x / 2, turns, turns * 1e-9):
                high, low = function((power, power * 1e-17), algebra)
                values = [exact(mp.mpf(v) + mp.mpf(v * 1e-17)) for v in power]
                assert farthest(high, low, values) < 6e-17


POINTS = np.array(
    [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, np.inf, -np.inf, np.nan, -3.5, 200.0, -200.0]
)


@on_devices
@pytest.mark.parametrize("name", sorted(set(EXACT) - {"trigamma"}))
def test_poles_and_limits_are_scipys(name, device):
    scipy = pytest.importorskip("scipy.special")
    x = POINTS.astype("float32")
    if name in (
        "i0",
        "i1",
        "gammaln",
    ):  # SciPy says NaN where there is a limit, and -inf of gammaln(-inf)
        x = x[np.isfinite(x)]
    with np.errstate(all="ignore"):
        expected = getattr(scipy, name)(x.astype("float64")).astype("float32")
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


def test_every_row_with_a_table_has_a_function_and_a_formula():
    named = {
        op.name for op in vars(rows).values() if getattr(op, "kind", None) is Kind.MAP and op.double
    }
    assert named == {*FORMULAS, *INCOMPLETE, *ZETA}
    assert named - {"riemann_zeta"} <= set(special.__all__)


def test_tables_are_those_that_their_derivation_prints():
    """Two of them, which stand for all: `python docs/derive/special.py` prints the module."""
    source = Path(__file__).parents[2] / "docs" / "derive" / "special.py"
    specification = importlib.util.spec_from_file_location("derive_special", source)
    derive = importlib.util.module_from_spec(specification)
    precision = mp.mp.dps
    try:
        specification.loader.exec_module(derive)
        for piece in derive.PIECES:
            if piece.name in ("STIRLING", "GAMMA"):
                interval, known = getattr(tables, piece.name)
                assert interval == (piece.low, piece.high)
                assert tuple(derive.coefficients(piece)) == known
                assert derive.largest_error(piece, list(known)) < 1e-16
        assert tuple(derive.balance(5, 11)) == tables.BALANCE[1]
    finally:
        mp.mp.dps = precision
    assert {piece.name for piece in derive.PIECES} <= set(vars(tables))
    # all of Taylor's coefficients take mpmath a minute: their sums are exact, and two of them are known
    assert len(tables.RECIPROCAL_GAMMA) == 34
    with mp.workdps(40):
        known = [mp.mpf(high) + mp.mpf(low) for high, low in tables.RECIPROCAL_GAMMA]
        for z in (-0.5, -0.25, 0.125, 0.5):
            total = mp.fsum([c * mp.mpf(z) ** k for k, c in enumerate(reversed(known))])
            assert abs(total * mp.gamma(2 + mp.mpf(z)) - 1) < 1e-31
        assert known[-1] == 1
        assert abs(known[-2] - (mp.euler - 1)) < 1e-32
