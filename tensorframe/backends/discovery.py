"""Discovery: what is here, as data and as a table that people read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorframe.backends.base import DeviceInfo
from tensorframe.backends.contract import About, show_version
from tensorframe.backends.probing import Found, probe_all
from tensorframe.backends.selection import backend_priority, show_bytes


def discover() -> tuple[Found, ...]:
    """Return what every backend finds now: its devices, or the reason that it has none.

    Each entry has `name`, `devices` (of DeviceInfo), `reason`, `origin` (the package, if it is not this one) and
    `available`. Packages that were installed meanwhile are found. A broken driver is a reason, and raises nothing.

    >>> found = {one.name: one for one in tfr.backends.discover()}
    >>> found["numpy"].available, found["numpy"].reason
    (True, '')
    """
    return probe_all(again=True)


def available() -> tuple[str, ...]:
    """Return the names of the backends that can compute here.

    The preferred backend comes first. Backends that cannot compute are left out: `tfr.doctor()` shows why.

    >>> "cpu" in tfr.backends.available()
    True
    """
    return tuple([probe.name for probe in probe_all() if probe.available])


def devices() -> tuple[DeviceInfo, ...]:
    """Return the devices that can compute here, with the current reports of their drivers.

    Each has its limits (`max_buffer`, `max_group`, `shared_memory` ...) and `precisions`, and once `tfr.calibrate` has
    measured them, `bandwidth` and `flops`.

    >>> cpu = next(info for info in tfr.backends.devices() if info.device == "cpu")
    >>> cpu.unified_memory, cpu.software, cpu.compute_capability
    (True, False, None)
    """
    from tensorframe.backends.limits import calibrated  # loads what only measuring needs

    every = [info for probe in probe_all(again=True) for info in probe.devices]
    return tuple([calibrated(info) for info in every if info.capabilities.executes])


def summary() -> str:
    """Return a table of all backends: their devices, or the reason that they have none and what helps.

    >>> print(tfr.backends.summary())
    device  found
    ...
    cpu     ... cores ...
    """
    return table(probe_all(again=True))


def table(probes: Iterable[Found]) -> str:
    """Return what was found as lines: devices, then what is not here, then the order in which "auto" looks."""
    known = list(probes)
    here = [_device_row(info) for probe in known for info in probe.devices]
    lines = columns([("device", "found", ""), *here])
    missing = [_missing_row(probe) for probe in known if not probe.devices]
    if missing:
        lines += ["", *columns([("missing", "because", "try"), *missing])]
    plug_ins = [
        _plug_in_row(probe.name, probe.origin, probe.about) for probe in known if probe.about
    ]
    if plug_ins:
        lines += ["", *columns([_PLUG_IN, *plug_ins])]
    return "\n".join([*lines, "", f'"auto" looks for: {", ".join(backend_priority())}'])


def _device_row(info: DeviceInfo) -> tuple[str, str, str]:
    return str(info.device), info.name, ", ".join(details(info))


_PLUG_IN = ("plug-in", "package", "author", "licence", "interface", '"auto"', "needs")


def _plug_in_row(name: str, package: str, about: About) -> tuple[str, ...]:
    known = (about.author, about.licence, show_version(about.interface))
    priority = "" if about.priority is None else str(about.priority)
    rest = (*known, priority, ", ".join(about.needs))
    return name, f"{package} {about.version}".strip(), *[word or "-" for word in rest]


def plug_in_line(probe: Found) -> str:
    """Return what is known of a plug-in, in a line; empty for what is none."""
    if probe.about is None:
        return ""
    return line(_PLUG_IN, _plug_in_row(probe.name, probe.origin, probe.about))


def line(headings: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row of a table of packages' things as a sentence; a dash is a cell that says nothing."""
    (kind, name), (_, package), *said = zip(headings, cells, strict=True)
    origin = "" if package == "-" else f" of {package}"
    rest = [f"{heading} {cell}" for heading, cell in said if cell != "-"]
    return ", ".join([f"{kind}: {name}{origin}", *rest])


def _missing_row(probe: Found) -> tuple[str, str, str]:
    from tensorframe.backends.remedies import remedies  # loaded where something is missing

    name = f"{probe.name} ({probe.origin})" if probe.origin else probe.name
    return name, probe.reason, "; ".join(remedies(probe)[:1])


def details(info: DeviceInfo) -> list[str]:
    """Return what there is to say of a device beside its names, piece by piece."""
    free, total = info.free_memory, info.total_memory
    said = [info.driver, info.api]
    if info.compute_capability is not None:
        said.append("compute capability {}.{}".format(*info.compute_capability))
    if total is not None:
        size = show_bytes(total)
        said.append(size if free is None else f"{show_bytes(free)} free of {size}")
    if info.unified_memory and not info.capabilities.host_memory:
        said.append("memory of the host")
    if info.software:
        said.append("software: taken only by name")
    if not info.capabilities.executes:
        said.append("makes plans only")
    return [word for word in said if word]


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as aligned lines."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
