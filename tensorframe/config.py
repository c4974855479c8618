"""Configuration: every option with its type, default and meaning, in one table.

Options are read from the environment once (`TENSORFRAME_FUSE=0`), set for good with `configure`, or for a
`with` block with `override`; a block sees only its own thread's (and asyncio task's) changes.

>>> with tfr.config.override(fuse=False):
...     tfr.config.get().fuse
False
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, get_args

from tensorframe.errors import ArgumentError

TransferPolicy = Literal["allow", "warn", "error"]
Progress = Literal["auto", "on", "off"]
Tracebacks = Literal["auto", "short", "full"]

# the words that an option takes, where it takes a few
_WORDS = {
    "transfer_policy": get_args(TransferPolicy),
    "progress": get_args(Progress),
    "tracebacks": get_args(Tracebacks),
}


def _option(default: Any, doc: str) -> Any:
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True)
class Options:
    """The values in force."""

    fuse: bool = _option(
        True, "Run neighbouring elementwise ops together; False runs every op alone."
    )
    rewrite: bool = _option(True, "Simplify the graph before it is scheduled.")
    verify: bool = _option(False, "Check the legality of every node after every pass.")
    validate: bool = _option(False, "Check every fused region against its ops run one by one.")
    small_size: int = _option(
        4096, "Elements up to which a whole graph runs op by op at once, without a plan."
    )
    small_nodes: int = _option(64, "Nodes up to which a graph may run without a plan.")
    block_bytes: int = _option(
        1 << 18, "Bytes of each operand that an elementwise region works through at a time."
    )
    threads: int = _option(
        0, "Threads that work on one region or product on the cpu; 0 means one per core."
    )
    spin: int = _option(
        500, "Microseconds for which an idle thread looks out for the next kernel before it sleeps."
    )
    plan_cache: int = _option(512, "Plans kept for graphs of the same structure.")
    jit_cache: int = _option(128, "Recordings that each jitted function keeps.")
    cache_dir: str = _option(
        "", "Directory for compiled kernels; empty for tensorframe/kernels in the user's cache."
    )
    cache_bytes: int = _option(
        512 << 20, "Bytes of compiled kernels kept on disk, those used last; 0 keeps none."
    )
    transfer_policy: TransferPolicy = _option(
        "allow", "What happens when operands live on different devices: allow, warn or error."
    )
    progress: Progress = _option(
        "auto",
        "What shows how far is what takes over half a second: auto in notebooks and terminals, on, off.",
    )
    tracebacks: Tracebacks = _option(
        "auto",
        "Whether frames inside tensorframe are left out of tracebacks: auto where Python, IPython or Jupyter show "
        "them, short wherever, full nowhere.",
    )


_BOOLEANS = {"0": False, "false": False, "off": False, "1": True, "true": True, "on": True}


def _check(name: str, value: Any) -> Any:
    """Return `value` if it suits the option, else raise with the choices."""
    known = {one.name: one for one in fields(Options)}
    if name not in known:
        listed = ", ".join(sorted(known))
        raise ArgumentError(f"there is no option {name!r}", suggestions=(f"one of {listed}",))
    default = known[name].default
    if name in _WORDS:
        if value not in _WORDS[name]:
            *others, last = map(repr, _WORDS[name])
            raise ArgumentError(f"{name} is {', '.join(others)} or {last}, got {value!r}")
    elif type(value) is not type(default) or (isinstance(value, int) and value < 0):
        kind = type(default).__name__
        raise ArgumentError(f"option {name} is a non-negative {kind}, got {value!r}")
    return value


def _from_environment() -> Options:
    said = {}
    for option in fields(Options):
        text = os.environ.get(f"TENSORFRAME_{option.name.upper()}")
        if text is None:
            continue
        value: Any = text
        if isinstance(option.default, bool):
            value = _BOOLEANS.get(text.lower(), text)
        elif isinstance(option.default, int) and text.isdigit():
            value = int(text)
        said[option.name] = _check(option.name, value)
    return Options(**said)


class _State:
    """The options that `configure` set, for every thread that has no override."""

    base: Options = _from_environment()
    listeners: ClassVar[list[Callable[[Options], None]]] = []


_override: ContextVar[Options | None] = ContextVar("tensorframe_options", default=None)


def get() -> Options:
    """Return the options in force here."""
    return _override.get() or _State.base


def configure(**changes: Any) -> None:
    """Set options for the whole process, by name; `ArgumentError` names the option that does not fit."""
    _State.base = replace(_State.base, **{name: _check(name, changes[name]) for name in changes})
    for tell in _State.listeners:
        tell(_State.base)


def when_configured(tell: Callable[[Options], None]) -> None:
    """Call `tell` with the options of the whole process, now and whenever `configure` has set some."""
    _State.listeners.append(tell)
    tell(_State.base)


@contextmanager
def override(**changes: Any) -> Iterator[Options]:
    """Set options inside a `with` block."""
    options = replace(get(), **{name: _check(name, changes[name]) for name in changes})
    token = _override.set(options)
    try:
        yield options
    finally:
        _override.reset(token)


def describe() -> str:
    """Return a line per option: name, value in force, meaning."""
    options = get()
    return "\n".join(
        f"{one.name} = {getattr(options, one.name)!r}: {one.metadata['doc']}"
        for one in fields(Options)
    )
