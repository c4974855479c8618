"""Fallback: what a device cannot do runs on the cpu, said once for each op, its dtypes and the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from tensorframe import config
from tensorframe.backends.base import Backend
from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.backends.spans import log
from tensorframe.dtypes import ANY, DType, float64
from tensorframe.errors import FallbackWarning, TransferError
from tensorframe.graph import holding
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Op
from tensorframe.quick_tuples import NamedTuple
from tensorframe.site import Site, describe, warn_user

_HINTS = (
    '.to_backend("cpu") before, where it is meant to run there',
    'warnings.simplefilter("ignore", tfr.errors.FallbackWarning) to hear no more of it',
)


class Fallback(NamedTuple):
    """An op that runs on another device than the one it was recorded for, and why."""

    op: str
    operands: tuple[DType, ...]
    device: Device
    runs_on: Device
    reason: str

    def __str__(self) -> str:
        listed = ", ".join(dtype.name for dtype in self.operands)
        of = f" of {listed}" if listed else ""
        return f"{self.op}{of} runs on {self.runs_on} instead of {self.device}: {self.reason}"


# what was said already: of a fallback everything but its reason
_said: set[tuple[object, ...]] = set()


# whether plans are made only to be looked at, of which nothing is said
_is_silent: ContextVar[bool] = ContextVar("tensorframe_silent_fallbacks", default=False)


@contextmanager
def silent() -> Iterator[None]:
    """Say nothing of fallbacks in a block, nor count what was not said as said."""
    token = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(token)


def forget_warnings() -> None:
    """Say everything once more."""
    _said.clear()


class Abilities:
    """What devices support: one query of a backend for each op and its dtypes while a plan is made."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], str | None] = {}

    def refusal(self, node: Node, device: Device) -> str | None:
        """Return why `device` cannot run the node's op; None if it can."""
        operands = tuple([source.dtype for source in node.inputs])
        key = (node.op, operands, node.dtype, device)
        if key not in self._known:
            self._known[key] = refusal(node.op, operands, node.dtype, device)
        return self._known[key]


def does_everything(device: Device) -> bool:
    """Whether every op of every dtype runs on the device, without asking for each."""
    backend = type(backend_of(device))
    return backend.supports is Backend.supports and capabilities(device).dtypes >= ANY


def refusal(op: Op, operands: Sequence[DType], result: DType, device: Device) -> str | None:
    """Return why a device cannot run an op on operands of these dtypes; None if it can."""
    if op.raw is not None:
        from tensorframe.schedule import raw_kernels  # few programs have one

        return raw_kernels.refusal(op.raw, device)
    if op.compiled is not None and not capabilities(device).host_memory:
        return f"{op.name} is machine code of the processor"
    if does_everything(device):
        return None
    held = capabilities(device).dtypes
    if op.double and float64 not in held:
        return f"{device} has no float64, in which {op.name} is computed"
    missing = [dtype for dtype in dict.fromkeys((*operands, result)) if dtype not in held]
    if missing:
        return f"{device} holds no {missing[0].name}"
    if backend_of(device).supports(op, operands, result, device):
        return None
    return f"{device} has no {op.name} for it"


def tell_reference(node: Node, reason: str) -> None:
    """Say that a raw kernel's reference runs in its place: on the same device, so no policy forbids it."""
    if _is_silent.get():
        return
    name, device = node.op.name, node.device
    key = (name, tuple([source.dtype for source in node.inputs]), device)
    _warn(f"{name}: its reference runs on {device}: {reason}", key, describe(node.site), _HINTS[1:])


def fall_back(node: Node, reason: str) -> Fallback:
    """Return the account of a node that runs on the cpu, saying so as the transfer policy wants it."""
    operands = tuple([source.dtype for source in node.inputs])
    fallback = Fallback(node.op.name, operands, node.device, CPU, reason)
    _tell(str(fallback), (node.op.name, operands, node.dtype, node.device), node.site)
    return fallback


def _leave(name: str, dtype: DType, device: Device) -> Device:
    """Return where a result lives that `device` cannot hold, saying so as the transfer policy wants it."""
    _tell(
        f"{name}: its result lives on {CPU}: {device} holds no {dtype.name}",
        (name, dtype, device),
        None,
    )
    return CPU


def _tell(message: str, key: tuple[object, ...], site: Site | None) -> None:
    if _is_silent.get():
        return
    location = describe(site)
    log("%s%s", message, f", recorded at {location}" if location else "")
    if config.get().transfer_policy == "error":
        raise TransferError(message, suggestions=_HINTS[:1], location=location)
    _warn(message, key, location, _HINTS)


def _warn(
    message: str, key: tuple[object, ...], location: str | None, hints: Sequence[str]
) -> None:
    if key in _said:
        return
    _said.add(key)
    lines = [message]
    lines += [f"  recorded at {location}"] if location else []
    lines += [f"  try: {hint}" for hint in hints]
    warn_user("\n".join(lines), FallbackWarning)


holding.set_dtype_support(lambda device: capabilities(device).dtypes, _leave)
