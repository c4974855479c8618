"""Probing: which devices each backend finds, or why it finds none; whatever a driver does, this raises nothing."""

from __future__ import annotations

from dataclasses import replace
from importlib import invalidate_caches

from tensorframe.backends.base import Backend, DeviceInfo
from tensorframe.backends.contract import About, completed
from tensorframe.backends.entries import Entry, Failure, entries, guarded, loaded, one_by_one
from tensorframe.backends.spans import opened
from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a backend: its devices, or the reason that it has none."""

    name: str
    devices: tuple[DeviceInfo, ...]
    reason: str = ""
    """Why there are no devices; empty if there are."""
    origin: str = ""
    """The package that brings the backend; empty for tensorframe itself."""
    failed: bool = False
    """Whether it does not load, or its probe breaks its word; not so where it works and finds nothing."""
    fix: str = ""
    """What helps where it does not load, if that is known."""
    about: About | None = None
    """What a plug-in says of itself, or its package does; None of what this package brings."""

    @property
    def available(self) -> bool:
        """Whether it can compute here."""
        return any(info.capabilities.executes for info in self.devices)


# by the backend itself: one may have several names
_answers: dict[Backend, tuple[DeviceInfo, ...] | str | Failure] = {}


def probed(entry: Entry, *, again: bool = False) -> Found:
    """Return what the entry's backend finds: the answer of the first time, or a new one if asked `again`."""
    probe = _probed(entry, again=again)
    return replace(probe, about=completed(entry.about, entry.origin)) if entry.origin else probe


def _probed(entry: Entry, *, again: bool) -> Found:
    name, origin = entry.name, entry.origin
    backend = loaded(entry)
    if backend is None:
        return Found(name, (), entry.failure or "", origin, failed=True, fix=entry.fix)
    answer = _answer(backend, entry, again=again)
    # one backend with several names answers for the first
    also = "" if name == backend.name else f"as for {backend.name}, "
    if isinstance(answer, Failure):
        return Found(name, (), also + answer.reason, origin, failed=True)
    if isinstance(answer, str):
        return Found(name, (), also + answer, origin)
    own = tuple([info for info in answer if info.device.backend == name])
    return Found(name, own, "" if own else _stray(name, answer), origin)


def _answer(
    backend: Backend, entry: Entry, *, again: bool
) -> tuple[DeviceInfo, ...] | str | Failure:
    """Return what a backend's probe finds, which runs once whatever the number of threads that need it."""
    known = _answers.get(backend)
    if known is not None and not again:
        return known

    def asked() -> tuple[DeviceInfo, ...] | str | Failure:
        answer = _answers.get(backend)
        if answer is None or again:
            answer = _answers[backend] = _ask(backend) if answer else _first_asked(backend, entry)
        return answer

    return one_by_one(asked)


def _first_asked(backend: Backend, entry: Entry) -> tuple[DeviceInfo, ...] | str | Failure:
    """Return the first answer of a backend: drivers are loaded for it, which may take a second."""
    if not entry.needs and not entry.origin:
        return _ask(backend)
    with opened(entry.name, f"finding devices of {entry.name}"):
        return _ask(backend)


def _ask(backend: Backend) -> tuple[DeviceInfo, ...] | str | Failure:
    answer = guarded(backend.probe)
    if isinstance(answer, Failure):
        return Failure(f"its probe fails: {answer.reason}")
    if isinstance(answer, str):
        return answer or "it gives no reason"
    if not isinstance(answer, list | tuple) or not all(isinstance(x, DeviceInfo) for x in answer):
        kind = type(answer).__name__
        return Failure(f"its probe gives {kind}, not a list of DeviceInfo or a reason")
    return tuple(answer) or "it finds no device"


def _stray(name: str, devices: tuple[DeviceInfo, ...]) -> str:
    """Return why a backend that finds devices has none of this name."""
    listed = ", ".join(sorted({info.device.backend for info in devices}))
    return f"the devices here are of {listed}, not of {name}"


def forget(backend: Backend) -> None:
    """Have a backend probed again the next time."""
    _answers.pop(backend, None)


def probe_all(*, again: bool = False) -> tuple[Found, ...]:
    """Return what every backend finds."""
    if again:
        invalidate_caches()  # packages may have been installed since
    asked: set[Backend] = set()
    answers = []
    for entry in entries():
        if again:
            _retry(entry)
        backend = loaded(entry)
        answers.append(probed(entry, again=again and backend not in asked))
        if backend is not None:
            asked.add(backend)
    return tuple(answers)


def _retry(entry: Entry) -> None:
    """Have an entry that did not load tried again."""
    if entry.backend is None:
        entry.failure, entry.fix = None, ""
