"""Recording sites: which of the user's lines recorded a node, kept cheaply and read only for messages."""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from contextlib import contextmanager
from types import CodeType

from tensorframe.cells import cell_of

# (code object, instruction offset): the line number is worked out only when a message needs it
Site = tuple[CodeType, int]


class BackwardSite(tuple[CodeType, int]):
    """The line that recorded an op, as the site of what its gradient consists of."""

    __slots__ = ()


# whose functions users call, and what runs below those that compute
_RECORDING = "tensorframe.frontend."
_COMPUTING = ("tensorframe.runtime.", "tensorframe.schedule.", "tensorframe.backends.")
# whose messages begin with the name of the function or kernel that a user wrote
_NAMING = (
    "tensorframe.frontend.jit.",
    "tensorframe.frontend.raw_kernels.",
    "tensorframe.frontend.user_functions.",
)
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# looked up once: this is asked for every node
_frame = sys._getframe


class _Ours(dict[str, bool]):
    """Whether a file is of this package: each is looked at once, which takes a third of the time."""

    def __missing__(self, file: str) -> bool:
        is_ours = self[file] = file.startswith(_PACKAGE)
        return is_ours


is_ours = _Ours()
# what stands between a user's `with`, `import` or use of a mapping and a function of ours
_BETWEEN = (contextmanager.__code__.co_filename, "<frozen importlib", "<frozen _collections_abc>")


def recording_site(depth: int = 2) -> Site | None:
    """Return the innermost frame outside tensorframe, looking from `depth` callers up."""
    frame = _frame(depth)  # inspect.currentframe cannot skip frames, and costs more
    code = frame.f_code
    while is_ours[code.co_filename]:
        if frame.f_back is None:
            return None
        frame = frame.f_back
        code = frame.f_code
    return (code, frame.f_lasti)


def raising_site() -> Site | None:
    """Return the innermost frame outside tensorframe that needed what fails: of a `with` or import, its own line."""
    frame = sys._getframe(1)
    while is_internal(frame.f_code) or frame.f_code.co_filename.startswith(_BETWEEN):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return (frame.f_code, frame.f_lasti)


def called_function() -> str | None:
    """Return the name of the public function that the user's line called, if all that runs for it records.

    Functions are made of others, and users know the one that they have called. What computes has other lines to name,
    and what transforms functions of users, or makes kernels of them, names these itself.
    """
    name, frame = None, sys._getframe(1)
    while is_internal(frame.f_code) or frame.f_code.co_filename.startswith(_BETWEEN):
        module = frame.f_globals.get("__name__", "")
        if module.startswith(_COMPUTING) or frame.f_back is None:
            return None
        if name is None and module.startswith(_NAMING):
            return None
        if module.startswith(_RECORDING) and frame.f_code.co_name in frame.f_globals.get(
            "__all__", ()
        ):
            name = frame.f_code.co_name
        frame = frame.f_back
    return name


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside tensorframe that called us."""
    level, frame = 2, sys._getframe(1)  # 1 is this function
    while frame.f_back is not None and is_internal(frame.f_code):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def is_internal(code: CodeType) -> bool:
    """Whether the code is tensorframe's own, written or generated."""
    return code.co_filename.startswith((_PACKAGE, "<tensorframe"))


def describe(site: Site | None) -> str | None:
    """Return `file, line N:   source` for messages, or None where nothing is known; `cell 7` for a notebook's cell."""
    if site is None:
        return None
    file, line = line_of(site)
    source = linecache.getline(file, line).strip()
    where = f"{cell_of(file) or file}, line {line}"
    if type(site) is BackwardSite:
        where = f"{where} (its gradient)"
    return f"{where}:   {source}" if source else where


def short_place(site: Site | None) -> str:
    """Return where a line is in a word, `heat.py:12` or `cell3:7`; empty where nothing is known."""
    if site is None:
        return ""
    file, line = line_of(site)
    cell = cell_of(file)
    if cell is not None:
        return f"{cell.rpartition(', ')[2].replace(' ', '')}:{line}"
    # what was typed, or runs in a docstring, is in no file
    return str(line) if file.startswith("<") else f"{os.path.basename(file)}:{line}"


def line_of(site: Site) -> tuple[str, int]:
    """Return the file and the number of the line."""
    code, offset = site
    return code.co_filename, _line_number(code, offset)


def _line_number(code: CodeType, offset: int) -> int:
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno
