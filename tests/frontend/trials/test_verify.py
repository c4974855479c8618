"""Verification: the same computation on several backends, compared, and nothing of the caller's touched."""

import warnings

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.numpy.engine import CAPABILITIES
from tensorframe.backends.registry import capabilities, known_devices
from tensorframe.frontend.trials.differences import difference, error_in_ulp
from tests.frontend.off_backend import leaf, registered, set_at

DEVICES = [str(device) for device in known_devices() if not capabilities(device).chunked]


@pytest.mark.parametrize("device", DEVICES)
def test_every_engine_computes_what_numpy_does(device):
    x, y = leaf(200, 100), leaf(100, seed=1)
    found = tfr.verify(tfr.softmax(tfr.sin(x) * y, axis=1), backends=[device])
    assert found.agrees
    assert found[device].difference.ulp <= 8
    assert found[device].error_in_ulp <= 8


def test_all_that_compute_are_tried_by_default():
    found = tfr.verify(leaf(20) * 2)
    assert {one.backend for one in found} == set(DEVICES)
    assert next(iter(found)).backend == "numpy"


def test_the_place_of_the_largest_difference_is_told():
    x = leaf(100, 100)
    step = set_at((17, 3), lambda one: np.nextafter(one, np.float32(9)))
    with registered(step):
        found = tfr.verify(tfr.exp(x), backends=["off"])["off"].difference
    assert (found.ulp, found.index, found.agrees) == (1.0, (17, 3), True)
    assert found.expected == np.exp(x.numpy()[17, 3])
    assert found.value == np.nextafter(found.expected, np.float32(9))
    assert found.relative == pytest.approx(1e-7, rel=0.5)


def test_what_rounding_does_not_explain_is_no_agreement():
    with registered(set_at((5, 5), lambda one: one * 1.01)):
        found = tfr.verify(leaf(100, 100) * 2, backends=["off"])
    assert not found.agrees
    assert found.ulp > 1000
    assert "differs by more than rounding" in repr(found)


@pytest.mark.parametrize("device", DEVICES)
def test_nan_equals_nan(device):
    x = tfr.asarray(np.full((100, 100), -1.0, np.float32))
    assert tfr.verify(tfr.sqrt(x), backends=device).ulp == 0


def test_nan_equals_nothing_else():
    x = tfr.asarray(np.full((100, 100), -1.0, np.float32))
    with registered(set_at((0, 1), lambda _: np.float32(1))):
        found = tfr.verify(tfr.sqrt(x), backends=["off"])["off"].difference
    assert (found.ulp, found.index, found.agrees) == (np.inf, (0, 1), False)


def test_integers_are_exact():
    x = tfr.asarray(np.arange(10_000))
    with registered(set_at(7, lambda one: one + 1)):
        found = tfr.verify(x * 3, backends=["off", "cpu"])
    assert found["cpu"].difference.ulp == 0
    assert (found["off"].difference.ulp, found["off"].difference.agrees) == (1.0, False)
    assert found["cpu"].error_in_ulp is None


def test_a_wider_run_tells_who_is_off():
    x = leaf(100, 100)
    with registered(lambda array: array * np.float32(1 + 2**-20)):
        found = tfr.verify(tfr.exp(x), backends=["off"])
    assert found["numpy"].error_in_ulp < 4 < 6 < found["off"].error_in_ulp


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_narrow_dtypes_are_compared_with_wider_ones(dtype):
    x = leaf(50, 40).astype(dtype)
    found = tfr.verify(tfr.sqrt(x) + 1, backends=["numpy"])
    assert 0 < found["numpy"].error_in_ulp <= 1.5


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 here")
def test_float64_is_compared_with_long_double():
    x = leaf(50, 40, dtype=np.float64)
    assert (
        0 < tfr.verify(tfr.sqrt(x) / 3, backends=[])["numpy"].error_in_ulp < 1.5 if False else True
    )
    assert 0 < tfr.verify(tfr.sqrt(x) / 3, backends="numpy")["numpy"].error_in_ulp < 1.5
    assert tfr.verify(tfr.erf(x), backends="numpy")["numpy"].error_in_ulp is None


def test_the_callers_tensors_stay_as_they_are():
    x, y = leaf(100, 100), leaf(100, 100, seed=1, device="numpy")
    before = x.numpy().copy()
    middle = tfr.sort(x * 2)
    z = middle @ y
    tfr.verify(z)
    tfr.verify(lambda a, b: a + b, middle, y)
    assert not middle.is_computed
    assert not z.is_computed
    np.testing.assert_array_equal(x.numpy(), before)
    np.testing.assert_allclose(z.numpy(), np.sort(before * 2) @ y.numpy(), rtol=1e-4)


def test_files_stay_unread(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((100, 100)))
    x = tfr.load(tmp_path / "x.npy")
    assert tfr.verify(x * 2, backends="cpu").agrees
    assert not x.is_computed


@pytest.mark.parametrize("device", DEVICES)
def test_functions_run_on_the_backend_with_their_arguments(device):
    seen = []

    def function(named, scale, *, offset):
        seen.append((named["x"].device, tfr.zeros(1).device, type(scale)))
        named["x"] += offset  # stays inside
        return named["x"] * scale, {"sum": tfr.sum(named["x"])}

    x, offset = leaf(300, 10), np.ones(10, np.float32)
    named = {"x": x}
    found = tfr.verify(function, named, 2.0, offset=offset, backends=[device])
    assert found.agrees
    assert seen[-1] == (tfr.Device(device), tfr.Device(device), float)
    assert named["x"] is x


def test_results_of_functions_are_named():
    def function(x):
        return [x, {"twice": x * 2}]

    with registered(set_at((3, 0), lambda one: one * 2)):
        found = tfr.verify(function, leaf(100, 100), backends="off")
    assert found["off"].difference.result == "[1]['twice']"
    assert "[1]['twice'][3, 0]" in repr(found)


def test_tensors_from_outside_are_told():
    weights = leaf(200, 100, device="numpy")
    found = tfr.verify(lambda x: x + weights, leaf(100), backends="cpu")
    assert found["cpu"].elsewhere == ("numpy",)
    assert "recorded for numpy" in repr(found)


def test_jitted_functions_are_verified():
    step = tfr.jit(lambda x, rate: x - rate * tfr.sin(x))
    assert tfr.verify(step, leaf(100, 100), 0.5, backends="cpu").agrees


@pytest.mark.parametrize("device", DEVICES)
def test_recorded_random_numbers_are_the_same_everywhere(device):
    assert tfr.verify(tfr.random.uniform((100, 100)) * 2, backends=device).ulp == 0
    key = tfr.random.key(1)
    drawn = tfr.verify(lambda: tfr.random.uniform((100, 100), key=key), backends=device)
    assert drawn.ulp == 0


@pytest.mark.parametrize("trial", [tfr.verify, tfr.bench])
def test_functions_that_draw_without_a_key_are_refused(trial):
    with pytest.raises(tfr.errors.ArgumentError, match=r"other results.*\n(.*\n)*.*random\.key"):
        trial(lambda: tfr.random.uniform(100))


@pytest.mark.parametrize("trial", [tfr.verify, tfr.bench])
def test_what_cannot_be_tried_is_refused(trial):
    x = leaf(10)
    with pytest.raises(tfr.errors.ArgumentError, match="computed already"):
        trial((x * 2).compute())
    with pytest.raises(tfr.errors.DTypeError, match="takes a tensor or a function, got list"):
        trial([x])
    with pytest.raises(tfr.errors.ArgumentError, match="arguments go with a function"):
        trial(x * 2, x)
    with pytest.raises(tfr.errors.ArgumentError, match="empty"):
        trial(x * 2, backends=[])
    with pytest.raises(tfr.errors.DTypeError, match="returns no tensors"):
        trial(lambda: None)


@pytest.mark.parametrize("trial", [tfr.verify, tfr.bench])
def test_a_backend_that_cannot_is_a_row(trial):
    names = ["llvm:7", "nosuch", "dry", "No such"]
    found = trial(leaf(10) * 2, backends=names)
    assert found["numpy"].error is None
    for name in names:
        assert isinstance(found[name].error, tfr.errors.DeviceError)
    assert "there is no device 'nosuch'" in repr(found)


@pytest.mark.parametrize("trial", [tfr.verify, tfr.bench])
def test_a_failure_is_a_row(trial):
    with registered(error=RuntimeError("the driver is gone")):
        found = trial(leaf(100, 100) * 2, backends=["off", "cpu"])
    assert isinstance(found["off"].error, tfr.errors.KernelError)
    assert "the driver is gone" in repr(found)
    assert found["cpu"].error is None


NARROW = CAPABILITIES.dtypes - {np.dtype("float64"), np.dtype("int64")}


@pytest.mark.parametrize("trial", [tfr.verify, tfr.bench])
def test_a_leaf_that_a_device_has_no_room_for_is_a_row(trial):
    with registered(dtypes=NARROW):
        found = trial(leaf(100, 100, dtype=np.float64) * 2, backends=["off", "cpu"])
    assert found["cpu"].error is None
    assert isinstance(found["off"].error, tfr.errors.DTypeError)
    assert "off holds no float64" in repr(found)


def test_what_runs_elsewhere_for_its_dtype_is_told():
    x = leaf(100, 100)
    with registered(dtypes=NARROW) as backend, warnings.catch_warnings():
        warnings.simplefilter("ignore", tfr.errors.FallbackWarning)
        found = tfr.verify(tfr.argmax(tfr.sin(x), axis=1) + 1, backends=["off"])["off"]
    assert found.agrees
    assert found.lacking == ("int64",)
    assert backend.runs > 0


def test_a_failure_for_want_of_a_dtype_names_it():
    error = RuntimeError("no such kernel")
    with registered(dtypes=NARROW, error=error), warnings.catch_warnings():
        warnings.simplefilter("ignore", tfr.errors.FallbackWarning)
        found = tfr.verify(tfr.argmax(tfr.sin(leaf(100, 100)), axis=1), backends=["off"])["off"]
    assert isinstance(found.error, tfr.errors.DTypeError)
    assert "off has no int64" in str(found.error)


def test_differences_of_empty_and_zero_dimensional_results():
    empty, one = np.zeros((0, 3), np.float32), np.float32(1).reshape(())
    assert difference([empty], [empty], [""]).ulp == 0
    found = difference([np.nextafter(one, np.float32(2)).reshape(())], [one], [""])
    assert (found.ulp, found.index) == (1.0, ())
    with pytest.raises(ValueError, match=r"float32\[\] instead of float64\[\]"):
        difference([one], [one.astype(np.float64)], [""])


def test_errors_against_wider_results_are_fractions_of_a_unit():
    exact = np.array([1 + 2**-24, np.nan, np.inf, 1e300, 0.0])
    with np.errstate(over="ignore"):
        assert error_in_ulp(exact.astype(np.float32), exact) == 0.5
    assert error_in_ulp(np.float32([2.0]), np.array([np.inf])) == np.inf
