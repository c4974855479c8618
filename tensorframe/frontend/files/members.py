"""Members: what a file holds by name, where some of it cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensorframe.errors import FileFormatError
from tensorframe.frontend.tensor import Tensor


class Members(Mapping[str, Tensor]):
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
