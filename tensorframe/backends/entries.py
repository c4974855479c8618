"""Entries: which backends there are, by name, and what loads each at its first use."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from tensorframe.backends.base import Backend
from tensorframe.backends.contract import About, misfit
from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.errors import ArgumentError, BackendWarning
from tensorframe.forks import new_reentrant_lock
from tensorframe.graph.device import ALIASES, backend_called
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple
from tensorframe.site import warn_user

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Result = TypeVar("Result")

GROUP = "tensorframe.backends"

# what names of devices mean to users beside the backends' own: adapters of WebGPU by their graphics interface
INTERFACES = {
    "vulkan": ("vulkan",),
    "metal": ("metal",),
    "dx12": ("dx12", "d3d12"),
    "gl": ("gl", "opengl", "opengles"),
}
# the only systems that have some of these, and what to say on another one
ELSEWHERE = {
    "metal": ("darwin", "Metal is Apple's interface, which macOS alone has"),
    "dx12": ("win32", "Direct3D 12 is Microsoft's interface, which Windows alone has"),
}
# how people call what a module belongs to
PACKAGES = {"pyopencl": "PyOpenCL", "cupy": "CuPy", "dask": "Dask"}
RESERVED = frozenset({"auto", *INTERFACES})

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")

# Name -> the class, and the module of another package that it needs. ROCm is CuPy as well, built for another driver.
_BUILT_IN = {
    "dry": ("tensorframe.backends.dry:DryBackend", ""),
    "numpy": ("tensorframe.backends.numpy.engine:NumpyBackend", ""),
    "llvm": ("tensorframe.backends.llvm:LlvmBackend", "llvmlite"),
    "cpu": ("tensorframe.backends.cpu:CpuBackend", ""),
    "opencl": ("tensorframe.backends.opencl.engine:OpenClBackend", "pyopencl"),
    "wgpu": ("tensorframe.backends.wgpu.engine:WgpuBackend", "wgpu"),
    "cuda": ("tensorframe.backends.cuda.engine:CudaBackend", "cupy"),
    "rocm": ("tensorframe.backends.cuda.engine:RocmBackend", "cupy"),
    "dask": ("tensorframe.backends.dask:DaskBackend", "dask"),
}


@dataclass(slots=True, eq=False)
class Entry:
    """A backend's name, where it comes from, and what became of loading it."""

    name: str
    origin: str
    """The package that brings it, empty for this one."""
    load: Callable[[], Any]
    needs: str = ""
    """The module without which there is no use in loading it."""
    backend: Backend | None = None
    failure: str | None = None
    """Why it does not load, if it was tried and does not."""
    fix: str = ""
    """What helps where it does not load, if that is known."""
    about: About | None = None
    """What a plug-in says of itself, known once it was loaded, whether or not it fits."""
    warned: bool = field(default=False)


def _built_in(name: str) -> Entry:
    path, needs = _BUILT_IN[name]
    return Entry(name, "", lambda: _instance(path), needs)


@cache
def _instance(path: str) -> Backend:
    """Return the one backend that a path `module:Class` names."""
    module, _, name = path.partition(":")
    made: Backend = getattr(import_module(module), name)()
    return made


_entries: dict[str, Entry] = {name: _built_in(name) for name in _BUILT_IN}
_before: dict[str, Entry | None] = {}  # names that were registered -> what they stood for
_clashes: dict[str, str] = {}  # plug-ins whose name is taken -> what to tell
# reentrant: a backend may ask for others while it loads
_lock = new_reentrant_lock()


def add(backend: object, names: tuple[Any, ...], *, override: bool = False) -> None:
    """Let `names` stand for a backend; ArgumentError for what is none, or cannot be one's name.

    A name of this package only if `override` says that it is meant.
    """
    if not isinstance(backend, Backend):
        hint = "an object: register(MyBackend()), of a class that derives from Backend"
        raise ArgumentError(f"{backend!r} is not a backend", suggestions=(hint,))
    for name in names:
        if not isinstance(name, str) or not _NAME.match(name) or name in RESERVED:
            hint = "small letters, digits and underscores, such as 'my_device'"
            raise ArgumentError(f"{name!r} cannot name a backend", suggestions=(hint,))
        if backend_called(name) in _BUILT_IN and not override:
            hints = (f"register(backend, 'my_{name}')", "override=True, where that is meant")
            raise ArgumentError(f"{name!r} is a backend of tensorframe", suggestions=hints)
    refusal = misfit(backend.about, "it") if backend.about is not None else None
    if refusal is not None:
        raise ArgumentError(f"register: {backend.name}: {refusal[0]}")
    package = type(backend).__module__.partition(".")[0]
    origin = "" if package == "tensorframe" else package
    with _lock:
        for name in map(backend_called, names):
            _before.setdefault(name, entry_of(name))
            _entries[name] = Entry(
                name, origin, lambda: backend, backend=backend, about=backend.about
            )


def remove(name: str) -> None:
    """Forget a backend that `add` has made known; its name stands for what it stood for before, if for anything."""
    with _lock:
        if not isinstance(name, str) or backend_called(name) not in _before:
            registered = ", ".join(map(repr, _before)) or "nothing is registered"
            raise ArgumentError(
                f"unregister: no backend was registered as {name!r}", suggestions=(registered,)
            )
        own = backend_called(name)
        before = _before.pop(own)
        if before is None:
            del _entries[own]
        else:
            _entries[own] = before


def entries() -> tuple[Entry, ...]:
    """Return all entries, those of other packages included: this reads the list of installed packages, once."""
    _find_plug_ins()
    return tuple(_entries.values())


def clashes() -> dict[str, str]:
    """Return the plug-ins that are left out because their names are taken, each with the reason."""
    _find_plug_ins()
    return dict(_clashes)


def entry_of(name: str) -> Entry | None:
    """Return the entry of a name; installed packages are looked through only if it is not known without."""
    name = backend_called(name)
    entry = _entries.get(name)
    if entry is None:
        _find_plug_ins()
        entry = _entries.get(name)
    return entry


@cache
def _find_plug_ins() -> None:
    """Add what installed packages announce in the entry-point group; nothing of them is imported."""
    from importlib.metadata import entry_points

    try:
        points = tuple(entry_points(group=GROUP))
    except Exception:
        return  # unreadable metadata of some package: plug-ins stay unknown, everything else works
    for point in points:
        origin = point.dist.name if point.dist else point.value
        if point.name in {*_entries, *ALIASES, *RESERVED} or not _NAME.match(point.name):
            _clashes[origin] = f"it calls its backend {point.name!r}: that is taken, or no name"
            continue
        entry = _entries[point.name] = Entry(point.name, origin, lambda: None)
        entry.load = partial(_make, entry, point)


def _make(entry: Entry, point: EntryPoint) -> Any:
    """Return a plug-in's backend, or why it does not fit: asked of the class, which may not even be called then."""
    made = point.load()
    if isinstance(made, type) and issubclass(made, Backend):
        refusal = _refusal(entry, made)
        return refusal if refusal is not None else made()
    made = made()
    refusal = _refusal(entry, made) if isinstance(made, Backend) else None
    return refusal if refusal is not None else made


def _refusal(entry: Entry, backend: type[Backend] | Backend) -> Failure | None:
    entry.about = backend.about
    return refusal(backend.about, entry.origin)


def refusal(about: About | None, package: str, contract: str = "backends") -> Failure | None:
    """Return why what a package brings is refused: the version, or what it needs; None if it fits."""
    reason = misfit(about, package, contract)
    if reason is not None:
        return Failure(*reason)
    missing = [module for module in (about or About()).needs if not is_installed(module)]
    if missing:
        return Failure(f"it needs {', '.join(missing)}, which is not installed")
    return None


def loaded(entry: Entry) -> Backend | None:
    """Return the entry's backend, loaded if need be; None if it does not load, with the reason in `failure`."""
    if entry.backend is None and entry.failure is None:
        one_by_one(partial(_load, entry))
    return entry.backend


def one_by_one(call: Callable[[], Result]) -> Result:
    """Return what `call` returns, while no other thread loads or asks a driver.

    An interrupt leaves it to go on in another thread: a library whose import is cut short may never load again.
    """

    def locked() -> Result:
        with _lock:
            return call()

    return run_interruptibly(locked) if is_interrupted_here() else locked()


def _load(entry: Entry) -> None:
    if entry.backend is not None or entry.failure is not None:
        return  # another thread was first
    if entry.needs and not is_installed(entry.needs):
        entry.failure = f"{PACKAGES.get(entry.needs, entry.needs)} is not installed"
        return
    made = guarded(entry.load)
    if isinstance(made, Failure):
        entry.failure, entry.fix = f"it does not load: {made.reason}", made.fix
    elif not isinstance(made, Backend):
        entry.failure = f"it does not load: {type(made).__name__} is not a Backend"
    else:
        entry.backend = made


def is_installed(module: str) -> bool:
    """Whether a module is there to be imported; nothing is imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # half removed, or replaced in sys.modules
        return False


class Failure(NamedTuple):
    """That something raised, and what."""

    reason: str
    fix: str = ""


def guarded(call: Callable[[], Any]) -> Any:
    """Return what `call` returns, or a Failure if it raises anything but an interrupt from the keyboard.

    Drivers' bindings raise whatever they like: OSError, SystemExit, exceptions of Rust that only derive from
    BaseException. What ends the process in machine code is out of reach.
    """
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        said = str(error).strip().partition("\n")[0]
        return Failure(f"{type(error).__name__}: {said}" if said else type(error).__name__)


def warn_once(entry: Entry, reason: str) -> None:
    """Warn that a plug-in that was named does not work, the first time."""
    if not entry.origin or entry.warned:
        return
    entry.warned = True
    message = f"the backend {entry.name!r} of the package {entry.origin} is of no use: {reason}"
    warn_user(f"{message}\n  try: tfr.doctor()", BackendWarning)
