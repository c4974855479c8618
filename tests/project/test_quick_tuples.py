"""Our named tuples are Python's own in all that can be seen, and no module of the package takes Python's own."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from pathlib import Path

import pytest

from tensorframe import quick_tuples

PACKAGE = Path(quick_tuples.__file__).parent
Value = typing.TypeVar("Value")
WAYS = {"Python's": typing.NamedTuple, "ours": quick_tuples.NamedTuple}


class Kept(quick_tuples.NamedTuple):
    """Found by its name, as pickles find it."""

    left: int
    right: str = "there"


class Inherited(Kept):
    """A class that inherits, with a field's name for something else."""

    __slots__ = ()

    @property
    def both(self) -> str:
        return f"{self.left}{self.right}"


def point(way):
    """A class that has everything: defaults, properties, methods, a way to be shown."""

    class Point(way):
        """Where something is."""

        x: int
        y: float = 2.5
        names: tuple[str, ...] | None = ()

        @property
        def far(self):
            return self.x + self.y

        @classmethod
        def origin(cls):
            return cls(0, 0.0)

        def moved(self, /, by):
            return self._replace(x=self.x + by)

    return Point


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def seen(way):
    """What there is to see of the class and of its objects."""
    kind = point(way)
    here, there = kind(1), kind(x=3, names=("a",))
    return {
        "class": (kind.__name__, kind.__qualname__, kind.__module__, kind.__doc__),
        "fields": (kind._fields, kind._field_defaults, kind.__match_args__),
        "annotations": [*kind.__annotations__],
        "parameters": [
            (entry.name, entry.kind, entry.default)
            for entry in inspect.signature(kind).parameters.values()
        ],
        "constructor": (kind.__new__.__name__, kind.__new__.__defaults__),
        "values": (here, there, [*here], here[1], there[-1], len(here)),
        "named": (here.x, there.names, there.far, kind.origin(), here.moved(by=4).x),
        "compared": (here == (1, 2.5, ()), here < there, hash(here) == hash((1, 2.5, ()))),
        "shown": (repr(here), str(there)),
        "copies": (copy.copy(here), copy.deepcopy(there), here.__getnewargs__()),
        "changed": (here._replace(y=1.0), kind._make([7, 8.0, None]), there._asdict()),
        "is a tuple": (isinstance(here, tuple), type(here + (1,))),
        "errors": [
            outcome(call)
            for call in (
                kind,
                lambda: kind(1, 2, 3, 4),
                lambda: kind(1, z=2),
                lambda: kind._make([1]),
                lambda: setattr(here, "z", 1),
            )
        ],
        "no such field": outcome(lambda: here._replace(z=1))[1],
        "unset": outcome(lambda: setattr(here, "x", 1))[0],
    }


def test_what_can_be_seen_of_ours_is_what_can_be_seen_of_pythons():
    pythons, ours = (seen(way) for way in WAYS.values())
    for what, expected in pythons.items():
        assert repr(ours[what]) == repr(expected), what


def test_they_match_patterns_and_go_through_pickles():
    match Kept(3, right="here"):
        case Kept(left, right=right):
            assert (left, right) == (3, "here")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(Kept(3), protocol))
        assert type(again) is Kept
        assert again == (3, "there")


def test_a_class_may_inherit_from_one():
    made = Inherited(1, "2")
    assert made.both == "12"
    assert type(made._replace(left=5)) is Inherited


def test_a_class_may_be_generic():
    class Pair(quick_tuples.NamedTuple, typing.Generic[Value]):
        first: Value
        second: Value

    assert Pair(1, 2) == (1, 2)
    assert Pair.__parameters__ == (Value,)


@pytest.mark.parametrize("count", [0, 1, 12])
def test_any_number_of_fields(count):
    names = [f"f{place}" for place in range(count)]
    body = {"__annotations__": dict.fromkeys(names, "int"), "__qualname__": "Many"}
    made = type(quick_tuples.NamedTuple)("Many", (quick_tuples.NamedTuple,), body)
    assert made(*range(count)) == tuple(range(count))
    assert made(**{name: place for place, name in enumerate(names)}) == tuple(range(count))


def test_no_module_takes_pythons_own():
    """Each class of these takes a tenth of a millisecond to make: importing the package would make thirty."""
    taking = [
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*.py")
        if path.name != "quick_tuples.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(("from typing import", "    NamedTuple,")) and "NamedTuple" in line
    ]
    assert not taking
