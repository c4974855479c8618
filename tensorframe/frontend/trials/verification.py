"""Verification: one computation on several devices, and how far their results are apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.frontend.diagnostics.tables import reason, table
from tensorframe.frontend.trials.differences import Difference, difference, error_in_ulp
from tensorframe.frontend.trials.relocation import REFERENCE
from tensorframe.frontend.trials.subjects import (
    Backends,
    Subject,
    asked_for,
    device_called,
    device_name,
    lacking,
    subject_of,
    values_of,
)
from tensorframe.frontend.trials.wide import wide_values
from tensorframe.graph.device import Device
from tensorframe.graph.node import reachable

__all__ = ["Verification", "verify"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class VerifiedBackend:
    """What came of one backend: how far it is off, or the error that kept it from computing."""

    backend: str
    difference: Difference | None = None
    """From the reference; None where there is nothing to compare."""
    error_in_ulp: float | None = None
    """From a run in wider dtypes, in units in the last place; None where there is no such run."""
    elsewhere: tuple[str, ...] = ()
    """Other devices that ops were recorded for: a function may say so itself."""
    lacking: tuple[str, ...] = ()
    """Dtypes of the computation that the device does not have: the ops that need them ran elsewhere."""
    error: BaseException | None = None

    @property
    def agrees(self) -> bool:
        """Whether it computed, and what it did is the reference's result but for rounding."""
        return self.difference is not None and self.difference.agrees


@dataclass(frozen=True, repr=False)
class Verification(Page):
    """The backends of a verification, the reference first; indexed by name.

    Each entry has the largest difference and where it lies; printed it is a table.
    """

    backends: tuple[VerifiedBackend, ...]

    @property
    def agrees(self) -> bool:
        """Whether every backend computed the reference's result, but for rounding."""
        return all(verified.agrees for verified in self.backends)

    @property
    def ulp(self) -> float:
        """The largest difference in representable numbers; infinite if a backend computed nothing."""
        return max(
            verified.difference.ulp if verified.difference else np.inf for verified in self.backends
        )

    def __iter__(self) -> Iterator[VerifiedBackend]:
        return iter(self.backends)

    def __getitem__(self, backend: str | Device) -> VerifiedBackend:
        return next(
            verified for verified in self.backends if verified.backend == device_name(backend)
        )

    def __repr__(self) -> str:
        rows = [("backend", "ulp", "relative", "off by", "where", "value", "reference", "")]
        return table(rows + [row_of(verified) for verified in self.backends])


def row_of(verified: VerifiedBackend) -> tuple[str, ...]:
    """Return the cells of a backend, a dash where there is nothing to say, and a note at the end."""
    off, note = verified.difference, _note(verified)
    if off is None:
        return (verified.backend, "-", "-", "-", "-", "-", "-", note)
    error = "-" if verified.error_in_ulp is None else f"{verified.error_in_ulp:.3g} ulp"
    place = "-" if off.index is None else f"{off.result}{list(off.index)}"
    pair = [str(off.value), str(off.expected)] if off.index is not None else ["-", "-"]
    return (verified.backend, f"{off.ulp:g}", f"{off.relative:.2g}", error, place, *pair, note)


def _note(verified: VerifiedBackend) -> str:
    notes = [reason(verified.error)] if verified.error else []
    if verified.difference and not verified.difference.agrees:
        notes.append("differs by more than rounding")
    if verified.lacking:
        notes.append(f"has no {', '.join(verified.lacking)}: parts ran elsewhere")
    if verified.elsewhere:
        notes.append(f"parts were recorded for {', '.join(verified.elsewhere)}")
    return "; ".join(notes)


def verify(expr: Any, /, *args: Any, backends: Backends = None, **kwargs: Any) -> Verification:
    """Run a computation on several backends, and return how far their results are from NumPy's.

    `expr` is a tensor that is not computed yet: its graph is recorded anew for each backend, with its leaves there.
    Or it is a function, called with the arguments that follow: tensors and NumPy arrays among them, at any depth of
    lists, dicts and dataclasses, are on the backend, which is the default device meanwhile. `backends` are names or
    devices, None all that compute here. No tensor of the caller's changes, and none gets computed.

    For each backend there is the largest difference from the NumPy engine in units in the last place and relative to
    the elements, and where it is. NaN equals NaN; integers and bools are equal or differ. `off by` compares with a
    run in wider dtypes, op by op in NumPy: float64 for narrower numbers, long double for float64 where the ops allow
    it. It tells which of two backends is right. A run that is not floating, or a function whose results are computed
    when it returns them, has none. What fails on a backend is in its row: a device that is not here, a dtype that it
    lacks, too little memory.

    ArgumentError for a tensor that is computed already, and for a function that gives other results when it is called
    again, as it does if it draws random numbers without a key. DTypeError for what is neither.

    >>> x = tfr.asarray([0.1, 0.2, 0.3])
    >>> tfr.verify(tfr.sqrt(x) * 2, backends=["cpu", "dry"])
    backend  ulp  relative  off by     where  value  reference
    numpy    0    0         0.291 ulp  -      -      -
    cpu      0    0         0.291 ulp  -      -      -
    dry      -    -         -          -      -      -          DeviceError: the device 'dry' makes plans only: ...
    >>> tfr.verify(lambda a, b: {"sum": a + b}, x, 2.0, backends="cpu").agrees
    True
    """
    return Verification(tuple(verified(subject_of("verify", expr, args, kwargs), backends)))


def verified(subject: Subject, backends: Backends) -> Iterator[VerifiedBackend]:
    """Yield what comes of each backend; what the reference raises comes through."""
    names = asked_for("verify", backends)
    prepared = subject.on(REFERENCE)
    roots = prepared.record()
    wide = wide_values(roots)  # before they are computed, and their graph is gone
    prepared.finish(roots)
    expected = values_of(roots)
    for name in names:
        row = _verified(subject, name, expected, wide)
        if name == str(REFERENCE):
            _refuse_what_changes("verify", row)
        yield row


def _refuse_what_changes(trial: str, again: VerifiedBackend) -> None:
    if again.error is not None and not isinstance(again.error, ValueError):
        raise again.error
    if again.difference is None or again.difference.ulp:
        raise changing(trial)


def changing(trial: str) -> ArgumentError:
    """Return the error for a function that no two backends can be compared by."""
    return ArgumentError(
        f"{trial}: the function gives other results when it is called again",
        suggestions=(
            "key=tfr.random.key(0) where it draws random numbers: without a key each backend gets others",
            "arguments instead of what changes outside the function",
        ),
    )


def _verified(
    subject: Subject, name: str, expected: list[Array], wide: list[Array | None]
) -> VerifiedBackend:
    row = VerifiedBackend(name)
    missing: list[str] = []
    try:
        device = device_called(name)
        prepared = subject.on(device)
        roots = prepared.record()
        missing = lacking(roots, device)
        others = {str(node.device) for node in reachable(roots)} - {str(device)}
        prepared.finish(roots)
        values = values_of(roots)
        off = difference(values, expected, prepared.labels())
    except Exception as error:  # whatever a backend does is its own row's matter
        return replace(row, error=_explain(error, name, missing))
    errors = [
        error_in_ulp(value, exact)
        for value, exact in zip(values, wide, strict=True)
        if exact is not None
    ]
    return replace(
        row,
        difference=off,
        error_in_ulp=max(errors) if errors else None,
        elsewhere=tuple(sorted(others)),
        lacking=tuple(missing),
    )


def _explain(error: Exception, name: str, missing: list[str]) -> Exception:
    """Return the error, or one that names the dtypes that a device lacks and that it most likely comes from."""
    if not missing or isinstance(error, DTypeError):
        return error
    explained = DTypeError(f"{name} has no {', '.join(missing)}: {reason(error)}")
    explained.__cause__ = error
    return explained
