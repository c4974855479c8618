"""Tracebacks without tensorframe's own frames: the user's line first and last, as IPython shows it."""

from __future__ import annotations

import copy
import os
import sysconfig
import traceback
from types import TracebackType
from typing import Any

from tensorframe import config
from tensorframe.cells import shell
from tensorframe.errors import TensorFrameError
from tensorframe.site import is_internal

_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_SITE_PACKAGES = sysconfig.get_path("purelib")


def render(error: TensorFrameError) -> list[str]:
    """Return the lines of IPython's own traceback of an error; IPython asks every exception for them by name."""
    running = shell()
    if running is None:
        return traceback.format_exception(error)
    shown = error if config.get().tracebacks == "full" else shortened(error)
    linked = _link(_without_ipython(_entries(shown.__traceback__)))
    lines: list[str] = running.InteractiveTB.structured_traceback(
        type(error), shown.with_traceback(linked), linked, tb_offset=0
    )
    return lines


def shortened(error: TensorFrameError) -> TensorFrameError:
    """Return a copy of an error to be shown: without our frames, and without the cause, which the message names.

    The error itself keeps both, for debuggers and for who asks.
    """
    shown = copy.copy(error).with_traceback(without_ours(error.__traceback__))
    # libraries that send errors to other processes have them copied with their causes
    shown.__cause__ = shown.__context__ = None
    return shown


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without our frames, the very one that is given if it has none; that one stays as it is."""
    entries = _entries(traceback)
    hidden = _hidden_entries(entries)
    if not hidden:
        return traceback
    return _link([entry for index, entry in enumerate(entries) if index not in hidden])


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    return entries


def _link(entries: list[TracebackType]) -> TracebackType | None:
    """Return a traceback of these entries alone; those given stay as they are."""
    linked = None
    for entry in reversed(entries):
        linked = TracebackType(linked, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return linked


def _hidden_entries(entries: list[TracebackType]) -> set[int]:
    """Return which entries are ours, or of the standard library on the way in or out: `with`, threads, partial."""
    hidden = {index for index, entry in enumerate(entries) if is_internal(entry.tb_frame.f_code)}
    passed_on = [
        index
        for index, entry in enumerate(entries)
        if _is_standard(entry.tb_frame.f_code.co_filename)
    ]
    for index in passed_on:  # from outside in: threads have several of these one after the other
        if index - 1 in hidden:
            hidden.add(index)
    for index in reversed(passed_on):
        if index + 1 in hidden:
            hidden.add(index)
    return hidden


def _is_standard(filename: str) -> bool:
    return filename.startswith(_STANDARD_LIBRARY) and not filename.startswith(_SITE_PACKAGES)


def _without_ipython(entries: list[TracebackType]) -> list[TracebackType]:
    """Return the entries from the cell on: before it come those of IPython, which runs it."""
    for index, entry in enumerate(entries):
        name: Any = entry.tb_frame.f_globals.get("__name__")
        if str(name).partition(".")[0] not in ("IPython", "ipykernel"):
            return entries[index:]
    return entries
