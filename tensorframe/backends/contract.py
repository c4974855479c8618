"""The contract of plug-ins: its version, and what one says of itself.

A plug-in is written for a version of the interface `(major, minor)`. It fits as long as the major number is this one's,
and the minor number is not above it: minor versions add methods with defaults, major versions may change any.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from tensorframe.errors import ArgumentError
from tensorframe.quick_dataclasses import dataclass

INTERFACE_VERSION: Final = (1, 11)

PACKAGE = "tensorframe-lazy"
_UNSAID = "UNKNOWN"  # what old tools wrote into metadata


@dataclass(frozen=True, slots=True)
class About:
    """What a plug-in says of itself; what it leaves out is read from its package's metadata.

    ArgumentError for a field that is not of its kind.

    >>> tfr.backends.About(interface=(1, 0), author="A. Lovelace", priority=250).priority
    250
    """

    interface: tuple[int, int] | None = None
    """The version of the interface that it was written for: a package has to name it."""
    version: str = ""
    author: str = ""
    licence: str = ""
    priority: int | None = None
    """Where `"auto"` looks for it: before backends with less, see `BUILT_IN_PRIORITY`; None: nowhere."""
    needs: tuple[str, ...] = ()
    """The modules without which it does not work."""

    def __init__(
        self,
        interface: tuple[int, int] | None = None,
        version: str = "",
        author: str = "",
        licence: str = "",
        priority: int | None = None,
        needs: tuple[str, ...] = (),
    ) -> None:
        said: dict[str, Any] = {"version": version, "author": author, "licence": licence}
        if interface is not None and not _is_version(interface):
            _refuse("interface", "a pair of numbers, such as (1, 0)", interface)
        for name, text in said.items():
            if not isinstance(text, str):
                _refuse(name, "text", text)
        if priority is not None and type(priority) is not int:
            _refuse("priority", "an integer, or None", priority)
        if not isinstance(needs, tuple) or not all(isinstance(module, str) for module in needs):
            _refuse("needs", "a tuple of names of modules", needs)
        said_otherwise = {"interface": interface, "priority": priority, "needs": needs}
        for name, value in (said | said_otherwise).items():
            object.__setattr__(self, name, value)


def _is_version(value: object) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(type(number) is int and number >= 0 for number in value)
    )


def _refuse(name: str, wanted: str, got: object) -> None:
    raise ArgumentError(f"About: {name} is {wanted}, got {got!r:.80}")


def misfit(about: About | None, package: str, contract: str = "backends") -> tuple[str, str] | None:
    """Return why what a package brings does not fit this interface, and what to do; None if it does.

    `contract` is what the interface is called in messages: that of backends, or of extensions.
    """
    ours = show_version(INTERFACE_VERSION)
    if about is None or about.interface is None:
        reason = (
            f"it does not say for which version of the interface of {contract} it was written: "
            f"about = About(interface={INTERFACE_VERSION})"
        )
        return reason, f"pip install --upgrade {package}"
    major, minor = about.interface
    if major == INTERFACE_VERSION[0] and minor <= INTERFACE_VERSION[1]:
        return None
    newer = about.interface > INTERFACE_VERSION
    reason = f"it was written for version {major}.{minor} of the interface of {contract}, and this is {ours}"
    return reason, f"pip install --upgrade {PACKAGE if newer else package}"


def show_version(version: tuple[int, int] | None) -> str:
    """Return a version as people write it."""
    return "" if version is None else "{}.{}".format(*version)


def completed(about: About | None, package: str) -> About:
    """Return what is known of a plug-in: what it says, and for the rest what its package's metadata do."""
    said = about or About()
    stored = _metadata(package)
    return About(
        said.interface,
        said.version or stored.get("version", ""),
        said.author or stored.get("author", ""),
        said.licence or stored.get("licence", ""),
        said.priority,
        said.needs,
    )


def _metadata(package: str) -> dict[str, str]:
    from importlib.metadata import metadata  # only what lists plug-ins needs it

    stored: Any = {}
    with suppress(
        Exception
    ):  # of a module that no package brings, or with metadata that nobody can read
        stored = metadata(package)
    author = _first(stored, "Author", "Author-email").partition("<")[0].strip()
    return {
        "version": _first(stored, "Version"),
        "author": author,
        "licence": _first(stored, "License-Expression", "License").partition("\n")[0],
    }


def _first(metadata: Any, *names: str) -> str:
    values = [str(metadata.get(name) or "") for name in names]
    return next((value for value in values if value and value != _UNSAID), "")
