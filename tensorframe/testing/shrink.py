"""Shrinking: the smallest program found that still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, FLOAT
from tensorframe.testing.compare import host
from tensorframe.testing.program import Program, Step
from tensorframe.testing.reference import reference

__all__ = ["failure", "shrink"]

LITERAL = 40  # elements up to which a value may be written out


def failure(program: Program) -> str | None:
    """Return what goes wrong when the program runs, None if nothing does."""
    try:
        program.check()
    except AssertionError as error:
        return f"wrong result: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def shrink(program: Program, fails: Callable[[Program], str | None] = failure) -> Program:
    """Return a smaller program that fails as `program` does: with a wrong result, or the same kind of error.

    Tries, until nothing helps: fewer results, a variable replaced by its value, a step left out. A program that
    NumPy does not run is none.
    """
    failure = fails(program)
    kind = _kind(failure)
    while kind is not None:
        for smaller in _smaller(program):
            if _runs(smaller) and _kind(fails(smaller)) == kind:
                program = smaller
                break
        else:
            break
    return program


def _kind(failure: str | None) -> str | None:
    return failure.partition(":")[0] if failure else None


def _runs(program: Program) -> bool:
    try:
        program.values(reference)
    except Exception:  # whatever NumPy raises: the step that was left out mattered to it
        return False
    return True


def _smaller(program: Program) -> Iterator[Program]:
    """Yield programs with less in them, the smallest first."""
    if len(program.results) > 1:
        for result in program.results:
            yield pruned(replace(program, results=(result,)))
    values = program.values(reference)
    for position in range(len(program.steps) - 1, -1, -1):
        step = program.steps[position]
        literal = _literal(host(values[f"v{step.target}"]))
        if literal is not None and literal != step.code:
            yield _with_step(program, position, Step(step.target, (), literal))
        for source in dict.fromkeys(step.inputs):
            yield _without_step(program, position, source)


def _with_step(program: Program, position: int, step: Step) -> Program:
    steps = (*program.steps[:position], step, *program.steps[position + 1 :])
    return pruned(replace(program, steps=steps))


def _without_step(program: Program, position: int, stand_in: int) -> Program:
    """Return the program with a variable read in place of the one that a step defines."""
    gone = program.steps[position].target

    def renamed(number: int) -> int:
        return stand_in if number == gone else number

    steps = tuple(
        replace(step, inputs=tuple(map(renamed, step.inputs)))
        for step in program.steps
        if step.target != gone
    )
    results = tuple(
        replace(result, variable=renamed(result.variable)) for result in program.results
    )
    return pruned(replace(program, steps=steps, results=results))


def pruned(program: Program) -> Program:
    """Return the program without the steps that no result needs."""
    needed = {result.variable for result in program.results}
    kept: list[Step] = []
    for step in reversed(program.steps):
        if step.target in needed:
            needed.update(step.inputs)
            kept.append(step)
    return replace(program, steps=tuple(reversed(kept)))


def _literal(value: np.ndarray[Any, Any]) -> str | None:
    """Return code that defines a variable by its elements; None where that would be long or no literal."""
    dtype = value.dtype.name
    if value.size == 0:
        return f"{{out}} = xp.asarray(np.zeros({value.shape}, {dtype!r}))"
    if value.size > LITERAL or (value.dtype in COMPLEX and not np.isfinite(value).all()):
        return None
    elements = value.astype(np.float64) if value.dtype in FLOAT else value
    return f"{{out}} = xp.asarray(np.array({elements.tolist()!r}, {dtype!r}))"
