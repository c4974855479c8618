"""Pictures of cells that break, in JupyterLab: `python docs/screenshots/errors.py`."""

from __future__ import annotations

from jupyter import IMAGES, lab, screenshot

SETUP = """\
import numpy as np
import tensorframe as tfr"""
SHAPE = [
    SETUP,
    """\
x = tfr.ones((3, 4))
w = tfr.ones(5)
z = x + w""",
]
MEMORY = [
    SETUP,
    """\
a = tfr.asarray(np.linspace(0, 1, 4_000_000)[:, None])
distances = tfr.abs(a - a.T)
ordered = tfr.sort(distances, axis=1)""",
    """\
print(ordered.numpy())""",
]
KERNEL = [
    """\
import numpy as np
import tensorframe as tfr
from tensorframe.testing.boxed import BoxedBackend


class Broken(BoxedBackend):
    def compile(self, region, device):
        def run(inputs, buffers):
            raise RuntimeError("illegal instruction")

        return run


tfr.backends.register(Broken("broken"))""",
    """\
t = tfr.asarray(np.ones((3, 4)), device="broken")
u = tfr.sin(t) * 2""",
    """\
u.numpy()""",
]


def write(name: str, cells: list[str], first: int) -> None:
    """Write the picture of the cells from `first` on."""
    with lab(cells, width=1100) as page:
        screenshot(page, IMAGES / f"error-{name}.png", first=first)


if __name__ == "__main__":
    write("shape", SHAPE, 1)
    write("memory", MEMORY, 1)
    write("kernel", KERNEL, 1)
