"""Programs: straight lines of array code that NumPy and tensorframe both run, as data and as source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import cycle
from types import CodeType
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.registry import capabilities
from tensorframe.graph.holding import holds
from tensorframe.testing.compare import assert_close, host
from tensorframe.testing.reference import reference

__all__ = ["Program", "Result", "Spread", "Step"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One or more lines that define the variable `target`.

    `code` has `{out}` for the target and `{0}`, `{1}` ... for `inputs`; `xp` in it is the array namespace.
    """

    target: int
    inputs: tuple[int, ...]
    code: str

    def source(self) -> str:
        """Return the lines."""
        return self.code.format(*(f"v{number}" for number in self.inputs), out=f"v{self.target}")


@dataclass(frozen=True, slots=True)
class Result:
    """A variable that is compared, and how far off it may be because operations round."""

    variable: int
    atol: float = 0.0


class Spread:
    """The namespace, with arrays on several devices in turn."""

    def __init__(self, *devices: str) -> None:
        self._names = devices
        self._devices = cycle(map(tfr.Device, devices))

    def asarray(self, values: Any, **options: Any) -> Any:
        """Return a Tensor on the next device, or on the cpu if that does not hold the dtype."""
        device = next(self._devices)
        if options.get("copy") is False or not holds(device, np.asarray(values).dtype):
            device = tfr.Device("cpu")
        return tfr.asarray(values, **{"device": device, **options})

    def __getattr__(self, name: str) -> Any:
        return getattr(tfr, name)

    def __repr__(self) -> str:
        return f"Spread({', '.join(map(repr, self._names))})"


@dataclass(frozen=True)
class Program:
    """Steps, what is compared in the end, and the options and the device they run under.

    With `devices`, leaves live on these in turn, as far as they hold their dtypes.
    """

    steps: tuple[Step, ...]
    results: tuple[Result, ...]
    together: bool = True
    options: tuple[tuple[str, Any], ...] = ()
    device: str = "cpu"
    devices: tuple[str, ...] = ()

    def with_options(self, **options: Any) -> Program:
        """Return the program under further options of `tensorframe.config`."""
        return replace(self, options=tuple((dict(self.options) | options).items()))

    def body(self) -> str:
        """Return the lines that define every variable."""
        return "\n".join(step.source() for step in self.steps)

    def values(self, xp: Any) -> dict[str, Any]:
        """Run the lines with the namespace `xp`, and return the variables by name."""
        names: dict[str, Any] = {"xp": xp, "np": np, "inf": np.inf, "nan": np.nan}
        with np.errstate(all="ignore"):
            exec(compiled(self.body()), names)  # noqa: S102 - the lines are ours
        return names

    def pick(self, names: dict[str, Any]) -> list[Any]:
        """Return the results among variables."""
        return [names[f"v{result.variable}"] for result in self.results]

    def check(self) -> None:
        """Run the program on both sides; AssertionError if a result differs, and whatever tensorframe raises."""
        expected = [host(value) for value in self.pick(self.values(reference))]
        for result, got, wanted in zip(self.results, self.run(), expected, strict=True):
            assert_close(got, wanted, atol=result.atol, name=f"v{result.variable}")

    def run(self) -> list[Array]:
        """Return the results by tensorframe."""
        with config.override(**dict(self.options)), tfr.use_backend(self.device):
            actual = self.pick(self.values(self._namespace()))
            if self.together:
                tfr.compute(*actual)
            return [host(value) for value in actual]

    def _namespace(self) -> Any:
        """Return what makes the leaves: memory of the host is not shared with devices that have their own."""
        plain = not self.devices and capabilities(tfr.Device(self.device)).host_memory
        return tfr if plain else Spread(*(self.devices or (self.device,)))

    def source(self) -> str:
        """Return a script that does what `check` does."""
        lines = "\n".join(f"    {line}" for line in self.body().splitlines())
        names = ", ".join(f"v{result.variable}" for result in self.results)
        options = ", ".join(f"{name}={value!r}" for name, value in self.options)
        atol = ", ".join(f"{result.atol:.3g}" for result in self.results)
        compute = "        tfr.compute(*actual)\n" if self.together else ""
        return _SCRIPT.format(
            lines=lines,
            names=names,
            options=options,
            device=self.device,
            namespace="tfr" if self._namespace() is tfr else repr(self._namespace()),
            atol=atol,
            compute=compute,
        )


_SCRIPT = """\
import numpy as np
from numpy import inf, nan

import tensorframe as tfr
from tensorframe.testing.compare import assert_close
from tensorframe.testing.program import Spread
from tensorframe.testing.reference import reference


def program(xp):
{lines}
    return [{names}]


with np.errstate(all="ignore"):
    expected = program(reference)
    with tfr.config.override({options}), tfr.use_backend("{device}"):
        actual = program({namespace})
{compute}        actual = [one.numpy() for one in actual]
for got, wanted, atol in zip(actual, expected, [{atol}], strict=True):
    assert_close(got, wanted, atol=atol)
"""


def compiled(lines: str) -> CodeType:
    """Return the lines as code."""
    return compile(lines, "<program>", "exec")
