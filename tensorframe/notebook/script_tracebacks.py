"""Tracebacks of scripts: what Python shows of an error that nobody caught, without tensorframe's own frames.

Python asks `sys.excepthook` and `threading.excepthook` to show it. These are ours from the first error on, where they
were Python's own; a program, a debugger or a library that shows errors in its own way goes on doing so, and sees
everything. An error is short only while it is shown: debuggers that come afterwards find it whole.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from tensorframe import config
from tensorframe.errors import TensorFrameError
from tensorframe.notebook.tracebacks import without_ours
from tensorframe.site import is_internal

HOW_TO_SEE_ALL = "  frames inside tensorframe are left out: TENSORFRAME_TRACEBACKS=full shows them"


class _Before:
    """What showed uncaught errors before we did; None where we do not."""

    hook: Any = None
    thread_hook: Any = None


def show_short_if_nobody_minds(options: config.Options) -> None:
    """Have errors shown without our frames where Python would show them, unless options say otherwise."""
    if options.tracebacks != "auto":
        return
    if sys.excepthook is sys.__excepthook__:
        _take_over()
    if threading.excepthook is threading.__excepthook__:
        _take_threads_over()


def show_as_configured(options: config.Options) -> None:
    """Have errors shown without our frames, whoever shows them, if options ask for that; as ever if they changed."""
    if options.tracebacks == "short":
        if sys.excepthook is not _show:
            _take_over()
        if threading.excepthook is not _show_in_thread:
            _take_threads_over()
        return
    if sys.excepthook is _show:
        sys.excepthook = _Before.hook
    if threading.excepthook is _show_in_thread:
        threading.excepthook = _Before.thread_hook


def _take_over() -> None:
    _Before.hook = sys.excepthook
    sys.excepthook = _show


def _take_threads_over() -> None:
    _Before.thread_hook = threading.excepthook
    threading.excepthook = _show_in_thread


def _show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    is_ours = isinstance(error, TensorFrameError)
    with _short(error):
        _Before.hook(kind, error, error.__traceback__ if is_ours else traceback)


def _show_in_thread(told: Any) -> None:
    error = told.exc_value
    if error is None:
        _Before.thread_hook(told)
        return
    with _short(error):
        _Before.thread_hook(
            threading.ExceptHookArgs((told.exc_type, error, error.__traceback__, told.thread))
        )


@contextmanager
def _short(error: BaseException) -> Iterator[None]:
    """Leave our frames out of an error, and of what it came from, while the block runs."""
    ours = [failure for failure in _chain(error) if isinstance(failure, TensorFrameError)]
    whole = [
        (failure.__traceback__, failure.__cause__, failure.__suppress_context__) for failure in ours
    ]
    cut = [
        failure
        for failure in ours
        if without_ours(failure.__traceback__) is not failure.__traceback__
    ]
    try:
        for failure in ours:
            failure.__traceback__ = without_ours(failure.__traceback__)
            _leave_out_causes(failure)
        with _saying(cut[:1], HOW_TO_SEE_ALL):
            yield
    finally:
        for failure, (traceback, cause, suppressed) in zip(ours, whole, strict=True):
            failure.__traceback__ = traceback
            failure.__cause__ = cause
            failure.__suppress_context__ = suppressed


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and all that are shown with it."""
    errors = [error]
    for failure in errors:  # grows while it is walked
        others = [failure.__cause__, failure.__context__, *getattr(failure, "exceptions", ())]
        errors += [other for other in others if other is not None and other not in errors]
    return errors


def _leave_out_causes(error: TensorFrameError) -> None:
    """Leave out what an error of ours came from if that was caught inside tensorframe: the message has said it."""
    if _is_ours(error.__cause__):
        error.__cause__ = None  # and Python shows no context beside a cause
    elif error.__cause__ is None and _is_ours(error.__context__):
        error.__suppress_context__ = True


def _is_ours(error: BaseException | None) -> bool:
    """Whether an error was caught by our code."""
    traceback = error.__traceback__ if error is not None else None
    return traceback is not None and is_internal(traceback.tb_frame.f_code)


@contextmanager
def _saying(errors: list[TensorFrameError], line: str) -> Iterator[None]:
    """Have a line stand below the messages of errors while the block runs."""
    before = [error.__dict__.pop("__notes__", None) for error in errors]
    for error, notes in zip(errors, before, strict=True):
        error.__dict__["__notes__"] = [*(notes or ()), line]
    try:
        yield
    finally:
        for error, notes in zip(errors, before, strict=True):
            del error.__dict__["__notes__"]
            if notes is not None:
                error.__dict__["__notes__"] = notes
