"""Forks while other threads compute, or hold locks, and says whether children compute: a program of its own.

`python -m tests.stress.forks computing COUNT`, or `... locks`
"""

import faulthandler
import os
import sys
import threading
import time

import tensorframe as tfr
from tensorframe import forks
from tensorframe.runtime.plan_cache import PLANS
from tests.stress import computations

PATIENCE = 15.0  # seconds after which a child hangs


def right(seed):
    """Whether this process plans, builds and computes."""
    PLANS.clear()
    arrays = computations.operands(seed)
    tensors = [tfr.asarray(array) for array in arrays]
    problems = computations.wrong(computations.results(*tensors), computations.expected(*arrays))
    problems += [] if bool(jitted(tensors[0], seed) == float(seed)) else ["jit"]
    tfr.random.normal((100,)).compute()
    return not problems


@tfr.jit
def jitted(x, number):
    return tfr.sum(x * 0) + number


def child(seed):
    """Return how a forked process ends that computes."""
    process = os.fork()
    if process == 0:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        status = 1
        try:
            status = 0 if right(seed) else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def computing(count):
    """Fork at any moment of what three threads do, from their first, when all is loaded and compiled, on."""
    stop = threading.Event()

    def compute(number):
        seed = number
        while not stop.is_set():
            assert right(seed)
            seed += 3

    threads = [threading.Thread(target=compute, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    ended = []
    for seed in range(count):
        time.sleep(0.01 * (seed % 5))  # other moments
        ended.append(child(seed))
    stop.set()
    for thread in threads:
        thread.join()
    return ended


def locks():
    """Fork while another thread is inside each lock of the package in turn."""
    assert right(0)
    ended = []
    for lock in [one for one in list(forks._locks) if one not in forks._held]:
        inside, done = threading.Event(), threading.Event()

        def hold(lock=lock, inside=inside, done=done):
            taken = lock.acquire(timeout=0)
            inside.set()
            done.wait()
            if taken:
                lock.release()

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait()
        ended.append(child(1))
        done.set()
        thread.join()
    return ended


if __name__ == "__main__":
    tfr.config.configure(**computations.PLANNED, threads=3)
    computations.kernels_at_once()
    ended = computing(int(sys.argv[2])) if sys.argv[1] == "computing" else locks()
    sys.stdout.write(f"{len(ended)} children\n")
    sys.exit(0 if not any(ended) else f"children ended with {ended}")
