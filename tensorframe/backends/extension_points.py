"""Extension points beside devices: what packages add, announced as entry points and loaded at its first use.

Each point has a group of entry points. An announced name costs nothing until somebody uses it; what does not load, or
was written for another version of the interface, is refused with a reason, and leaves everything else alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from tensorframe.backends.contract import About, completed, show_version
from tensorframe.backends.entries import Failure, guarded, one_by_one, refusal
from tensorframe.errors import ArgumentError, BackendWarning
from tensorframe.forks import new_reentrant_lock
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple
from tensorframe.site import warn_user

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(slots=True, eq=False)
class Extension:
    """One thing that a package adds: its name, where it comes from, and what became of loading it."""

    point: str
    """What it is, in a word: `op`, `dialect`, `format`, `column`."""
    name: str
    origin: str
    """The package that brings it; empty for what a program registers itself."""
    load: Callable[[], Any]
    value: Any = None
    failure: str = ""
    """Why it does not load, if it was tried and does not."""
    fix: str = ""
    about: About | None = None
    warned: bool = field(default=False)

    def warn_once(self) -> None:
        """Warn that it is left out, and why, the first time."""
        if self.warned:
            return
        self.warned = True
        package = f" of the package {self.origin}" if self.origin else ""
        message = f"the {self.point} {self.name!r}{package} is left out: {self.failure}"
        warn_user(f"{message}\n  try: {self.fix or 'tfr.doctor()'}", BackendWarning)


class Listed(NamedTuple):
    """An extension as `python -m tensorframe` and `doctor()` show it."""

    point: str
    name: str
    origin: str
    about: About
    problem: str
    """Why it is left out; empty for what works."""
    fix: str


class Point:
    """Where packages add things of one class, by the entry points of one group."""

    def __init__(self, word: str, kind: str, reserved: frozenset[str] = frozenset()) -> None:
        """`kind` names the class as `module:Class`; it is loaded with the first extension."""
        self.word = word
        self.group = f"tensorframe.{word}s"
        self._kind = kind
        self._reserved = reserved
        self._extensions: dict[str, Extension] = {}
        self._hidden: dict[str, Extension] = {}  # announced, and replaced by what was registered
        self._clashes: list[Listed] = []
        self._searched = False
        self._lock = new_reentrant_lock()

    def names(self) -> tuple[str, ...]:
        """Return the names that are taken here; nothing is loaded."""
        self._search()
        return tuple(self._extensions)

    def extension(self, name: str) -> Extension | None:
        """Return what has a name, loaded if it loads; None if nothing has it."""
        self._search()
        known = self._extensions.get(name)
        if known is not None and known.value is None and not known.failure:
            one_by_one(partial(self._load, known))
        return known

    def every(self) -> list[Extension]:
        """Return all that load; who relies on one that does not is warned, once."""
        working = []
        for extension in filter(None, map(self.extension, self.names())):
            if extension.value is None:
                extension.warn_once()
            else:
                working.append(extension)
        return working

    def add(self, value: Any) -> None:
        """Make a thing known by its name; ArgumentError if it is none of this point's, or cannot have the name."""
        problem = self._problem(value)
        name = getattr(value, "name", None)
        if problem is None and (not isinstance(name, str) or not self._is_free(name)):
            problem = Failure(
                f"{name!r} is taken, or no name: small letters, digits and underscores"
            )
        if problem is None and value.about is not None:
            problem = refusal(value.about, "it", "extensions")
        if problem is not None:
            raise ArgumentError(f"register: {problem.reason}")
        self._search()
        with self._lock:
            announced = self._extensions.get(value.name)
            if announced is not None and announced.origin:
                self._hidden[value.name] = announced
            self._extensions[value.name] = Extension(
                self.word, value.name, "", lambda: value, value, about=value.about
            )

    def remove(self, name: str) -> bool:
        """Forget what was added under a name, and say whether there was anything; what is installed comes back."""
        with self._lock:
            known = self._extensions.get(name)
            if known is None or known.origin:
                return False
            del self._extensions[name]
            if name in self._hidden:
                self._extensions[name] = self._hidden.pop(name)
            return True

    def listed(self) -> list[Listed]:
        """Return everything that is here, loaded, with what is known of it."""
        every = filter(None, map(self.extension, self.names()))
        return [
            *[
                Listed(
                    self.word,
                    extension.name,
                    extension.origin,
                    completed(extension.about, extension.origin),
                    extension.failure,
                    extension.fix,
                )
                for extension in every
            ],
            *self._clashes,
        ]

    def _is_free(self, name: str) -> bool:
        return _NAME.match(name) is not None and name not in self._reserved

    def _search(self) -> None:
        """Read what installed packages announce, once; nothing of them is imported."""
        if self._searched:
            return
        with self._lock:
            from importlib.metadata import entry_points

            announced = guarded(lambda: tuple(entry_points(group=self.group)))
            known, self._searched = self._searched, True
            # unreadable metadata of some package: extensions stay unknown, everything else works
            for entry in () if known or isinstance(announced, Failure) else announced:
                origin = entry.dist.name if entry.dist else entry.value
                if entry.name in self._extensions or not self._is_free(entry.name):
                    problem = f"the name {entry.name!r} is taken, or is none"
                    about = completed(None, origin)
                    clash = Listed(self.word, entry.name, origin, about, problem, "ask its authors")
                    self._clashes.append(clash)
                    continue
                self._extensions[entry.name] = Extension(self.word, entry.name, origin, entry.load)

    def _load(self, extension: Extension) -> None:
        if extension.value is not None or extension.failure:
            return  # another thread was first
        made = guarded(partial(self._made, extension))
        if isinstance(made, Failure):
            extension.failure, extension.fix = f"it does not load: {made.reason}", made.fix
        else:
            extension.value = made

    def _made(self, extension: Extension) -> Any:
        """Return what an entry point names, made if that is a class; a Failure if it does not fit."""
        made = extension.load()
        extension.about = getattr(made, "about", None)  # of the class, which may not even be called
        if isinstance(extension.about, About) or extension.about is None:
            problem = refusal(extension.about, extension.origin, "extensions")
            if problem is not None:
                return problem
        made = made() if isinstance(made, type) else made
        problem = self._problem(made)
        if problem is None and made.name != extension.name:
            problem = Failure(
                f"it is announced as {extension.name!r}, and calls itself {made.name!r}"
            )
        return made if problem is None else problem

    def _problem(self, value: Any) -> Failure | None:
        module, _, name = self._kind.partition(":")
        if isinstance(value, getattr(import_module(module), name)):
            return None
        return Failure(f"{type(value).__name__} is no {name}")


OPS = Point("op", "tensorframe.frontend.user_functions.extension:ElementwiseOp")
DIALECTS = Point(
    "dialect", "tensorframe.codegen.c_dialect:Dialect", frozenset({"opencl", "cuda", "wgsl", "cpu"})
)
FORMATS = Point(
    "format",
    "tensorframe.frontend.files.formats:FileFormat",
    frozenset({"npy", "npz", "safetensors", "zarr", "gguf", "json"}),
)
COLUMNS = Point("column", "tensorframe.schedule.columns:Column")
POINTS = (OPS, DIALECTS, FORMATS, COLUMNS)


def point_of(value: Any) -> Point:
    """Return the point that takes a thing; ArgumentError if none does."""
    for point in POINTS:
        if point._problem(value) is None:
            return point
    raise ArgumentError(
        f"register: {type(value).__name__} extends nothing",
        suggestions=("an ElementwiseOp, a Dialect, a FileFormat or a Column",),
    )


def listed() -> tuple[Listed, ...]:
    """Return what packages and programs have added, point by point."""
    return tuple([extension for point in POINTS for extension in point.listed()])


def extension_row(extension: Listed) -> tuple[str, ...]:
    """Return what is known of an extension as cells, under `EXTENSION`."""
    about = extension.about
    known = (about.author, about.licence, show_version(about.interface), ", ".join(about.needs))
    package = f"{extension.origin} {about.version}".strip()
    state = "left out" if extension.problem else "works"
    cells = (f"{extension.point} {extension.name}", package, *known, state)
    return tuple([cell or "-" for cell in cells])


EXTENSION = ("extension", "package", "author", "licence", "interface", "needs", "state")
