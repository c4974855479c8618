"""Conformance: the checks by which a backend, anybody's, proves that it keeps the interface's promises.

conformance(MyBackend())            # a report, to look at
checks(MyBackend())                 # the same checks one by one, for pytest
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tensorframe.backends.base import Backend
from tensorframe.testing.conformance import interface, operations, programs, round_trips
from tensorframe.testing.conformance.extensions import check_op
from tensorframe.testing.conformance.subject import Check, Subject, subjects

__all__ = ["Check", "Report", "check_op", "checks", "conformance"]

_AREAS: tuple[Callable[[Subject], list[Check]], ...] = (
    interface.checks,
    round_trips.checks,
    operations.checks,
    programs.checks,
)


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a backend keeps of its promises; it prints as text."""

    passed: tuple[str, ...]
    """The names of the checks that passed."""
    failures: dict[str, str]
    """What went wrong, by the name of the check."""
    elsewhere: dict[str, tuple[str, ...]]
    """Ops that the backend leaves to the cpu, each with the dtypes of which it does."""

    @property
    def conforms(self) -> bool:
        """Whether every check passed."""
        return not self.failures

    def __str__(self) -> str:
        lines = [f"{len(self.passed)} checks passed, {len(self.failures)} failed"]
        lines += [f"{name}: {said}" for name, said in self.failures.items()]
        lines += [f"left to the cpu: {self._left()}"] if self.elsewhere else []
        return "\n".join(lines)

    def _left(self) -> str:
        by_dtypes: dict[tuple[str, ...], list[str]] = {}
        for name, dtypes in self.elsewhere.items():
            by_dtypes.setdefault(dtypes, []).append(name)
        return "; ".join(
            f"{', '.join(names)} of {', '.join(dtypes)}" for dtypes, names in by_dtypes.items()
        )

    __repr__ = __str__


def checks(backend: Backend, *, ulp: float = 16, seeds: int = 100) -> list[Check]:
    """Return the checks of a backend, each with a name: calling one raises AssertionError, or what went wrong.

    For every device that the backend finds: the methods of the interface, storage of every dtype and layout, every op
    row that the device claims, views, threads, transfers, errors, and `seeds` random programs. Results are compared
    with NumPy's; of those that round, elements may be `ulp` units in the last place off. The backend need not be
    registered.

    >>> from tensorframe.backends.numpy.engine import NumpyBackend
    >>> from tensorframe.testing.conformance import checks
    >>> first = checks(NumpyBackend(), seeds=0)[0]
    >>> str(first)
    'numpy: the interface: it is a Backend with a name'
    >>> first()
    """
    return [
        check
        for subject in subjects(backend, ulp, seeds)
        for area in _AREAS
        for check in area(subject)
    ]


def conformance(backend: Backend, *, ulp: float = 16, seeds: int = 100) -> Report:
    """Run all checks of a backend, and return what passed, what failed and why; see `checks`."""
    passed, failures = [], {}
    tried = subjects(backend, ulp, seeds)
    for subject in tried:
        for check in [check for area in _AREAS for check in area(subject)]:
            try:
                check()
            except Exception as error:
                failures[check.name] = f"{type(error).__name__}: {error}"
            else:
                passed.append(check.name)
    return Report(tuple(passed), failures, _merged(tried))


def _merged(tried: list[Subject]) -> dict[str, tuple[str, ...]]:
    """Return what any of the devices leaves to the cpu."""
    dtypes: dict[str, dict[str, None]] = {}
    for subject in tried:
        for op, dtype in subject.elsewhere:
            dtypes.setdefault(op, {})[dtype] = None
    return {op: tuple(names) for op, names in dtypes.items()}
