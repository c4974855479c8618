"""Programs whose bits are compared: random graphs, reductions of every size class, scans, all rows, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe.graph.op import Kind, rows
from tensorframe.testing.program import compiled
from tensorframe.testing.random_graph import program_of
from tests.bits import mixed
from tests.bits.draws import DRAWS

Array = np.ndarray[Any, Any]
Leaves = dict[str, Any]

# words of a random graph that tell what it is made of
SUMS = ["sum", "mean", "var", "std", "softmax", "average", "trapezoid", "norm", "prod"]
LIBRARY = ["matmul", "@", "einsum", "dot", "inner", "linalg", "fft", "convolve", "cov", "corrcoef"]


@dataclass(frozen=True)
class Program:
    """A function of leaves that records results; `run` may put what is made on the way into its second argument."""

    name: str
    leaves: dict[str, Array]
    run: Callable[[Leaves, list[Any]], list[tfr.Tensor]]
    sums: bool = False  # of floats: kernels of work-groups choose their order with the form of the whole kernel
    distances: bool = (
        False  # from a mean, squared and summed: in one pass or two, by what else there is
    )
    library: bool = False  # calls libraries, or multiplies matrices

    def placed(self, device: str) -> Leaves:
        """The leaves as tensors of a device."""
        return {name: tfr.asarray(leaf, device=device) for name, leaf in self.leaves.items()}


def random_graphs(seeds: range) -> Iterator[Program]:
    """Programs of the generator; what is not a tensor in the end is left out."""
    for seed in seeds:
        yield _random_graph(seed)


def _random_graph(seed: int) -> Program:
    program = program_of(seed)
    given = [step for step in program.steps if not step.inputs]
    rest = [step for step in program.steps if step.inputs]
    made = _lines(given, {"xp": tfr})
    leaves = {f"v{step.target}": made[f"v{step.target}"].numpy() for step in given}

    def run(leaves: Leaves, beside: list[Any]) -> list[tfr.Tensor]:
        known = _lines(rest, {"xp": tfr, **leaves})
        beside.append(known)
        return [one for one in program.pick(known) if isinstance(one, tfr.Tensor)]

    body = program.body()
    return Program(
        f"random graph {seed}",
        leaves,
        run,
        sums=any(word in body for word in SUMS),
        library=any(word in body for word in LIBRARY),
    )


def _lines(steps: Any, names: dict[str, Any]) -> dict[str, Any]:
    variables = {"np": np, "inf": np.inf, "nan": np.nan, **names}
    with np.errstate(all="ignore"):
        exec(compiled("\n".join(step.source() for step in steps)), variables)
    return variables


FIRST_SEED, GRAPHS, MIXED = 30_000, 90, 20
# Elements beyond which kernels take squared distances from a mean in one pass, if that is all there is to compute.
LARGE = 2 << 16
# one row, many short ones, a few long ones, more than a chunk, columns, three axes
SHAPES = [(7,), (300,), (70_001,), (3000, 13), (5, 9_001), (300, 500), (40_001, 3), (17, 31, 23)]


def normals(shape: Any, dtype: str = "float32", seed: int = 0) -> Array:
    """Normal numbers of a dtype."""
    found: Array = np.random.default_rng(seed).standard_normal(shape)
    return found.astype(dtype)


def reductions() -> Iterator[Program]:
    """Every reduction over every set of axes of every shape."""
    for shape in SHAPES:
        axes = [None, *range(len(shape))] if len(shape) > 1 else [None]
        axes += [(0, 2)] if len(shape) == 3 else []
        for axis in axes:
            yield _reduction(shape, axis)


def _reduction(shape: tuple[int, ...], axis: Any) -> Program:
    large = prod(shape) > LARGE  # distances have a program of their own

    def run(leaves: Leaves, beside: list[Any]) -> list[tfr.Tensor]:
        x = leaves["x"]
        scaled = tfr.exp(x * 0.5) + 1
        centred = x - tfr.mean(x, axis=axis, keepdims=True)
        beside += [scaled, centred]
        return [
            tfr.sum(x, axis=axis),
            tfr.sum(scaled, axis=axis),
            tfr.mean(scaled * x, axis=axis),
            tfr.prod(scaled * 0.5, axis=axis),
            *([] if large else [tfr.var(x, axis=axis), tfr.sum(centred * centred, axis=axis)]),
            tfr.max(scaled, axis=axis),
            tfr.softmax(x, axis=axis),
        ]

    name = f"reductions of {shape} over {axis}"
    return Program(name, {"x": normals(shape)}, run, sums=True)


def complex_reductions() -> Iterator[Program]:
    """Sums and products of complex numbers, in rows and across them."""
    for shape, axis in [((300, 500), 0), ((300, 500), 1), ((9_001, 7), 0), ((5, 9_001), None)]:
        yield _complex_reduction(shape, axis)


def _complex_reduction(shape: tuple[int, ...], axis: Any) -> Program:
    def run(leaves: Leaves, beside: list[Any]) -> list[tfr.Tensor]:
        z = leaves["z"]
        scaled = z * 0.01 + 1
        beside.append(scaled)
        return [
            tfr.sum(z, axis=axis),
            tfr.prod(scaled, axis=axis),
            tfr.cumulative_prod(scaled, axis=axis or 0),
            tfr.abs(tfr.mean(scaled, axis=axis, keepdims=True) - z),
        ]

    z = (normals(shape) + 1j * normals(shape, seed=1)).astype(np.complex64)
    return Program(f"complex reductions of {shape} over {axis}", {"z": z}, run, sums=True)


# a few long rows and columns, two axes of three
FORMS: list[tuple[tuple[int, ...], Any]] = [
    ((5, 9_001), 1),
    ((17, 31, 23), (0, 2)),
    ((9_001, 5), 0),
]


def sums(dtype: str) -> Iterator[Program]:
    """Sums in every form of kernel, which takes a device seconds to compile."""
    for shape, axis in FORMS:
        yield _sums(shape, axis, dtype)


def _sums(shape: tuple[int, ...], axis: Any, dtype: str) -> Program:
    def run(leaves: Leaves, beside: list[Any]) -> list[tfr.Tensor]:
        x = leaves["x"]
        scaled = x * x + 0.5
        beside.append(scaled)
        return [
            tfr.sum(x * 2, axis=axis),
            scaled / tfr.sum(scaled, axis=axis, keepdims=True),
        ]

    name = f"sums of {dtype} {shape} over {axis}"
    return Program(name, {"x": normals(shape, dtype)}, run, sums=True)


def distances() -> Iterator[Program]:
    """Variances of arrays that do not stay in the cache between two passes."""
    for shape in SHAPES:
        if prod(shape) > LARGE:
            for axis in [None, *range(len(shape))]:
                yield _distances(shape, axis)


def _distances(shape: tuple[int, ...], axis: Any) -> Program:
    def run(leaves: Leaves, beside: list[Any]) -> list[tfr.Tensor]:
        x = leaves["x"]
        centred = x - tfr.mean(x, axis=axis, keepdims=True)
        beside.append(centred)
        return [tfr.var(x, axis=axis), tfr.sum(centred * centred, axis=axis)]

    name = f"distances of {shape} over {axis}"
    return Program(name, {"x": normals(shape)}, run, sums=True, distances=True)


def scans() -> Iterator[Program]:
    """Every scan along every axis."""
    for shape in SHAPES:
        for axis in range(len(shape)):
            yield _scan(shape, axis)


def _scan(shape: tuple[int, ...], axis: int) -> Program:
    def run(leaves: Leaves, beside: list[Any]) -> list[tfr.Tensor]:
        x = leaves["x"]
        scaled = tfr.exp(x * 0.5) + 1
        beside.append(scaled)
        return [
            tfr.cumulative_sum(x, axis=axis),
            tfr.cumulative_sum(scaled, axis=axis) * 0.5,
            tfr.cumulative_prod(x / 100 + 1, axis=axis),
        ]

    return Program(f"scans of {shape} along {axis}", {"x": normals(shape)}, run)


def elementwise() -> Iterator[Program]:
    """Every row, alone and after another one, on every dtype of numbers that is held."""
    public = [op for op in rows(Kind.MAP) if op.public and not op.attributes]
    for dtype in ("float32", "float64", "float16", "int32"):
        taking = [op for op in public if np.dtype(dtype) in op.accepts]
        for index in range(0, len(taking), 7):
            yield _rows(dtype, taking[index : index + 7])


def _rows(dtype: str, ops: list[Any]) -> Program:
    x = (normals(10_007, seed=1) * 4).astype(dtype)
    y = (normals(10_007, seed=2) * 3).astype(dtype)
    z = (normals(10_007, seed=3) > 0).astype(dtype)

    def run(leaves: Leaves, beside: list[Any]) -> list[tfr.Tensor]:
        found = []
        for op in ops:
            operands = [leaves[name] for name in "xyz"[: op.arity]]
            if op.conditions:
                operands = [leaves["z"] > 0, leaves["x"], leaves["y"]]
            result = getattr(tfr, op.name)(*operands)
            beside.append(result)
            found += [result, tfr.where(leaves["z"] > 0, result, result) + 0]
        return found

    names = ", ".join(op.name for op in ops)
    return Program(f"{names} of {dtype}", {"x": x, "y": y, "z": z}, run)


def random_numbers() -> Iterator[Program]:
    """Every distribution."""
    for name in DRAWS:
        yield _draw(name)


def _draw(name: str) -> Program:
    def run(leaves: Leaves, _: list[Any]) -> list[tfr.Tensor]:
        device = leaves["x"].device
        return [DRAWS[name](count, key=tfr.random.key(3), device=device) for count in (91, 70_003)]

    return Program(name, {"x": normals(3)}, run)


def mixed_programs(seeds: range) -> Iterator[Program]:
    """Programs of everything that random graphs lack."""
    for seed in seeds:
        run = partial(mixed.results_of, seed)
        yield Program(f"mixed program {seed}", mixed.leaves_of(seed), run, sums=True)


def programs(*, thorough: bool) -> list[Program]:
    """Some 240 programs, or a selection that takes seconds."""
    # Samples take the first and the third, whose bits tell another order of additions, as those of float32 do not: they
    # are added as float64.
    every = [*sums("float64"), *reductions(), *distances(), *sums("float32")]
    known = [every, [*complex_reductions()], [*scans()], [*elementwise()], [*random_numbers()]]
    if thorough:
        flat = [one for each in known for one in each]
        graphs = random_graphs(range(FIRST_SEED, FIRST_SEED + GRAPHS))
        return [*flat, *graphs, *mixed_programs(range(MIXED))]
    few = [one for each in known for one in each[2::9]]
    return [*few, *random_graphs(range(FIRST_SEED, FIRST_SEED + 4))]
