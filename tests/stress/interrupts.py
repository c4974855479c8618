"""Interrupts computations at chosen points, and says whether everything is right afterwards: a program of its own.

`python -m tests.stress.interrupts DEVICE COUNT SEED`
"""

import faulthandler
import random
import signal
import sys
import time
from collections import Counter
from contextlib import suppress

import numpy as np

import tensorframe as tfr
from tensorframe.runtime.plan_cache import PLANS
from tests.stress import computations

DEVICE, COUNT, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
PHASES = ("build", "run", "transfer")
CHOICE = random.Random(SEED)


def counted(work, at):
    """Press Ctrl-C at the call or return number `at` that the main thread does; return how many there were."""
    left = at

    def step(*_):
        nonlocal left
        left -= 1
        if left == 0:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(step)
    try:
        work()
    finally:
        sys.setprofile(None)
    return at - left


def timed(work, seconds):
    """Press Ctrl-C after so many seconds."""
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def prepared(phase, seed):
    """Return what is interrupted, and tensors with the values that they must have then."""
    arrays = computations.operands(seed)
    tensors = [tfr.asarray(array, device=DEVICE) for array in arrays]
    if phase == "transfer":
        large = np.random.default_rng(seed).standard_normal(1 << 18).astype(np.float32)
        there = tfr.asarray(large, device=DEVICE)
        made = {"there": there, "twice": there * 2}
        values = {"there": large, "twice": large * 2}
        return (lambda: (there.compute(), made["twice"].numpy())), made, values
    made, values = computations.results(*tensors), computations.expected(*arrays)
    if phase == "run":
        for _ in range(2):
            tfr.compute(*computations.results(*tensors).values())
    else:
        PLANS.clear()
    return (lambda: tfr.compute(*made.values())), made, values


def first_use():
    """Interrupt the very first use, in which libraries are loaded and the device is opened."""
    arrays = computations.operands(SEED)

    def work():
        tensors = [tfr.asarray(array, device=DEVICE) for array in arrays]
        return computations.wrong(computations.results(*tensors), computations.expected(*arrays))

    with suppress(KeyboardInterrupt):
        counted(work, CHOICE.randrange(1, 300_000))
    problems = work()
    assert not problems, problems


def main():
    tfr.config.configure(**computations.PLANNED)
    computations.kernels_at_once()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    first_use()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    calls, seconds = {}, {}
    for phase in PHASES:
        for seed in range(2):
            calls[phase] = counted(prepared(phase, seed)[0], sys.maxsize)
            work, *_ = prepared(phase, seed)
            began = time.perf_counter()
            work()
            seconds[phase] = time.perf_counter() - began
    heard = Counter()
    for seed in range(20 * COUNT):
        phase = PHASES[seed % len(PHASES)]
        if sum(heard.values()) >= COUNT:
            break
        work, made, values = prepared(phase, seed)
        try:
            if seed % 2:
                counted(work, CHOICE.randrange(1, calls[phase]))
            else:
                timed(work, max(1e-5, seconds[phase] * CHOICE.random()))
        except KeyboardInterrupt:
            heard[phase] += 1
        problems = computations.wrong(made, values)
        assert not problems, (phase, seed, problems)
        _, again, values = prepared("build", seed)
        problems = computations.wrong(again, values)
        assert not problems, (phase, seed, "again", problems)
    sys.stdout.write(" ".join(f"{phase} {heard[phase]}" for phase in PHASES))


if __name__ == "__main__":
    faulthandler.dump_traceback_later(500, exit=True)
    sys.unraisablehook = lambda _: None  # Python's own: Ctrl-C while a generator is closed
    main()
