"""Figures: times, counts and shares, in three digits and a unit."""

from __future__ import annotations

_PREFIXES = ("", "k", "M", "G", "T")


def count_text(count: float) -> str:
    """Return a count for people: 1250000 -> `1.25 M`."""
    for prefix in _PREFIXES:
        if count < 999.5:
            return f"{count:.3g} {prefix}".strip()
        count /= 1000
    return f"{count:.3g} P"


def time_text(seconds: float | None) -> str:
    """Return a time for people: 0.00125 -> `1.25 ms`; empty for None."""
    if seconds is None:
        return ""
    for unit in ("s", "ms", "\N{MICRO SIGN}s"):
        if seconds >= 0.9995:
            return f"{seconds:.3g} {unit}"
        seconds *= 1000
    return f"{seconds:.3g} ns"


def share_text(share: float | None) -> str:
    """Return a share in percent; empty for None."""
    if share is None:
        return ""
    return f"{100 * share:.0f} %" if share >= 0.0095 else f"{100 * share:.1g} %"
