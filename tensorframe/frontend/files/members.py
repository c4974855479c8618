"""Members: what an archive holds by name, as `np.load` gives it, and where some of it cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Self

from tensorframe.errors import FileFormatError
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import register_tree


class _AsNumpyHasIt(Mapping[str, Tensor]):
    """What NumPy's programs do with an archive: `with np.load(path) as archive`, `archive.files`, `archive.close()`."""

    @property
    def files(self) -> list[str]:
        """The names of all members."""
        return list(self)

    def close(self) -> None:
        """Do nothing: no file is open, since members are read from memory that is mapped onto it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class Archive(dict[str, Tensor], _AsNumpyHasIt):
    """The tensors of an archive by name: a dict, which is used as NumPy's archives are, too."""


register_tree(
    Archive,
    lambda archive: (tuple(archive), archive.values()),
    lambda names, children: Archive(zip(names, children, strict=True)),
)


class Members(_AsNumpyHasIt):
    """The tensors of a file by name, of which some are none: to touch one of these raises its FileFormatError.

    All names are there; `unreadable` has the errors of those that cannot be read.
    """

    def __init__(self, tensors: Mapping[str, Tensor | FileFormatError]) -> None:
        self._members = dict(tensors)

    @property
    def unreadable(self) -> dict[str, FileFormatError]:
        """The errors of the members that are no tensors."""
        return {
            name: member
            for name, member in self._members.items()
            if isinstance(member, FileFormatError)
        }

    def __getitem__(self, name: str) -> Tensor:
        member = self._members[name]
        if isinstance(member, FileFormatError):
            # one of its own for each that touches it, at the line that does
            raise FileFormatError(member.message, suggestions=member.suggestions)
        return member

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        lines = [f"  {name!r}: {_in_words(member)}" for name, member in self._members.items()]
        return "\n".join([f"{len(self)} members of a file:", *lines])


def _in_words(member: Tensor | FileFormatError) -> str:
    if isinstance(member, FileFormatError):
        return f"unreadable, {member.message}"
    return f"{member.dtype}{list(member.shape)}"
