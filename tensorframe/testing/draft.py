"""Drafts: programs while they are written, with the value of every variable by NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import COMPLEX, FLOATING, INTEGER, UNSIGNED, DType
from tensorframe.graph.shape import Shape
from tensorframe.testing.compare import host
from tensorframe.testing.program import Program, Result, Step, compiled
from tensorframe.testing.reference import reference
from tensorframe.testing.tolerance import WORST, largest

Array = np.ndarray[Any, Any]

__all__ = ["DeclinedError", "Draft", "Variable"]

SMALL, LARGE = 160, 1_000_000  # elements of the largest variable
DTYPES = (
    *dtypes.BY_NAME.values(),
    *(dtypes.float32,) * 8,
    *(dtypes.float64,) * 4,
    *(dtypes.int64,) * 2,
)


class DeclinedError(Exception):
    """A move cannot be made; the next one is tried."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable's value by NumPy, the bound of its error, and whether more may be computed from it."""

    number: int
    value: Array
    error: float = 0.0
    usable: bool = True

    @property
    def exact(self) -> bool:
        """Whether both sides must have the same value."""
        return self.error == 0.0

    @property
    def dtype(self) -> DType:
        """The dtype of the value."""
        dtype: DType = self.value.dtype
        return dtype

    @property
    def shape(self) -> Shape:
        """The shape of the value."""
        shape: Shape = self.value.shape
        return shape


class Draft:
    """A program that is being written, with the value of every variable so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a seed must give the same program again
        self.large = self.random.random() < 0.01
        self.limit = LARGE if self.large else SMALL
        self.steps: list[Step] = []
        self.variables: list[Variable] = []
        self.names: dict[str, Any] = {"xp": reference, "np": np}

    def add(
        self,
        code: str,
        inputs: Sequence[Variable] = (),
        error: float | Callable[[Array], float | None] = 0.0,
    ) -> Variable | None:
        """Add a step if NumPy can run it and its result's error has a bound; None if not."""
        if _spread([source.shape for source in inputs]) > self.limit:
            return None
        step = Step(len(self.variables), tuple(source.number for source in inputs), code)
        try:
            with np.errstate(all="ignore"):
                exec(compiled(step.source()), self.names)  # noqa: S102 - the lines are ours
        except (TypeError, ValueError, IndexError, OverflowError):
            return None  # NumPy's own refusal of a dtype or shape
        value = host(self.names[f"v{step.target}"])
        with np.errstate(all="ignore"):
            bound = error if isinstance(error, float) else error(value)
        if value.size > self.limit or value.dtype not in dtypes.ANY or bound is None:
            return None
        self.steps.append(step)
        made = Variable(step.target, value, bound, _is_usable(value, bound))
        self.variables.append(made)
        return made

    def pick(self, *dtype_sets: frozenset[DType], exact: bool = False) -> Variable | None:
        """Return a variable of these dtypes, young ones more often."""
        wanted = dtype_sets[0].intersection(*dtype_sets[1:]) if dtype_sets else dtypes.ANY
        candidates = [
            variable
            for variable in self.variables
            if variable.usable and variable.dtype in wanted and (variable.exact or not exact)
        ]
        if not candidates:
            return None
        return self.random.choice(candidates if self.random.random() < 0.4 else candidates[-4:])

    def shape(self) -> Shape:
        """Return a random shape: up to four axes, at times none, or empty."""
        if self.large:
            return self.random.choice(
                [(300, 500), (150_000,), (3, 70_000), (70_000, 2), (60, 50, 40)]
            )
        sizes = self.random.choices(
            range(7),
            weights=[1, 6, 10, 10, 8, 4, 4],
            k=self.random.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]),
        )
        while np.prod(sizes, dtype=int) > self.limit // 2:
            sizes.pop()
        return tuple(sizes)

    def axis(self, x: Variable, extra: int = 0) -> int:
        """Return an axis of `x` with `extra` more axes, counted from either end."""
        ndim = len(x.shape) + extra
        return self.random.randrange(-ndim, ndim)

    def leaf(self, dtype: DType | None = None, shape: Shape | None = None) -> Variable:
        """Add a leaf; it may be a strided, reversed, transposed or broadcast view that NumPy hands over."""
        dtype = dtype or self.random.choice(DTYPES)
        made = self.add(_leaf_code(self.random, dtype, self.shape() if shape is None else shape))
        if made is None:
            raise DeclinedError(f"a leaf of shape {shape} is too large")
        return made

    def partner(self, x: Variable, dtype: DType) -> Variable:
        """Return a variable of `dtype` that broadcasts with `x`, and a new leaf if there is none."""
        candidates = [
            variable
            for variable in self.variables
            if variable.usable and variable.dtype == dtype and _broadcast(x.shape, variable.shape)
        ]
        if candidates and self.random.random() < 0.85:
            return self.random.choice(candidates)
        shape = tuple(size if self.random.random() < 0.8 else 1 for size in x.shape)
        return self.leaf(dtype, shape[self.random.choice([0, 0, 0, 1]) :])

    def program(self) -> Program:
        """Return what has been written; what nobody reads, and some of the rest, are its results."""
        read = {number for step in self.steps for number in step.inputs}
        results = [
            Result(variable.number, variable.error)
            for variable in self.variables
            if variable.number not in read or self.random.random() < 0.1
        ]
        self.random.shuffle(results)
        options = {"block_bytes": self.random.choice([64, 256, 4096, 1 << 18])}
        together = self.random.random() < 0.8
        return Program(tuple(self.steps), tuple(results[:6]), together, tuple(options.items()))


def _is_usable(value: Array, error: float) -> bool:
    if value.dtype not in FLOATING:
        return True
    return bool(np.isfinite(value).all()) and error <= WORST * max(largest(value), 1e-30)


def _broadcast(first: Shape, second: Shape) -> bool:
    pairs = zip(reversed(first), reversed(second), strict=False)
    return all(size == other or 1 in (size, other) for size, other in pairs)


def _spread(shapes: Sequence[Shape]) -> int:
    """Return the elements of what the shapes broadcast to, if they do; axes are counted from the back."""
    axes = zip_longest(*[reversed(shape) for shape in shapes], fillvalue=1)
    return prod(max(sizes) for sizes in axes)


def _leaf_code(source: random.Random, dtype: DType, shape: Shape) -> str:
    """Return code that asks `xp` for an array, perhaps a view of one."""
    stored, view = shape, ""
    kind = source.random()
    if shape and kind < 0.1:
        stored, view = tuple(reversed(shape)), ".T"
    elif shape and kind < 0.2:
        stored, view = (*shape[:-1], 2 * shape[-1]), "[..., ::-2]"
    elif shape and kind < 0.3:
        stored, view = (shape[0] + 2, *shape[1:]), "[1:-1]"
    low, high = (0, 9) if dtype in UNSIGNED else (-4, 5)
    if dtype == dtypes.bool_:
        low, high = 0, 2
    elif dtype in INTEGER and source.random() < 0.2:
        high += 100
    drawn = f"np.random.default_rng({source.randrange(1000)}).integers({low}, {high}, {stored})"
    if dtype in FLOATING and source.random() < 0.5:
        drawn += " / 2"
    if dtype in COMPLEX and source.random() < 0.8:
        drawn = f"({drawn} * (1 - 0.5j))"
    array = f"np.asarray({drawn}).astype({dtype.name!r}){view}"
    if shape and kind > 0.9:
        array = f"np.broadcast_to({array}[:1], {shape})" if shape[0] else array
    # two names of the host are two devices to the graph: operands on them are transferred
    how = source.choices(["", ", copy=False", ", device='numpy'"], weights=[6, 3, 1])[0]
    return f"{{out}} = xp.asarray({array}{how})"
