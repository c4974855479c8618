"""Our dataclasses are Python's own in all that can be seen, but for methods that nobody has called."""

import copy
import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from tensorframe.quick_dataclasses import _quick, field

OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "repr": shown}
    for frozen, slots, eq, shown in product([False, True], repeat=4)
]


def made(maker, options):
    """A class and one that inherits from it, by one of the two ways to make them."""

    @maker(**options)
    class Point:
        """Where something is."""

        x: int
        y: float = 2.5
        names: list = dataclasses.field(default_factory=list)
        hidden: int = dataclasses.field(default=7, repr=False, compare=False)
        counted: int = dataclasses.field(default=0, init=False)

        def far(self):
            return self.x + self.y

    @maker(**options)
    class Named(Point):
        name: str = "here"

    return Point, Named


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def seen(maker, options):
    """What there is to see of the classes that `maker` makes."""
    point, named = made(maker, options)
    first, second, other = point(1), point(1, 2.5), named(1, names=["a"], name="there")
    return [
        point.__doc__,
        first.far(),
        point.__match_args__,
        [entry.name for entry in dataclasses.fields(named)],
        dataclasses.asdict(other),
        (first == second, first == other, first != point(2), point(1, hidden=8) == first),
        outcome(lambda: setattr(first, "x", 3)),
        outcome(lambda: delattr(second, "y")),
        outcome(lambda: first.unknown)[0],
        outcome(lambda: hash(point((1,), 2.0, ()))) if options["eq"] else None,
        dataclasses.replace(other, name="away").name,
        copy.deepcopy(other).names,
        hasattr(first, "__dict__"),
        outcome(point)[0],
        outcome(lambda: point(1, counted=3))[0],
        hasattr(point, "y"),
        repr(other) if options["repr"] else None,
    ]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_they_are_pythons_own(options):
    assert seen(_quick, options) == seen(dataclasses.dataclass, options)


@_quick(frozen=True, slots=True)
class Kept:
    """At the top of a module, where pickle finds it."""

    shape: tuple[int, ...]
    dtype: str = field(default="float32")


def test_they_are_pickled_and_hashed():
    kept = Kept((3, 4))
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert {kept: 1}[Kept((3, 4), "float32")] == 1
    assert len({kept, Kept((4, 3)), Kept((3, 4))}) == 2


def test_pythons_own_inherit_from_them():
    @dataclasses.dataclass(frozen=True)
    class More(Kept):
        more: int = 0

    assert More((1,), more=2) == More((1,), "float32", 2)


def test_methods_are_written_once_for_the_class_that_has_them():
    @_quick(slots=True)
    class Base:
        x: int

    class Derived(Base):
        pass

    first = Base.__init__
    assert Derived(3).x == 3
    assert Base.__init__ is not first
    assert "__init__" not in vars(Derived)


def test_threads_may_make_the_first_ones_at_once():
    for _ in range(20):

        @_quick(frozen=True, slots=True)
        class Pair:
            x: int
            y: int

        with ThreadPoolExecutor(8) as threads:
            hashes = list(threads.map(lambda x, kind=Pair: hash(kind(x % 2, 1)), range(32)))
        assert len(set(hashes)) == 2
