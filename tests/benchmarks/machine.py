"""The machine: its processor, its cores, and how busy it is with other things."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from time import monotonic


def cpu() -> str:
    """Return the processor's name, family, model and widest vector instructions, as far as the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    pairs = [line.partition(":") for line in text.splitlines()]
    facts = {key.strip(): value.strip() for key, _, value in pairs}
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    vectors = next((name for name in ("avx512f", "avx2", "asimd") if name in flags), None)
    numbers = [facts.get(key) for key in ("cpu family", "model")]
    family = f"family {numbers[0]} model {numbers[1]}" if all(numbers) else None
    return ", ".join(filter(None, [facts.get("model name"), family, vectors]))


def blas() -> str:
    """Return NumPy's BLAS and the processor that its kernels are for, which the environment may have chosen."""
    import numpy as np
    from threadpoolctl import threadpool_info

    np.zeros((1, 1)) @ np.zeros((1, 1))  # some load it when it is needed
    found = [one for one in threadpool_info() if one["user_api"] == "blas"]
    kinds = [f"{one['internal_api']} for {one.get('architecture', 'any')}" for one in found]
    chosen = [f"{name}={value}" for name, value in os.environ.items() if "CORETYPE" in name]
    return ", ".join([*dict.fromkeys(kinds), *chosen])


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_average() -> float | None:
    """Return the mean number of running processes over the last minute, where the system counts them."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


class Others:
    """Cores that other processes kept busy while this one ran, where the system tells."""

    def __init__(self) -> None:
        self._start = monotonic()
        self._total = _busy_seconds()
        self._own = _own_seconds()

    def cores(self) -> float | None:
        """Return the mean since the start."""
        total = _busy_seconds()
        if total is None or self._total is None:
            return None
        used = total - self._total - (_own_seconds() - self._own)
        return max(used, 0.0) / (monotonic() - self._start)


def _own_seconds() -> float:
    return sum(os.times()[:4])  # with finished children


def _busy_seconds() -> float | None:
    """Return the processor time that all processes have used since the machine started."""
    try:
        counts = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    except OSError:
        return None
    user, nice, system, _idle, _waiting, interrupts, soft, steal = map(int, counts)
    return (user + nice + system + interrupts + soft + steal) / os.sysconf("SC_CLK_TCK")
