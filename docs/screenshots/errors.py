"""Makes docs/images/error-*.png: cells that break, in JupyterLab."""

from __future__ import annotations

from jupyter import IMAGES, Theme, lab, screenshot

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


PICTURES = {"shape": SHAPE, "memory": MEMORY, "kernel": KERNEL}
THEMES: tuple[Theme, ...] = ("light", "dark")


def main() -> None:
    """Write all pictures, each without its first cell."""
    for theme in THEMES:
        for name, cells in PICTURES.items():
            with lab(cells, theme=theme, width=900) as page:
                screenshot(page, IMAGES / f"error-{name}-{theme}.png", first=1)


if __name__ == "__main__":
    main()
