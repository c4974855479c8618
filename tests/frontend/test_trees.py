"""Trees: containers are taken apart and put together as they were, and equal structures are equal keys."""

from __future__ import annotations

import gc
import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.frontend.trees import LEAF, Static, build, flatten, names, statics


@dataclass
class Point:
    x: object
    y: object
    label: str = field(default="p", kw_only=True)

    def __post_init__(self):
        self.checked = True


@dataclass(frozen=True, slots=True)
class Frozen:
    value: object


class Named(NamedTuple):
    first: object
    second: object


X = tfr.asarray([1.0])

TREES = {
    "leaf": X,
    "number": 1.5,
    "array": np.arange(3),
    "NumPy's number": np.float32(1),
    "none": None,
    "text": "text",
    "tuple": (1, 2.0, True, 1j),
    "list": [X, [X, []], ()],
    "dict": {"b": X, "a": {"c": 1}, 3: None},
    "ordered": OrderedDict(b=X, a=1),
    "named": Named(X, Named(1, None)),
    "dataclass": Point(X, [1, Frozen(2)], label="q"),
    "key": tfr.random.key(3),
    "functions": [len, int, tfr.float32, tfr.Device("cpu"), ...],
}


@pytest.mark.parametrize("name", TREES)
def test_what_is_taken_apart_is_put_together(name):
    value = TREES[name]
    leaves = []
    structure = flatten(value, leaves)
    again = build(structure, iter(leaves))
    assert type(again) is type(value)
    assert repr(again) == repr(value)
    assert structure == flatten(value, [])
    assert hash(structure) == hash(flatten(value, []))
    assert len(names(structure, "v")) == len(leaves)


def test_structures_differ_where_programs_would():
    different = [
        None,
        "a",
        "b",
        (X,),
        [X],
        (X, X),
        (X, None),
        ((X,),),
        {"a": X},
        {"b": X},
        {"a": X, "b": X},
        {"b": X, "a": X},
        OrderedDict(a=X),
        Named(X, X),
        Point(X, X),
        Point(X, X, label="other"),
        Point(X, None),
        Frozen(X),
        X,
    ]
    structures = [flatten(one, []) for one in different]
    assert len(set(structures)) == len(different)


def test_static_values_are_equal_with_their_type_and_sign():
    values = [0, False, 0.0, -0.0, 0j, complex(0.0, -0.0), (0,), (0.0,), (False,), ((0,),), "0"]
    values += [frozenset([0]), slice(0), slice(0.0), slice(0, None), math.inf, b"0"]
    keys = {Static(value).key for value in values}
    assert len(keys) == len(values)
    assert Static(math.nan) == Static(float("nan"))
    assert Static("a" * 2) == Static("aa")
    assert Static(slice(1, 2)) == Static(slice(1, 2))
    assert hash(Static((1, (2.0,)))) == hash(Static((1, (2.0,))))


def test_objects_are_static_by_identity_and_not_kept_alive():
    class Thing:
        pass

    thing, other = Thing(), Thing()
    static = Static(thing)
    assert static == Static(thing) != Static(other)
    assert static.value is thing
    del thing
    gc.collect()
    assert static.value is None
    (found,) = statics(flatten([other, X], []))
    assert found.value is other


def test_a_dataclass_is_not_initialised_again():
    leaves = []
    again = build(flatten(Point(1, 2), leaves), iter([3, 4]))
    assert (again.x, again.y, again.label) == (3, 4, "p")
    assert not hasattr(again, "checked")


def test_fields_may_be_declared_static():
    @dataclass
    class Power:
        base: object
        times: int = field(metadata={"static": True})

        @tfr.jit
        def value(self):
            result = self.base
            for _ in range(self.times):
                result = result * self.base
            return Power(result, self.times + 1)

    for base in (2.0, 3.0):
        assert Power(tfr.asarray(base), 1).value().base.item() == base**2
        result = Power(tfr.asarray(base), 2).value()
        assert (result.base.item(), result.times) == (base**3, 3)
    assert Power.value.cache_info().recorded == 2
    assert names(flatten(Power(X, 1), []), "p") == ["p.base"]


def test_names_are_how_a_program_writes_the_leaves():
    value = {"a": [X, None, (1, X)], "p": Point(Named(X, 1), "static"), 3: 4}
    structure = flatten(value, [])
    assert names(structure, "v") == [
        "v['a'][0]",
        "v['a'][2][0]",
        "v['a'][2][1]",
        "v['p'].x.first",
        "v['p'].x.second",
        "v[3]",
    ]
    assert names(LEAF, "x") == ["x"]


class TestRegistered:
    def test_containers_of_one_s_own(self):
        class Bag:
            def __init__(self, items, name):
                self.items, self.name = items, name

        tfr.register_tree(
            Bag, lambda bag: (bag.name, bag.items), lambda name, items: Bag(items, name)
        )
        jitted = tfr.jit(lambda bag: Bag([one * 2 for one in bag.items], bag.name + "!"))
        for seed in (1.0, 2.0):
            result = jitted(Bag([tfr.asarray(seed), seed], "b"))
            assert [float(one) for one in result.items] == [2 * seed, 2 * seed]
            assert result.name == "b!"
        assert jitted.cache_info().recorded == 1
        jitted(Bag([X], "b"))
        jitted(Bag([X], "c"))
        assert jitted.cache_info().recorded == 3

    @pytest.mark.parametrize("kind", [list, dict, tfr.Tensor, np.ndarray, float, Point, Named])
    def test_what_is_known_is_refused(self, kind):
        with pytest.raises(tfr.errors.ArgumentError, match=f"{kind.__name__} is known"):
            tfr.register_tree(kind, lambda value: (None, [value]), lambda _, items: items)


@pytest.mark.parametrize("value", [{1, 2}, bytearray(b"a"), [set()], {"a": [{1}]}])
def test_what_cannot_be_hashed_is_refused(value):
    with pytest.raises(tfr.errors.DTypeError, match="cannot be hashed"):
        flatten(value, [])
