"""Options: every option with its type, default and meaning, in one table, and which values it takes."""

from __future__ import annotations

import operator
import os
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal, get_args

from tensorframe.errors import ArgumentError
from tensorframe.machine import HOST
from tensorframe.quick_dataclasses import dataclass, field

TransferPolicy = Literal["allow", "warn", "error"]
Placement = Literal["bytes", "time"]
Progress = Literal["auto", "on", "off"]
Tracebacks = Literal["auto", "short", "full"]

# the words that an option takes, where it takes a few
_WORDS = {
    "transfer_policy": get_args(TransferPolicy),
    "placement": get_args(Placement),
    "progress": get_args(Progress),
    "tracebacks": get_args(Tracebacks),
}


def _option(default: Any, doc: str) -> Any:
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True)
class Options:
    """The values in force.

    An immutable record of every option by name, with what `configure` and `TENSORFRAME_CONFIG` have
    set.
    """

    fuse: bool = _option(
        True, "Run neighbouring elementwise ops together; False runs every op alone."
    )
    rewrite: bool = _option(True, "Simplify the graph before it is scheduled.")
    verify: bool = _option(False, "Check the legality of every node after every pass.")
    validate: bool = _option(False, "Check every fused region against its ops run one by one.")
    check_nan: bool = _option(
        False, "Raise NanError at the first op that gives a NaN; every result is read again."
    )
    small_size: int = _option(
        4096,
        "Elements up to which a whole graph runs op by op at once, without a plan; one elementwise op, up to eight "
        "times as many.",
    )
    small_nodes: int = _option(
        1 << 20,
        "Nodes up to which a graph of small tensors runs without a plan; 0 plans every graph.",
    )
    block_bytes: int = _option(
        HOST.second, "Bytes of each operand that an elementwise region works through at a time."
    )
    threads: int = _option(
        0, "Threads that work on one region or product on the cpu; 0 means one per core."
    )
    spin: int = _option(
        500, "Microseconds for which an idle thread looks out for the next kernel before it sleeps."
    )
    reuse_bytes: int = _option(
        1 << 30,
        "Bytes up to which a pending tensor that several evaluations need is stored; 0 stores none.",
    )
    plan_cache: int = _option(512, "Plans kept for graphs of the same structure.")
    jit_cache: int = _option(128, "Recordings that each jitted function keeps.")
    cuda_graphs: bool = _option(
        False,
        "Whether jitted functions of three kernels and more are captured as CUDA graphs; no GPU has run this yet.",
    )
    cache_dir: str = _option(
        "", "Directory for compiled kernels; empty for tensorframe/kernels in the user's cache."
    )
    cache_bytes: int = _option(
        512 << 20, "Bytes of compiled kernels cached on disk, those used last; 0 caches none."
    )
    load_bytes: int = _option(
        0,
        "Bytes that one array in a file may claim to have, larger ones are refused; 0 is no limit.",
    )
    transfer_policy: TransferPolicy = _option(
        "allow", "What happens when operands live on different devices: allow, warn or error."
    )
    placement: Placement = _option(
        "bytes",
        "What decides where an op between devices runs: the bytes that move, or the time that calibrated devices take.",
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

    @property
    def checked(self) -> bool:
        """Whether the results of steps are looked at."""
        return self.validate or self.check_nan


DEFAULTS = {option.name: option.default for option in fields(Options)}


def check(name: str, value: Any) -> Any:
    """Return `value` as the option has it, else raise with the choices."""
    if name not in DEFAULTS:
        hints = (*similar(name, DEFAULTS), f"one of {', '.join(sorted(DEFAULTS))}")
        raise ArgumentError(f"there is no option {name!r}", suggestions=hints)
    if name in _WORDS:
        *others, last = map(repr, _WORDS[name])
        wanted = f"{', '.join(others)} or {last}"
        checked = value if isinstance(value, str) and value in _WORDS[name] else None
    else:
        kind = type(DEFAULTS[name])
        wanted, as_kind = _KINDS[kind]
        checked = as_kind(value)
    if checked is None:
        raise ArgumentError(f"option {name} is {wanted}, got {value!r:.80}")
    return checked


def _as_bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _as_integer(value: Any) -> int | None:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    number = operator.index(value)
    return number if 0 <= number <= sys.maxsize else None


def _as_path(value: Any) -> str | None:
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    return text if isinstance(text, str) and "\0" not in text else None


_KINDS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    bool: ("True or False", _as_bool),
    int: (f"an integer from 0 to {sys.maxsize}", _as_integer),
    str: ("a path", _as_path),
}


def similar(name: str, known: Any) -> tuple[str, ...]:
    """Return the name among those known that `name` may be a slip of, if there is one."""
    from difflib import get_close_matches

    return tuple(get_close_matches(name, known, 1))


_BOOLEANS = dict.fromkeys(("0", "false", "off", "no"), False)
_BOOLEANS |= dict.fromkeys(("1", "true", "on", "yes"), True)


def parsed(text: str, kind: type) -> Any:
    """Return a variable's value as code would give it, or as it stands where it is none of its kind."""
    if kind is bool:
        return _BOOLEANS.get(text.lower(), text)
    if kind is int and re.fullmatch("[0-9]{1,40}", text):
        return int(text)
    return text
