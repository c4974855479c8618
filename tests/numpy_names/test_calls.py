"""NumPy's functions here: called with every argument, each gives NumPy's values, and takes NumPy's parameters."""

from __future__ import annotations

import os
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tests.numpy_names.comparison import differences
from tests.numpy_names.environments import ENVIRONMENTS
from tests.numpy_names.names import (
    BY_CHANCE,
    DIFFERENT,
    OWN_PARAMETERS,
    WITHOUT_IN_CLASSES,
    absent,
    missing_parameters,
    table,
    unexpected,
)
from tests.numpy_names.signatures import (
    every_call,
    functions,
    homes,
    public,
    unnamed,
    written_calls,
)

PAGE = Path(__file__).parents[2] / "docs" / "numpy.md"
CALLS = {**every_call(), **written_calls()}
THOROUGH = os.environ.get("NUMPY_NAMES") == "all"  # `nox -s numpy`
of_this_numpy = pytest.mark.skipif(
    not np.__version__.startswith("2.4"), reason="signatures are those of NumPy 2.4"
)


def some(call):
    """Three of the environments, which depend on the text of a call: together, calls meet all of them."""
    start, names = crc32(call.encode()), list(ENVIRONMENTS)
    return [names[(start + 7 * step) % len(names)] for step in range(3)]


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys(name):
    found = differences(name, None if THOROUGH else some)
    assert unexpected(name, found) == {}
    last = name.rpartition(".")[2]
    different = DIFFERENT.get(last)
    if THOROUGH and different and different.calls and last not in BY_CHANCE:
        assert len(found) > 0, f"{name}: nothing is different any more: {different}"


@of_this_numpy
def test_every_parameter_of_numpy_is_named_by_a_call():
    found = {name: unnamed(name, function, CALLS.get(name, ())) for name, function in functions()}
    assert {name: parameters for name, parameters in found.items() if parameters} == {}


@pytest.mark.parametrize(("prefix", "space", "ours"), list(homes()), ids=["numpy", "linalg", "fft"])
def test_every_name_is_there_or_says_why_not(prefix, space, ours):
    without = absent()
    for name in public(space):
        assert hasattr(ours, name) != (name in without), prefix + name


def test_every_parameter_of_numpy_is_taken():
    wrong = {
        prefix + name: missing
        for prefix, space, _ in homes()
        for name in public(space)
        if name not in OWN_PARAMETERS and (missing := missing_parameters(prefix, name))
    }
    assert wrong == {}


@pytest.mark.parametrize("kind", WITHOUT_IN_CLASSES)
def test_every_attribute_is_there_or_known_to_be_absent(kind):
    theirs, ours, without = WITHOUT_IN_CLASSES[kind]
    names = {name for name in dir(theirs) if name[0] != "_"}
    assert {name for name in names if not hasattr(ours, name)} == without


@of_this_numpy
def test_the_page_has_the_table():
    assert table() in PAGE.read_text(encoding="utf-8"), "run python -m tests.numpy_names"


@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_a_tensor_that_is_out_becomes_the_result_and_no_other_changes(device):
    x = tfr.asarray([1.0, 4.0, 9.0], device=device)
    out = tfr.zeros(3, device=device)
    alias = out[:]
    assert tfr.sqrt(x, out=out) is out
    assert tfr.sqrt(x, out) is out
    assert out.tolist() == [1.0, 2.0, 3.0]
    assert alias.tolist() == [0.0, 0.0, 0.0]
    total = tfr.zeros((), device=device)
    assert tfr.sum(x, out=total) is total
    assert total.item() == 14.0


def test_an_array_that_is_out_is_filled():
    out = np.zeros(3)
    assert tfr.add([1.0, 2.0, 3.0], 1, out=out) is out
    assert out.tolist() == [2.0, 3.0, 4.0]
    pair = (np.zeros(2), tfr.zeros(2))
    assert tfr.modf(tfr.asarray([1.5, 2.25]), out=pair)[0] is pair[0]
    assert [part.tolist() for part in pair] == [[0.5, 0.25], [1.0, 2.0]]


def test_out_keeps_its_kind_and_shape():
    with pytest.raises(DTypeError, match="float32"):
        tfr.sqrt(tfr.asarray([2.0]), out=tfr.zeros(1, int))
    with pytest.raises(DTypeError, match="Cannot cast"):
        tfr.sqrt(tfr.asarray([2.0]), out=np.zeros(1, int))
    with pytest.raises(ShapeError, match="shape"):
        tfr.sum(tfr.ones((2, 3)), 0, out=tfr.zeros(2))
    with pytest.raises(DTypeError, match="tensor or an array"):
        tfr.sum(tfr.ones(3), out=[0.0])
    frozen = np.zeros(1)
    frozen.flags.writeable = False
    with pytest.raises(DTypeError, match="read-only"):
        tfr.sqrt([2.0], out=frozen)


def test_where_leaves_the_elements_of_out():
    out = tfr.asarray([9.0, 9.0, 9.0])
    tfr.negative(tfr.asarray([1.0, 2.0, 3.0]), out=out, where=[True, False, True])
    assert out.tolist() == [-1.0, 9.0, -3.0]
    with pytest.raises(DTypeError, match="bools"):
        tfr.negative(out, where=[1, 0, 1])


def test_casting_is_numpys():
    x = tfr.asarray([1.5, 2.5])
    with pytest.raises(DTypeError, match="same_kind"):
        tfr.add(x, 1, dtype=int)
    assert tfr.add(x, 1, dtype=int, casting="unsafe").tolist() == [2, 3]
    with pytest.raises(DTypeError, match="'no'"):
        tfr.add(x, np.asarray([1, 2]), casting="no")
    with pytest.raises(ArgumentError, match="casting"):
        tfr.add(x, 1, casting="always")
    with pytest.raises(TypeError, match="unexpected keyword argument 'were'"):
        tfr.add(x, 1, were=True)


def test_a_selection_of_nothing_needs_a_first_value():
    x = tfr.asarray([1.0, 2.0])
    with pytest.raises(ArgumentError, match="initial"):
        tfr.max(x, where=x > 5)
    assert tfr.max(x, where=x > 5, initial=-1).item() == -1.0
    assert tfr.min(tfr.zeros((0, 2)), axis=0, initial=7).tolist() == [7.0, 7.0]


def test_gradients_run_through_selections_and_formulas():
    x = tfr.asarray([1.0, 2.0, 3.0, 4.0])
    chosen = tfr.grad(lambda v: tfr.mean(v * v, where=tfr.asarray([True, True, False, False])))(x)
    assert chosen.tolist() == [1.0, 2.0, 0.0, 0.0]
    assert tfr.grad(lambda p: tfr.polyval(p, 2.0))(x).tolist() == [8.0, 4.0, 2.0, 1.0]
    assert tfr.grad(lambda v: tfr.select([v > 2], [v * 3], v).sum())(x).tolist() == [1, 1, 3, 3]
    assert tfr.grad(lambda v: tfr.quantile(v, 0.5, method="hazen"))(x).tolist() == [0, 0.5, 0.5, 0]
    tfr.check_gradient(lambda v: tfr.pad(v, 2, "mean").sum(), x)
    tfr.check_gradient(lambda v: tfr.correlate(v, v[:2], "full").sum(), x)
    tfr.check_gradient(lambda v: tfr.logaddexp2(v, 1.0).sum(), x)
    tfr.check_gradient(lambda v: (tfr.sort(v + 1j).real * tfr.arange(4)).sum(), x)
    tfr.check_gradient(lambda v: tfr.var(v, mean=tfr.mean(v, keepdims=True)), x)


def test_polynomials_that_are_objects_stay_objects():
    p = tfr.poly1d([1.0, 2.0, 3.0])
    assert isinstance(tfr.polyder(p), np.poly1d)
    assert tfr.polyadd(p, [1.0]) == np.polyadd(p, [1.0])
    assert tfr.polyval(p, 2.0) == 11.0
    assert tfr.polymul(p, p) == p * p


def test_integers_have_divisors_all_together():
    assert tfr.gcd.reduce([15, 25, 35]).item() == 5
    assert tfr.lcm.reduce([3, 12, 20]).item() == 60


def test_complex_values_are_interpolated_part_by_part():
    x, points, values = [0.5, 1.5, 9.0], [0.0, 1.0, 2.0], [0j, 2 + 1j, 4 - 1j]
    expected = np.interp(x, points, values, right=1j)
    np.testing.assert_allclose(tfr.interp(x, points, values, right=1j).numpy(), expected, rtol=1e-6)


def test_numpys_checks_take_tensors():
    x = tfr.asarray([1.0, 2.0])
    tfr.testing.assert_allclose(x, [1.0, 2.0])
    tfr.testing.assert_equal(x, np.asarray([1.0, 2.0], np.float32))
    with pytest.raises(AssertionError):
        tfr.testing.assert_array_equal(x, [1.0, 3.0])
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = tfr.testing.nothing_of_the_kind


def test_files_of_text_and_archives(tmp_path):
    x = tfr.asarray([[1.5, 2.0], [3.0, 4.0]])
    tfr.savetxt(tmp_path / "text", x, delimiter=",")
    assert tfr.loadtxt(tmp_path / "text", delimiter=",").tolist() == x.tolist()
    assert isinstance(tfr.genfromtxt(tmp_path / "text", delimiter=","), tfr.Tensor)
    for save in (tfr.savez, tfr.savez_compressed):
        save(tmp_path / "archive.npz", x, named=x + 1)
        with np.load(tmp_path / "archive.npz") as archive:
            assert archive["arr_0"].tolist() == x.tolist()
            assert archive["named"].tolist() == (x + 1).tolist()
    x.tofile(tmp_path / "bytes")
    assert tfr.fromfile(tmp_path / "bytes", dtype="float32").tolist() == [1.5, 2.0, 3.0, 4.0]
