"""A memory of which a known number of bytes is left, in place of the host's, for tasks of Dask in this process."""

from types import SimpleNamespace

from tensorframe.backends.budget import PYTHONS


class Room:
    """A budget of which so many bytes are left."""

    credit = 0
    statistics = SimpleNamespace(pooled=0)

    def __init__(self, room):
        self._room = room

    def room(self):
        return self._room

    def admits(self, need):
        return need <= self._room

    def admits_as_it_is(self, need):
        return need <= self._room

    def why_not(self, need):
        return f"{need} bytes are needed, and {self._room} are left"


def pool_with(room):
    """Return a pool that has so many bytes beside Python's."""
    return SimpleNamespace(budget=Room(room + PYTHONS))
