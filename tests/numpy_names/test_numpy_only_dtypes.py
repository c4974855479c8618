"""Text, dates, records and objects stay NumPy's: its functions take over, and numbers come back as tensors."""

from __future__ import annotations

import datetime
import inspect
import re

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.dtypes import numpy_only_dtypes
from tensorframe.frontend.dtypes.numpy_only_dtypes import TAKING_ANY_DATA, with_numpys

WORDS = ["to", "be", "or", "not", "to", "be"]


def same(expected, actual):
    """Whether both are the same, and numbers a tensor, all else an array of NumPy's or no array."""
    if isinstance(expected, tuple):
        return all(map(same, expected, actual))
    numbers = isinstance(expected, np.ndarray | np.generic) and expected.dtype.kind in "biufc"
    assert isinstance(actual, tfr.Tensor) == numbers, type(actual)
    return bool(np.all(np.asarray(expected) == np.asarray(actual)))


@pytest.mark.parametrize(
    "call",
    [
        "array(words)",
        "array('word')",
        "array(words, dtype='S3')",
        "array([1, 'a'], dtype=object)",
        "array([(1, 2.0)], dtype=[('a', int), ('b', float)])",
        "array(['2026-01-01'], dtype='datetime64[D]')",
        "array(['1.5', '2'], dtype=float)",
        "zeros(2, dtype=[('a', int)])",
        "empty(2, dtype=object)",
        "full(3, 'ab')",
        "full_like([1, 2], 'ab', dtype='U2')",
        "arange('2026-01-01', '2026-01-05', dtype='datetime64[D]')",
        "sort(words)",
        "argsort(words, kind='stable')",
        "lexsort((words, words))",
        "unique(words, return_index=True, return_inverse=True, return_counts=True)",
        "isin(words, ['to', 'or'])",
        "intersect1d(words, ['or', 'x'])",
        "searchsorted(['a', 'c'], 'b')",
        "where([True, False], 'yes', 'no')",
        "select([[True, False]], [['a', 'b']], 'c')",
        "concatenate([words, ['x']])",
        "vstack([words, words])",
        "repeat(words, 2)",
        "reshape(words, (2, 3))",
        "append(words, 'x')",
        "delete(words, 0)",
        "shape(words)",
        "size(array(words))",
        "count_nonzero(words)",
        "diff(array(['2026-01-01', '2026-01-05'], dtype='datetime64[D]'))",
        "mean(array([1, 3], dtype='timedelta64[D]'))",
        "sum(array([1, 2], dtype=object))",
        "array_equal(words, words)",
        "isrealobj('text')",
        "isrealobj(None)",
        "iscomplexobj(words)",
        "can_cast('i4', 'S4')",
        "promote_types('i4', 'S8')",
        "frombuffer(b'ab', dtype='S1')",
        "char.upper(words)",
        "strings.str_len(words)",
        "busday_count('2026-01-01', '2026-02-01')",
        "isnat(datetime64('NaT', 'D'))",
        "ma.masked_array([1, 2], [True, False]).sum()",
        "ma.masked_less([1, 2], 2).filled(7)",
        "frompyfunc(lambda a: a + 1, 1, 1)([1, 2])",
        "min_scalar_type(255)",
    ],
)
def test_data_that_tensors_do_not_hold_are_computed_by_numpy(call):
    names = {"words": WORDS}
    spaces = [{name: getattr(space, name) for name in dir(space)} for space in (np, tfr)]
    expected, actual = (eval(call, space | names) for space in spaces)
    if call.startswith(("char.", "strings.", "busday", "isnat", "ma.", "frompy")):
        assert np.all(expected == actual)  # NumPy's own
        assert type(expected) is type(actual)
    elif isinstance(expected, bool | np.bool_ | np.dtype | tuple) and "unique" not in call:
        assert expected == actual
    else:
        assert same(expected, actual)
        often = spaces[1] | {
            name: called_often(name) for name in TAKING_ANY_DATA & set(call_names(call))
        }
        assert same(expected, eval(call, often | names))


def call_names(call):
    """The names in the text of a call."""
    return re.findall(r"[a-z_0-9]+", call)


def test_parts_of_records_become_tensors_when_they_are_numbers():
    people = tfr.array([("Ann", 31), ("Bob", 25)], dtype=[("name", "U10"), ("age", "i4")])
    assert people[tfr.argsort(people, order="age").numpy()]["name"].tolist() == ["Bob", "Ann"]
    assert tfr.mean(people["age"]).item() == 28.0
    assert isinstance(tfr.mean(people["age"]), tfr.Tensor)


def test_tensors_and_other_data_meet_in_numpy():
    ages = tfr.asarray([31, 25])
    order = tfr.lexsort((ages, ["b", "b"]))
    assert order.tolist() == [1, 0]
    assert isinstance(order, tfr.Tensor)
    assert tfr.where(ages > 30, "old", "young").tolist() == ["old", "young"]


@pytest.mark.parametrize(
    "call",
    [
        "asarray(words)",
        "asarray([1, None])",
        "asarray([1.0], dtype=object)",
        "array([1, None])",
        "array([date])",
        "array({1, 2})",
        "zeros(3, 'foo')",
        "ones(3, 'flaot32')",
        "array(words, device='cpu')",
        "array(['x'], dtype=float)",
        "add(asarray([1.0]), 'a')",
        "sum('abc')",
        "asarray([1.0]) + 'a'",
    ],
)
def test_what_is_no_data_at_all_stays_an_error_of_ours(call):
    names = {name: getattr(tfr, name) for name in dir(tfr)}
    with pytest.raises((DTypeError, TypeError)) as caught:
        eval(call, names | {"words": WORDS, "date": datetime.date(2026, 1, 1)})
    assert "numpy" not in type(caught.value).__module__


def test_masks_are_kept():
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    joined = tfr.ma.concatenate([masked, tfr.asarray([3.0])])
    assert joined.mask.tolist() == [False, True, False]
    for join in (np.add, tfr.add, np.maximum):
        with pytest.raises(DTypeError, match="no masked elements"):
            join(masked, tfr.asarray([1.0, 1.0]))
    # NumPy's own function says that it keeps no masks
    assert tfr.concatenate([masked, tfr.asarray([1.0])]).tolist() == [1.0, 2.0, 1.0]
    unmasked = np.ma.masked_array([1.0, 2.0], False)
    assert (tfr.asarray([1.0, 1.0]) + unmasked).tolist() == [2.0, 3.0]


def test_records_are_no_tensors():
    records = np.array([(1, 2.0)], dtype=[("a", int), ("b", float)])
    assert not isinstance(tfr.concatenate([records, records]), tfr.Tensor)


@pytest.mark.parametrize("name", sorted(TAKING_ANY_DATA))
def test_functions_of_any_data_are_public_and_keep_their_signature(name):
    function = getattr(tfr, name)
    assert function.__name__ == function.__wrapped__.__name__
    assert inspect.signature(function) == inspect.signature(function.__wrapped__)
    assert hasattr(np, name)


def guarded(function):
    """What hands data to NumPy: a public function, or what it asks where it does not know a call itself."""
    return function if "guard" in function.__code__.co_freevars else function.__wrapped__


def called_often(name):
    """A public function as it is when it has been called often."""
    function = with_numpys(guarded(getattr(tfr, name)).__wrapped__, getattr(np, name))
    guarded(function).__closure__[0].cell_contents.give_parameters()
    return function


@pytest.mark.parametrize("name", sorted(TAKING_ANY_DATA))
def test_a_function_that_is_called_often_takes_its_own_parameters(name):
    """To put arguments into a tuple and a mapping, and to take them out again, would be a part of every call.

    Functions that remember calls take any, as they look them up by what is given.
    """
    own, often = guarded(getattr(tfr, name)).__wrapped__, guarded(called_often(name))
    parameters = inspect.signature(own, follow_wrapped=False).parameters.values()
    assert [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in inspect.signature(often, follow_wrapped=False).parameters.values()
    ] == [(parameter.name, parameter.kind, parameter.default) for parameter in parameters] or any(
        parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
        for parameter in parameters
    )


def test_parameters_are_taken_once_a_function_has_been_called_often(monkeypatch):
    monkeypatch.setattr(numpy_only_dtypes, "_OFTEN", 3)
    squeeze = with_numpys(tfr.squeeze.__wrapped__, np.squeeze)
    for _ in range(5):
        assert squeeze([[1, 2]], axis=0).tolist() == [1, 2]
        assert squeeze([["a", "b"]]).tolist() == ["a", "b"]
        with pytest.raises(tfr.errors.AxisError):
            squeeze([1, 2], axis=2)
    assert squeeze.__code__.co_varnames[:2] == ("a", "axis")


def test_functions_that_are_complex_where_real_ones_have_no_value():
    cases = {
        "sqrt": ([4.0, 9.0], [-1.0, 4.0], [-1, 4]),
        "log": ([1.0, 2.0], [-1.0, 2.0], [-3]),
        "log2": ([8.0], [-4.0, 8.0]),
        "log10": ([100.0], [-10.0, 10.0]),
        "arccos": ([0.5], [2.0, 0.5]),
        "arcsin": ([0.5], [2.0, 0.5]),
        "arctanh": ([0.5], [0.25, 0.5]),
    }
    for name, operands in cases.items():
        for operand in operands:
            expected = getattr(np.emath, name)(operand)
            actual = getattr(tfr.emath, name)(operand)
            assert actual.dtype.kind == expected.dtype.kind, name
            np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-6, atol=1e-6)
    for base, exponent in (([2, 4], -2), ([-2, 4], 2), ([2.0, 4.0], [2, 3])):
        expected = np.emath.power(base, exponent)
        actual = tfr.emath.power(base, exponent)
        assert actual.dtype.kind == expected.dtype.kind
        np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-6)
    assert tfr.emath.logn(2, [4.0, 8.0]).tolist() == [2.0, 3.0]


def test_flags_are_set_to_what_they_are():
    x = tfr.asarray([1.0, 2.0])
    x.flags.writeable = False
    x.flags["WRITEABLE"] = False
    x.setflags(write=False, align=True)
    for write in (
        lambda: setattr(x.flags, "writeable", True),
        lambda: x.setflags(write=True),
        lambda: x.flags.__setitem__("OWNDATA", False),
    ):
        with pytest.raises(ArgumentError, match=r"x\[\.\.\.\] = values"):
            write()
    with pytest.raises(AttributeError, match="no flag 'colour'"):
        _ = x.flags.colour
    with pytest.raises(KeyError):
        _ = x.flags["COLOUR"]
    with pytest.raises(ArgumentError, match="numpy"):
        tfr.require(x, requirements="W")
    assert tfr.require(x, requirements=["C", "A", "O"]) is x


def test_a_tensor_is_resized_in_place(tmp_path):
    x = tfr.asarray([1, 2, 3])
    alias = x[:]
    x.resize((2, 2), refcheck=False)
    assert x.tolist() == [[1, 2], [3, 0]]
    x.resize(2)
    assert x.tolist() == [1, 2]
    assert alias.tolist() == [1, 2, 3]
    x.dump(tmp_path / "tensor")
    assert np.load(tmp_path / "tensor", allow_pickle=True).tolist() == [1, 2]


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((3,), (2,)), ((4, 2), (4, 3)), ((4, 2), (4, 2))])
def test_vectors_in_the_plane_have_cross_products(shapes):
    x, y = (np.arange(1.0, 1 + np.prod(shape)).reshape(shape) for shape in shapes)
    np.testing.assert_allclose(tfr.cross(x, y[::-1]).numpy(), cross_of_any(x, y[::-1]))
    if x.ndim == 2:
        np.testing.assert_allclose(tfr.cross(x.T, y.T, 0, 0, -1).numpy(), cross_of_any(x, y))


def cross_of_any(x, y):
    """Return NumPy's cross product, which NumPy 2.5 defines in space alone: a plane has the third coordinate 0."""
    in_space = (np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, 3 - v.shape[-1])]) for v in (x, y))
    product = np.cross(*in_space)
    return product[..., 2] if x.shape[-1] == y.shape[-1] == 2 else product


@pytest.mark.parametrize("ends", [(1j, 1000j), (-1 + 0j, 1 + 0j), (1 + 1j, -3 - 2j), (2j, 4)])
def test_geometric_sequences_turn_in_the_complex_plane(ends):
    for options in ({}, {"endpoint": False}):
        expected = np.geomspace(*ends, num=5, **options)
        actual = tfr.geomspace(*ends, num=5, dtype="complex128", **options)
        np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [str, object, "U3", "S", np.longdouble, "datetime64[s]"])
def test_other_dtypes_are_converted_to_at_once(dtype):
    values = np.array([[1.5, 2.0], [3.0, -4.0]])
    expected = values.astype(dtype)
    for converted in (tfr.asarray(values).astype(dtype), tfr.astype(tfr.asarray(values), dtype)):
        assert type(converted) is np.ndarray
        assert converted.dtype == expected.dtype
        assert (converted == expected).all()


def test_bits_are_seen_as_records_and_raw_bytes():
    values = np.arange(6, dtype=np.int32).reshape(3, 2)
    for dtype in ("V8", [("a", "i4"), ("b", "f4")]):
        seen = tfr.asarray(values).view(np.dtype(dtype))
        assert type(seen) is np.ndarray
        assert seen.tobytes() == values.view(dtype).tobytes()
        assert seen.shape == (3, 1)
        turned = tfr.asarray(np.ascontiguousarray(values.T)).T.view(np.dtype(dtype))
        assert turned.tobytes() == values.tobytes()
        assert not turned.flags.writeable
    assert tfr.asarray(values).view(tfr.ndarray).tolist() == values.tolist()
    for dtype in ("V3", "O", str):
        with pytest.raises(DTypeError, match="is not seen as"):
            tfr.asarray(values).view(dtype)
    with pytest.raises(DTypeError):
        tfr.asarray(values).view("nosuch")


def test_what_is_no_dtype_and_what_loses_a_part_stay_refused():
    with pytest.raises(DTypeError, match="is not a dtype"):
        tfr.ones(2).astype("nosuch")
    with pytest.raises(DTypeError, match="does not become"):
        tfr.asarray([1j]).astype("float32")
    with pytest.raises(DTypeError, match="no dtype"):
        tfr.astype(tfr.ones(2), str, device="numpy")


def test_an_error_says_how_numpy_has_objects():
    with pytest.raises(DTypeError, match="these are object") as caught:
        tfr.array([None, 1])
    assert 'dtype="object"' in caught.value.suggestions[-1]
    assert tfr.array([None, 1], dtype="object").tolist() == [None, 1]
