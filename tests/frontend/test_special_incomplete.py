"""Incomplete gamma and beta functions: within 4 units in the last place, SciPy's limits, gradients, on all devices."""

from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import GradientError
from tensorframe.ops.special_incomplete import FORMULAS as INCOMPLETE
from tests.backends.devices import FOUND

special = tfr.special

REFERENCE = np.load(Path(__file__).with_name("special_reference.npz"))


@pytest.mark.filterwarnings("ignore::tensorframe.errors.FallbackWarning")
@pytest.mark.parametrize("device", ["cpu", "numpy", *FOUND])
@pytest.mark.parametrize("case", REFERENCE.files)
def test_incomplete_functions_are_within_4_units_in_the_last_place(case, device):
    """Of exact values, in either tail and wherever one shape is much larger than the other; but for subnormal ones.

    Devices leave them to the cpu, and have the results.
    """
    *operands, nearest, rest = REFERENCE[case]
    name, _ = case.split(":")
    result = getattr(special, name)(*[tfr.asarray(x, device=device) for x in operands])
    assert str(result.device) == device
    off = abs((result.numpy() - nearest) / np.spacing(nearest) - rest)[nearest > 1e-290]
    assert len(off) > 20
    assert max(off) < 3.5, (max(off), np.argmax(off))


@pytest.mark.parametrize("name", sorted(INCOMPLETE))
def test_incomplete_functions_of_float32_are_rounded_once(name):
    rows = np.concatenate([REFERENCE[case] for case in REFERENCE.files if name + ":" in case], 1)
    *operands, nearest, _ = rows[:, (rows[:-2] == rows[:-2].astype("float32")).all(0)]
    found = getattr(special, name)(*[tfr.asarray(x.astype("float32")) for x in operands]).numpy()
    assert found.dtype == np.float32
    normal = nearest > 1e-37
    assert normal.sum() > 50
    np.testing.assert_array_equal(found[normal], nearest.astype("float32")[normal])


def test_exact_values_of_incomplete_functions_are_those_of_mpmath():
    def gammainc(a, x):
        return mp.gammainc(a, 0, x, regularized=True)

    def gammaincc(a, x):
        return mp.gammainc(a, x, regularized=True)

    def betainc(a, b, x):
        return mp.betainc(a, b, 0, x, regularized=True)

    with mp.workdps(40):
        for exact in (gammainc, gammaincc, betainc):
            for region in ("both below 1", "both below 12", "large", "all below 1", "below 8"):
                rows = REFERENCE.get(f"{exact.__name__}: {region}", np.empty((5, 0)))
                for *operands, nearest, rest in rows.T[:4]:
                    if max(operands) < 1e4:
                        value = exact(*map(mp.mpf, operands))
                        known = mp.mpf(nearest) + mp.mpf(rest) * mp.mpf(np.spacing(nearest))
                        assert abs(known / value - 1) < 1e-25, (exact.__name__, operands)


@pytest.mark.parametrize("name", sorted(INCOMPLETE))
def test_limits_of_incomplete_functions_are_scipys(name):
    scipy = pytest.importorskip("scipy.special")
    shapes = [0.0, -0.0, 1e-5, 0.5, 1.0, 3.0, 1e5, np.inf, np.nan, -1.0]
    last = [0.0, 1e-10, 0.3, 1.0, 1.5, -0.1, np.nan, np.inf]
    axes = [shapes, shapes, last] if name == "betainc" else [shapes, last]
    operands = [grid.ravel() for grid in np.meshgrid(*axes)]
    expected = getattr(scipy, name)(*operands)
    found = getattr(special, name)(*map(tfr.asarray, operands)).numpy()
    # SciPy has ten digits where one shape is tiny beside a large one
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)
    # what is small keeps its digits where its complement is one
    assert special.gammaincc(1e-12, 0.5).item() == pytest.approx(5.597735947760775e-13, rel=1e-6)


def test_incomplete_functions_have_gradients_for_arguments_and_say_which_they_lack():
    a, b = (tfr.asarray(np.array(values)) for values in ([0.5, 2.0, 9.0], [1.5, 0.7, 4.0]))
    x = tfr.asarray(np.array([0.3, 0.8, 0.55]))
    tfr.check_gradient(lambda x: tfr.sum(special.gammainc(a, x * 5)), x)
    tfr.check_gradient(lambda x: tfr.sum(special.gammaincc(a, x * 5)), x)
    tfr.check_gradient(lambda x: tfr.sum(special.betainc(a, b, x)), x)
    for name, operands in (("gammainc", (a, x)), ("gammaincc", (a, x)), ("betainc", (a, b, x))):
        with pytest.raises(GradientError, match=f"{name}: has no gradient for a"):
            tfr.grad(lambda a: tfr.sum(getattr(special, name)(a, *operands[1:])))(a)  # noqa: B023
    assert special.betainc(2, 3.0, [0.5], out=tfr.zeros(1)).tolist() == [0.6875]


@pytest.mark.parametrize("device", FOUND)
def test_devices_leave_incomplete_functions_to_the_cpu_and_say_so(device):
    x = tfr.asarray(np.float32([0.5, 2.0]), device=device)
    with pytest.warns(tfr.errors.FallbackWarning, match="gammainc"):
        assert special.gammainc(1.0, x).tolist() == pytest.approx([0.39346934, 0.86466472])
    assert not tfr.backends.supports("gammainc", device, "float32")
