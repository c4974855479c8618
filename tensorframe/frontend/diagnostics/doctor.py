"""The doctor: what is missing or in the way on this machine, and the exact command that fixes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tensorframe.backends import amd, nvidia
from tensorframe.backends.discovery import discover, line, plug_in_line
from tensorframe.backends.entries import clashes, is_installed
from tensorframe.backends.extension_points import EXTENSION, Listed, extension_row, listed
from tensorframe.backends.probing import Found
from tensorframe.backends.registry import VARIABLE, default_device
from tensorframe.backends.remedies import extra, remedies
from tensorframe.config import Devices
from tensorframe.errors import DeviceError
from tensorframe.frontend.diagnostics import cache
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.graph.device import Device

__all__ = ["doctor"]

# the releases that the backend is written for: wgpu-py changes its names between minor releases
WGPU_RELEASES = ((0, 32), (0, 33))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it could be."""

    subject: str
    """What it is about: a backend's name, or that of a setting."""
    problem: str
    fixes: tuple[str, ...]
    """What to do, first things first; nothing if there is nothing to do."""

    def __str__(self) -> str:
        return "\n".join([f"{self.subject}: {self.problem}", *(f"  try: {x}" for x in self.fixes)])


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(Page):
    """What `tfr.doctor()` returns; it prints as text."""

    probes: tuple[Found, ...]
    """What every backend finds."""
    findings: tuple[Finding, ...]
    extensions: tuple[Listed, ...] = ()
    """What packages add beside devices, whether or not it works."""
    settings: tuple[tuple[str, str], ...] = ()
    """What `tfr.backends.configure` has set: the device, and `name=value`."""

    @property
    def usable(self) -> tuple[Device, ...]:
        """The devices that compute."""
        every = [info for probe in self.probes for info in probe.devices]
        return tuple([info.device for info in every if info.capabilities.executes])

    def __str__(self) -> str:
        usable = ", ".join(map(str, self.usable))
        lines = [f"devices that compute: {usable}"]
        lines += [plug_in_line(probe) for probe in self.probes if probe.about]
        lines += [line(EXTENSION, extension_row(extension)) for extension in self.extensions]
        lines += [f"setting of {device}: {setting}" for device, setting in self.settings]
        return "\n".join([*lines, *map(str, self.findings)])

    __repr__ = __str__


def doctor() -> Diagnosis:
    """Return what is missing or in the way for each backend, with the command that fixes it; nothing is printed.

    The result prints as text; `findings` holds the same as data: `subject`, `problem` and `fixes`. Nothing raises,
    whatever state packages and drivers are in.

    >>> print(tfr.doctor())
    devices that compute: ...cpu...
    """
    probes, extensions = discover(), listed()
    findings = tuple(_findings(probes, extensions))
    return Diagnosis(probes, findings, extensions, tuple(_settings()))


def _settings() -> Iterator[tuple[str, str]]:
    for device, values in Devices.give().items():
        yield from [(device, f"{name}={value!r}") for name, value in values.items()]


def _findings(probes: tuple[Found, ...], extensions: tuple[Listed, ...]) -> Iterator[Finding]:
    yield from _environment()
    yield from _cupy()
    yield from _wgpu()
    yield from _plug_ins()
    for extension in extensions:
        if extension.problem:
            subject = f"{extension.point} {extension.name} ({extension.origin})"
            yield Finding(subject, extension.problem, (extension.fix,) if extension.fix else ())
    for probe in probes:
        if probe.name == "rocm" and not probe.devices and not amd.has_driver():
            continue  # hardly anybody has that GPU, and nobody misses it
        if not probe.devices:
            name = f"{probe.name} ({probe.origin})" if probe.origin else probe.name
            yield Finding(name, probe.reason, remedies(probe))
        elif all(info.software for info in probe.devices):
            yield _only_software(probe)
    problem = cache.info().problem
    if problem is not None:
        yield Finding("kernels", f"none are cached on disk: {problem}", ())


def _environment() -> Iterator[Finding]:
    try:
        default_device()
    except DeviceError as error:
        yield Finding(VARIABLE, error.message, (f"unset {VARIABLE}",))


def _cupy() -> Iterator[Finding]:
    packages, release = nvidia.cupy_packages(), nvidia.driver_release()
    names = " and ".join(packages)
    wanted = "cuda13" if release is not None and release >= 13000 else "cuda12"
    remove = f"pip uninstall --yes {' '.join(packages)}, then {extra(wanted)}"
    if len(packages) > 1:
        yield Finding("cuda", f"{names} overwrite each other: one of them may stay", (remove,))
    elif packages == ("cupy-cuda13x",) and release is not None and release < 13000:
        runs = f"{release // 1000}.{release % 1000 // 10}"
        yield Finding("cuda", f"{names} needs CUDA 13, and the driver runs {runs}", (remove,))


def _wgpu() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    if not is_installed("wgpu"):
        return
    try:
        release = version("wgpu")
    except PackageNotFoundError:
        return
    numbers = tuple([int(part) for part in release.split(".")[:2] if part.isdigit()])
    if not WGPU_RELEASES[0] <= numbers < WGPU_RELEASES[1]:
        yield Finding("wgpu", f"release {release} is not one that works here", (extra("wgpu"),))
    if "linux" in sys.platform and not os.environ.get("XDG_RUNTIME_DIR"):
        problem = "XDG_RUNTIME_DIR is not set: drivers complain on the error stream, and work"
        yield Finding("wgpu", problem, ('export XDG_RUNTIME_DIR="$(mktemp -d)"',))


def _plug_ins() -> Iterator[Finding]:
    for package, problem in clashes().items():
        yield Finding(package, f"its backend is left out: {problem}", ("ask its authors",))


def _only_software(probe: Found) -> Finding:
    listed = ", ".join(dict.fromkeys(info.name for info in probe.devices))
    problem = f'only software that runs on the processor ({listed}), which "auto" does not choose'
    return Finding(probe.name, problem, ("the driver of the GPU's maker, if there is a GPU",))
