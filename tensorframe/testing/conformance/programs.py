"""Checks of whole programs: views, memory, transfers, threads, errors, and random graphs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe.dtypes import float32
from tensorframe.errors import IndexingError
from tensorframe.testing import random_graph
from tensorframe.testing.conformance.operations import compare, placed
from tensorframe.testing.conformance.subject import (
    Array,
    Check,
    Subject,
    expect,
    same_bits,
    small_numbers,
)

SHAPE = (12, 30)
THREADS, ROUNDS = 4, 6
CHUNK = 25  # seeds in one check

VIEWS: dict[str, Callable[[Any], Any]] = {
    "a slice of a transposed slice": lambda x: x[1:, ::2].T[::-1, 1:] * 2,
    "a reshape of a slice": lambda x: tfr.reshape(x[:, 3:], (-1,))[::7] + 1,
    "a broadcast row and column": lambda x: x[:1] + x[:, :1],
    "a view that is asked for itself": lambda x: x.T[2:5],
    "one element": lambda x: x[3, 4] * 2,
    "no elements": lambda x: x[5:5] + 1,
    "rows that overlap": lambda x: x[1:] - x[:-1],
}


def checks(subject: Subject) -> list[Check]:
    """Return the checks of programs."""
    checks = [
        subject.check("views", name, partial(_view, subject, name, function))
        for name, function in VIEWS.items()
    ]
    promises = {
        "an assignment changes no other tensor": _assignment,
        "memory is taken over only when nobody needs it": _chain,
        "operands of other devices move to it, and results back": _transfers,
        "threads compute at the same time": _threads,
        "an index out of bounds is told, and the device works on": _bad_index,
        "large reductions": _large,
    }
    checks += [
        subject.check("programs", promise, lambda run=run: run(subject))  # type: ignore[misc]
        for promise, run in promises.items()
    ]
    for first in range(0, subject.seeds, CHUNK):
        last = min(first + CHUNK, subject.seeds)
        run = partial(_random, subject, range(first, last))
        checks.append(subject.check("random programs", f"{first} to {last - 1}", run))
    return checks


def _matrix(seed: int = 0) -> Array:
    return small_numbers(float32, SHAPE, seed)


def _view(subject: Subject, name: str, function: Callable[[Any], Any]) -> None:
    compare(subject, name, lambda device: [function(*placed(device, _matrix()))])


def _assignment(subject: Subject) -> None:
    x = tfr.asarray(_matrix(), device=subject.device).compute()
    part = x[1:3]
    x[1:3] = 7
    expect(same_bits(part.numpy(), _matrix()[1:3]), "a view changed with the tensor it is of")
    expect(bool((x.numpy()[1:3] == 7).all()), "the assignment is lost")


def _chain(subject: Subject) -> None:
    x = tfr.asarray(_matrix(), device=subject.device).compute()
    with tfr.config.override(fuse=False, rewrite=False):
        held = x + 1
        result = held
        for step in range(6):
            result = tfr.abs(result - step) * 2
        tfr.compute(held, result)
    wanted = _matrix() + 1
    expect(same_bits(held.numpy(), wanted), "what somebody holds was overwritten")
    for step in range(6):
        wanted = np.abs(wanted - step) * 2
    expect(same_bits(result.numpy(), wanted), "a chain of ops that reuse memory is wrong")
    expect(same_bits(x.numpy(), _matrix()), "an input was overwritten")


def _transfers(subject: Subject) -> None:
    x, row = tfr.asarray(_matrix(), device=subject.device), tfr.asarray(_matrix(1)[0], device="cpu")
    total = x + row
    expect(total.device is subject.device, f"{total.device} holds fewer bytes, and was chosen")
    expect(same_bits(total.numpy(), _matrix() + _matrix(1)[0]), "a sum over two devices is wrong")
    there = tfr.asarray(_matrix(), device="cpu").to_device(subject.device)
    back = (there * 2).to_device("cpu")
    expect(same_bits(back.numpy(), _matrix() * 2), "values there and back differ")


def _threads(subject: Subject) -> None:
    start = threading.Barrier(THREADS)
    wrong: list[str] = []

    def work(number: int) -> None:
        # a thread has the options of the process
        with subject_options(), tfr.use_backend(subject.device):
            start.wait()
            for turn in range(ROUNDS):
                values = _matrix(number * ROUNDS + turn)
                x = tfr.asarray(values, device=subject.device)
                total = (tfr.sum(x * x, axis=1) + x[:, 0]).numpy()
                if not same_bits(total, (values * values).sum(axis=1) + values[:, 0]):
                    wrong.append(f"thread {number}, turn {turn}")

    def guarded(number: int) -> None:
        try:
            work(number)
        except Exception as error:
            wrong.append(f"thread {number}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not wrong, "; ".join(wrong))


def subject_options() -> Any:
    """Return the options of a check, for threads that it starts."""
    return tfr.config.override(small_size=0)


def _bad_index(subject: Subject) -> None:
    x = tfr.asarray(_matrix(), device=subject.device)
    positions = tfr.asarray([0, 99], device=subject.device)
    try:
        tfr.take(x, positions, axis=0).numpy()
    except IndexingError:
        pass
    else:
        raise AssertionError("an index out of bounds gives values")
    expect(same_bits((x + 1).numpy(), _matrix() + 1), "after an error the operand is of no use")


def _large(subject: Subject) -> None:
    # more rows than a launch of some devices has groups, and rows longer than any group
    for shape in ((70_001, 3), (3, 70_001)):
        values = small_numbers(float32, shape, 2)

        def record(device: Any, values: Array = values) -> list[Any]:
            x = tfr.asarray(values, device=device)
            return [tfr.sum(x, axis=1), tfr.max(x * 2, axis=0), tfr.sum(x)]

        compare(subject, f"large reductions of {shape}", record)


def _random(subject: Subject, seeds: range) -> None:
    for seed in seeds:
        random_graph.check(seed, device=str(subject.device))
