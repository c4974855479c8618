"""Makes docs/images/profile-light.png and profile-dark.png: a profile of cpu and OpenCL in JupyterLab."""

from __future__ import annotations

from jupyter import IMAGES, Theme, lab, screenshot

CELLS = [
    """\
import numpy as np
import tensorframe as tfr
from sklearn.datasets import load_sample_image

photograph = tfr.asarray(load_sample_image("china.jpg").astype(np.float32) / 255)
pixels = tfr.reshape(photograph, (-1, 3))
grey = tfr.mean(photograph, axis=-1).compute()

@tfr.jit
def warmer(u):
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    u[1:-1, 1:-1] += 0.2 * (around - 4 * u[1:-1, 1:-1])
    return u""",
    "tfr.calibrate()",
    "%load_ext tensorframe",
    """\
%%tfr_profile --trace trace.json
colours = tfr.softmax(pixels @ tfr.random.normal((3, 64)), axis=1)
palette = tfr.compute(tfr.mean(colours, axis=0))

plate = grey
for _ in range(2000):
    plate = warmer(plate)

there = plate.to_device("opencl")
edges = tfr.sqrt((there[1:, 1:] - there[:-1, 1:]) ** 2 + (there[1:, 1:] - there[1:, :-1]) ** 2)
print("strongest edge", float(tfr.max(edges)))""",
]
THEMES: tuple[Theme, ...] = ("light", "dark")


def main() -> None:
    """Write both pictures."""
    for theme in THEMES:
        with lab(CELLS, theme=theme, width=1040, height=2300) as page:
            screenshot(page, IMAGES / f"profile-{theme}.png", first=1)


if __name__ == "__main__":
    main()
