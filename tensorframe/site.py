"""Recording sites: which of the user's lines recorded a node, kept cheaply and read only for messages."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType

# (code object, instruction offset): the line number is worked out only when a message needs it
Site = tuple[CodeType, int]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def recording_site(depth: int = 2) -> Site | None:
    """Return the innermost frame outside tensorframe, looking from `depth` callers up."""
    frame = sys._getframe(depth)  # inspect.currentframe cannot skip frames, and costs more
    code = frame.f_code
    while code.co_filename.startswith(_PACKAGE):  # is_internal, without the call
        if frame.f_back is None:
            return None
        frame = frame.f_back
        code = frame.f_code
    return (code, frame.f_lasti)


def is_internal(code: CodeType) -> bool:
    """Whether the code is tensorframe's own."""
    return code.co_filename.startswith(_PACKAGE)


def describe(site: Site | None) -> str | None:
    """Return `file, line N:   source` for messages, or None where nothing is known."""
    if site is None:
        return None
    code, offset = site
    line = _line_number(code, offset)
    source = linecache.getline(code.co_filename, line).strip()
    where = f"{code.co_filename}, line {line}"
    return f"{where}:   {source}" if source else where


def _line_number(code: CodeType, offset: int) -> int:
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno
