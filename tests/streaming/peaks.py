"""Programs over a large array from file to file, and what they take: run as a program, in pages of memory.

python -m tests.streaming.peaks SOURCE MIB NAME... prints a line of JSON for each: its name, the projected peak, by how
much the process grew, and what it has to itself.
"""

import json
import re
import sys
from pathlib import Path

import tensorframe as tfr
from tensorframe.backends import host_memory
from tensorframe.graph.device import CPU
from tensorframe.runtime.streaming import out_of_core

PROGRAMS = {
    "map": lambda x: x * 2 + 1,
    "wider": lambda x: x.astype("float64") * 1.5,
    "narrower": lambda x: x.astype("float16"),
    "roll": lambda x: tfr.roll(x, 1000, axis=0),
    "part of what is sorted": lambda x: tfr.sort(x, axis=1)[:, 3],
    "scan": lambda x: tfr.cumulative_sum(x, axis=0),
    "scan of rows": lambda x: tfr.cumulative_sum(x, axis=1),
    "standardise": lambda x: (x - tfr.mean(x, axis=0)) / tfr.std(x, axis=0),
    "variance": lambda x: tfr.var(x, axis=0),
    "variance of what is computed": lambda x: tfr.var(tfr.exp(x), axis=0),
    "largest": lambda x: tfr.argmax(x, axis=0),
    "softmax": lambda x: tfr.softmax(x, axis=1),
    "transposed": lambda x: x.T * 1.0,
    "joined": lambda x: tfr.concat([x, x * 2], axis=1),
}


def projected(planned):
    """The most bytes of a stream, and of those that run after it."""
    beside = 0 if planned.aside is None else projected(planned.aside)
    return max(planned.peak[CPU], beside)


def _status(name):
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) << 10


def measured(make, source, limit):
    """What a program is projected to take, by how much the process grew, and the most that it had to itself."""
    runs = []
    run = out_of_core.run_stream

    def noted(planned, targets):
        runs.append(projected(planned))
        run(planned, targets)

    target = Path(source).with_name("made.npy")
    result = make(tfr.load(source))
    tfr.memory.trim()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins again
    before = _status("VmRSS")
    beside = before - host_memory.own()  # pages of libraries
    out_of_core.run_stream = noted
    try:
        with tfr.memory.limit(limit):
            tfr.save(target, result)
    finally:
        out_of_core.run_stream = run
    most = _status("VmHWM")
    return max(runs, default=0), most - before, most - beside


def main(source, limit, *names):
    """Print what each program takes."""
    tfr.config.configure(threads=2)
    warm = tfr.load(source)[:512] * 1
    for name in names or PROGRAMS:
        tfr.compute(PROGRAMS[name](warm))  # libraries are loaded before
        measured(PROGRAMS[name], source, int(limit) << 20)  # and kernels compiled
        figures = measured(PROGRAMS[name], source, int(limit) << 20)
        sys.stdout.write(f"{json.dumps([name, *figures])}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
