"""Calls of modules while somebody watches them: what each got and gave."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

# gets the module, and a function without arguments that calls it; gives what that gives
Watcher = Callable[[Any, Callable[[], Any]], Any]

watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
