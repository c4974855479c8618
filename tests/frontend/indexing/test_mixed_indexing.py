"""Indexing by NumPy's own rules for mixtures: every arrangement of kinds of items in a key, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, ShapeError

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]

DEVICES = [
    name
    for name in ("numpy", "llvm", "cpu", "opencl", "wgpu", "cuda")
    if name in tfr.backends.available()
]

# sizes that tell the axes apart; every one of them has two elements that an index of two can name
SIZES = (3, 2, 4, 5, 2, 3, 2, 3)


class Kind(NamedTuple):
    """A kind of item: for how many axes it is, and the item for axes of these sizes in one of the key's positions."""

    axes: int
    item: Callable[[tuple[int, ...], int], Any]


def _slice(sizes: tuple[int, ...], position: int) -> slice:
    return slice(None, None, -1) if position % 2 else slice(1, None)


def _integer(sizes: tuple[int, ...], position: int) -> int:
    return -1 if position % 2 else sizes[0] - 2


def _array(sizes: tuple[int, ...], position: int) -> Array:
    return np.asarray([sizes[0] - 1, 0] if position % 2 else [0, -1])


def _mask(sizes: tuple[int, ...], position: int) -> Array:
    mask = np.zeros(sizes, bool)
    mask.flat[[0, -1]] = True
    return mask


def _column(sizes: tuple[int, ...], position: int) -> Array:
    return _array(sizes, position).reshape(2, 1)


BASIC = {
    "slice": Kind(1, _slice),
    "integer": Kind(1, _integer),
    "array": Kind(1, _array),
    "mask": Kind(1, _mask),
    "None": Kind(0, lambda sizes, position: None),
    "...": Kind(0, lambda sizes, position: ...),
}
KINDS = BASIC | {
    "mask of two axes": Kind(2, _mask),
    "column": Kind(1, _column),
    "list": Kind(1, lambda sizes, position: _array(sizes, position).tolist()),
    "array of no axes": Kind(1, lambda sizes, position: np.asarray(_integer(sizes, position))),
    "NumPy integer": Kind(1, lambda sizes, position: np.int16(_integer(sizes, position))),
    "True": Kind(0, lambda sizes, position: True),
    "False": Kind(0, lambda sizes, position: np.False_),
}


def arrangements(kinds: dict[str, Kind], length: int) -> Iterator[tuple[str, Array, Key]]:
    """Yield every key of `length` items with an array for it: of as many axes as the key is for, and of one more."""
    for names in product(kinds, repeat=length):
        if names.count("...") > 1:
            continue
        used = sum(kinds[name].axes for name in names)
        for ndim in (used, used + 1):
            shape = SIZES[:ndim]
            array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
            yield f"{', '.join(names)} of {shape}", array, key_for(kinds, names, shape)


def key_for(kinds: dict[str, Kind], names: tuple[str, ...], shape: tuple[int, ...]) -> Key:
    """Return the items of these kinds for an array of `shape`."""
    key = []
    axis = 0
    for position, name in enumerate(names):
        kind = kinds[name]
        key.append(kind.item(shape[axis : axis + kind.axes], position))
        axis += kind.axes
        if name == "...":
            axis = len(shape) - sum(kinds[later].axes for later in names[position + 1 :])
    return tuple(key)


def lifted(key: Key) -> Key:
    """Return the key with tensors in the place of arrays."""
    return tuple(tfr.asarray(item) if isinstance(item, np.ndarray) else item for item in key)


def broadcasting(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield shapes that broadcast to `shape`: itself, each axis of size 1 in turn, fewer axes, none."""
    yield shape
    for axis in range(len(shape)):
        yield (*shape[:axis], 1, *shape[axis + 1 :])
    yield shape[len(shape) // 2 :]
    yield ()


def numbers(shape: tuple[int, ...]) -> Array:
    """Return as many negative numbers, all different."""
    return -1 - np.arange(np.prod(shape, dtype=int)).reshape(shape)


def fits(array: Array, key: Key) -> bool:
    """Whether the key's indices broadcast, as NumPy finds."""
    try:
        array[key]
    except IndexError:
        return False
    return True


def reads_as_numpy(device: str, array: Array, key: Key, asked: Key) -> bool:
    """Whether a tensor gives the elements that NumPy gives, and had their shape before it was computed."""
    expected = array[key]
    found = tfr.asarray(array, device=device)[asked]
    return found.shape == expected.shape and np.array_equal(found.numpy(), expected)


def writes_as_numpy(device: str, array: Array, key: Key, asked: Key, values: Array) -> bool:
    """Whether `x[key] = values` leaves what NumPy leaves."""
    expected = array.copy()
    expected[key] = values
    tensor = tfr.asarray(array, device=device)
    tensor[asked] = tfr.asarray(values, device=device)
    return np.array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("length", [*range(5), pytest.param(5, marks=pytest.mark.sweep)])
def test_every_arrangement_of_up_to_five_items(length):
    for name, array, key in arrangements(BASIC, length):
        values = numbers(array[key].shape)
        assert reads_as_numpy("numpy", array, key, key), name
        assert writes_as_numpy("numpy", array, key, key, values), name


@pytest.mark.parametrize("length", [*range(3), pytest.param(3, marks=pytest.mark.sweep)])
def test_every_arrangement_of_up_to_three_items_of_any_kind(length):
    for name, array, key in arrangements(KINDS, length):
        if not fits(array, key):
            with pytest.raises(IndexError, match="broadcast"):
                tfr.asarray(array)[key].compute()
            continue
        for asked in (key, lifted(key)):
            assert reads_as_numpy("numpy", array, key, asked), name
        for shape in broadcasting(array[key].shape):
            assert writes_as_numpy("numpy", array, key, key, numbers(shape)), (name, shape)


class Elements:
    """An object of another library that hands its elements to NumPy."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.values, dtype)


@pytest.mark.parametrize(
    "values", [[1, 0], [True, False, True], [], [[0], [2]]], ids=["integers", "mask", "none", "2-d"]
)
def test_arrays_of_other_libraries_are_indices(values):
    array = np.arange(12).reshape(3, 4)
    key = (np.asarray(values, None if values else int),)
    asked = (Elements(np.asarray(values, None if values else int).tolist()),) if values else key
    assert reads_as_numpy("numpy", array, key, asked)
    assert writes_as_numpy("numpy", array, key, asked, numbers(array[key].shape))


class Index:
    """An object that is an integer where one is needed."""

    def __index__(self) -> int:
        return 1


class Pair(NamedTuple):
    """A tuple by another name."""

    first: Any
    second: Any


KEYS: dict[str, Any] = {
    "all": (),
    "True": True,
    "False": np.False_,
    "0-d mask": np.asarray(True),
    "integer": np.int8(1),
    "unsigned integer": np.uint64(2),
    "0-d integer": np.asarray(1, np.uint8),
    "object": Index(),
    "slice of objects": slice(np.int8(0), Index()),
    "slice of bools": slice(False, True),
    "backwards": np.s_[..., ::-2],
    "range": range(2),
    "nothing": [],
    "no rows": [[]],
    "two empty rows": [[], []],
    "empty mask": np.zeros((0, 4), bool),
    "list of bools": [True, False, True],
    "list of NumPy's bools": [np.True_, np.False_, np.True_],
    "list of tuples": [(0, 1), (1, 0)],
    "list of NumPy's integers": [np.int64(1), 0],
    "integers and bools": [1, True],
    "lists": ([0, 1], (1, 0)),
    "named tuple": Pair([0, 1], 0),
    "mask of all": [[True] * 4] * 3,
    "two masks": ([True, False, True], [True, False, True, False]),
    "mask of one": ([True, False, False], [1, 2, 3]),
    "True beside": (True, [0, 1]),
    "True apart": (True, slice(None), [0]),
    "True and None": (None, True, [0], False),
    "buffer": bytearray(b"\x01"),
    "too large": 3,
    "far too large": 2**70,
    "too large in a list": [3],
    "too small": [-4],
    "float": 1.0,
    "NumPy's float": np.float64(1),
    "float array": np.asarray([1.0]),
    "empty float array": np.asarray([]),
    "text": "x",
    "bytes": b"x",
    "dict": {},
    "set": {1},
    "list of None": [None],
    "list of slices": [slice(0, 1)],
    "objects": np.asarray([0, 1], object),
    "texts": np.asarray(["a"]),
    "date": np.datetime64("2026"),
    "two ellipses": (..., ...),
    "too many": (0, 0, 0),
    "wrong mask": [True, False],
    "masks of several sizes": ([True, False, True], [True, True, True, False]),
}


@pytest.mark.parametrize("name", KEYS)
def test_any_key_selects_what_it_selects_in_numpy(name):
    key = KEYS[name]
    array = np.arange(12).reshape(3, 4)
    try:
        shape = array[key].shape
    except IndexError:
        x = tfr.asarray(array)
        with pytest.raises(IndexError):
            x[key].compute()
        with pytest.raises(IndexError):
            x[key] = 0
        assert np.array_equal(x.numpy(), array)
        return
    assert reads_as_numpy("numpy", array, key, key)
    # the last value stays where an element is named twice
    assert writes_as_numpy("numpy", array, key, key, numbers(shape))


def test_indices_that_are_not_computed_yet_may_be_in_a_list():
    x = tfr.asarray([10, 20, 30])
    one = tfr.asarray(1) + 0
    found = x[[one, 2, -one]]
    assert not found.is_computed
    assert not one.is_computed
    assert found.tolist() == [20, 30, 30]
    assert x[[[one], [0]]].tolist() == [[20], [10]]
    assert x[[one > 0, False, one > 0]].tolist() == [10, 30]


def test_a_list_that_contains_itself_is_no_index():
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ArgumentError, match="contains itself"):
        tfr.asarray([1, 2])[endless]


def test_elements_that_are_no_integers_are_no_index():
    x = tfr.asarray([1, 2, 3])
    for values in ([0.0], ["a"]):
        with pytest.raises(IndexError, match=r"integer|not an index"):
            x[Elements(values)]
    with pytest.raises(ShapeError, match="ragged"):
        x[[[0], [1, 2]]]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("other", ["integer", "array", "mask"])
def test_an_ellipsis_for_no_axes_separates_indices(other, device):
    array = np.arange(24).reshape(2, 3, 4)
    for names in (("slice", other, "...", "array"), ("slice", "array", "...", other)):
        key = key_for(BASIC, names, array.shape)
        assert array[key].shape == (2, 1)
        assert reads_as_numpy(device, array, key, key)
        assert writes_as_numpy(device, array, key, key, numbers(array[key].shape))
