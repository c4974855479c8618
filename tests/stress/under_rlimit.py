"""A process whose addresses are limited: what does not fit is refused, and what fits runs.

Run as a program, with a device.
"""

import resource
import sys

import numpy as np

import tensorframe as tfr
from tensorframe.backends import host_memory
from tensorframe.runtime.execution.events import Moment, listen

ROOM = 600 << 20


def main(device):
    """Print what came of it."""
    tfr.config.configure(threads=2)
    x = tfr.asarray(np.arange(1_000_000, dtype=np.float64), device=device)
    (tfr.exp(x * 0) @ tfr.sort(x)).compute()  # what libraries map, they have mapped
    used = host_memory._pages_of_the_process("/")[0] * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, resource.getrlimit(resource.RLIMIT_AS)[1]))
    started = []
    wide = tfr.reshape(x, (-1, 1)) + x[:100]  # 800 MB
    try:
        with listen(lambda event: started.append(event.moment)):
            tfr.sort(wide, axis=1).compute()
    except tfr.errors.OutOfMemoryError as error:
        before = "nothing has run" in str(error) and Moment.STEP_STARTED not in started
        sys.stdout.write("refused before the first step\n" if before else f"{error}\n")
    # an eighth of it, again and again
    for _ in range(6):
        part = tfr.sort(wide[:100_000], axis=1).compute()
        assert part.shape == (100_000, 100)
    sys.stdout.write(f"{tfr.sum(x).item()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
