"""A process as it is at the end of a long run, for tests of limits: `pytest -p tests.frontend.large_process`.

It has three million objects that the collector knows, threads with heaps of their own, and in all heaps free memory
between what is in use, which the C library does not give back by itself.
"""

import threading

import numpy as np

THREADS = 4
# what is smaller than 128 KiB comes from a heap, whatever was freed before
PIECES, PIECE = 600, 100_000
# the C library gives back what is larger than the largest block freed so far, up to this
LARGEST = 30 << 20

objects: list[list[int]] = [[] for _ in range(3_000_000)]
pieces: list[list[np.ndarray]] = []
never = threading.Event()


def fragment(done):
    """Leave a heap with holes: every other piece goes, and those that stay keep the heap from shrinking."""
    made = [np.ones(PIECE, np.uint8) for _ in range(PIECES)]
    pieces.append(made[::2])
    del made
    done.set()


def fragment_and_wait(done):
    """Do so in a thread that lives as long as the process."""
    fragment(done)
    never.wait()


np.ones(LARGEST, np.uint8)  # freed at once
fragment(threading.Event())
for _ in range(THREADS):
    ready = threading.Event()
    threading.Thread(target=fragment_and_wait, args=(ready,), daemon=True).start()
    ready.wait()
